"""Tool calls: what the schema allows is parsed, what it forbids is refused in one line, however large."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamer.runtime.agent import calls
from gamer.runtime.agent.calls import MAX_IDS, MAX_RESULTS, MAX_TEXT, TOOLS, ToolError, parse

CLEAN = st.text(st.characters(codec="utf-8"), max_size=60)


def values_of(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values of one argument by the words of JSON Schema that the tools use; a new word fails here."""
    known = {"type", "description", "default", "enum", "minimum", "maximum", "maxLength", "pattern"}
    assert set(schema) <= known | {"items", "maxItems"}
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.from_regex(re.compile(schema["pattern"].replace("$", r"\Z"))).filter(
            lambda text: len(text) <= schema["maxLength"]
        )
    if schema["type"] == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    if schema["type"] == "array":
        return st.lists(values_of(schema["items"]), max_size=5)
    return {"boolean": st.booleans(), "string": CLEAN}[schema["type"]]


@st.composite
def named_arguments(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS)))
    schema = calls.schema(name)
    optional = set(schema["properties"]) - set(schema["required"])
    chosen = set(schema["required"]) | {key for key in sorted(optional) if draw(st.booleans())}
    return name, {key: draw(values_of(schema["properties"][key])) for key in sorted(chosen)}


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(named_arguments())
def test_arguments_that_fit_the_schema_are_parsed_and_written_again(
    named: tuple[str, dict[str, Any]],
) -> None:
    name, arguments = named
    call = parse(name, json.loads(json.dumps(arguments)))
    assert calls.name_of(call) == name
    assert parse(name, json.loads(json.dumps(calls.arguments_of(call)))) == call
    for key, value in arguments.items():
        kept = getattr(call, key)
        assert kept == (tuple(v.strip() for v in value) if isinstance(value, list) else value) or (
            isinstance(value, str) and kept == value.strip()
        )


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_a_schema_is_json_and_describes_every_field(name: str) -> None:
    schema = calls.schema(name)
    assert json.loads(json.dumps(schema)) == schema
    assert schema["additionalProperties"] is False
    fields = {f.name: f for f in dataclasses.fields(TOOLS[name])}
    assert set(schema["properties"]) == set(fields)
    assert set(schema["required"]) == {n for n, f in fields.items() if f.default is dataclasses.MISSING}
    assert all(p["description"] for p in schema["properties"].values())
    assert calls.describe(name)
    assert "\n" not in calls.describe(name)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_defaults_are_not_written(name: str) -> None:
    schema = calls.schema(name)
    needed = {key: (schema["properties"][key].get("enum") or ["x"])[0] for key in schema["required"]}
    needed = {k: [v] if schema["properties"][k]["type"] == "array" else v for k, v in needed.items()}
    assert calls.arguments_of(parse(name, needed)) == needed
    defaults = {k: p["default"] for k, p in schema["properties"].items() if "default" in p}
    assert parse(name, needed | defaults) == parse(name, needed)


NAMES = sorted({key for name in TOOLS for key in calls.schema(name)["properties"]})
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300)
@given(
    st.sampled_from(sorted(TOOLS)) | st.text(max_size=10),
    st.dictionaries(
        st.sampled_from(NAMES) | st.text(max_size=8),
        JUNK,
        max_size=4,
    )
    | JUNK,
)
def test_any_json_is_parsed_or_refused_in_one_short_line(name: str, arguments: Any) -> None:
    try:
        call = parse(name, arguments)
    except ToolError as refused:
        says = str(refused)
        assert says.isprintable()
        assert len(says) < 400
    else:
        assert isinstance(call, TOOLS[name])


