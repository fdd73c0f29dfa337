"""Reads the fields of a JSON object that somebody else wrote: each has a type and a bound, none is extra."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

from ..errors import RuntimeFailure

MAX_MS = 1e9  # a task of eleven days
_PHOTO = re.compile(r"img_[0-9a-f]{10}")
_Choice = TypeVar("_Choice", bound=str)


class TraceError(RuntimeFailure):
    """A trace that cannot be read, or that belongs to another album or question; the message is one line."""


class Fields:
    """The fields of one object, each taken once. `where`: its name in messages. Methods raise TraceError."""

    def __init__(self, record: object, where: str) -> None:
        if not isinstance(record, dict):
            raise TraceError(f"{where}: not a JSON object")
        self._left, self.where = dict(record), where

    @classmethod
    def of_json(cls, text: str, where: str) -> Fields:
        try:
            return cls(json.loads(text), where)
        except (ValueError, RecursionError):
            raise TraceError(f"{where}: not JSON") from None

    def take(self, name: str) -> Any:
        if name not in self._left:
            raise TraceError(f"{self.where}: {name} is missing")
        return self._left.pop(name)

    def close(self) -> None:
        """Nothing may be left over: it would be lost when the trace is written again."""
        if self._left:
            raise TraceError(f"{self.where}: no field {str(min(self._left))[:40]!r} is known")

    def text(self, name: str, most: int) -> str:
        value = self.take(name)
        if not isinstance(value, str) or len(value) > most or any("\ud800" <= c <= "\udfff" for c in value):
            raise TraceError(f"{self.where}: {name} is no text of at most {most} characters")
        return value

    def choice(self, name: str, choices: Sequence[_Choice]) -> _Choice:
        value = self.take(name)
        for choice in choices:
            if value == choice:
                return choice
        raise TraceError(f"{self.where}: {name} is none of {', '.join(choices)}")

    def truth(self, name: str) -> bool:
        value = self.take(name)
        if not isinstance(value, bool):
            raise TraceError(f"{self.where}: {name} is neither true nor false")
        return value

    def number(self, name: str, most: int) -> int:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
            raise TraceError(f"{self.where}: {name} is no whole number from 0 to {most}")
        return value

    def milliseconds(self, name: str) -> float:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_MS:
            raise TraceError(f"{self.where}: {name} is no duration in milliseconds")
        return float(value)

    def photos(self, name: str, most: int) -> tuple[str, ...]:
        value = self._list(name, most)
        for photo in value:
            if not isinstance(photo, str) or not _PHOTO.fullmatch(photo):
                raise TraceError(f"{self.where}: {name} holds something else than ids such as img_0123456789")
        return tuple(value)

    def inner(self, name: str) -> Fields:
        return Fields(self.take(name), f"{self.where}: {name}")

    def inners(self, name: str, most: int) -> list[Fields]:
        return [
            Fields(record, f"{self.where}: {name}[{at}]") for at, record in enumerate(self._list(name, most))
        ]

    def _list(self, name: str, most: int) -> list[Any]:
        value = self.take(name)
        if not isinstance(value, list) or len(value) > most:
            raise TraceError(f"{self.where}: {name} is no list of at most {most}")
        return value
