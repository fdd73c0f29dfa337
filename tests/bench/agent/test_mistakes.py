"""Kinds and classes of mistakes are told from trace and truth, an anchor's only where the truth places it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gamer.bench.agent.mistakes import CLASSES, MISTAKES, RIGHT, Calendar, anchors_of, class_of, mistake
from gamer.index import image_id
from gamer.runtime.agent.calls import Call, Filter, Search, View
from gamer.runtime.agent.loop import Budget
from gamer.runtime.agent.recording import Trace, Turn
from gamer.runtime.questions.reader import read
from gamer.runtime.search.engine import Engine
from tests.fakes import fake_models
from tests.runtime.agent.small_album import engine_over, photo

# Two days of three photos each, and one without a date.
PHOTOS = [photo(f"p{n}", f"2025-05-{1 + n // 3:02}T1{n % 3}:00:00", f"memory {n}") for n in range(6)]
SAME, AFTER = "what else I photographed on the day of the kite", "the photo right after the kite"


@pytest.fixture(scope="module")
def when(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calendar]:
    engine: Engine = engine_over(
        fake_models(), tmp_path_factory.mktemp("a"), [*PHOTOS, photo("undated", None, "no date")]
    )
    yield Calendar(engine.album)
    engine.close()


def short(names: str) -> set[str]:
    return {image_id(name) for name in names.split()}


def trace(*turns: tuple[Call, str]) -> Trace:
    """`turns`: calls with the photos that they found."""
    made = [
        Turn.of("", call, "", len(found.split()), tuple(map(image_id, found.split())), 1.0)
        for call, found in turns
    ]
    return Trace("t", SAME, "set", "m", "", False, Budget(), "none", tuple(made), (), "", True, "answer")


def day(name: str, date: str) -> Call:
    return Filter(f"time = {date} and not photo = {image_id(name)}")


def beside(sign: str, name: str) -> Call:
    return Filter(f"time {sign} {image_id(name)}")


ANCHOR = Search("the kite", k=5)


@pytest.mark.parametrize(
    ("question", "relevant", "given", "turns", "kind"),
    [
        ("kites", "p1 p2", "p2 p1", [], RIGHT),
        ("kites", "", "", [], RIGHT),
        ("kites", "", "p1", [], "answered what is not there"),
        ("kites", "p1", "p1 p2", [], "too many"),
        ("kites", "p1 p2", "p2", [], "too few"),
        ("kites", "p1 p2", "p2 p3", [], "partly right"),
        ("kites", "p1", "", [], "none right"),
        ("kites", "p1", "p2", [(ANCHOR, "p1 p2")], "none right"),
        (SAME, "p1 p2", "p4 p5", [(ANCHOR, "p3"), (day("p3", "2025-05-02"), "p4 p5")], "anchor not found"),
        (SAME, "p1 p2", "p4 p5", [(ANCHOR, "p3 p0"), (day("p3", "2025-05-02"), "p4 p5")], "wrong anchor"),
        (SAME, "p1 p2", "p3", [(ANCHOR, "p0"), (day("p0", "2025-05-03"), "p3")], "wrong order or day"),
        (SAME, "p1 p2", "", [(ANCHOR, "p0")], "none right"),
        (SAME, "p1 p2", "", [(ANCHOR, "")], "anchor not found"),
        (
            AFTER,
            "p2",
            "p0",
            [(ANCHOR, "p1"), (beside("<", "p1"), "p0")],
            "wrong order or day",
        ),
        (AFTER, "p2", "p4", [(ANCHOR, "p3 p1"), (beside(">", "p3"), "p4")], "wrong anchor"),
    ],
)
def test_the_kind_of_a_mistake(
    when: Calendar, question: str, relevant: str, given: str, turns: list[tuple[Call, str]], kind: str
) -> None:
    assert mistake(question, short(relevant), short(given), trace(*turns), when) == kind
    assert kind == RIGHT or kind in MISTAKES


LOOK = View("what?", (image_id("p1"),))


@pytest.mark.parametrize(
    ("relevant", "turns", "ended", "found"),
    [
        ("p1", [(ANCHOR, "p1")] * 3, "budget", "budget spent"),
        ("p1", [(ANCHOR, "p1")] * 20, "answer", "budget spent"),
        ("p1", [(LOOK, "p1")] * 5, "answer", "budget spent"),
        ("p1", [(ANCHOR, "p1")] * 2, "answer", "gave up"),
        ("p1", [(ANCHOR, "")] * 2, "the host is gone", "wrong evidence"),  # it did not stop by itself
        ("p1 p2", [(ANCHOR, "p1 p3")] * 3, "answer", "wrong evidence"),
        ("p1 p2", [(ANCHOR, "p1"), (ANCHOR, "p2"), (LOOK, "p1")], "answer", "looked"),
        ("p2 p3", [(ANCHOR, "p2"), (ANCHOR, "p3"), (LOOK, "p1")], "answer", "never looked"),
        ("", [(ANCHOR, "p1")] * 3, "answer", "other"),
    ],
)
def test_the_class_of_a_wrong_answer(
    relevant: str, turns: list[tuple[Call, str]], ended: str, found: str
) -> None:
    assert class_of(short(relevant), replace(trace(*turns), ended=ended)) == found
    assert found in CLASSES


@pytest.mark.parametrize(
    ("question", "relevant", "photos"),
    [
        (SAME, "p1 p2", "p0 p1 p2"),
        (AFTER, "p2", "p1"),
        ("the photo before the kite", "p2", "p3"),
        ("the next dog after the kite", "p4", None),  # its anchor may be any photo before it
        (AFTER, "p0", None),  # nothing is before the first photo
        (AFTER, "undated", None),
        ("the photos after the kite", "p1 p3", None),  # not together, so not just beside the anchor
        ("kites", "p1", None),
    ],
)
def test_where_an_anchor_must_lie(when: Calendar, question: str, relevant: str, photos: str | None) -> None:
    anchors = anchors_of(read(question), short(relevant), when)
    assert (None if anchors is None else anchors.photos) == (None if photos is None else short(photos))
