"""The two errors that leave this room.

Each message is one line: what is wrong, where, what to do. Knows nothing else.
"""

from __future__ import annotations


class AlbumError(Exception):
    """An album file that cannot be opened, read or written as asked."""


class IngestError(Exception):
    """A photo or album source that cannot be read."""