def refusal(name: Any, arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        parse(name, arguments)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize("name", ["delete", "Search", "search ", "__class__", "", None, 3, ["search"], {}])
def test_an_unknown_tool_lists_the_choices(name: Any) -> None:
    says = refusal(name, {})
    assert says.startswith("no tool ")
    assert all(tool in says for tool in TOOLS)


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("search", None, "search: must be an object, not"),
        ("search", [["text", "cat"]], "search: must be an object, not"),
        ("search", '{"text": "cat"}', "search: must be an object, not"),
        ("search", {"txt": "cat"}, "search: must have no 'txt'; its fields are: text, like"),
        ("search", {"__init__": "cat"}, "must have no '__init__'"),
        ("search", {3: "cat"}, "must have no '3'"),
        ("grep", {}, "grep: must have 'words' (words, or a phrase"),
        ("search", {"text": 3}, f"search.text: must be a string of at most {MAX_TEXT}"),
        ("search", {"text": None}, f"search.text: must be a string of at most {MAX_TEXT}"),
        ("search", {"text": ["cat"]}, f"search.text: must be a string of at most {MAX_TEXT}"),
        (
            "search",
            {"text": {"value": {"value": "cat"}}},
            f"search.text: must be a string of at most {MAX_TEXT}",
        ),
        ("search", {"like": "img_0123456789"}, f"search.like: must be a list of at most {MAX_IDS}, not"),
        (
            "search",
            {"like": {"0": "img_0123456789"}},
            f"search.like: must be a list of at most {MAX_IDS}, not",
        ),
        ("search", {"like": ["img_0123456789", 3]}, "search.like[1]: must be a string"),
        ("search", {"like": [["img_0123456789"]]}, "search.like[0]: must be a string"),
        ("search", {"like": ["x"] * (MAX_IDS + 1)}, f"list of at most {MAX_IDS}, not one of {MAX_IDS + 1}"),
        ("search", {"k": True}, "search.k: must be a whole number"),
        ("search", {"k": 3.0}, "search.k: must be a whole number"),
        ("search", {"k": "3"}, "search.k: must be a whole number"),
        ("search", {"k": float("nan")}, "search.k: must be a whole number"),
        ("search", {"k": 0}, f"search.k: must be a whole number from 1 to {MAX_RESULTS}"),
        ("search", {"k": -1}, f"search.k: must be a whole number from 1 to {MAX_RESULTS}"),
        ("search", {"k": MAX_RESULTS + 1}, f"search.k: must be a whole number from 1 to {MAX_RESULTS}"),
        ("search", {"k": 10**5_000}, f"search.k: must be a whole number from 1 to {MAX_RESULTS}"),
        ("search", {"every": 1}, "search.every: must be true or false"),
        ("search", {"every": "true"}, "search.every: must be true or false"),
        ("list", {"by": "hour"}, "list.by: must be one of: day, month, year, place, event"),
        ("list", {"by": ["day"]}, "list.by: must be one of"),
        ("list", {"by": {}}, "list.by: must be one of"),
        ("filter", {"order": None}, "filter.order: must be one of: oldest, newest"),
        ("search", {"text": "caf\udce9"}, "in valid Unicode, not 'caf\\udce9'"),
        ("get", {"id": "\ud83d"}, "get.id: must be a string"),
        ("search", {"text": "x" * (MAX_TEXT + 1)}, f"in valid Unicode, not one of {MAX_TEXT + 1} characters"),
        (
            "search",
            {"within": "two words"},
            "search.within: must be a string of",
        ),
        (
            "search",
            {"save_as": "9lives"},
            "search.save_as: must be a string of",
        ),
        (
            "search",
            {"save_as": "a\nb"},
            "search.save_as: must be a string of",
        ),
        (
            "search",
            {"save_as": "été"},
            "search.save_as: must be a string of",
        ),
        (
            "search",
            {"save_as": "x" * 41},
            "search.save_as: must be a string of",
        ),
        (
            "combine",
            {"how": "xor", "first": "a", "second": "b", "save_as": "c"},
            "how: must be one of",
        ),
        ("combine", {"how": "and", "first": "a b", "second": "b", "save_as": "c"}, "combine.first: must be"),
    ],
)
def test_a_wrong_argument_is_named_with_what_to_give_instead(name: str, arguments: Any, says: str) -> None:
    assert says in refusal(name, arguments)


def test_texts_lose_the_space_around_them_and_keep_all_else() -> None:
    assert parse("search", {"text": " \n a \x00 b "}) == calls.Search("a \x00 b")
    assert parse("search", {"text": "x" * MAX_TEXT, "like": ["y"] * MAX_IDS})


class Counted(Mapping[str, Any]):
    """Arguments that count how many of them were looked at."""

    def __init__(self, size: int) -> None:
        self.size, self.seen = size, 0

    def __getitem__(self, key: str) -> Any:
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for n in range(self.size):
            self.seen += 1
            yield f"argument {n}"

    def __len__(self) -> int:
        return self.size


def test_ten_megabytes_of_arguments_are_refused_before_they_are_read() -> None:
    """Not by a clock: a text is measured before its letters are read, and the first unknown name ends it."""

    class Long(str):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("read letter by letter")

    assert "one of 10000000 characters" in refusal("search", {"text": Long("x" * 10_000_000)})
    assert "not one of 1000000" in refusal("search", {"like": [Long("x" * 10)] * 1_000_000})
    many = Counted(1_000_000)
    assert len(refusal("search", many)) < 300
    assert many.seen == 1
    assert len(refusal("search", {"x" * 10_000_000: 1})) < 300
    assert len(refusal("x" * 10_000_000, {})) < 300


def test_deeply_nested_arguments_are_refused_without_being_followed() -> None:
    nested: Any = "cat"
    for _ in range(100_000):
        nested = [nested]
    assert "must be a string" in refusal("search", {"text": nested})
    assert "must be a string" in refusal("search", {"like": nested})
    assert "search: must be an object, not a list" in refusal("search", nested)
    assert "no tool" in refusal(nested, {})
