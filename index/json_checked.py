"""Checks JSON that somebody else wrote: a type says what a value must be, and a misfit is named by its path.

A type is a frozen dataclass (for an object), tuple[X, ...] (a list), dict[str, X], X | None, Literal, Any or
a scalar. Annotated adds bounds: `Annotated[str, Text(200)]`, `Annotated[int, Between(1, 9)]`,
`Annotated[tuple[X, ...], Items(20)]`. A float may be written as a whole number and is finite; true is no int.

The reader of a type is built once and cached, because a manifest holds thousands of values of a few types and
the program reads one at every start.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

Reader = Callable[[Any], Any]
# Python reads half a surrogate pair from JSON, which neither a file nor SQLite takes.
UNICODE = r"[^\ud800-\udfff]*"
STORABLE = r"[^\0\ud800-\udfff]*"
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a finite number",
    int | float: "a finite number",
    bool: "true or false",
}
_WORDS = {None: "null", True: "true", False: "false"}


class JsonError(ValueError):
    """JSON that is not as it must be. `at`: the path to the value, which each enclosing reader extends."""

    def __init__(self, what: str, at: str = "") -> None:
        super().__init__(what, at)
        self.what, self.at = what, at

    def __str__(self) -> str:
        return f"{self.at}: {self.what}".removeprefix(": ")

    def within(self, step: str) -> JsonError:
        return JsonError(self.what, step + self.at)


@dataclass(frozen=True)
class Text:
    """A string of at most `most` characters, and at least `least`.

    `pattern`: a regular expression that the whole string matches, `form` its meaning in words. `stripped`:
    spaces around the string are removed before it is compared with the pattern.
    """

    most: int = sys.maxsize
    least: int = 0
    pattern: str = ""
    form: str = ""
    stripped: bool = False

    def wanted(self, of: str) -> str:
        """What the value must be, in words; `of`: the noun without this bound."""
        long = f" of at most {self.most} characters" if self.most < sys.maxsize else ""
        return f"{of}{long}{' that is not empty' if self.least else ''}{self.form and f' {self.form}'}"

    def read(self, text: str) -> str | None:
        """The value, None if it does not fit."""
        if not self.least <= len(text) <= self.most:
            return None
        text = text.strip() if self.stripped else text
        return None if self.pattern and not re.fullmatch(self.pattern, text, re.DOTALL) else text


@dataclass(frozen=True)
class Between:
    """A number from `least` to `most`. `ends`: "(" and ")" for one that it may not be, as in "(]"."""

    least: float
    most: float = math.inf
    ends: str = "[]"

    def wanted(self, of: str) -> str:
        low = f"{'from' if self.ends[0] == '[' else 'above'} {self.least:.15g}"
        high = f" {'to' if self.ends[1] == ']' else 'and below'} {self.most:.15g}"
        return f"{of} {low}{high if self.most < math.inf else ''}"

    def read(self, number: float) -> float | None:
        high_enough = self.least < number if self.ends[0] == "(" else self.least <= number
        low_enough = number < self.most if self.ends[1] == ")" else number <= self.most
        return number if high_enough and low_enough else None


@dataclass(frozen=True)
class Items:
    """How many a list has, at most and at least."""

    most: int = sys.maxsize
    least: int = 0

    def wanted(self, of: str) -> str:
        at_most = f" of at most {self.most}" if self.most < sys.maxsize else ""
        return f"{of}{at_most}{' that is not empty' if self.least else ''}"

    def read(self, items: tuple[Any, ...]) -> tuple[Any, ...] | None:
        return items if self.least <= len(items) <= self.most else None


@dataclass(frozen=True)
class Via:
    """The value is read as a `kind`, from which `make` makes what is wanted, or raises ValueError."""

    kind: Any
    make: Callable[[Any], Any]


def parse(text: str | bytes, *, unique: bool = False) -> Any:
    """The value of JSON text. Raises JsonError; with `unique` also if a key stands twice in one object."""
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates if unique else None)
    except RecursionError:
        raise JsonError("must be JSON that is not nested so deeply") from None
    except json.JSONDecodeError as error:
        raise JsonError(f"must be JSON ({error.msg} at character {error.pos})") from None
    except ValueError as error:  # of an encoding, of a key that stands twice, of digits without end
        raise JsonError(f"must be JSON ({str(error)[:80]})") from None


def read(path: Path, most: int = 64 << 20) -> Any:
    """The JSON value in a file of at most `most` bytes. Raises JsonError, which names the file."""
    try:
        if path.stat().st_size > most:
            raise JsonError(f"must be at most {most >> 20} MB long")
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JsonError(f"cannot be read ({error.strerror})", str(path)) from None
    except JsonError as error:
        raise error.within(str(path)) from None
    except UnicodeDecodeError:
        raise JsonError("must be JSON in UTF-8", str(path)) from None


def read_as(kind: Any, raw: Any, at: str = "", *, extra: bool = False, whole: bool = False) -> Any:
    """The parsed JSON `raw` as a `kind`. Raises JsonError with the path to the first misfit.

    `at`: the name of the value in the path. `extra`: fields that a dataclass does not have are left out
    instead of refused. `whole`: fields with a default must be given too.
    """
    try:
        return _reader(kind, extra, whole)(raw)
    except JsonError as error:
        raise error.within(at) from None


def read_or_none(kind: Any, raw: Any) -> Any:
    """The same with `extra`, but None for a misfit."""
    try:
        return _reader(kind, True, False)(raw)
    except JsonError:
        return None


def stored(kind: Any, source: Path | str | bytes) -> Any:
    """What is in a file or a text, as a `kind`; None if it is missing, damaged or something else."""
    try:
        return read_as(kind, read(source) if isinstance(source, Path) else parse(source), extra=True)
    except JsonError:
        return None


@cache
def _reader(kind: Any, extra: bool, whole: bool) -> Reader:
    def inner(kind: Any) -> Reader:
        return _reader(kind, extra, whole)

    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda raw: raw
    if dataclasses.is_dataclass(kind):
        return _record(kind, inner, extra, whole)
    if origin is Annotated:
        return _via(inner, args[1]) if isinstance(args[1], Via) else _bounded(args, inner)
    if origin is tuple:
        return _sequence(inner(args[0]))
    if origin is dict:
        return _mapping(inner(args[1]))
    if origin is Literal:
        return _choice(args)
    return _union(args, inner) if origin in (Union, UnionType) else _scalar(kind)


def _record(kind: Any, inner: Callable[[Any], Reader], extra: bool, whole: bool) -> Reader:
    hints, fields = get_type_hints(kind, include_extras=True), dataclasses.fields(kind)
    readers = {f.name: inner(hints[f.name]) for f in fields}
    needed = [f for f in fields if whole or f.default is f.default_factory is dataclasses.MISSING]

    def read(raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            raise _misfit("an object", raw)
        if missing := next((f for f in needed if f.name not in raw), None):
            meaning = missing.metadata.get("description")
            raise JsonError(f"must have {missing.name!r}{f' ({meaning})' if meaning else ''}")
        if not extra and (unknown := next((key for key in raw if key not in readers), None)) is not None:
            names = ", ".join(readers)
            raise JsonError(f"must have no {str(unknown)[:40]!r}; its fields are: {names}")
        values, name = {}, ""
        try:
            for name, value in raw.items():
                if name in readers:
                    values[name] = readers[name](value)
        except JsonError as error:
            raise error.within(f".{name}") from None
        return kind(**values)

    return read


def _misfit(wanted: str, raw: Any) -> JsonError:
    if isinstance(raw, str):
        have = repr(raw) if len(raw) <= 40 else f"one of {len(raw)} characters"
    elif isinstance(raw, int | float) and not isinstance(raw, bool):
        have = "a number of that size" if abs(raw) > 1e15 else str(raw)
    elif isinstance(raw, list | tuple):
        have = "a list" if raw else "an empty list"
    else:
        have = "an object" if isinstance(raw, dict) else _WORDS.get(raw, type(raw).__name__)
    return JsonError(f"must be {wanted}, not {have}")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:60]!r} stands twice")
    return out


def _sequence(item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list | tuple):
            raise _misfit("a list", raw)
        values: list[Any] = []
        try:
            for value in raw:
                values.append(item(value))
        except JsonError as error:
            raise error.within(f"[{len(values)}]") from None
        return tuple(values)

    return read


def _mapping(item: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise _misfit("an object", raw)
        values, name = {}, ""
        try:
            for name, value in raw.items():
                values[name] = item(value)
        except JsonError as error:
            step = str(name)[:40]
            raise error.within(f".{step}" if step.isidentifier() else f"[{step!r}]") from None
        return values

    return read


def _bounded(args: tuple[Any, ...], inner: Callable[[Any], Reader]) -> Reader:
    kind, *bounds = args
    first, wanted = inner(kind), _NAMES.get(kind, "a list")
    for bound in bounds:
        wanted = bound.wanted(wanted)
    most = min((bound.most for bound in bounds if isinstance(bound, Items)), default=None)

    def read(raw: Any) -> Any:
        if most is not None and isinstance(raw, list | tuple) and len(raw) > most:
            raise JsonError(f"must be {wanted}, not one of {len(raw)}")  # before each of them is read
        try:
            value = first(raw)
        except JsonError as error:
            if error.at:  # of an item
                raise
            raise _misfit(wanted, raw) from None
        for bound in bounds:
            value = None if value is None else bound.read(value)
        if value is None:
            raise _misfit(wanted, raw)
        return value

    return read


def _via(inner: Callable[[Any], Reader], via: Via) -> Reader:
    first = inner(via.kind)

    def read(raw: Any) -> Any:
        value = first(raw)
        try:
            return via.make(value)
        except JsonError:
            raise
        except ValueError as error:
            raise JsonError(str(error)) from None

    return read


def _union(args: tuple[Any, ...], inner: Callable[[Any], Reader]) -> Reader:
    *others, last = [inner(arg) for arg in args if arg is not NoneType]

    def read(raw: Any) -> Any:
        if raw is None and NoneType in args:
            return None
        for other in others:
            with suppress(JsonError):
                return other(raw)
        return last(raw)

    return read


def _choice(choices: tuple[Any, ...]) -> Reader:
    def read(raw: Any) -> Any:
        if type(raw) in (str, int) and raw in choices:
            return raw
        raise _misfit(f"one of: {', '.join(map(str, choices))}", raw)

    return read


def _scalar(kind: Any) -> Reader:
    def number(raw: Any) -> Any:
        """Python's json reads NaN, Infinity and 1e999; no field of ours may be one of them."""
        if type(raw) not in (int, float) or not abs(raw) <= sys.float_info.max:
            raise _misfit(_NAMES[float], raw)
        return float(raw)

    def exact(raw: Any) -> Any:
        if type(raw) is kind:
            return raw
        raise _misfit(_NAMES[kind], raw)

    return number if kind is float else exact
