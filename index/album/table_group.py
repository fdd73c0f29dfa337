"""Tables that an album may have or lack: a group of them is there as a whole, declared exactly, or not.

A group has no part in the format's version: a reader that does not know it ignores it. Its tables name a
photo by its id, never by its row, so that rows may move; a program that removes photos without knowing the
group leaves rows that name nothing, which readers skip and `verify` reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import apsw

FULL_TEXT_PARTS = ("data", "idx", "docsize", "config")  # of a full-text table, as SQLite names them


@dataclass(frozen=True)
class TableGroup:
    """`what`: of which things, in words. `ddl`: one statement for each table and index, with `;` between.

    `of_photos`: those of its tables whose column `photo` holds the id of the photo that a row belongs to.
    `full_text`: its full-text tables. `added`: tables that an older version of the group lacks. `settings`:
    statements that follow when the tables are made. `find_problems`: what is wrong in the tables, which
    exist, of the album at a path; one line each.
    """

    what: str
    ddl: str
    of_photos: tuple[str, ...] = ()
    full_text: tuple[str, ...] = ()
    added: frozenset[str] = frozenset()
    settings: str = ""
    find_problems: Callable[[apsw.Connection, Path], list[str]] = field(default=lambda db, path: [])

    @cached_property
    def declared(self) -> dict[str, str]:
        """Table or index → its statement."""
        statements = [sql.strip() for sql in self.ddl.split(";") if sql.strip()]
        return {sql.split("(")[0].split()[3 if " VIRTUAL " in sql else 2]: sql for sql in statements}

    @cached_property
    def tables(self) -> tuple[str, ...]:
        return tuple(name for name, sql in self.declared.items() if not sql.startswith("CREATE INDEX"))

    @cached_property
    def shadows(self) -> frozenset[str]:
        return frozenset(f"{name}_{part}" for name in self.full_text for part in FULL_TEXT_PARTS)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(self.declared) | self.shadows

    def create(self, db: apsw.Connection) -> None:
        """Makes the tables, in the caller's transaction."""
        db.execute(self.ddl)
        if self.settings:
            db.execute(self.settings)

    def exist(self, db: apsw.Connection) -> bool:
        """Whether the tables are there, and not hidden."""
        (found,) = db.execute(
            "SELECT (SELECT count(*) FROM main.sqlite_schema WHERE type='table' AND name=?1) "
            "AND NOT (SELECT count(*) FROM temp.sqlite_schema WHERE type='view' AND name=?1)",
            (self.tables[0],),
        ).fetchone() or (0,)
        return bool(found)

    def fits(self, kind: str, name: str, sql: object) -> bool:
        """Whether an entry of the schema is one of these, declared as it is here; shadows by name alone."""
        if name in self.shadows:
            return kind == "table"
        return kind in ("table", "index") and sql == self.declared.get(name)

    def hide(self, db: apsw.Connection) -> None:
        """Hides all of these tables behind empty temporary views."""
        if self.exist(db):
            there = {name for (name,) in db.execute("SELECT name FROM main.sqlite_schema")}
            for name in there.intersection(self.tables):
                db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM main.{name} WHERE 0")

    def drop_photo(self, db: apsw.Connection, photo_id: str) -> None:
        """Deletes what belongs to a photo."""
        if self.of_photos and self.exist(db):
            for table in self.of_photos:
                db.execute(f"DELETE FROM {table} WHERE photo=?", (photo_id,))

    def problems(self, db: apsw.Connection, path: Path) -> list[str]:
        """What is wrong in these tables, one line each; empty if they are not there."""
        if not self.exist(db):
            return []
        out = []
        for table in self.of_photos:
            (lost,) = db.execute(
                f"SELECT count(*) FROM {table} WHERE photo NOT IN (SELECT id FROM photos)"
            ).fetchone() or (0,)
            if lost:
                out.append(f"{table} of photos that are not in the album: {lost}")
        return out + self.find_problems(db, path)
