"""Traces: what is recorded is read again, what is no trace is refused, and a replay says what differs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index import image_id
from gamer.runtime.agent import calls
from gamer.runtime.agent.calls import Call, Filter, Search, View
from gamer.runtime.agent.loop import Act, Answer, Budget, End, Outcome, Turns, run
from gamer.runtime.agent.recording import (
    MAX_LINE,
    Cost,
    Recorder,
    Trace,
    TraceError,
    Turn,
    dumps,
    parse_trace,
    read_traces,
)
from gamer.runtime.agent.replay import Replay
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine
from tests.fakes import fake_models
from tests.runtime.agent.small_album import engine_over, photo

PHOTOS = [photo(f"p{n}", f"2025-05-{n + 1:02}T10:00:00", f"memory {n}") for n in range(4)]
QUESTION = "what came after the second memory?"
BUDGET = Budget()
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
counts, durations = st.integers(0, 10**9), st.floats(0, 1e9)
ids = st.from_regex(r"img_[0-9a-f]{10}", fullmatch=True)
costs = st.builds(Cost, counts, counts, durations)
arguments = texts.map(str.strip)
anything: st.SearchStrategy[Call] = st.one_of(
    st.builds(Search, arguments, st.lists(arguments, max_size=3).map(tuple), k=st.integers(1, 1000)),
    st.builds(Filter, arguments, order=st.sampled_from(["oldest", "newest"]), limit=st.integers(0, 1000)),
    st.builds(View, arguments, within=st.just("found")),
)
turns = st.lists(ids, max_size=3).flatmap(
    lambda named: st.builds(
        Turn.of,
        texts,
        st.none() | anything,
        texts,
        st.just(len(named)),
        st.just(tuple(named)),
        durations,
        costs,
    )
)
traces = st.builds(
    Trace,
    task=texts,
    question=texts,
    end=st.sampled_from(["set", "sentence"]),
    mind=texts,
    album=texts,
    leaving=st.booleans(),
    budget=st.builds(Budget, *[st.integers(0, 1000)] * 3),
    tokens=st.sampled_from(["none", "counted", "estimated"]),
    turns=st.lists(turns, max_size=3).map(tuple),
    photos=st.lists(ids, max_size=3).map(tuple),
    sentence=texts,
    found=st.booleans(),
    ended=texts,
    cost=costs,
)


class Scripted:
    """Makes the given calls; answers with the photos of the last result."""

    name = "scripted"

    def __init__(self, *acts: Call | None, ended: str = "") -> None:
        self.acts, self.ended = acts, ended

    def solve(self, question: str, end: End) -> Turns:
        rows: tuple[int, ...] = ()
        for call in self.acts:
            rows = (yield Act("on", call)).result.rows
        if self.ended:
            raise RuntimeFailure(self.ended)
        return Answer(rows, "these")


AFTER = Filter(f"time > {image_id('p1')}", save_as="after")


def recorded(engine: Engine, *acts: Call | None, budget: Budget = BUDGET, ended: str = "") -> Trace:
    toolbox = Toolbox(engine)
    outcome = run(Scripted(*acts, ended=ended), toolbox, QUESTION, budget=budget)
    return Recorder(toolbox, budget).trace(outcome, "a task")


def replayed(engine: Engine, trace: Trace, **toolbox: Any) -> tuple[Outcome, list[str]]:
    tools = Toolbox(engine, **toolbox)
    mind = Replay(tools, trace)
    return run(mind, tools, QUESTION, budget=trace.budget), mind.differences


@given(st.lists(traces, max_size=2))
def test_what_is_written_is_read_again(written: list[Trace]) -> None:
    assert [parse_trace(line) for line in dumps(written).splitlines()] == written


@given(traces, st.data())
def test_a_trace_with_a_changed_field_is_refused_or_read_and_never_fails_otherwise(
    trace: Trace, data: st.DataObject
) -> None:
    record = json.loads(dumps([trace]))
    where = record["turns"][0] if record["turns"] and data.draw(st.booleans()) else record
    where[data.draw(st.sampled_from(sorted(where)))] = data.draw(
        st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(texts) | st.just({})
    )
    try:
        parse_trace(json.dumps(record))
    except TraceError as refused:
        assert "\n" not in str(refused)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"version": 2}, r"trace\.version: must be one of: 1, not 2"),
        ({"photos": [3]}, r"trace\.photos\[0\]: must be a string such as img_"),
        ({"photos": ["../p1"]}, "such as img_0123456789, not"),
        (
            {"budget": {"calls": 10**6, "views": 0, "turns": 0}},
            r"budget\.calls: .* from 0 to 1000",
        ),
        ({"more": 1}, "must have no 'more'"),
        ({"turns": [{}]}, r"trace\.turns\[0\]: must have 'thought'"),
        ({"end": "exec"}, r"trace\.end: must be one of: set, sentence"),
        ({"sentence": "\ud800"}, "sentence: must be a string .* in valid Unicode"),
        (
            {"cost": {"read": 0, "written": 0, "ms": float("nan")}},
            r"cost\.ms: must be a finite",
        ),
    ],
)
def test_a_wrong_field_is_named(engine: Engine, change: dict[str, Any], says: str) -> None:
    record = json.loads(dumps([recorded(engine, AFTER)]))
    with pytest.raises(TraceError, match=says):
        parse_trace(json.dumps(record | change))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("shell", {"command": "id"}), "no tool 'shell'"),
        (("filter", {"where": "x", "exec": "y"}), "filter: must have no 'exec'"),
        (("search", {"text": "x" * (calls.MAX_TEXT + 1)}), "must be a string of at most"),
        (("search", None), "search: must be an object"),
        ((None, {}), "no tool"),
    ],
)
def test_a_call_that_is_none_of_the_tools_is_refused(engine: Engine, call: Any, says: str) -> None:
    record = json.loads(dumps([recorded(engine, AFTER)]))
    record["turns"][0] |= dict(zip(("tool", "arguments"), call, strict=True))
    with pytest.raises(TraceError, match=says):
        parse_trace(json.dumps(record))


def test_the_line_of_a_malformed_trace_is_named(engine: Engine, tmp_path: Path) -> None:
    good = dumps([recorded(engine, AFTER)])
    for bad in ("[" * 100_000, "{}", "", '{"version":', "\udcff", "7" * 5_000, "x" * (MAX_LINE + 1)):
        (tmp_path / "t.jsonl").write_text(good + bad + "\n", encoding="utf-8", errors="surrogateescape")
        with pytest.raises(TraceError, match=r"t\.jsonl, line 2: .*record the traces again"):
            read_traces(tmp_path / "t.jsonl")


def test_a_trace_names_photos_by_id_alone(engine: Engine) -> None:
    trace = recorded(engine, AFTER)
    assert trace.photos == trace.turns[0].photos == (image_id("p2"), image_id("p3"))
    assert "memory 2" not in dumps([trace])
    assert '"rows"' not in dumps([trace])


def test_a_replay_makes_the_recorded_calls_and_gives_the_recorded_answer(engine: Engine) -> None:
    trace = recorded(engine, None, AFTER, Filter(within="after", limit=1), Filter("nonsense"))
    assert trace.turns[3].error
    outcome, differences = replayed(engine, trace)
    assert differences == []
    assert outcome.ended == "answer"
    assert outcome.mind == "scripted"
    assert [step.call for step in outcome.steps] == [turn.call for turn in trace.turns]
    assert Recorder(Toolbox(engine), BUDGET).trace(outcome, "a task").photos == trace.photos


@pytest.mark.parametrize(("budget", "ended"), [(Budget(calls=1), ""), (BUDGET, "the model is gone")])
def test_a_task_that_did_not_end_by_itself_ends_in_the_same_way(
    engine: Engine, budget: Budget, ended: str
) -> None:
    trace = recorded(engine, AFTER, AFTER, budget=budget, ended=ended)
    outcome, differences = replayed(engine, trace)
    assert trace.ended == outcome.ended == (ended or "budget")
    assert differences == []
    assert [item.id for item in outcome.photos] == list(trace.photos)


def test_results_that_differ_are_told(engine: Engine) -> None:
    trace = recorded(engine, AFTER, Filter())
    first, second = trace.turns
    changed = {
        "2 photos; recorded: 1": replace(first, found=1, photos=first.photos[:1]),
        "the same photos in another order": replace(first, photos=first.photos[::-1]),
        "other photos": replace(first, photos=(first.photos[0], image_id("p0"))),
        "recorded: it failed": replace(first, found=0, photos=(), error="it failed"),
    }
    for says, turn in changed.items():
        outcome, differences = replayed(engine, replace(trace, turns=(turn, second)))
        assert len(differences) == 1
        assert differences[0].startswith("turn 1, filter: ")
        assert says in differences[0]
        assert outcome.ended == "answer"


def test_a_trace_of_another_question_or_album_or_toolbox_is_refused(engine: Engine, tmp_path: Path) -> None:
    trace = recorded(engine, AFTER)
    with pytest.raises(TraceError, match="answers another question"):
        replayed(engine, replace(trace, question="another?"))
    with pytest.raises(TraceError, match="replay it with these"):
        replayed(engine, trace, leaving=True)
    (tmp_path / "other").mkdir()
    smaller = engine_over(fake_models(), tmp_path / "other", PHOTOS[:3])
    with pytest.raises(TraceError, match="another album"):
        replayed(smaller, trace)
    smaller.close()
    outcome, _ = replayed(engine, replace(trace, photos=("img_0000000000",)))
    assert "which the album lacks" in outcome.ended


def test_a_changed_memory_leaves_the_trace_valid(engine: Engine, tmp_path: Path) -> None:
    """Ids and times tell which album it is; what changed in it shows as a difference."""
    (tmp_path / "other").mkdir()
    changed = [replace(one, memories=()) for one in PHOTOS]
    other = engine_over(fake_models(), tmp_path / "other", changed)
    _, differences = replayed(other, recorded(engine, calls.Grep("memory")))
    assert differences == ["turn 1, grep: 0 photos; recorded: 4"]
    other.close()
