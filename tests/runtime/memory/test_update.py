"""The update stage: sessions, episodes, killed and repeated updates, vectors, and the personality."""

from __future__ import annotations

import numpy as np
import pytest

from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import FloatArray
from gamer.runtime.memory import personality
from gamer.runtime.memory.recall import Encoder, Recall
from gamer.runtime.memory.update import Updater, ended
from tests.fakes import unit

MINUTE, LATER = 60_000, 10**9
THINGS = ("boat", "cake", "dog", "tree", "car", "sea")


def said(store: MemoryStore, count: int) -> None:
    store.add_turns(
        [
            Turn(
                f"u{n}",
                "k",
                "me",
                n * MINUTE,
                f"The {THINGS[n // 6 % 6]} story number{n} went well, I live in B{n}",
            )
            for n in range(count)
        ]
    )


def state(store: MemoryStore) -> list[tuple[str, str, str, int, bool]]:
    return sorted((i.value.kind, i.value.key, i.value.text, i.value.at, i.past) for i in store.items())


def test_a_killed_update_goes_on_and_stores_nothing_twice(store: MemoryStore) -> None:
    said(store, 20)
    for stops in range(1, 30):
        left = iter(range(stops))
        Updater(store).run(LATER, lambda left=left: next(left, None) is None)  # type: ignore[misc]
    Updater(store).run(LATER)
    assert len(store.items("semantic")) == 20
    once = state(store)
    Updater(store).run(LATER)
    assert state(store) == once


def test_episodes_do_not_overlap_after_one_turn_is_forgotten(store: MemoryStore) -> None:
    said(store, 36)
    Updater(store).run(LATER)
    assert len(store.items("episodic")) > 2
    store.forget([2], [], 1)
    Updater(store).run(LATER)
    told = [turn for item in store.items("episodic", past=False) for turn in item.value.sources]
    assert sorted(told) == [1, *range(3, 37)]


def test_a_conversation_without_a_pause_is_cut() -> None:
    loose = [(n, "k", n * MINUTE) for n in range(1_000)]
    sessions = [*ended(loose, 10**12)]
    assert [turn for session in sessions for turn in session] == [*range(1_000)]
    assert max(map(len, sessions)) <= 400
    assert len([*ended(loose, 1_000 * MINUTE)]) == 2, "the last one still goes on"


def encoder(name: str) -> Encoder:
    def encode(text: str) -> FloatArray:
        return unit(name.encode() + text.encode())

    return Encoder(name, encode, encode)


def meaning(store: MemoryStore, name: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    with MemoryStore.open(store.path) as own:  # a store tells one reader what has changed
        return Recall(own, encoder(name)).candidates("kettle lamp table").features[:, 4]


def test_vectors_of_two_encoders_are_not_mixed(store: MemoryStore) -> None:
    turns = [
        Turn(f"u{n}", "k", "me", n, f"The {what} is shiny.")
        for n, what in enumerate(("kettle", "lamp", "table"))
    ]
    for turn, name in zip(turns, ("one", "", "two"), strict=True):
        store.add_turns([turn])
        Updater(store, encoder(name) if name else None).run(9)
    assert [stored.id for stored in store.without_vector(0, 9)] == [2, 3]
    assert not meaning(store, "two").any()
    assert np.count_nonzero(meaning(store, "one")) == 1
    assert Updater(store, encoder("two")).encode_missing() == 3
    assert not meaning(store, "one").any()
    assert np.count_nonzero(meaning(store, "two")) == 3
    assert Updater(store, encoder("two")).encode_missing() == 0


def test_recall_takes_up_what_another_program_changed(store: MemoryStore) -> None:
    said(store, 9)
    recall = Recall(store)
    assert len(recall.candidates("boat").ids) == 6 + 2
    with MemoryStore.open(store.path) as other:
        other.add_turns([Turn("x", "other", "me", 5, "The zeppelin story")])
        other.forget([1], [], 1)
    assert [*recall.candidates("zeppelin").ids] == [10]
    assert 1 not in recall.candidates("boat").ids


def test_personality_is_off_until_it_is_turned_on_and_settles_by_a_cosine(store: MemoryStore) -> None:
    store.add_turns([Turn("a", "k", "me", 1, "I am worried, anxious and stressed.")])
    Updater(store).run(2)
    assert personality.read(store) == personality.Personality()
    personality.turn_on(store, True)
    Updater(store).run(2)
    read = personality.read(store)
    assert read.scores == pytest.approx((3, 3, 3, 3, 4))
    assert "worried" in read.sentence()
    personality.turn_on(store, False)
    assert personality.read(store) == personality.Personality()
    weights = [personality.weight(turn) for turn in (0, 25, 50, 999)]
    assert weights == pytest.approx([0.5, 0.7, 0.9, 0.9])
    neutral = read.after("It is calm, and I am worried.", 3)  # for and against: 3
    assert (neutral.scores, neutral.turns) == (read.scores, read.turns + 1)
    both = read.after("I love to travel", 4).scores  # the traits of which nothing is said go back to neutral
    assert both[4] < read.scores[4]
    assert both[0] > 3
    store.set("personality", '{"traits": [0.5, 0.5, 0.5, 0.5, 0.9], "turns": 9, "last": 9}')
    assert personality.read(store) == personality.Personality()  # of before: read anew from the turns
