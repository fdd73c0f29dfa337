"""The two exceptions that this room raises to its callers.

Each message is one line: what is wrong, where, and what to do.
"""

from __future__ import annotations


class AlbumError(Exception):
    """An album file that cannot be opened, read or written as asked."""


class IngestError(Exception):
    """A photo or album source that cannot be read."""
