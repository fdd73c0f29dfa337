"""Rebuilds data derived from the rows (indexes, full-text index, segments) where a check finds it wrong.

Damage in the rows themselves cannot be repaired: nothing else holds their data. Damaged rows of what the
pictures say again are deleted.
"""

from __future__ import annotations

from collections.abc import Callable

import apsw

from .. import loader, segments, words
from ..check import check_words
from ..declarations import optional_tables


def repair(db: apsw.Connection, build_segments: Callable[[apsw.Connection], None]) -> list[str]:
    """Repairs inside the caller's transaction; returns one line for each repair, empty if none."""
    done = []
    if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
        db.execute("REINDEX")
        done.append("indexes built again")
    if not words.is_full_text(db) or _words_are_wrong(db):
        words.restore(db)
        db.execute("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')")
        done.append("index of words built again")
    for group in optional_tables.GROUPS:
        done += group.repair(db)
    photos, generation = loader.photo_count(db), loader.read_generation(db)
    stray = db.execute(
        "DELETE FROM changes WHERE photo NOT IN (SELECT row FROM photos) RETURNING photo"
    ).fetchall()
    ahead = db.execute(
        "UPDATE changes SET generation = ?1 WHERE generation > ?1 RETURNING photo", (generation,)
    ).fetchall()
    if stray or ahead or segments.problems(db, generation) or segments.is_due(db, segments.KDTREE, photos):
        build_segments(db)
        done.append("segments built again")
    return done


def _words_are_wrong(db: apsw.Connection) -> bool:
    try:
        check_words(db)
    except apsw.Error:
        return True
    return False
