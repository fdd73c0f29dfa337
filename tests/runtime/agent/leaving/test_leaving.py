"""Every tool of a toolbox whose answers leave the device: nothing of what must stay is in them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gamer.index import image_id
from gamer.runtime.agent.calls import ToolError, parse
from gamer.runtime.agent.results import Result
from gamer.runtime.agent.toolbox import Toolbox
from tests.runtime.agent.leaving.secrets_album import (
    HIDDEN_IDS,
    SHOWN,
    engine_in,
    leaks,
    without_what_must_stay,
)

NOW = datetime(2026, 11, 21, 12)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"text": "boats"}),
    ("search", {"text": "oncology"}),
    ("search", {"text": "everything about the affair", "every": True}),
    ("search", {"text": "two days after oncology"}),
    ("search", {"text": "boats", "k": 1000}),
    ("grep", {"words": "boats"}),
    ("grep", {"words": "blue cups"}),
    ("filter", {}),
    ("filter", {"where": "not people = 0"}),
    ("filter", {"where": "not day = 2020-01-01"}),
    ("filter", {"where": "source = note"}),
    ("filter", {"where": 'not people = "Nobody"'}),
    ("list", {"by": "day"}),
    ("list", {"by": "place"}),
    ("list", {"by": "event"}),
    ("metadata", {"ids": [image_id(name) for name in SHOWN]}),
    *(("get", {"id": image_id(name)}) for name in SHOWN),
    ("view", {"prompt": "what is it?", "ids": [image_id(name) for name in SHOWN]}),
    ("view", {"prompt": "what is it?", "within": "all"}),
    ("combine", {"how": "or", "first": "all", "second": "all", "save_as": "x"}),
)


@pytest.fixture
def toolbox(tmp_path: Path) -> Iterator[Toolbox]:
    engine = engine_in(tmp_path)
    yield Toolbox(engine, NOW, leaving=True)
    engine.close()


def told(result: Result) -> str:
    return result.preview() + json.dumps(result.full())


def ids(result: Result) -> set[str]:
    return {item.id for item in result.items}


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=lambda value: str(value)[:40])
def test_no_tool_tells_what_must_stay(toolbox: Toolbox, name: str, arguments: dict[str, Any]) -> None:
    result = toolbox.call(parse(name, arguments))
    assert leaks(told(result)) == []
    assert ids(result) <= {image_id(shown) for shown in SHOWN}


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=lambda value: str(value)[:40])
def test_what_is_told_is_what_an_album_without_the_secrets_tells(
    toolbox: Toolbox, tmp_path: Path, name: str, arguments: dict[str, Any]
) -> None:
    (tmp_path / "plain").mkdir()
    plain = Toolbox(engine_in(tmp_path / "plain", without_what_must_stay()), NOW, leaving=True)
    answers = [attempted(box, name, arguments) for box in (toolbox, plain)]
    assert answers[0] == answers[1]


def attempted(box: Toolbox, name: str, arguments: dict[str, Any]) -> str:
    try:
        return told(box.call(parse(name, arguments)))
    except ToolError as error:
        return str(error)


def test_the_whole_album_is_what_may_be_told_of_it(toolbox: Toolbox) -> None:
    for name, arguments in (("filter", {}), ("view", {"prompt": "?", "within": "all"})):
        assert ids(toolbox.call(parse(name, arguments))) == {image_id(shown) for shown in SHOWN}
    days = toolbox.call(parse("list", {"by": "day"})).data
    assert days == {"2026-05-02": 2, "2026-05-04": 1, "2026-05-05": 1}


@pytest.mark.parametrize("words", ["affair", '"the affair"', "zebulon", "oncology", "passcode", '"cups the"'])
def test_grep_does_not_match_by_a_withheld_memory(toolbox: Toolbox, words: str) -> None:
    assert toolbox.call(parse("grep", {"words": words})).rows == ()


@pytest.mark.parametrize("where", ["source = people", 'people = "Zebulon"', "people = 1", 'event = "vault"'])
def test_a_condition_does_not_match_by_what_is_withheld(toolbox: Toolbox, where: str) -> None:
    assert toolbox.call(parse("filter", {"where": where})).rows == ()


def test_a_memory_that_may_leave_is_told_though_its_neighbour_may_not(toolbox: Toolbox) -> None:
    assert ids(toolbox.call(parse("grep", {"words": '"blue cups"'}))) == {image_id("half")}
    assert toolbox.call(parse("get", {"id": "half"})).data["memories"] == [
        {"source": "caption", "text": "two blue cups"}
    ]


@pytest.mark.parametrize(
    "name", [*HIDDEN_IDS, *map(image_id, HIDDEN_IDS), "withheld 2", image_id("withheld 2")]
)
def test_a_hidden_photo_is_as_unknown_as_one_that_never_was(toolbox: Toolbox, name: str) -> None:
    for tool, arguments in (
        ("get", {"id": name}),
        ("metadata", {"ids": [name]}),
        ("search", {"like": [name]}),
        ("view", {"prompt": "?", "ids": [name]}),
        ("filter", {"where": f'photo = "{name}"'}),
        ("filter", {"where": f'time > "{name}"'}),
    ):
        with pytest.raises(ToolError, match="no photo"):
            toolbox.call(parse(tool, arguments))


def test_a_word_that_only_hidden_memories_hold_weighs_like_one_that_none_holds(toolbox: Toolbox) -> None:
    (hidden,), (unknown,) = toolbox.album.words("zebulon").words, toolbox.album.words("xanthippe").words
    assert hidden.rarity == unknown.rarity
    assert hidden.rows.size == unknown.rows.size == 0


def test_a_toolbox_for_the_device_itself_tells_all(toolbox: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    whole = Toolbox(engine_in(tmp_path / "again"), NOW)
    assert len(whole.call(parse("filter", {})).rows) == 7
    assert ids(whole.call(parse("grep", {"words": "affair"}))) == {image_id("half")}
