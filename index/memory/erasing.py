"""Proves that the bytes of forgotten texts are gone from an album file and its log, and removes what is left.

SQLite overwrites deleted rows with zeros (secure_delete). Copies may remain in the log until it is folded in,
and in the unused part of a page whose rows were moved to another page. So the log is folded in, the file is
read, and where a forgotten text still stands the file is written anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

_PROBE = 48  # bytes of a text that are looked for: more may be split between two pages
_BLOCK = 1 << 22
_MANY = 64  # texts; to look for more of them costs more than to write the file anew


def erase(db: apsw.Connection, texts: Sequence[str] | None) -> bool:
    """Whether no copy of the texts is left, or of anything deleted if they are not known.

    False while another program that has the album open holds on to the log.
    """
    if not _fold_in(db):
        return False
    # Very short texts stand in many places by chance.
    probes = {text.encode()[:_PROBE] for text in texts or () if len(text) >= 8}
    if texts is not None and len(probes) <= _MANY and not _any_in(db, probes):
        return True
    # Perhaps a turn that stays says the same; the new file in any case holds what is stored, and no more.
    try:
        db.execute("VACUUM")
    except apsw.BusyError:
        return False
    return _fold_in(db)


def _fold_in(db: apsw.Connection) -> bool:
    """Folds the log into the file and empties it; False if a reader's snapshot forbids that."""
    try:
        busy, left, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone() or (1, 0, 0)
    except apsw.BusyError:
        return False
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
