"""Answers of models, kept in a SQLite file beside the album: an interrupted run asks nothing twice."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import apsw

from ..errors import RuntimeFailure


class Answers:
    """SHA-256 of all that was asked → the answer. Raises RuntimeFailure for a file that cannot be used."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = apsw.Connection(str(path))
            self._db.set_busy_timeout(5000)
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS answers(key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID"
            )
        except apsw.Error as error:
            raise RuntimeFailure(
                f"{path}: cannot keep the model's answers ({error}); move it away or check the folder"
            ) from None

    def of(self, asked: bytes, ask: Callable[[], str]) -> str:
        """The kept answer to `asked`, or that of `ask`, which is then kept unless it is empty."""
        key = hashlib.sha256(asked).hexdigest()
        with contextlib.suppress(apsw.Error):
            for (kept,) in self._db.execute("SELECT answer FROM answers WHERE key=?", (key,)):
                return str(kept)
        answer = ask()
        if answer:
            with contextlib.suppress(apsw.Error):  # if the disk is full, the next run only asks again
                self._db.execute("INSERT OR REPLACE INTO answers VALUES(?,?)", (key, answer))
        return answer

    def close(self) -> None:
        self._db.close()
