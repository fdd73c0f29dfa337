"""Tables whose rows end in a checksum: how a row is written with it, read and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from ...errors import AlbumError
from . import checksums


@dataclass(frozen=True)
class Sealed:
    """`columns`: those that the column `crc` is the checksum of. `what`: a row in words, with {} for its key.

    `key`: the column that names a row. `cure`: what to do about a damaged row. `more`: what is summed after
    the columns, by a row's key.
    """

    table: str
    columns: str
    what: str
    key: str = "id"
    cure: str = "run verify and index it again"
    more: Callable[[apsw.Connection, Any], Sequence[Any]] | None = None

    def insert(self, db: apsw.Connection, values: Sequence[Any], **beside: Any) -> None:
        """Writes a row, in place of one with its key. `values`: of `columns`; `beside`: of other columns."""
        row = (*values, *beside.values(), checksums.of_values(values))
        columns = ", ".join([self.columns, *beside, "crc"])
        db.execute(f"INSERT OR REPLACE INTO {self.table}({columns}) VALUES({','.join('?' * len(row))})", row)

    def seal(self, db: apsw.Connection, key: Any) -> None:
        """Computes the checksum of a row anew."""
        sql = f"SELECT {self.columns} FROM {self.table} WHERE {self.key}=?"
        values: Any = db.execute(sql, (key,)).fetchone()
        crc = checksums.of_values((*values, *self._more(db, key)))
        db.execute(f"UPDATE {self.table} SET crc=? WHERE {self.key}=?", (crc, key))

    def check(self, path: Path | str, key: object, crc: object, values: Sequence[Any]) -> None:
        """Raises AlbumError unless `values`, with those of `more`, have the checksum `crc`."""
        if checksums.of_values(values) != crc:
            raise self.damaged(path, key)

    def damaged(self, path: Path | str, key: object) -> AlbumError:
        return AlbumError(
            f"{path}: the {self.what.format(key)} is damaged (its checksum differs); {self.cure}"
        )

    def rows(
        self, db: apsw.Connection, path: Path, where: str = "", given: Sequence[Any] = ()
    ) -> Iterator[list[Any]]:
        """The values of rows. Raises AlbumError at one that does not match its checksum."""
        for key, crc, *values in db.execute(self._select(where), given):
            self.check(path, key, crc, (*values, *self._more(db, key)))
            yield values

    def wrong(self, db: apsw.Connection) -> list[Any]:
        """The keys of the rows that do not match their checksum."""
        return [
            key
            for key, crc, *values in db.execute(self._select())
            if checksums.of_values((*values, *self._more(db, key))) != crc
        ]

    def problems(self, db: apsw.Connection) -> list[str]:
        """One line for every row that does not match its checksum."""
        return [f"{self.what.format(key)}: {self.mismatch}" for key in self.wrong(db)]

    @property
    def mismatch(self) -> str:
        return f"its {'rows do not match their' if self.more else 'row does not match its'} checksum"

    def _more(self, db: apsw.Connection, key: object) -> Sequence[Any]:
        return self.more(db, key) if self.more else ()

    def _select(self, where: str = "") -> str:
        return f"SELECT {self.key}, crc, {self.columns} FROM {self.table} {where}"


ENTITIES = Sealed("entities", "canonical, name, kind, scale, data", "entity {}", key="row")
