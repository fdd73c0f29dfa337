"""The tools' definitions: one frozen dataclass for each, from which its schema and its checks are made.

A mind, a language model and an MCP client all name a tool and give arguments as JSON. `parse` turns them into
a call, or raises ToolError with one line that says what to give instead. Arguments are hostile: they may come
from a model that has read a stranger's caption.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from gamer.index.fields import FIELDS
from gamer.index.json_checked import UNICODE, Between, Items, JsonError, Text, read_as

from .. import defaults
from ..errors import RuntimeFailure
from ..texts import one_line

MAX_TEXT = 4_000  # characters of an argument
MAX_IDS = 200  # items of a list argument
SHOWN, SEARCHED, MAX_RESULTS = defaults.TOOL_SHOWN, defaults.TOOL_SEARCHED, defaults.MAX_HITS
VIEWED, VIEWED_OF_SET = defaults.VIEWED, defaults.VIEWED_OF_SET
SUBSET = r"([A-Za-z][A-Za-z0-9_-]{0,39})?"  # a name, or ""


class ToolError(RuntimeFailure):
    """A call that cannot be made as given; the message says what to give instead."""


def about(description: str) -> dict[str, str]:
    """The metadata of a field that is a tool's argument."""
    return {"description": description}


_Words = Annotated[str, Text(MAX_TEXT, pattern=UNICODE, form="in valid Unicode", stripped=True)]
_Ids = Annotated[tuple[_Words, ...], Items(MAX_IDS)]
_FORM = "that names a subset: a letter, then letters, digits, - or _"
_Subset = Annotated[str, Text(MAX_TEXT, pattern=SUBSET, form=_FORM, stripped=True)]
_Limit = Annotated[int, Between(0, MAX_RESULTS)]
_Count = Annotated[int, Between(1, MAX_RESULTS)]
_WITHIN = "name of a subset to stay inside; empty: the whole album"
_SAVE_AS = "name under which to keep the result as a subset; empty: not kept"


@dataclass(frozen=True)
class Search:
    """Find photos and events by meaning: that `text` describes, that look like the photos `like`, or both."""

    text: _Words = field(default="", metadata=about("what is in the photos; times and places are understood"))
    like: _Ids = field(default=(), metadata=about("ids of photos that serve as examples"))
    within: _Subset = field(default="", metadata=about(_WITHIN))
    save_as: _Subset = field(default="", metadata=about(_SAVE_AS))
    k: _Count = field(default=SEARCHED, metadata=about("how many photos"))
    every: bool = field(
        default=False, metadata=about("every photo that fits `text`, however many, instead of the best k")
    )


@dataclass(frozen=True)
class Grep:
    """Find photos whose memories, and events whose texts, hold words: by BM25, or "quoted" exactly."""

    words: _Words = field(metadata=about('words, or a phrase in "quotes"'))
    within: _Subset = field(default="", metadata=about(_WITHIN))
    save_as: _Subset = field(default="", metadata=about(_SAVE_AS))
    k: _Count = field(default=SEARCHED, metadata=about("how many photos"))


@dataclass(frozen=True)
class Filter:
    """Photos that meet a condition on time, place, source, event or people, in order of time."""

    where: _Words = field(
        default="",
        metadata=about(
            'a condition, such as: day = 2025-05-13 and not place = "Tokyo"; fields: time, day, month, year, '
            "hour, weekday, place, source, event, people, photo, "
            f"{', '.join(field.name for field in FIELDS)}; operators: = != < <= > >=, and, or, not, "
            "parentheses; empty: no condition"
        ),
    )
    within: _Subset = field(default="", metadata=about(_WITHIN))
    order: Literal["oldest", "newest"] = field(default="oldest", metadata=about("which come first"))
    limit: _Limit = field(default=0, metadata=about("how many photos; 0: all"))
    save_as: _Subset = field(default="", metadata=about(_SAVE_AS))


@dataclass(frozen=True)
class List:
    """Count the photos by day, month, year, place or event."""

    by: Literal["day", "month", "year", "place", "event"] = field(metadata=about("what to group by"))
    within: _Subset = field(default="", metadata=about(_WITHIN))


