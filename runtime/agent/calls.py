"""The tools' definitions: one frozen dataclass for each, from which its schema and its checks are made.

A mind, a language model and an MCP client all name a tool and give arguments as JSON. `parse` turns them into
a call, or raises ToolError with one line that says what to give instead. Arguments are hostile: they may come
from a model that has read a stranger's caption.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gamer.index.fields import FIELDS

from ..errors import RuntimeFailure

MAX_TEXT = 4_000  # characters of an argument
MAX_IDS = 200  # items of a list argument
SHOWN = 20  # photos of a preview
SEARCHED = 20  # photos that a search returns unless told otherwise
MAX_RESULTS = 1_000
VIEWED, VIEWED_OF_SET = 6, 20  # photos of one call of `view`: named one by one, or a subset
_NAME = r"[A-Za-z][A-Za-z0-9_-]{0,39}"  # of a subset


class ToolError(RuntimeFailure):
    """A call that cannot be made as given; the message says what to give instead."""


def argument(description: str, **limits: Any) -> Any:
    """A dataclass field with the description of a tool's argument; `default` makes it optional."""
    default = limits.pop("default", dataclasses.MISSING)
    return field(default=default, metadata={"description": description, **limits})


_WITHIN = "name of a subset to stay inside; empty: the whole album"
_SAVE_AS = "name under which to keep the result as a subset; empty: not kept"


@dataclass(frozen=True)
class Search:
    """Find photos by meaning: that `text` describes, that look like the photos `like`, or both."""

    text: str = argument("what is in the photos; times and places are understood", default="")
    like: tuple[str, ...] = argument("ids of photos that serve as examples", default=())
    within: str = argument(_WITHIN, default="")
    save_as: str = argument(_SAVE_AS, default="")
    k: int = argument("how many photos", default=SEARCHED, least=1, most=MAX_RESULTS)
    every: bool = argument("every photo that fits `text`, however many, instead of the best k", default=False)


@dataclass(frozen=True)
class Grep:
    """Find photos whose memories hold words: ranked by BM25, or with "quotes" an exact phrase."""

    words: str = argument('words, or a phrase in "quotes"')
    within: str = argument(_WITHIN, default="")
    save_as: str = argument(_SAVE_AS, default="")
    k: int = argument("how many photos", default=SEARCHED, least=1, most=MAX_RESULTS)


@dataclass(frozen=True)
class Filter:
    """Photos that meet a condition on time, place, source, event or people, in order of time."""

    where: str = argument(
        'a condition, such as: day = 2025-05-13 and not place = "Tokyo"; fields: time, day, month, year, '
        f"hour, weekday, place, source, event, people, photo, {', '.join(field.name for field in FIELDS)}; "
        "operators: = != < <= > >=, and, or, not, "
        "parentheses; empty: no condition",
        default="",
    )
    within: str = argument(_WITHIN, default="")
    order: Literal["oldest", "newest"] = argument("which come first", default="oldest")
    limit: int = argument("how many photos; 0: all", default=0, least=0, most=MAX_RESULTS)
    save_as: str = argument(_SAVE_AS, default="")


@dataclass(frozen=True)
class List:
    """Count the photos by day, month, year, place or event."""

    by: Literal["day", "month", "year", "place", "event"] = argument("what to group by")
    within: str = argument(_WITHIN, default="")


@dataclass(frozen=True)
class Metadata:
    """Time, place, event and file of photos, without their memories."""

    ids: tuple[str, ...] = argument("ids of the photos")


@dataclass(frozen=True)
class Get:
    """Everything that the album knows of one photo."""

    id: str = argument("id of the photo")


@dataclass(frozen=True)
class View:
    """Answer a prompt about photos from what can see them: labels, text in the picture, captions."""

    prompt: str = argument("what to find out")
    ids: tuple[str, ...] = argument(f"ids of at most {VIEWED} photos", default=())
    within: str = argument(f"or the name of a subset of at most {VIEWED_OF_SET} photos", default="")


