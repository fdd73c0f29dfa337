"""Each kind of mistake is told from trace and truth, and the anchor's only where the truth places it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from gamer.bench.agent.mistakes import MISTAKES, RIGHT, Calendar, anchors_of, mistake
from gamer.index import image_id
from gamer.runtime.agent.calls import Call, Filter, Search
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
        ("kites", "p1", "", [], "nothing given"),
        ("kites", "p1", "p2", [(ANCHOR, "p1 p2")], "overlooked"),
        ("kites", "p1", "p2", [(ANCHOR, "p2")], "not seen"),
        (SAME, "p1 p2", "p4 p5", [(ANCHOR, "p3"), (day("p3", "2025-05-02"), "p4 p5")], "anchor not found"),
        (SAME, "p1 p2", "p4 p5", [(ANCHOR, "p3 p0"), (day("p3", "2025-05-02"), "p4 p5")], "wrong anchor"),
        (SAME, "p1 p2", "p3", [(ANCHOR, "p0"), (day("p0", "2025-05-03"), "p3")], "wrong order or day"),
        (SAME, "p1 p2", "", [(ANCHOR, "p0")], "nothing given"),
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


def test_a_task_that_was_cut_off_is_no_mistake_of_its_set(when: Calendar) -> None:
    cut = replace(trace(), ended="budget")
    assert mistake("kites", short("p1"), set(), cut, when) == "budget spent"
    assert mistake("kites", short("p1"), set(), replace(cut, ended="the host is gone"), when) == "failed"


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
