"""Says a call of a tool in plain words, for the steps that `gamer ask` shows to people."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import calls
from .expression import Comparison, Condition, Joined, Not, parse_condition

_TIMES = ("time", "day", "month", "year")
_WHEN = {"=": "{}", "!=": "not {}", "<": "before {}", "<=": "until {}", ">": "after {}", ">=": "from {} on"}
_NUMBERS = {
    "=": "{0} {1}", "!=": "{0} not {1}", "<": "{0} below {1}", "<=": "{0} at most {1}",
    ">": "{0} above {1}", ">=": "{0} at least {1}",
}  # fmt: skip
_BEGINS, _ENDS = "T00:00:00", "T23:59:59"


def in_words(call: calls.Call) -> str:
    """ "photos from 2026-01-01 to 2026-12-31, the newest first"; of one line."""
    given = calls.arguments_of(call)
    parts = [_SAID[calls.name_of(call)](given), f"within “{given['within']}”" if given.get("within") else ""]
    parts.append(f"kept as “{given['save_as']}”" if given.get("save_as") else "")
    return " ".join(", ".join(part for part in parts if part).split())


def condition_in_words(where: str) -> str:
    """A condition of `filter` as people would say it. Raises ToolError for what is no condition."""
    return _said(parse_condition(where))


def _said(condition: Condition, inner: bool = False) -> str:
    if isinstance(condition, Comparison):
        return _comparison(condition)
    if isinstance(condition, Not):
        return f"not {_said(condition.of, True)}"
    if (between := _between(condition)) is not None:
        return f"({between})" if inner and " and " in between else between
    said = f" {condition.how} ".join(_said(part, True) for part in condition.parts)
    return f"({said})" if inner else said


def _between(condition: Joined) -> str | None:
    """From one time to another, if that is what a condition asks for."""
    both = [part for part in condition.parts if isinstance(part, Comparison) and part.field in _TIMES]
    if condition.how != "and" or [part.operator for part in both] != [">=", "<="]:
        return None
    between = f"from {_date(both[0].value, _BEGINS)} to {_date(both[1].value, _ENDS)}"
    rest = [_said(part, True) for part in condition.parts if part not in both]
    return " and ".join([*rest, between])


def _comparison(one: Comparison) -> str:
    if one.field in _TIMES and (one.field == "year" or not one.value.isdecimal()):  # "month 5"
        value = one.value.replace("T", " ")
        if one.operator in (">=", "<"):
            value = _date(one.value, _BEGINS)
        elif one.operator in ("<=", ">"):
            value = _date(one.value, _ENDS)
        return _WHEN[one.operator].format(value)
    if one.field == "place" and one.operator == "=":
        return f"in {one.value}"
    return _NUMBERS[one.operator].format(one.field, one.value)


def _date(value: str, midnight: str) -> str:
    """The day alone where a time is its begin or end."""
    return value.removesuffix(midnight).replace("T", " ")


def _filter(given: dict[str, Any]) -> str:
    try:
        which = condition_in_words(given["where"]) if given.get("where") else "of all times"
    except calls.ToolError:
        which = f"where {given['where']}"  # the step says what is wrong with it
    order = "the newest first" if given.get("order") == "newest" else ""
    most = f"at most {given['limit']}" if given.get("limit") else ""
    return ", ".join(part for part in (f"photos {which}", most, order) if part)


def _search(given: dict[str, Any]) -> str:
    like = f"photos like {', '.join(given['like'])}" if given.get("like") else ""
    text = f"“{given['text']}”" if given.get("text") else ""
    most = "all that fit" if given.get("every") else f"the best {given['k']}" if given.get("k") else ""
    return ", ".join(
        part for part in (f"search for {' and '.join(filter(None, (text, like)))}", most) if part
    )


def _view(given: dict[str, Any]) -> str:
    return f"look at {', '.join(given.get('ids', ())) or 'photos'}: “{given['prompt']}”"


_SAID: dict[str, Callable[[dict[str, Any]], str]] = {
    "search": _search,
    "grep": lambda given: f"memories with “{given['words']}”",
    "filter": _filter,
    "list": lambda given: f"count by {given['by']}",
    "metadata": lambda given: f"times and places of {', '.join(given['ids'])}",
    "get": lambda given: f"all about {given['id']}",
    "view": _view,
    "combine": lambda given: f"“{given['first']}” {given['how']} “{given['second']}”",
    "web_search": lambda given: f"look up “{given['query']}”",
}