@dataclass(frozen=True)
class Combine:
    """Make a subset of two: photos in both (and), in either (or), in the first alone (minus)."""

    how: Literal["and", "or", "minus"] = argument("how to combine")
    first: str = argument("name of a subset")
    second: str = argument("name of a subset")
    save_as: str = argument("name of the new subset")


@dataclass(frozen=True)
class WebSearch:
    """Search outside the album. Off: nothing leaves the device."""

    query: str = argument("what to look up")


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
_NAMES = {kind: name for name, kind in TOOLS.items()}
_SUBSETS = ("within", "save_as", "first", "second")  # arguments that name a subset


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
    hints = get_type_hints(kind)
    for f in dataclasses.fields(kind):
        properties[f.name] = _type_schema(hints[f.name], f.metadata) | {
            "description": f.metadata["description"]
        }
        if f.name in _SUBSETS:
            properties[f.name]["pattern"] = f"^({_NAME})?$"
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


def _type_schema(hint: Any, limits: Mapping[str, Any]) -> dict[str, Any]:
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if hint is int:
        return {"type": "integer", "minimum": limits["least"], "maximum": limits["most"]}
    if hint is bool:
        return {"type": "boolean"}
    if hint is str:
        return {"type": "string", "maxLength": MAX_TEXT}
    return {"type": "array", "items": {"type": "string", "maxLength": MAX_TEXT}, "maxItems": MAX_IDS}


def parse(name: str, arguments: object) -> Call:
    """The call of a tool's name and JSON arguments. Raises ToolError."""
    if not isinstance(name, str) or name not in TOOLS:  # JSON from a model may be anything
        shown = name[:40] if isinstance(name, str) else type(name)
        raise ToolError(f"no tool {shown!r}; choose one of: {', '.join(TOOLS)}")
    if not isinstance(arguments, Mapping):
        raise ToolError(f"{name}: the arguments are not an object of names and values")
    kind = TOOLS[name]
    hints, fields = get_type_hints(kind), {f.name: f for f in dataclasses.fields(kind)}
    for key in arguments:
        if key not in fields:
            raise ToolError(f"{name}: no argument {str(key)[:40]!r}; it takes {', '.join(fields)}")
    values = {}
    for key, f in fields.items():
        if key in arguments:
            values[key] = _checked(f"{name}: {key}", arguments[key], hints[key], f.metadata)
        elif f.default is dataclasses.MISSING:
            raise ToolError(f"{name}: {key} is missing: {f.metadata['description']}")
    for key in _SUBSETS:
        if values.get(key) and not re.fullmatch(_NAME, values[key]):
            raise ToolError(f"{name}: {key}: a subset's name is a letter, then letters, digits, - or _")
    call: Call = kind(**values)
    return call


def _checked(where: str, value: Any, hint: Any, limits: Mapping[str, Any]) -> Any:
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ToolError(f"{where}: choose one of: {', '.join(get_args(hint))}")
        return value
    if hint is int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ToolError(f"{where}: give a whole number")
        if not limits["least"] <= value <= limits["most"]:
            raise ToolError(f"{where}: give {limits['least']} to {limits['most']}")
        return value
    if hint is bool:
        if not isinstance(value, bool):
            raise ToolError(f"{where}: give true or false")
        return value
    if hint is str:
        return _text(where, value)
    if not isinstance(value, list | tuple):
        raise ToolError(f"{where}: give a list of texts")
    if len(value) > MAX_IDS:
        raise ToolError(f"{where}: {len(value)} items; give at most {MAX_IDS}")
    return tuple(_text(where, item) for item in value)


def _text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ToolError(f"{where}: give a text")
    if len(value) > MAX_TEXT:
        raise ToolError(f"{where}: {len(value)} characters; give at most {MAX_TEXT}")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ToolError(f"{where}: not valid UTF-8")
    return value.strip()
