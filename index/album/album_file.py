"""An open album file: one connection, one lock, and read errors raised as one-line AlbumErrors."""

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
from .results import AlbumMeta
from .schema import UNREADABLE, unusable

_T = TypeVar("_T")
# Steps of SQLite's virtual machine between two checks of the step count; then the steps that one read may
# take, as a constant and per byte of the file. A full scan takes about ten steps a row, and a row has at
# least ten bytes; sorting multiplies that by the logarithm.
_LOOK_EVERY = 100_000
_STEPS, _STEPS_A_BYTE = 20_000_000, 200


class AlbumFile:
    """Shared by the layers of one Album. `photos`: their number.

    `wanted`: names of the segments of graphs that searches did without, because they are not loaded.
    """

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self.connection, self.path, self.lock = connection, path, threading.RLock()
        self.wanted: set[str] = set()
        self._steps = StepLimit(connection, path.stat().st_size)
        self.photos: int = self.load(loader.photo_count)

    def load(self, read: Callable[[apsw.Connection], _T]) -> _T:
        """The result of `read`, called under the lock.

        Raises AlbumError for a damaged file: pages that SQLite rejects, or values of a type that no writer
        writes. `read` must not use cached properties: Python 3.11 computes each under a separate lock, and
        two threads would wait for each other.
        """
        with self.lock:
            self._steps.restart()
            try:
                return read(self.connection)
            except UNREADABLE as error:
                raise unusable(self.path, error) from None

    def sql(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """All rows of one statement."""
        return self.load(lambda db: db.execute(sql, values).fetchall())

    def query(self, vector: FloatArray, dim: int, where: str) -> FloatArray:
        """A query's vector as float32 [dim]. Raises AlbumError if its length differs from `dim`."""
        array = np.asarray(vector, np.float32).reshape(-1)
        if array.size != dim:
            raise AlbumError(
                f"{self.path}: a query of {array.size} dimensions, but {where} has {dim}; "
                "use the encoder that built the album"
            )
        return array


class Layer:
    """A part of what an Album offers, which all read the same file."""

    def __init__(self, file: AlbumFile) -> None:
        self._file = file
        self.meta: AlbumMeta = file.load(lambda db: loader.read_meta(db, file.path))


class StepLimit:
    """Interrupts a read or change that takes more steps than a valid album of the file's size can need.

    It guards against crafted files.
    """

    def __init__(self, db: apsw.Connection, size: int, times: int = 1) -> None:
        """`size`: of the file, in bytes. `times`: more of it for a change, which reads and writes."""
        self._allowed = times * (_STEPS + _STEPS_A_BYTE * size)
        self._spent = 0
        db.set_progress_handler(self._look, _LOOK_EVERY)

    def restart(self) -> None:
        """Sets the step count to zero, at the start of each read or change."""
        self._spent = 0

    def _look(self) -> bool:
        self._spent += _LOOK_EVERY
        return self._spent > self._allowed