@dataclass(frozen=True)
class Metadata:
    """Time, place and event of photos, without their memories."""

    ids: _Ids = field(metadata=about("ids of the photos"))


@dataclass(frozen=True)
class Get:
    """Everything that the album knows of one photo, or of one event: its name, summary and photos."""

    id: _Words = field(metadata=about("id of the photo or event"))


@dataclass(frozen=True)
class View:
    """Answer a prompt about photos from what can see them: labels, text in the picture, captions."""

    prompt: _Words = field(metadata=about("what to find out"))
    ids: _Ids = field(default=(), metadata=about(f"ids of at most {VIEWED} photos"))
    within: _Subset = field(
        default="", metadata=about(f"or the name of a subset of at most {VIEWED_OF_SET} photos")
    )


@dataclass(frozen=True)
class Combine:
    """Make a subset of two: photos in both (and), in either (or), in the first alone (minus)."""

    how: Literal["and", "or", "minus"] = field(metadata=about("how to combine"))
    first: _Subset = field(metadata=about("name of a subset"))
    second: _Subset = field(metadata=about("name of a subset"))
    save_as: _Subset = field(metadata=about("name of the new subset"))


@dataclass(frozen=True)
class WebSearch:
    """Search outside the album. Off: nothing leaves the device."""

    query: _Words = field(metadata=about("what to look up"))


Call = Search | Grep | Filter | List | Metadata | Get | View | Combine | WebSearch
TOOLS: dict[str, type[Any]] = {
    "search": Search,
    "grep": Grep,
    "filter": Filter,
    "list": List,
    "metadata": Metadata,
    "get": Get,
    "view": View,
    "combine": Combine,
    "web_search": WebSearch,
}
OFFERED = tuple(name for name in TOOLS if name != "web_search")  # to models that run elsewhere
_NAMES = {kind: name for name, kind in TOOLS.items()}


def name_of(call: Call) -> str:
    return _NAMES[type(call)]


def arguments_of(call: Call) -> dict[str, Any]:
    """The arguments that differ from their defaults, as JSON."""
    return {
        f.name: list(value) if isinstance(value, tuple) else value
        for f in dataclasses.fields(call)
        if (value := getattr(call, f.name)) != f.default
    }


def describe(name: str) -> str:
    return " ".join((TOOLS[name].__doc__ or "").split())


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments, as OpenAI's tools and MCP's `inputSchema` take it."""
    kind, properties, required = TOOLS[name], {}, []
    hints = get_type_hints(kind, include_extras=True)
    for f in dataclasses.fields(kind):
        properties[f.name] = _type_schema(hints[f.name]) | {"description": f.metadata["description"]}
        if hints[f.name] == _Subset:
            properties[f.name]["pattern"] = f"^{SUBSET}$"
        if f.default is dataclasses.MISSING:
            required.append(f.name)
        else:
            properties[f.name]["default"] = list(f.default) if isinstance(f.default, tuple) else f.default
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _type_schema(hint: Any) -> dict[str, Any]:
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if hint is bool:
        return {"type": "boolean"}
    kind, bound = get_args(hint)
    if kind is int:
        return {"type": "integer", "minimum": bound.least, "maximum": bound.most}
    if kind is str:
        return {"type": "string", "maxLength": bound.most}
    return {"type": "array", "items": _type_schema(_Words), "maxItems": bound.most}


def parse(name: str, arguments: object, offered: Collection[str] = tuple(TOOLS)) -> Call:
    """The call of a tool's name and JSON arguments. Raises ToolError."""
    if not isinstance(name, str) or name not in offered:  # JSON from a model may be anything
        shown = one_line(name, 40) if isinstance(name, str) else type(name)
        raise ToolError(f"no tool {shown!r}; choose one of: {', '.join(offered)}")
    try:
        call: Call = read_as(TOOLS[name], arguments, name)
    except JsonError as error:
        raise ToolError(str(error)) from None
    return call
