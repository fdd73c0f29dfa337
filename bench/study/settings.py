"""Reads `--set KEY=VALUE` into a study's settings, a dataclass of fields `Annotated[TYPE, About(…)]`.

A type is int, float, str, bool, date or Path, one of these or None, or a tuple of one of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import date
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import click

from ..tables import Sheet, sheet
from .declaration import About

_BOOLEANS = {"true": True, "false": False}
_WORDS = {int: "a whole number", float: "a number", date: "a day such as 2024-05-31", bool: "true or false"}


class SettingError(click.UsageError):
    """A study that is not there, a setting that it does not have, or a value that it does not take."""


@dataclass(frozen=True)
class Setting:
    """A field of a settings dataclass. `kind`: the type of its value, or of one of its values (`several`)."""

    name: str
    kind: type[Any]
    several: bool
    about: About
    default: Any

    @property
    def key(self) -> str:
        return self.name.replace("_", "-")

    @property
    def takes(self) -> str:
        if self.about.choices:
            one = f"one of {', '.join(self.about.choices)}"
        else:
            one = _WORDS.get(self.kind, "a path" if self.kind is Path else "a text")
        least, most = self.about.least, self.about.most
        bound = f" of {least} or more" if isfinite(least) else ""
        if isfinite(most):
            bound = f" from {least} to {most}"
        return f"{one}{bound}{'; several with commas between' if self.several else ''}"

    def value(self, text: str) -> Any:
        """Raises SettingError for a text that is no such value."""
        parts = [part.strip() for part in text.split(",") if part.strip()] if self.several else [text]
        try:
            values = tuple(map(self._one, parts))
        except (KeyError, ValueError):
            raise SettingError(f"--set {self.key}={text}: must be {self.takes}") from None
        return values if self.several else values[0]

    def _one(self, text: str) -> Any:
        readers: dict[type[Any], Any] = {bool: _BOOLEANS.__getitem__, date: date.fromisoformat}
        value = readers.get(self.kind, self.kind)(text)
        if self.about.choices and value not in self.about.choices:
            raise ValueError(text)
        if self.kind in (int, float) and not self.about.least <= value <= self.about.most:
            raise ValueError(text)
        return value


def of(kind: type[Any]) -> Mapping[str, Setting]:
    """The settings of a dataclass, by key."""
    hints = get_type_hints(kind, include_extras=True)
    settings = []
    for field in fields(kind):
        annotated, about = get_args(hints[field.name])
        several = get_origin(annotated) is tuple
        plain = next(part for part in (*get_args(annotated), annotated) if part is not NoneType)
        settings.append(Setting(field.name, plain, several, about, field.default))
    return {setting.key: setting for setting in settings}


def read(kind: type[Any], given: Sequence[str], *, quick: bool = False) -> Any:
    """The settings dataclass of texts KEY=VALUE; of equal keys the last counts. Raises SettingError."""
    known = of(kind)
    quickly = {one.name: one.about.quick for one in known.values() if quick and one.about.quick is not None}
    values: dict[str, Any] = {}
    for text in given:
        key, equals, value = text.partition("=")
        if key not in known or not equals:
            raise SettingError(f"no setting {text!r}: give KEY=VALUE, of {', '.join(known) or 'none'}")
        values[known[key].name] = known[key].value(value)
    for one in known.values():
        if one.default is MISSING and one.name not in values:
            raise SettingError(f"needs --set {one.key}=VALUE, {one.about.what}")
    return kind(**{**quickly, **values})


def differing(settings: Any) -> list[str]:
    """KEY=VALUE of all that differs from the defaults, with names of files instead of their paths."""
    return [
        f"{one.key}={_text(value)}"
        for one in of(type(settings)).values()
        if (value := getattr(settings, one.name)) != one.default
    ]


def table(kind: type[Any]) -> Sheet:
    """What may be set."""
    return sheet(
        "Settings",
        of(kind).values(),
        {
            "setting": lambda one: one.key,
            "takes": lambda one: one.takes,
            "default": lambda one: "required" if one.default is MISSING else _text(one.default),
            "what it is": lambda one: one.about.what,
        },
    )


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    if isinstance(value, bool):
        return str(value).lower()
    return value.name if isinstance(value, Path) else "" if value is None else f"{value}"
