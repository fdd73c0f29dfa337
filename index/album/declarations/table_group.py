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

from ...errors import AlbumError
from .sealed import Sealed

FULL_TEXT_PARTS = ("data", "idx", "docsize", "config")  # of a full-text table, as SQLite names them
_STRAY = "photo NOT IN (SELECT id FROM photos)"


@dataclass(frozen=True)
class TableGroup:
    """`what`: what they hold, in words. `ddl`: one statement for each table and index, with `;` between.

    `of_photos`: those of its tables whose column `photo` holds the id of the photo that a row belongs to.
    `full_text`: its full-text tables. `version`: of the group, which its first table, of keys and values,
    holds; 0 for a group without one. `added`: tables that the version before lacks, which can be read too.
    `settings`: statements that follow when the tables are made. `sealed`: those whose rows have a checksum.
    `invariants`: problem → the SQL that counts it. `find_problems`: what else is wrong in the tables, which
    exist, one line each. `derived`: whether the pictures say all that the tables hold.
    """

    what: str
    ddl: str
    of_photos: tuple[str, ...] = ()
    full_text: tuple[str, ...] = ()
    version: int = 0
    added: frozenset[str] = frozenset()
    settings: str = ""
    sealed: tuple[Sealed, ...] = ()
    invariants: tuple[tuple[str, str], ...] = ()
    find_problems: Callable[[apsw.Connection], list[str]] = field(default=lambda db: [])
    derived: bool = False

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
        if self.version:
            db.execute(f"INSERT INTO {self.tables[0]} VALUES('version', ?)", (str(self.version),))

    def is_current(self, db: apsw.Connection) -> bool:
        """Whether the tables, which exist, are all that the current version has."""
        return not self.added or self.added <= _names(db)

    def upgrade(self, db: apsw.Connection) -> None:
        """Makes what the version before lacks, in the caller's transaction; nothing for the current one."""
        if not self.is_current(db):
            for name in self.tables:
                if name in self.added:
                    db.execute(self.declared[name])
            sql = f"UPDATE {self.tables[0]} SET value=? WHERE key='version'"
            db.execute(sql, (str(self.version),))

    def check_version(self, db: apsw.Connection, path: Path) -> None:
        """Raises AlbumError unless this program can read the tables, which must exist."""
        if not self.version:
            return
        found = db.execute(f"SELECT value FROM {self.tables[0]} WHERE key='version'").fetchone()
        # The version before is read as it is, and upgraded by what writes.
        if found != (str(self.version if self.is_current(db) else self.version - 1),):
            shown = str(found[0])[:20] if found else "none"
            raise AlbumError(
                f"{path}: {self.what} in version {shown}, this program reads {self.version}; "
                "update the program"
            )

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
            for name in _names(db).intersection(self.tables):
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
        self.check_version(db, path)
        absent = set(self.tables) - _names(db)  # of the version before
        strays = ((f"{table} of photos that are not in the album", _count(table)) for table in self.of_photos)
        out = []
        for description, sql in (*strays, *self.invariants):
            if any(table in sql for table in absent):
                continue
            (count,) = db.execute(sql).fetchone() or (0,)
            if count:
                out.append(f"{description}: {count}")
        for table in self.sealed:
            out += table.problems(db) if table.table not in absent else []
        return out + self.find_problems(db)

    def repair(self, db: apsw.Connection) -> list[str]:
        """Deletes what is wrong in derived tables, which the pictures say again; one line for each repair.

        In the caller's transaction.
        """
        if not self.derived or not self.exist(db):
            return []
        done = []
        for table in self.of_photos:
            if db.execute(f"DELETE FROM {table} WHERE {_STRAY} RETURNING 1").fetchall():
                done.append(f"{table} of photos that are not in the album deleted")
        for damaged in self.sealed:
            for key in damaged.wrong(db):
                db.execute(f"DELETE FROM {damaged.table} WHERE {damaged.key}=?", (key,))
                done.append(f"{damaged.what.format(key)} deleted: add its folder again")
        return done


def _count(table: str) -> str:
    return f"SELECT count(*) FROM {table} WHERE {_STRAY}"


def _names(db: apsw.Connection) -> frozenset[str]:
    return frozenset(str(name) for (name,) in db.execute("SELECT name FROM main.sqlite_schema"))
