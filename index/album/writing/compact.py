"""Rewrites an album compactly: unused entities dropped, ids dense, all segments rebuilt, pages full."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw

from .. import loader
from . import storage
from .rows import renumber_memories

# An entity is dropped if neither it nor any name merged with it is mentioned by a photo or has a preference.
_KEPT = """CREATE TEMP TABLE kept AS WITH RECURSIVE
    used(row) AS (SELECT DISTINCT entity FROM mentions
        UNION SELECT better FROM preferences WHERE kind = 'entity'
        UNION SELECT worse FROM preferences WHERE kind = 'entity'),
    up(row) AS (SELECT row FROM used
        UNION SELECT e.same_as FROM entities e JOIN up ON e.row = up.row WHERE e.same_as IS NOT NULL),
    whole(row) AS (SELECT row FROM up UNION SELECT e.row FROM entities e JOIN whole ON e.same_as = whole.row)
    SELECT row AS old, row_number() OVER (ORDER BY row) - 1 AS new
    FROM whole WHERE row IN (SELECT row FROM entities)"""
_COLUMNS = {
    "mentions": (
        "(SELECT new FROM kept WHERE old = entity), photo, leaf",
        "entity IN (SELECT old FROM kept)",
    ),
    "edges": (
        "(SELECT new FROM kept WHERE old = parent), (SELECT new FROM kept WHERE old = child), relation",
        "parent IN (SELECT old FROM kept) AND child IN (SELECT old FROM kept)",
    ),
    "preferences": (
        "kind, iif(kind = 'photo', better, (SELECT new FROM kept WHERE old = better)), "
        "iif(kind = 'photo', worse, (SELECT new FROM kept WHERE old = worse))",
        "1",
    ),
}


def write_compacted(
    db: apsw.Connection, aside: Path, build_segments: Callable[[apsw.Connection], None]
) -> None:
    """Writes a compacted copy of `db` to the new file `aside` and closes it; `db` is not changed."""
    db.execute("VACUUM INTO ?", (str(aside),))
    copy = storage.open_for_writing(aside)
    try:
        with storage.transaction(copy):
            drop_orphans(copy)
            renumber_memories(copy)
            copy.execute("DELETE FROM changes")
            build_segments(copy)
        with storage.transaction(copy):
            copy.execute("INSERT INTO memories_fts(memories_fts) VALUES('optimize')")
        copy.execute("VACUUM")
    except BaseException:
        copy.close()
        raise
    storage.seal(copy, aside)


def drop_orphans(db: apsw.Connection) -> None:
    """Deletes the entities that nothing refers to and renumbers the others 0..m-1, keeping their order."""
    db.execute(_KEPT)
    db.execute("CREATE UNIQUE INDEX temp.kept_old ON kept(old)")
    if len(loader.entity_roots(db)) != (db.execute("SELECT count(*) FROM kept").fetchone() or (0,))[0]:
        for table, (columns, condition) in _COLUMNS.items():
            db.execute(f"CREATE TEMP TABLE new_links AS SELECT {columns} FROM {table} WHERE {condition}")
            db.execute(
                f"DELETE FROM {table}; INSERT INTO {table} SELECT * FROM new_links ORDER BY 1, 2; "
                "DROP TABLE new_links"
            )
        db.execute("DELETE FROM entities WHERE row NOT IN (SELECT old FROM kept)")
        # In ascending order, and no new number is above its old one, so no two rows collide.
        for old, new in db.execute("SELECT old, new FROM kept WHERE old <> new ORDER BY old").fetchall():
            db.execute("UPDATE entities SET row=? WHERE row=?", (new, old))
        db.execute(
            "UPDATE entities SET same_as = (SELECT new FROM kept WHERE old = same_as) "
            "WHERE same_as IS NOT NULL"
        )
    db.execute("DROP TABLE kept")
