"""Segmenting: each dated photo is in one event, events follow one another in time, whatever the order of the
photos; a later photo changes no earlier decision; a text acts through its vector alone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.events.rules import FITTED, Rules
from gamer.runtime.events.segment import Moment, Segmenter, in_order, segment
from tests.fakes import unit

HOUR, DAY = 3_600_000, 86_400_000


def moment(n: int, wall: int | None, text: str = "", **more: object) -> Moment:
    vector = unit(text.encode()) if text else None
    return replace(Moment(f"p{n}", wall, text=vector, memories=(text,) if text else ()), **more)  # type: ignore[arg-type]


@st.composite
def albums(draw: st.DrawFn) -> list[Moment]:
    walls = draw(st.lists(st.none() | st.integers(0, 40 * DAY), max_size=25))
    texts = st.sampled_from(["", "a lake", "a cake with candles", "the office"])
    return [moment(n, wall, draw(texts)) for n, wall in enumerate(walls)]


@settings(max_examples=100, deadline=None)
@given(albums(), st.randoms(use_true_random=False))
def test_events_hold_each_dated_photo_once_in_order_of_time(album: list[Moment], random: object) -> None:
    done = segment(album, Rules())
    flat = [m for event in done.events for m in event]
    assert flat == list(in_order(album))
    assert all(done.events)
    assert sorted((*done.undated, *(m.id for m in flat))) == sorted(m.id for m in album)
    assert [d.action for d in done.decisions].count("ADD") == len(done.events)
    assert not flat or done.decisions[0].action == "ADD"
    assert all(0 <= d.probability <= 1 and d.reason.isprintable() for d in done.decisions)
    shuffled = list(album)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert segment(shuffled, Rules()) == done


@settings(max_examples=50, deadline=None)
@given(albums(), st.integers(0, 25))
def test_photos_that_are_added_later_change_no_earlier_decision(album: list[Moment], cut: int) -> None:
    dated = list(in_order(album))
    whole, part = segment(dated, Rules()), segment(dated[:cut], Rules())
    assert whole.decisions[:cut] == part.decisions
    segmenter = Segmenter(Rules())
    assert tuple(segmenter.add(m) for m in dated) == whole.decisions
    assert segmenter.events == whole.events


@settings(max_examples=50, deadline=None)
@given(albums(), st.text(min_size=1))
def test_the_words_of_a_memory_decide_nothing_but_through_their_vector(
    album: list[Moment], words: str
) -> None:
    hostile = [replace(m, memories=(words,)) if m.memories else m for m in album]
    decisions = [d.action for d in segment(album, Rules()).decisions]
    assert [d.action for d in segment(hostile, Rules()).decisions] == decisions


def test_a_new_event_begins_after_a_week_and_not_within_a_minute() -> None:
    walls = [n * 20_000 for n in range(6)] + [7 * DAY + n * 20_000 for n in range(6)]
    done = segment([moment(n, wall) for n, wall in enumerate(walls)], Rules())
    assert [len(event) for event in done.events] == [6, 6]
    assert "6 d later" in done.decisions[6].reason
    assert "another day" in done.decisions[6].reason


def test_likeness_keeps_photos_together_and_a_missing_channel_says_nothing() -> None:
    walls = [n * HOUR for n in range(30)]
    base = [moment(n, wall, ("lake", "office", "cake")[n // 4 % 3]) for n, wall in enumerate(walls)]
    same = base[-1].text
    assert same is not None
    after = Moment("z", 32 * HOUR)
    odds = {
        name: segment([*base, last], Rules()).decisions[-1].probability
        for name, last in {
            "like": replace(after, text=same),
            "unlike": replace(after, text=-same),
            "neither": after,
            "picture": replace(after, image=same),
        }.items()
    }
    assert odds["like"] < odds["neither"] < odds["unlike"]
    assert odds["picture"] == odds["neither"]  # no picture before it: nothing to compare with


def test_pictures_count_as_texts_do() -> None:
    walls = [n * HOUR for n in range(30)]
    texts = [moment(n, wall, "lake" if n % 2 else "office") for n, wall in enumerate(walls)]
    pictures = [replace(m, text=None, image=m.text) for m in texts]
    assert [d.probability for d in segment(texts, Rules()).decisions] == [
        d.probability for d in segment(pictures, Rules()).decisions
    ]


def test_distance_speaks_for_a_new_event_and_a_missing_position_for_nothing() -> None:
    first = moment(0, 0, lat=48.2, lon=16.4)
    near, far, none = (
        segment([first, moment(1, HOUR, lat=lat, lon=lon)], Rules()).decisions[1].probability
        for lat, lon in ((48.2, 16.4), (35.7, 139.7), (None, None))
    )
    assert near == none < far


def test_only_photos_with_words_change_the_summary() -> None:
    walls = [0, 1000, 2000]
    silent = segment([moment(n, wall) for n, wall in enumerate(walls)], Rules())
    told = segment([moment(n, wall, "the same lake") for n, wall in enumerate(walls)], Rules())
    assert [d.action for d in silent.decisions] == ["ADD", "NO_OP", "NO_OP"]
    assert [d.action for d in told.decisions] == ["ADD", "UPDATE", "UPDATE"]


def test_undated_photos_and_a_wrong_order_are_refused() -> None:
    segmenter = Segmenter(Rules(FITTED))
    with pytest.raises(RuntimeFailure, match="no date"):
        segmenter.add(moment(0, None))
    segmenter.add(moment(1, HOUR))
    with pytest.raises(RuntimeFailure, match="sort"):
        segmenter.add(moment(2, 0))


def test_a_cut_starts_an_event_whatever_the_decider_says() -> None:
    segmenter = Segmenter(Rules())
    segmenter.add(moment(0, 0))
    segmenter.cut()
    assert [segmenter.add(moment(n, n)).action for n in (1, 2)] == ["ADD", "NO_OP"]


def test_likeness_needs_no_vectors() -> None:
    assert np.isfinite(segment([moment(0, 0), moment(1, 1)], Rules()).decisions[1].probability)
