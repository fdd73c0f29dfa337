"""JSON values → frozen dataclasses, type-checked field by field.

What reads a kind is made once: a manifest holds thousands of values of a few kinds, and every start of the
program reads one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]


class _Misfit(ValueError):
    """A value that is not what its field wants; `at` grows on the way out."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what, at)
        self.what, self.at = what, at

    def __str__(self) -> str:
        return f"{self.at}: {self.what}"

    def within(self, step: str) -> _Misfit:
        return _Misfit(self.what, step + self.at)


def read_as(kind: Any, raw: Any, at: str) -> Any:
    """`raw` (from JSON) as `kind`: a dataclass, tuple[X, ...], dict[str, X], a union, or a scalar. Raises
    ValueError saying where.
    """
    try:
        return _reader(kind)(raw)
    except _Misfit as error:
        raise error.within(at) from None


@cache
def _reader(kind: Any) -> Reader:
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _record(kind)
    if origin is tuple:
        return _sequence(kind, _reader(get_args(kind)[0]))
    if origin is dict:
        return _mapping(kind, _reader(get_args(kind)[1]))
    return _union(kind) if origin in (Union, UnionType) else _scalar(kind)


def _wrong(kind: Any, raw: Any) -> _Misfit:
    return _Misfit(f"{getattr(kind, '__name__', kind)} is wanted, not {type(raw).__name__}")


def _record(kind: Any) -> Reader:
    hints, fields = get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}
    readers = {name: _reader(hints[name]) for name in fields}
    needed = [n for n, f in fields.items() if f.default is dataclasses.MISSING]

    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise _wrong(kind, raw)
        missing = [n for n in needed if n not in raw]
        if missing or not raw.keys() <= readers.keys():
            raise _Misfit(
                f"{', '.join(missing or sorted(set(raw) - set(fields)))} "
                f"{'missing' if missing else 'unknown'}"
            )
        found, name = {}, ""
        try:
            for name, value in raw.items():
                found[name] = readers[name](value)
        except _Misfit as error:
            raise error.within(f".{name}") from None
        return kind(**found)

    return read


def _sequence(kind: Any, item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise _wrong(kind, raw)
        found: list[Any] = []
        try:
            for value in raw:
                found.append(item(value))
        except _Misfit as error:
            raise error.within(f"[{len(found)}]") from None
        return tuple(found)

    return read


def _mapping(kind: Any, item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise _wrong(kind, raw)
        found, name = {}, ""
        try:
            for name, value in raw.items():
                found[name] = item(value)
        except _Misfit as error:
            raise error.within(f".{name}") from None
        return found

    return read


def _union(kind: Any) -> Reader:
    args = get_args(kind)

    def read(raw: Any) -> Any:
        if isinstance(raw, dict):
            return _reader(args[0])(raw)
        if type(raw) in args:
            return raw
        if float in args and type(raw) is int:
            return float(raw)
        raise _wrong(kind, raw)

    return read


def _scalar(kind: Any) -> Reader:
    def number(raw: Any) -> Any:
        if type(raw) in (int, float) and math.isfinite(raw):
            return float(raw)
        return exact(raw)

    def exact(raw: Any) -> Any:
        if type(raw) is kind:
            return raw
        raise _wrong(kind, raw)

    return number if kind is float else exact
