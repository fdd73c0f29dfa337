"""The exceptions that this room raises to its callers.

Each message is one line: what is wrong, where, and what to do.
"""

from __future__ import annotations


class GamerError(Exception):
    """What the caller can solve; `str(error)` is one line. The exceptions of all rooms derive from it."""


class AlbumError(GamerError):
    """An album file that cannot be opened, read or written as asked."""


class AlbumBusy(AlbumError):
    """An album that another program is writing: the same call may succeed later."""


class NoSuchMemory(AlbumError):
    """A memory or a turn of the person that is not in the album, or no longer."""


class UnfitMemory(AlbumError):
    """A memory or a turn that cannot be stored as it is given: empty, too long, or without its key."""


class IngestError(GamerError):
    """A photo or album source that cannot be read."""
