"""The validator of foreign JSON: a value of the type, or one line that names the place and what must be."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index.json_checked import (
    STORABLE,
    Between,
    Items,
    JsonError,
    Text,
    Via,
    parse,
    read,
    read_as,
    read_or_none,
)


@dataclass(frozen=True)
class Part:
    sha256: Annotated[str, Text(8, pattern=STORABLE, form="that SQLite can store")]
    size: Annotated[int, Between(0, 9)] = 0
    share: Annotated[float, Between(0, 1, "(]")] | None = None


@dataclass(frozen=True)
class Whole:
    kind: Literal["a", "b"]
    parts: Annotated[tuple[Part, ...], Items(2, least=1)]
    on: bool = False
    shape: tuple[int | str, ...] = ()
    names: dict[str, float] | None = None
    rest: Any = None


GOOD: dict[str, Any] = {"kind": "a", "parts": [{"sha256": "x"}]}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())
VALUES = st.recursive(
    SCALARS | st.sampled_from([10**400, "\ud800", "\0", math.nan, -math.inf]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(["kind", "parts", "on", "shape", "names", "other"]), VALUES)
def test_any_value_is_of_the_type_or_refused_in_one_line_with_its_place(name: str, value: Any) -> None:
    try:
        whole: Whole = read_as(Whole, GOOD | {name: value}, "file")
    except JsonError as error:
        assert re.fullmatch(r"file[^:]*: must (be|have) .*", str(error))
        return
    assert whole.kind in ("a", "b")
    assert 1 <= len(whole.parts) <= 2
    assert all(type(part.size) is int and 0 <= part.size <= 9 for part in whole.parts)
    assert all(part.share is None or 0 < part.share <= 1 for part in whole.parts)
    assert type(whole.on) is bool
    assert all(type(side) in (int, str) for side in whole.shape)
    assert all(math.isfinite(number) for number in (whole.names or {}).values())


@given(VALUES)
def test_any_part_is_of_the_type_or_refused(value: Any) -> None:
    for raw in (value, {"sha256": value}, {"sha256": "x", "size": value}, {"sha256": "x", "share": value}):
        part = read_or_none(Part, raw)
        assert part is None or (len(part.sha256) <= 8 and "\0" not in part.sha256)
        if part is not None:
            part.sha256.encode()


@given(st.text() | st.binary())
def test_any_text_is_json_or_refused_in_one_line(text: str | bytes) -> None:
    try:
        parse(text)
    except JsonError as error:
        assert "\n" not in str(error)


@given(VALUES)
def test_what_is_written_is_read(value: Any) -> None:
    assert repr(parse(json.dumps(value))) == repr(json.loads(json.dumps(value)))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"parts": [{"sha256": "x"}, {"sha256": "x" * 9}]},
            ".parts[1].sha256: must be a string of at most 8",
        ),
        ({"parts": [{"sha256": "\ud800"}]}, "that SQLite can store, not '\\ud800'"),
        ({"parts": [{"sha256": "x" * 50}]}, "not one of 50 characters"),
        ({"parts": [{"sha256": 5}]}, "must be a string of at most 8 characters that SQLite can store, not 5"),
        ({"parts": [{"sha256": "x", "size": True}]}, ".size: must be a whole number from 0 to 9, not true"),
        ({"parts": [{"sha256": "x", "size": 1.0}]}, ".size: must be a whole number from 0 to 9, not 1.0"),
        ({"parts": [{"sha256": "x", "size": 10**400}]}, "not a number of that size"),
        ({"parts": [{"sha256": "x", "share": 0}]}, "must be a finite number above 0 to 1, not 0"),
        ({"parts": [{"sha256": "x", "share": math.nan}]}, "above 0 to 1, not nan"),
        ({"parts": []}, ".parts: must be a list of at most 2 that is not empty, not an empty list"),
        ({"parts": [3] * 1000}, ".parts: must be a list of at most 2 that is not empty, not one of 1000"),
        ({"parts": {}}, ".parts: must be a list of at most 2 that is not empty, not an object"),
        ({"parts": [{}]}, ".parts[0]: must have 'sha256'"),
        ({"parts": [None]}, ".parts[0]: must be an object, not null"),
        ({"kind": "c"}, ".kind: must be one of: a, b, not 'c'"),
        ({"kind": ["a"]}, ".kind: must be one of: a, b, not a list"),
        ({"on": 1}, ".on: must be true or false, not 1"),
        ({"shape": [3, "n", None]}, ".shape[2]: must be a string, not null"),
        ({"names": {"x": 1, "a\nb": "1"}}, ".names['a\\nb']: must be a finite number, not '1'"),
        ({"more": 1}, "file: must have no 'more'; its fields are: kind, parts"),
    ],
)
def test_a_misfit_is_named_with_its_path_and_what_must_be_there(change: dict[str, Any], says: str) -> None:
    with pytest.raises(JsonError, match=re.escape(says)):
        read_as(Whole, GOOD | change, "file")


def test_fields_may_be_ignored_or_all_wanted() -> None:
    assert read_as(Whole, GOOD | {"more": 1}, extra=True) == Whole("a", (Part("x"),))
    with pytest.raises(JsonError, match="must have 'on'"):
        read_as(Whole, GOOD, whole=True)


def test_a_value_is_made_of_what_was_read() -> None:
    kind = tuple[Annotated[int, Via(str, lambda text: int(text, 2))], ...]
    assert read_as(kind, ["101", "1"]) == (5, 1)
    with pytest.raises(JsonError, match=r"^bits\[1\]: invalid literal"):
        read_as(kind, ["1", "2"], "bits")
    with pytest.raises(JsonError, match=r"^bits\[0\]: must be a string, not 1"):
        read_as(kind, [1], "bits")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "must be JSON"),
        ("[" * 100_000, "must be JSON that is not nested so deeply"),
        ("9" * 5000, "must be JSON"),
        (b"\xff", "must be JSON"),
        ('{"k": 1, "k": 2}', "the key 'k' stands twice"),
    ],
)
def test_what_is_no_json_is_refused(text: str | bytes, says: str) -> None:
    with pytest.raises(JsonError, match=says):
        parse(text, unique=True)


def test_a_file_is_read_up_to_a_size(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with pytest.raises(JsonError, match=r"a\.json: cannot be read \(No such file"):
        read(path)
    path.write_bytes(b'"\xff"')
    with pytest.raises(JsonError, match=r"a\.json: must be JSON in UTF-8"):
        read(path)
    path.write_text('"' + " " * (1 << 20) + '"', encoding="utf-8")
    assert len(read(path)) == 1 << 20
    with pytest.raises(JsonError, match=r"a\.json: must be at most 1 MB long"):
        read(path, 1 << 20)
