"""What is told of a random album with secrets is what one without them tells: every tool, and a task."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import image_id
from gamer.runtime.agent.calls import ToolError, parse
from gamer.runtime.agent.loop import run
from gamer.runtime.agent.rules import RulesMind
from gamer.runtime.agent.spans import SpanReader
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.search.options import SearchOptions
from tests.runtime.agent.leaving.secrets_album import engine_in

NOW = datetime(2026, 11, 21, 12)
EXAMPLES = int(os.environ.get("LEAVING_EXAMPLES", "8"))
TEXTS = (
    "a red kite", "My red bag", "my red bags at IKEA: 119 euros", "Zebulon at the harbour", "boats", "cheese",
    "blue cups", "the affair with Anna", "Lisbon", "boats and cheese", "x",
)  # fmt: skip
SOURCES = ("note", "caption", "chat", "social", "people", "ocr")
QUERIES = ("boats", "red kite in may", "photos with Anna", "the affair", "my red bag", "boats not cheese")
QUESTIONS = (
    "what did I do two days after the boats",
    "how many photos of cheese",
    "photos after the red kite",
)
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("search", {"text": text}) for text in QUERIES),
    ("search", {"text": "boats", "every": True}),
    ("search", {"text": "bots", "k": 1000}),
    ("grep", {"words": "boats"}),
    ("grep", {"words": "affair"}),
    *(
        ("filter", {"where": where})
        for where in ("not people = 0", "source = note", "people = 1", "thing = bag")
    ),
    ("filter", {}),
    *(("list", {"by": by}) for by in ("day", "place", "event", "month", "thing", "people")),
)
marks = st.sampled_from(({}, {}, {"sharing": "low"}, {"sensitivity": "high"}))


@st.composite
def lines(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for number in range(draw(st.integers(1, 7))):
        memories = draw(
            st.lists(st.tuples(st.sampled_from(SOURCES), st.sampled_from(TEXTS), marks), max_size=4)
        )
        day, hour = draw(st.integers(1, 5)), draw(st.integers(0, 23))
        row: dict[str, Any] = {"id": f"{number}.jpg", **draw(marks)}
        if draw(st.booleans()):
            row["taken_at"] = f"2026-05-{day:02}T{hour:02}:00:00"
        if draw(st.booleans()):
            row |= {"lat": 48.0 + day, "lon": 11.0}
        row["memories"] = [{"source": source, "text": text, **mark} for source, text, mark in memories]
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A photo of which nothing may be told is still a picture."""
    folder = tmp_path_factory.mktemp("pictures")
    for number in range(7):
        Image.new("RGB", (8, 8), (30 * number, 90, 200)).save(folder / f"{number}.jpg")
    return folder


def may_leave(record: dict[str, Any]) -> bool:
    return record.get("sharing") != "low" and record.get("sensitivity") != "high"


def without(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines of an album that never had what must stay."""
    return [{**row, "memories": [*filter(may_leave, row["memories"])]} for row in rows if may_leave(row)]


def told(folder: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All that may be asked of the album of these lines, but for times that were measured."""
    folder.mkdir()
    whole = engine_in(folder, "\n".join(map(json.dumps, rows)))
    box = Toolbox(whole, NOW, leaving=True)
    out: dict[str, Any] = {}
    ids = [image_id(f"{number}.jpg") for number in range(7)]
    calls = [*CALLS, *(("get", {"id": one}) for one in ids), *(("search", {"like": [one]}) for one in ids)]
    for name, arguments in [*calls, ("metadata", {"ids": ids[:1]})]:
        out[f"{name} {arguments}"] = attempted(box, name, arguments)
    for query in QUERIES:
        answer = asdict(box.engine.search(query, now=NOW, options=SearchOptions(wishes=True)))
        for measured in ("milliseconds", "load_ms"):
            del answer["trace"][measured]
        out[query] = answer
    for question in QUESTIONS:
        outcome = run(RulesMind(box, SpanReader(box.engine, NOW)), box, question)
        steps = [
            (step.thought, step.call, step.observation and step.observation.result.full())
            for step in outcome.steps
        ]
        out[question] = (steps, asdict(outcome.answer))
    whole.close()
    return out


def attempted(box: Toolbox, name: str, arguments: dict[str, Any]) -> str:
    try:
        result = box.call(parse(name, arguments))
    except ToolError as error:
        return str(error)
    return result.preview() + json.dumps(result.full())


@settings(max_examples=EXAMPLES, deadline=None)
@given(lines())
def test_what_is_told_does_not_depend_on_what_must_stay(
    tmp_path_factory: pytest.TempPathFactory, pictures: Path, rows: list[dict[str, Any]]
) -> None:
    rows = [{**row, "path": str(pictures / row["id"])} for row in rows]
    folder, fewer = tmp_path_factory.mktemp("albums"), without(rows)
    if not fewer:
        return
    secret, plain = told(folder / "secret", rows), told(folder / "plain", fewer)
    for asked, answer in secret.items():
        assert answer == plain[asked], asked
