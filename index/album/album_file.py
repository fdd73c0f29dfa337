"""An open album file: one connection, one lock, and what is wrong with a file said in one line."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import apsw
import numpy as np

from ..errors import AlbumError
from ..records import FloatArray
from . import loader
from .schema import damaged

_T = TypeVar("_T")


class AlbumFile:
    """Shared by the three layers of one Album. `photos`: how many there are."""

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self.connection, self.path, self.lock = connection, path, threading.RLock()
        self.photos: int = self.load(loader.photo_count)

    def load(self, read: Callable[[apsw.Connection], _T]) -> _T:
        """Reads under the lock.

        Pages that SQLite refuses, and values of a type that no writer wrote, are a damaged file: AlbumError.
        `read` must touch no cached property: Python 3.11 computes each under a lock of its own, and two
        threads would wait for each other.
        """
        with self.lock:
            try:
                return read(self.connection)
            except (apsw.Error, ValueError, TypeError, OverflowError) as error:
                raise damaged(self.path, error) from None

    def sql(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """All rows of one statement."""
        return self.load(lambda db: db.execute(sql, values).fetchall())

    def query(self, vector: FloatArray, dim: int, where: str) -> FloatArray:
        """A query's vector as float32 [dim]. Raises AlbumError where its length is another."""
        array = np.asarray(vector, np.float32).reshape(-1)
        if array.size != dim:
            raise AlbumError(
                f"{self.path}: a query of {array.size} dimensions, but {where} has {dim}; "
                "use the encoder that built the album"
            )
        return array
