"""Conditions of `filter`: the grammar against a plain reference, its limits, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.agent import expression
from gamer.runtime.agent.calls import ToolError
from gamer.runtime.agent.expression import (
    FIELDS,
    MAX_DEPTH,
    MAX_LENGTH,
    OPERATORS,
    UNORDERED,
    Comparison,
    Joined,
    Mask,
    Not,
    evaluate,
    parse_condition,
)

ROWS = 6
HOURS = [0, 5, 5, 12, 20, 23]
PLACES = ["Rome", "Oslo", "New York", "", "Rome", "or"]


@dataclass(frozen=True)
class Written:
    """A condition as text, the strength of what binds its parts, and what it means for one row."""

    text: str
    binds: int  # 0 or, 1 and, 2 not, 3 a comparison or parentheses
    holds: Callable[[int], bool]


def inside(part: Written, binds: int) -> str:
    return part.text if part.binds >= binds else f"({part.text})"


@st.composite
def comparisons(draw: st.DrawFn) -> Written:
    space = draw(st.sampled_from(["", " ", "\n\t "]))
    if draw(st.booleans()):
        operator, value = draw(st.sampled_from(OPERATORS)), draw(st.sampled_from(HOURS))
        tests: dict[str, Callable[[int], bool]] = {
            "=": lambda row: HOURS[row] == value,
            "!=": lambda row: HOURS[row] != value,
            "<": lambda row: HOURS[row] < value,
            "<=": lambda row: HOURS[row] <= value,
            ">": lambda row: HOURS[row] > value,
            ">=": lambda row: HOURS[row] >= value,
        }
        field = draw(st.sampled_from(["hour", "Hour", "HOUR"]))
        return Written(f"{field}{space}{operator}{space}{value}", 3, tests[operator])
    place, negated = draw(st.sampled_from(PLACES)), draw(st.booleans())
    quoted = f'"{place}"' if draw(st.booleans()) or not re.fullmatch(r"\w+", place) else place
    return Written(
        f"place{space}{'!=' if negated else '='}{space}{quoted}",
        3,
        lambda row: (PLACES[row] == place) != negated,
    )


def joined(parts: list[Written], how: str) -> Written:
    binds = 0 if how == "or" else 1
    # A part that binds as weakly as its surroundings keeps its parentheses, or it would not be one part.
    text = f" {how} ".join(inside(part, binds + 1) for part in parts)
    if how == "or":
        return Written(text, binds, lambda row: any(part.holds(row) for part in parts))
    return Written(text, binds, lambda row: all(part.holds(row) for part in parts))


def negated(part: Written, word: str) -> Written:
    return Written(f"{word} {inside(part, 2)}", 2, lambda row: not part.holds(row))


CONDITIONS = st.recursive(
    comparisons(),
    lambda inner: (
        st.builds(joined, st.lists(inner, min_size=2, max_size=3), st.sampled_from(["and", "or"]))
        | st.builds(negated, inner, st.sampled_from(["not", "NOT"]))
        | inner.map(lambda part: Written(f"( {part.text})", 3, part.holds))
    ),
    max_leaves=12,
)


def compare(comparison: Comparison) -> Mask:
    values = HOURS if comparison.field == "hour" else PLACES
    wanted: object = int(comparison.value) if comparison.field == "hour" else comparison.value
    column: Any = np.array(values, dtype=object)
    comparisons: dict[str, Callable[[], Any]] = {
        "=": lambda: column == wanted,
        "!=": lambda: column != wanted,
        "<": lambda: column < wanted,
        "<=": lambda: column <= wanted,
        ">": lambda: column > wanted,
        ">=": lambda: column >= wanted,
    }
    return np.asarray(comparisons[comparison.operator](), np.bool_)


@given(CONDITIONS)
def test_a_condition_means_what_a_plain_reading_of_its_grammar_means(written: Written) -> None:
    if len(written.text) > MAX_LENGTH:
        return
    mask = evaluate(parse_condition(written.text), compare)
    assert mask.dtype == np.bool_
    assert mask.tolist() == [written.holds(row) for row in range(ROWS)]


A, B, C = (Comparison("hour", "=", n) for n in "123")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("hour = 1 or hour = 2 and hour = 3", Joined("or", (A, Joined("and", (B, C))))),
        ("hour = 1 and hour = 2 or hour = 3", Joined("or", (Joined("and", (A, B)), C))),
        ("(hour = 1 or hour = 2) and hour = 3", Joined("and", (Joined("or", (A, B)), C))),
        ("not hour = 1 and hour = 2", Joined("and", (Not(A), B))),
        ("not (hour = 1 and hour = 2)", Not(Joined("and", (A, B)))),
        ("not not hour=1", Not(Not(A))),
        ("hour = 1 and hour = 2 and hour = 3", Joined("and", (A, B, C))),
        ("((hour=1))", A),
        (
            'place = "and" or place = not',
            Joined("or", tuple(Comparison("place", "=", v) for v in ("and", "not"))),
        ),
        ('place = "a ) or year > 1 ("', Comparison("place", "=", "a ) or year > 1 (")),
        ("time >= 2025-05-13T10:30:00", Comparison("time", ">=", "2025-05-13T10:30:00")),
        ("place = São-Tomé", Comparison("place", "=", "São-Tomé")),
    ],
)
def test_and_binds_before_or_and_not_before_both(text: str, tree: expression.Condition) -> None:
    assert parse_condition(text) == tree


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hour", "ends where an operator after hour"),
        ("hour =", "ends where a value after hour ="),
        ("hour = 1 and", "ends where a field"),
        ("hour = 1 hour = 2", "'hour' is one word too many; join with and, or"),
        ("hour = 1)", "')' is one word too many"),
        ("(hour = 1", "a parenthesis is not closed"),
        ("hour = (", "'(' cannot be a value"),
        ("hour == 1", "'=' cannot be a value"),
        ("hour => 1", "'>' cannot be a value"),
        ("hour ! 1", "cannot read"),
        ("hour is 1", "'is' after hour must be one of the operators = != < <= > >="),
        ('hour "=" 1', "'=' after hour must be one of the operators"),
        ('"hour" = 1', "no field 'hour'"),
        ("age = 3", "no field 'age'; choose one of: time, day"),
        ("and", "no field 'and'"),
        ("", "ends where a field"),
        ("()", "no field ')'"),
        ('place = "Rome', "an opened quote needs its end"),
        ("weekday < friday", "weekday is compared with = or !="),
        ("x" * (MAX_LENGTH + 1), f"give at most {MAX_LENGTH}"),
    ],
)
def test_what_is_no_condition_is_refused_with_the_place_in_it(text: str, says: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_condition(text)
    assert says in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("opening", ["(", "not ", "(not ", "not("])
def test_a_nesting_of_a_thousand_is_one_line_and_no_recursion(
    opening: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        expression, "MAX_LENGTH", 1_000_000
    )  # the limit of the length alone is not what saves it
    depth = 1_000
    with pytest.raises(ToolError, match="nested deeper") as caught:
        parse_condition(opening * depth + "hour = 1" + ")" * opening.count("(") * depth)
    assert "\n" not in str(caught.value)


def test_a_nesting_up_to_the_limit_is_read_and_evaluated() -> None:
    deep = "(" * MAX_DEPTH + "hour = 5" + ")" * MAX_DEPTH
    assert evaluate(parse_condition(deep), compare).tolist() == [hour == 5 for hour in HOURS]
    twice = "not " * MAX_DEPTH + "hour = 5"
    assert evaluate(parse_condition(twice), compare).tolist() == [hour == 5 for hour in HOURS]


def test_every_token_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, not seconds: each token is taken once, so twice the parts cost twice the steps."""
    monkeypatch.setattr(expression, "MAX_LENGTH", 10_000_000)
    steps = 0
    real = expression._Parser._next

    def counted(parser: expression._Parser, wanted: str) -> tuple[str, str]:
        nonlocal steps
        steps += 1
        return real(parser, wanted)

    monkeypatch.setattr(expression._Parser, "_next", counted)
    taken = {}
    for parts in (100, 200, 400):
        steps = 0
        parse_condition(" or ".join(["(hour = 1 and not hour = 2)"] * parts))
        taken[parts] = steps
    assert taken == {100: 600, 200: 1_200, 400: 2_400}


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('x') = 1",
        "hour = 1; import os",
        "hour.__class__ = 1",
        "photo = ''; DROP TABLE photos --",
        "hour = 1 or 1=1",
        "lambda: 0",
        "f{hour} = 1",
        "day in (select id from photos)",
    ],
)
def test_code_is_no_condition(text: str) -> None:
    with pytest.raises(ToolError):
        parse_condition(text)


@pytest.mark.parametrize("value", ["__import__('os')", "x' OR '1'='1", "%s", "{0.__class__}", "$(id)", "a*"])
def test_a_value_stays_a_text(value: str) -> None:
    assert parse_condition(f'place = "{value}"') == Comparison("place", "=", value)


TOKENS = [
    *FIELDS,
    *OPERATORS,
    "(",
    ")",
    "and",
    "or",
    "not",
    '"x"',
    '"',
    "1",
    "2025-05",
    "!",
    "é",
    "\x00",
    " ",
]


@given(st.text(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_any_text_is_a_condition_or_refused_in_one_line(text: str) -> None:
    try:
        condition = parse_condition(text)
    except ToolError as refused:
        assert str(refused).isprintable()
        assert len(str(refused)) < 300
    else:
        for comparison in _leaves(condition):
            assert comparison.field in FIELDS
            assert comparison.operator in OPERATORS
            assert comparison.field not in UNORDERED or comparison.operator in ("=", "!=")


def _leaves(condition: expression.Condition) -> list[Comparison]:
    if isinstance(condition, Comparison):
        return [condition]
    parts = (condition.of,) if isinstance(condition, Not) else condition.parts
    return [leaf for part in parts for leaf in _leaves(part)]
