"""Converts JSON values to frozen dataclasses and checks the type of every field.

The reader of a type is built once and cached, because a manifest holds thousands of values of a few types and
the program reads one at every start.
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
    """A value that does not fit its field. `at`: the path to it, which each enclosing reader extends."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what, at)
        self.what, self.at = what, at

    def __str__(self) -> str:
        return f"{self.at}: {self.what}"

    def within(self, step: str) -> _Misfit:
        return _Misfit(self.what, step + self.at)


def read_as(kind: Any, raw: Any, at: str) -> Any:
    """The parsed JSON `raw` as a `kind`: a dataclass, tuple[X, ...], dict[str, X], a union, or a scalar.

    `at`: the name of the value in error messages. Raises ValueError with the path to the first misfit.
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
        values, name = {}, ""
        try:
            for name, value in raw.items():
                values[name] = readers[name](value)
        except _Misfit as error:
            raise error.within(f".{name}") from None
        return kind(**values)

    return read


def _sequence(kind: Any, item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise _wrong(kind, raw)
        values: list[Any] = []
        try:
            for value in raw:
                values.append(item(value))
        except _Misfit as error:
            raise error.within(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _mapping(kind: Any, item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise _wrong(kind, raw)
        values, name = {}, ""
        try:
            for name, value in raw.items():
                values[name] = item(value)
        except _Misfit as error:
            raise error.within(f".{name}") from None
        return values

    return read


def _union(kind: Any) -> Reader:
    args = get_args(kind)

    def read(raw: Any) -> Any:
        if isinstance(raw, dict):
            return _reader(args[0])(raw)
        if float in args and type(raw) in (int, float):
            return _finite(raw)
        if type(raw) in args:
            return raw
        raise _wrong(kind, raw)

    return read


def _finite(raw: int | float) -> float:
    """Python's json reads NaN, Infinity and 1e999; no field of ours may be one of them."""
    try:
        number = float(raw)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _Misfit("a finite number is wanted")
    return number


def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """`object_pairs_hook` for json.loads. Raises ValueError for a key that stands twice in one object."""
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} stands twice")
    return out


def _scalar(kind: Any) -> Reader:
    def number(raw: Any) -> Any:
        if type(raw) not in (int, float):
            raise _wrong(kind, raw)
        return _finite(raw)

    def exact(raw: Any) -> Any:
        if type(raw) is kind:
            return raw
        raise _wrong(kind, raw)

    return number if kind is float else exact
