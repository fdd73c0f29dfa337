"""Cleans text from files for storage: no NUL, no lone surrogates, no outer whitespace, bounded length."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MAX_TEXT = 20_000  # characters of one memory
MAX_NAMES = 64


def clean(value: Any, limit: int = MAX_TEXT) -> str:
    """`value` without control characters other than line feeds, and without outer whitespace, at most
    `limit` characters; "" if it is not a str.
    """
    if not isinstance(value, str):
        return ""
    cleaned = "".join(
        c
        for c in value[: 2 * limit]
        if c == "\n" or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\u200e\u200f\ufeff")
    )
    return cleaned.strip()[:limit]


def of_tag(value: Any) -> str:
    """The text that a tag of EXIF holds; "" if it is none."""
    if isinstance(value, bytes):
        return value.decode("ascii", "replace").strip("\x00 ")
    return value.strip("\x00 ") if isinstance(value, str) else ""


def names(values: Iterable[Any]) -> tuple[str, ...]:
    """Distinct cleaned names, in order, each on one line and without a comma: they are joined with commas."""
    out: dict[str, None] = {}
    for value in values:
        name = " ".join(clean(value, 200).replace(",", " ").split())
        if name and len(out) < MAX_NAMES:
            out[name] = None
    return tuple(out)


def shown(path: object) -> str:
    """A path as text that can be printed and stored, whatever bytes its name has."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")
