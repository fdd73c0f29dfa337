"""Proves that the bytes of forgotten texts are gone from an album file and its log, and removes what is left.

SQLite overwrites deleted rows with zeros (secure_delete). Copies may remain in the log until it is folded in,
and in the unused part of a page whose rows were moved to another page. So the log is folded in, the file is
read, and where a forgotten text still stands the file is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import apsw

from ..album.schema import one_line
from ..album.writing.storage import discard_unfinished

_PROBE = 48  # bytes of a text that are looked for: more may be split between two pages
_BLOCK = 1 << 22
HELD = "another program has the album open, and its log keeps the bytes; close it"
_MANY = 64  # texts; to look for more of them costs more than to write the file anew


def erase(db: apsw.Connection, texts: Sequence[str] | None) -> str:
    """Why a copy of the texts may be left, or of anything deleted if they are not known; "" if none is.

    One may be while another program that has the album open holds on to the log, and where the disk is full.
    """
    try:
        return _erase(db, texts) or discard_unfinished(Path(db.filename))
    except apsw.BusyError:
        return HELD
    except (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.ReadOnlyError) as error:
        return f"the file could not be written anew ({one_line(error)}); free some space"


def _erase(db: apsw.Connection, texts: Sequence[str] | None) -> str:
    if not _fold_in(db):
        return HELD
    # Very short texts stand in many places by chance.
    probes = {text.encode()[:_PROBE] for text in texts or () if len(text) >= 8}
    if texts is not None and len(probes) <= _MANY and not _any_in(db, probes):
        return ""
    # Perhaps a turn that stays says the same; the new file in any case holds what is stored, and no more.
    db.execute("VACUUM")
    return "" if _fold_in(db) else HELD


def _fold_in(db: apsw.Connection) -> bool:
    """Folds the log into the file and empties it; False if a reader's snapshot forbids that."""
    busy, left, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
    return not busy and left <= 0


def _any_in(db: apsw.Connection, probes: Iterable[bytes]) -> bool:
    """Whether the file holds one of the texts.

    It is read through SQLite: to close a descriptor of our own would drop the locks of this process.
    """
    wanted, offset, tail = tuple(probes), 0, b""
    while True:
        whole, block = db.read("main", 0, offset, _BLOCK)
        if any(probe in tail + block for probe in wanted):
            return True
        if not whole:
            return False
        offset, tail = offset + _BLOCK, block[-_PROBE:]
