"""Conditions of the tool `filter`: parsed to a tree of known comparisons, never evaluated as code.

day = 2025-05-13 and (place = "Tokyo" or hour >= 18) and not source = label

condition  = term { "or" term }
term       = factor { "and" factor }
factor     = "not" factor | "(" condition ")" | field operator value
operator   = "=" | "!=" | "<" | "<=" | ">" | ">="
value      = word or "quoted text"
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index.fields import FIELDS as DETAILS

from .calls import ToolError

MAX_LENGTH = 2_000  # characters
MAX_DEPTH = 50  # of parentheses and "not"
_OF_DETAILS = tuple(detail.name for detail in DETAILS)
FIELDS = (
    *("time", "day", "month", "year", "hour", "weekday", "place", "source", "event", "people", "photo"),
    *_OF_DETAILS,
)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
# Compared with = and != alone.
UNORDERED = ("weekday", "place", "source", "event", "photo", *_OF_DETAILS)
Mask = NDArray[np.bool_]

_TOKEN = re.compile(r'\s*(?:(?P<mark>[()]|[<>!]?=|[<>])|"(?P<quoted>[^"]*)"|(?P<word>[^\s()<>!="]+))')


@dataclass(frozen=True)
class Comparison:
    field: str
    operator: str
    value: str


@dataclass(frozen=True)
class Not:
    of: Condition


@dataclass(frozen=True)
class Joined:
    """All of `parts` if `how` is "and", any of them if it is "or"."""

    how: str
    parts: tuple[Condition, ...]


Condition = Comparison | Not | Joined


def parse_condition(text: str) -> Condition:
    """Raises ToolError, which says where the text stops being a condition."""
    if len(text) > MAX_LENGTH:
        raise ToolError(f"filter: a condition of {len(text)} characters; give at most {MAX_LENGTH}")
    parser = _Parser(_tokens(text))
    condition = parser.condition(0)
    if parser.at < len(parser.tokens):
        raise ToolError(
            f"filter: {parser.tokens[parser.at][1][:40]!r} is one word too many; join with and, or"
        )
    return condition


def evaluate(condition: Condition, compare: Callable[[Comparison], Mask]) -> Mask:
    """bool [photos]. `compare`: the photos that meet one comparison."""
    if isinstance(condition, Comparison):
        return compare(condition)
    if isinstance(condition, Not):
        return ~evaluate(condition.of, compare)
    masks = [evaluate(part, compare) for part in condition.parts]
    return np.asarray(np.logical_and.reduce(masks) if condition.how == "and" else np.logical_or.reduce(masks))


def _tokens(text: str) -> list[tuple[str, str]]:
    out, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise ToolError(f"filter: cannot read {text[at : at + 20]!r}; an opened quote needs its end")
        kind = match.lastgroup or ""
        out.append((kind, match[kind]))
        at = match.end()
    return out


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens, self.at = tokens, 0

    def condition(self, depth: int) -> Condition:
        return self._joined("or", lambda: self._joined("and", lambda: self._factor(depth)))

    def _joined(self, how: str, part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._takes(how):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Joined(how, tuple(parts))

    def _factor(self, depth: int) -> Condition:
        if depth > MAX_DEPTH:
            raise ToolError(f"filter: nested deeper than {MAX_DEPTH}; write a flatter condition")
        if self._takes("not"):
            return Not(self._factor(depth + 1))
        if self._takes("("):
            inner = self.condition(depth + 1)
            if not self._takes(")"):
                raise ToolError("filter: a parenthesis is not closed")
            return inner
        return self._comparison()

    def _comparison(self) -> Comparison:
        kind, field = self._next("a field")
        field = field.lower()
        if kind != "word" or field not in FIELDS:
            raise ToolError(f"filter: no field {field[:40]!r}; choose one of: {', '.join(FIELDS)}")
        kind, operator = self._next(f"an operator after {field}")
        if kind != "mark" or operator not in OPERATORS:
            raise ToolError(
                f"filter: {operator[:40]!r} after {field} must be one of the operators {' '.join(OPERATORS)}"
            )
        if field in UNORDERED and operator not in ("=", "!="):
            raise ToolError(f"filter: {field} is compared with = or !=, not with {operator}")
        kind, value = self._next(f"a value after {field} {operator}")
        if kind == "mark":
            raise ToolError(f"filter: {value!r} cannot be a value of {field}")
        return Comparison(field, operator, value)

    def _next(self, wanted: str) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise ToolError(f"filter: the condition ends where {wanted} is expected")
        self.at += 1
        return self.tokens[self.at - 1]

    def _takes(self, text: str) -> bool:
        if self.at < len(self.tokens):
            kind, token = self.tokens[self.at]
            if kind != "quoted" and token.lower() == text:
                self.at += 1
                return True
        return False
