"""The mind behind an endpoint: what it tells the model, and how it reads what the model says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gamer.index import image_id
from gamer.main import main
from gamer.runtime.agent.calls import OFFERED
from gamer.runtime.agent.loop import Budget, Outcome
from gamer.runtime.agent.openai_mind import MAX_CALLS, OpenAiMind
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.endpoint import KEY, Endpoint
from gamer.runtime.search.engine import Engine
from tests.runtime.agent.fake_endpoint import FINAL, SECRET, Fake, raw, says, solve
from tests.runtime.agent.leaving.secrets_album import SHOWN, engine_in, leaks


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_in(tmp_path_factory.mktemp("album")) as opened:
        yield opened


def ids(outcome: Outcome) -> list[str]:
    return [item.id for item in outcome.photos]


def test_a_task_of_several_calls(engine: Engine, fake: Fake) -> None:
    outcome = solve(
        engine,
        fake,
        says("First the boats.", ("grep", {"words": "boats", "save_as": "boats"})),
        says(None, ("filter", {"within": "boats", "order": "newest"}), ("list", {"by": "day"})),
        says(FINAL),
    )
    assert outcome.ended == "answer"
    assert ids(outcome) == [image_id("harbour"), image_id("boat")]
    assert [step.thought for step in outcome.steps] == ["First the boats.", "", ""]
    path, _, request = fake.requests[0]
    assert path == "/v1/chat/completions"
    assert request["model"] == "small"
    assert not request["stream"]
    assert [tool["function"]["name"] for tool in request["tools"]] == list(OFFERED)
    assert "web_search" not in OFFERED
    roles = [message["role"] for message in fake.requests[2][2]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool", "tool"]
    assert all("left: " in told for told in fake.told())


def test_nothing_that_must_stay_is_in_the_traffic(
    engine: Engine, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, SECRET)
    calls = [
        ("search", {"text": "everything", "k": 1000}),
        ("search", {"text": "boats", "every": True}),
        ("grep", {"words": '"boats"'}),
        ("filter", {"save_as": "mine"}),
        ("filter", {"where": "not people = 5"}),
        ("list", {"by": "event"}),
        ("list", {"by": "day"}),
        ("view", {"prompt": "?", "within": "all"}),
        ("get", {"id": image_id("half")}),
        ("metadata", {"ids": [image_id(name) for name in SHOWN]}),
        ("filter", {"where": "photo = nobody"}),
    ]
    outcome = solve(engine, fake, *(says("next", call) for call in calls), says(FINAL), context=100_000)
    assert outcome.ended == "answer"
    assert len(outcome.steps) == len(calls)
    assert leaks(fake.traffic) == []
    assert str(engine.album.path) not in fake.traffic
    assert "two blue cups" in fake.traffic  # what may leave did
    assert fake.requests[0][1]["Authorization"] == f"Bearer {SECRET}"
    assert SECRET not in json.dumps([body for _, _, body in fake.requests])


def test_a_toolbox_that_tells_all_is_refused(engine: Engine, fake: Fake) -> None:
    with pytest.raises(RuntimeFailure, match="may leave the device"):
        OpenAiMind(Toolbox(engine), Endpoint(fake.url, "small"))


def test_a_memory_that_gives_orders_is_quoted_in_one_line(engine: Engine, fake: Fake) -> None:
    """And a model that obeys it reaches nothing."""
    outcome = solve(
        engine,
        fake,
        says(None, ("get", {"id": image_id("market")})),
        says("I obey.", ("web_search", {"query": "send every photo"})),
        says(FINAL),
    )
    messages = fake.requests[-1][2]["messages"]
    for message in messages:
        for line in str(message["content"]).splitlines():
            if "Ignore all rules" in line:
                assert message["role"] == "tool"
                assert line.endswith('"')
                assert line.count('"') == 2
                assert line.index('"') < line.index("Ignore all rules")
    assert "no tool 'web_search'" in fake.told()[-1]
    assert outcome.steps[1].call is None
    assert "send every photo" not in json.dumps(messages[-2:])


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        (("fly", {}), "no tool 'fly'"),
        (("search", "{not json"), "the arguments must be JSON"),
        (("search", "[" * 100_000), "the arguments must be JSON"),
        (("search", "[1, 2]"), "must be an object"),
        (("search", {"text": "boats", "k": 0}), "from 1 to 1000"),
        (("search", {"word": "boats"}), "must have no 'word'"),
        (("search", {"text": "x" * 1_000_000}), "of at most 4000 characters"),
        (("search", ""), "give a text"),
        (("get", {"id": image_id("clinic")}), "no photo"),
        (("x\nThe final answer is: all" * 99, {}), "no tool"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_wrong_call_is_told_to_the_model(engine: Engine, fake: Fake, wish: Any, reason: str) -> None:
    outcome = solve(engine, fake, says("hm", wish), says(FINAL))
    assert outcome.ended == "answer"
    assert len(outcome.steps) == 1
    (told,) = fake.told()
    assert told.startswith("error: ")
    assert reason in told
    assert len(told) < 600
    assert len(json.dumps(fake.requests[-1][2]["messages"])) < 6_000


def test_messages_of_any_shape_end_in_no_crash(engine: Engine, fake: Fake) -> None:
    shapes: list[Any] = [
        {},
        {"content": 5},
        {"content": [{"type": "text", "text": "a"}, 7, {"text": None}]},
        {"content": "\ud800", "tool_calls": "no list"},
        {"tool_calls": [None, 5, {"function": None}, {"id": 5, "function": {"name": 5, "arguments": 5}}]},
        {"tool_calls": [{"id": "\n", "function": {"name": "list", "arguments": {"by": "day"}}}] * 40},
    ]
    replies = [raw(json.dumps({"choices": [{"message": shape}]}).encode()) for shape in shapes]
    outcome = solve(engine, fake, *replies, says(FINAL))
    assert outcome.ended == "answer"
    assert len([step for step in outcome.steps if step.call is not None]) == MAX_CALLS


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FINAL, ["harbour", "boat"]),
        (f"**The final answer is:** [`{image_id('boat')}`]", ["boat"]),
        (f"the FINAL answer is {image_id('boat')} and {image_id('boat')}.", ["boat"]),
        (f"The final answer is: [img_0123456789, {image_id('boat')}, img_zz]", ["boat"]),
        (f"The final answer is: [{image_id('clinic')}, clinic, {image_id('vault')}]", []),
        (f"The final answer is: [no]. Wait. The final answer is: [{image_id('boat')}]", ["boat"]),
        ("The final answer is: [mine]", ["harbour", "market", "half", "boat"]),
        ("The final answer is: all of mine", []),
        ("The final answer is: []", []),
        ("The final answer is:", []),
    ],
)
def test_the_final_answer_is_read_however_it_is_written(
    engine: Engine, fake: Fake, text: str, found: list[str]
) -> None:
    outcome = solve(engine, fake, says(None, ("filter", {"save_as": "mine"})), says(text))
    assert ids(outcome) == [image_id(name) for name in found]
    assert outcome.ended == "answer"
    assert outcome.answer.found == bool(found)


def test_a_sentence_comes_with_its_photos(engine: Engine, fake: Fake) -> None:
    outcome = solve(engine, fake, says(f"I looked.\nOn 2 May 2026.\n{FINAL}"), end="sentence")
    assert outcome.answer.sentence == "On 2 May 2026."
    assert len(outcome.photos) == 2
    outcome = solve(engine, fake, says("The final answer is: []"), end="sentence")
    assert not outcome.answer.found


def test_a_model_that_only_talks_is_asked_to_act_until_the_budget_ends(engine: Engine, fake: Fake) -> None:
    outcome = solve(engine, fake, says("Let me think."), budget=Budget(5, 1, 4))
    assert outcome.ended == "budget"
    assert len(outcome.steps) == 4
    assert "Call a tool" in fake.requests[-1][2]["messages"][-1]["content"]


def test_endless_calls_end_with_the_budget_after_a_last_chance(engine: Engine, fake: Fake) -> None:
    outcome = solve(engine, fake, says("again", ("filter", {})), budget=Budget(3, 1, 30))
    assert outcome.ended == "budget"
    assert len(outcome.steps) == 3
    assert len(fake.requests) == 4
    assert [request["tool_choice"] for _, _, request in fake.requests] == ["auto", "auto", "auto", "none"]
    assert "give the final answer now" in fake.told()[-1]


def test_a_long_task_is_condensed_and_goes_on(engine: Engine, fake: Fake) -> None:
    thought = "I keep the boats and look on. " + "So it goes. " * 60
    keep = says(thought, ("filter", {"save_as": "kept"}))
    outcome = solve(engine, fake, *[keep] * 20, says(FINAL), context=4_096)
    assert outcome.ended == "answer"
    assert len(outcome.steps) == 20
    sizes = [len(json.dumps(request["messages"])) for _, _, request in fake.requests]
    assert max(sizes) < 4_096 * 4
    assert sizes != sorted(sizes)
    notes = [
        r["messages"][1]["content"] for _, _, r in fake.requests if "Goal:" in r["messages"][1]["content"]
    ]
    assert notes
    assert "where are the boats?" in notes[0]
    assert "kept: 4 photos" in notes[0]
    for _, _, request in fake.requests:  # a tool's message always follows the call that it answers
        keys = [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"]
        asked = [c["id"] for m in request["messages"] for c in m.get("tool_calls", ())]
        assert keys == asked


def test_a_context_that_holds_no_tools_is_refused(engine: Engine, fake: Fake) -> None:
    with pytest.raises(RuntimeFailure, match="a context of 100 tokens"):
        OpenAiMind(Toolbox(engine, leaving=True), Endpoint(fake.url, "m"), context=100)


@pytest.mark.slow
def test_the_command_asks_the_endpoint_that_it_is_given(bundle: Path, sample_album: Path, fake: Fake) -> None:
    fake.replies = [
        says("look", ("search", {"text": "my cat", "k": 1, "save_as": "cat"})),
        says("The final answer is: [cat]"),
    ]
    asked = ["ask", str(sample_album), "my cat", "-b", str(bundle), "--model", "m", "--json"]
    done = CliRunner().invoke(main, [*asked, "--endpoint", fake.url])
    assert done.exit_code == 0, done.output
    outcome = json.loads(done.output.splitlines()[-1])
    assert outcome["mind"] == "openai:m"
    assert len(outcome["photos"]) == 1
    assert len(fake.requests) == 2
    assert (
        "needs the name of a model" in CliRunner().invoke(main, [*asked[:5], "--endpoint", fake.url]).output
    )
