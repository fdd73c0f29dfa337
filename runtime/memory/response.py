"""The response stage: up to three rounds of think → retrieve or answer.

What is known by key (where do I live?) answers first. A decider chooses the retrievals; each gives 2
procedural, 4 semantic and 2 episodic memories, and photos by the search that exists. Texts of memories are
quoted, and never carried out.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from gamer.index.memory.records import ASSISTANT, Item, Kind, NewItem, StoredTurn
from gamer.index.memory.store import MemoryStore

from ..questions.reader import read
from . import questions
from .as_json import clock
from .deciders import Decider, RulesDecider
from .objects import is_named
from .pictures import FOUND, Pictures
from .recall import Period, Recall
from .thinking import RoundQuestion, Seen, Step
from .update import Updater
from .words import asks, content, sentences, stem

ROUNDS = 3
PROCEDURAL, SEMANTIC, EPISODIC, LINES = 2, 4, 2, 2  # memories of one retrieval; turns shown of an episode
_RANKED = 48  # turns that memories are looked up for
_LEAST = 0.28  # a cosine with the question; below it, a turn without one of its words is not about it
NOTHING = "You have told me nothing about that."


@dataclass(frozen=True)
class Episode:
    """`lines`: its turns that fit best, in the order of the conversation."""

    item: Item
    lines: tuple[StoredTurn, ...]


@dataclass(frozen=True)
class Retrieved:
    """What one retrieval found, each kind best first. `photos`: their ids."""

    procedural: tuple[Item, ...] = ()
    semantic: tuple[Item, ...] = ()
    episodes: tuple[Episode, ...] = ()
    photos: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found that answers; habits and photos alone do not."""
        return not self.semantic and not self.episodes

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that it shows, best first, each once."""
        ids = [turn for item in self.semantic for turn in item.value.sources]
        ids += [line.id for episode in self.episodes for line in episode.lines]
        return tuple(dict.fromkeys(ids))


@dataclass(frozen=True)
class Round:
    """`thought`: why this was retrieved. `period`: what was asked for, or None for all times."""

    thought: str
    keywords: tuple[str, ...]
    period: Period | None
    found: Retrieved


@dataclass(frozen=True)
class Reply:
    """`text`: the answer. `core`: the memories by key that it says. `drawn`: turns whose words it repeats.

    `says`: memories, beside the core ones, whose words it repeats. `source`: the memory that a quote is of.
    """

    text: str
    core: tuple[Item, ...]
    rounds: tuple[Round, ...]
    drawn: tuple[int, ...]
    says: tuple[int, ...] = ()
    source: Item | None = None

    @property
    def comes_from(self) -> tuple[Item, ...]:
        """The stored memories that the rules' answer is made of."""
        quoted = () if self.source is None else (self.source,)
        return tuple(item for item in (*self.core, *quoted) if item.id)

    @property
    def brief(self) -> str:
        """The answer in as few words as it can have: the values, or one sentence of a quote."""
        if self.core:
            return " ".join(f"{item.value.text.rstrip('.')}." for item in self.core)
        first = next(iter(sentences(self.source.value.text)), "") if self.source else ""
        return f"“{first}”" if first else self.text

    @property
    def photos(self) -> tuple[str, ...]:
        """The ids of the photos that go with the answer; a fact needs none."""
        return self.rounds[-1].found.photos if self.rounds and not self.core else ()


class Responder:
    """Not thread-safe. `photos`: the album's; None without a bundle."""

    def __init__(
        self,
        store: MemoryStore,
        recall: Recall,
        updater: Updater,
        photos: Pictures | None = None,
        decider: Decider | None = None,
    ) -> None:
        self._store, self._recall, self._updater, self._photos = store, recall, updater, photos
        self._decider = decider or RulesDecider()

    def respond(self, question: str, now: datetime) -> Reply:
        """Answers a question from the memories. `now`: the clock on the wall, for "last week"."""
        known = questions.fitting(questions.read(question), self.core())
        rounds: list[Round] = []
        while len(rounds) < ROUNDS:
            step = self._decider.think(
                RoundQuestion(question, now, bool(known), self._recall.months), _seen(rounds)
            )
            if step is None:
                break
            found = self.retrieve(step.text, step.period)
            rounds.append(Round(step.thought, step.keywords, step.period, found))
        if known:
            text = " ".join(_sentence(item, alone=len(known) == 1) for item in known)
            return Reply(text, tuple(known), tuple(rounds), _sources(known))
        best = next((r.found for r in rounds if not r.found.is_empty), Retrieved())
        return self._quoting(question, best, rounds)

    def core(self) -> list[Item]:
        """The core memories, also those of the session that has not ended, by time."""
        return [*self._store.items("core"), *self._fresh()]

    def retrieve(self, keywords: str, period: Period | None = None) -> Retrieved:
        """The memories that the keywords mean; with `period`, those of turns in it."""
        if self._photos is None:
            return self._remembered(keywords, period)
        # To search the photos takes longest. The memories share a connection: threads for each of their kinds
        # would wait for one another, and took longer than one after the other.
        with ThreadPoolExecutor(1) as thread:
            photos = thread.submit(self._pictures, keywords)
            return replace(self._remembered(keywords, period), photos=photos.result())

    def _remembered(self, keywords: str, period: Period | None) -> Retrieved:
        """A retrieval without photos."""
        ranked = self._ranked(keywords, period)
        first, later = self._notes(tuple(content(keywords)), period)
        semantic = (*_of_kind(first, "semantic"), *self._semantic(ranked), *_of_kind(later, "semantic"))
        semantic = semantic[:SEMANTIC]
        shown = {turn for item in semantic for turn in item.value.sources}
        told = [Episode(item, ()) for item in _of_kind(first, "episodic")]
        also = [Episode(item, ()) for item in _of_kind(later, "episodic")]
        episodes = (*told, *self._episodes(ranked, shown), *also)[:EPISODIC]
        return Retrieved(self._procedural(keywords), semantic, episodes)

    def names_object(self, question: str) -> bool:
        """Whether a question is about something that the person named in a shown picture."""
        return any(is_named(one.name, question) for _, one in self._store.objects())

    def _pictures(self, keywords: str) -> tuple[str, ...]:
        """The photos near to what the keywords name in a shown picture, or else those that the words mean."""
        photos = self._photos
        if photos is None:
            return ()
        found: list[str] = []
        for _, one in self._store.objects():
            if not is_named(one.name, keywords):
                continue
            found += [one.picture] if photos.holds(one.picture) else []
            vector = one.vector if one.encoder == photos.encoder else photos.vector(one.picture)
            found += () if vector is None else photos.near(vector)
        return tuple(dict.fromkeys(found or photos.find(keywords)))[:FOUND]

    def _ranked(self, keywords: str, period: Period | None) -> list[int]:
        """The turns that the keywords mean, best first."""
        found = self._recall.candidates(keywords, period, only=period is not None)
        ids, _ = found.best(self._recall.weights)
        about = {int(row) for row, fits in zip(found.ids, _is_about(found.features), strict=True) if fits}
        return [int(row) for row in ids[: 4 * _RANKED] if int(row) in about][:_RANKED]

    def _notes(self, keywords: tuple[str, ...], period: Period | None) -> tuple[list[Item], list[Item]]:
        """What the person wrote down that has a word of the question, best first: with half, and others."""
        asked = {stem(word) for word in keywords}
        hits = [
            (len(asked & {stem(word) for word in item.value.keywords}), item.value.at, item)
            for item in self._store.notes()
            if period is None or period.start <= item.value.at <= period.end
        ]
        best = sorted((hit for hit in hits if hit[0]), key=lambda hit: hit[:2], reverse=True)
        return [i for n, _, i in best if 2 * n >= len(asked)], [i for n, _, i in best if 2 * n < len(asked)]

    def _semantic(self, ranked: list[int]) -> tuple[Item, ...]:
        found = self._store.items_of(ranked, "semantic")
        of = {item.value.sources[0]: item for item in found if not item.past}
        return tuple(of[turn] for turn in ranked if turn in of)[:SEMANTIC]

    def _procedural(self, keywords: str) -> tuple[Item, ...]:
        words = set(content(keywords))
        current = self._store.items("procedural", past=False)
        fit = [(len(words & set(item.value.keywords)), item.value.at, item) for item in current]
        best = sorted(fit, key=lambda one: one[:2], reverse=True)
        return tuple(item for hits, _, item in best if hits)[:PROCEDURAL]

    def _episodes(self, ranked: list[int], shown: set[int]) -> tuple[Episode, ...]:
        """The episodes of the best turns that are not shown yet, each with the best of these turns."""
        left = [turn for turn in ranked if turn not in shown]
        of = {turn: item for item in self._store.items_of(left, "episodic") for turn in item.value.sources}
        chosen: dict[int, list[int]] = {}
        for turn in left:
            if turn not in of:
                continue
            lines = chosen.setdefault(of[turn].id, [])
            lines.append(turn)
        best = [*chosen.items()][:EPISODIC]
        found = {
            stored.id: stored for stored in self._store.turns([t for _, lines in best for t in lines[:LINES]])
        }
        by_id = {item.id: item for item in of.values()}
        return tuple(
            Episode(by_id[item], tuple(found[turn] for turn in lines[:LINES] if turn in found))
            for item, lines in best
        )

    def _fresh(self) -> list[Item]:
        """Facts of turns whose session has not ended, as they will be stored; the latest are current."""
        loose = [row for row, _, _ in self._store.loose()][-200:]
        new = [fact for stored in self._store.turns(loose) for fact in self._updater.facts_by_rules(stored)]
        stored = self._store.items("core", past=False) if new else []
        current = {item.value.key: item.value for item in stored}
        out: list[Item] = []
        for fact in sorted(new, key=lambda fact: fact.at):
            held = current.get(fact.key)
            if fact.kind != "core" or (held is not None and held.at > fact.at):
                continue
            if held is not None and held.text != fact.text:
                out.append(Item(0, held, True))
            current[fact.key] = fact
            out.append(Item(0, fact, False))
        return [item for item in out if item.past or current[item.value.key] is item.value]

    def _quoting(self, question: str, best: Retrieved, rounds: list[Round]) -> Reply:
        """The best memory in the words of who said it, or as the person has corrected it since.

        What has no word of the question answers nothing, nor does another question.
        """
        first = best.semantic[0] if best.semantic else best.episodes[0].item if best.episodes else None
        if first is not None and not first.value.sources:
            return Reply(_noted(first), (), tuple(rounds), (), (first.id,), first)
        turns = {stored.id: stored for stored in self._store.turns(best.turns)}
        asked = {stem(word) for word in content(question)}
        said = (turns[row] for row in best.turns if row in turns and turns[row].turn.speaker != ASSISTANT)
        person = next((one for one in said if _answers(asked, one.turn.text)), None)
        if person is None:
            return Reply(NOTHING, (), tuple(rounds), ())
        turn = person.turn
        corrected = [
            item
            for item in self._store.items_of([person.id])
            if item.value.origin == "person" and not item.past
        ]
        if corrected:
            ids = tuple(item.id for item in corrected)
            text = " ".join(map(_noted, corrected))
            return Reply(text, (), tuple(rounds), (person.id,), ids, corrected[0])
        who = "you" if turn.speaker == "me" else turn.speaker
        text = f"On {day(turn.at)} {who} said: “{turn.text[:400]}”"
        of_it = [item for item in (*best.semantic, *(e.item for e in best.episodes))
                 if person.id in item.value.sources]  # fmt: skip
        return Reply(text, (), tuple(rounds), (person.id,), (), of_it[0] if of_it else None)


def _seen(rounds: Sequence[Round]) -> tuple[Seen, ...]:
    return tuple(Seen(Step(one.thought, one.keywords, one.period), one.found.is_empty) for one in rounds)


def day(at: int) -> str:
    """The date of ms of wall time."""
    return clock(at)[:10]


def _is_about(features: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of each candidate whether it, or a neighbour, has a word of the question, or is near in meaning."""
    return np.asarray((features[:, :4].max(axis=1, initial=0) > 0) | (features[:, 4] >= _LEAST))


def _of_kind(items: list[Item], kind: Kind) -> list[Item]:
    return [item for item in items if item.value.kind == kind]


def _answers(asked: set[str], said: str) -> bool:
    """Whether what was said states something with a word of the question. `asked`: their stems."""
    text = said[:2_000]
    if asked.isdisjoint(map(stem, content(text))):
        return False
    return not read(text).shows and not all(asks(sentence) for sentence in sentences(text))


def _noted(item: Item) -> str:
    return f"On {day(item.value.at)} you noted: “{item.value.text[:400]}”"


def _sentence(item: Item, alone: bool) -> str:
    """A fact in a sentence: "Braga, as you said on 2026-11-26." With others, its key stands before it."""
    value: NewItem = item.value
    if value.key.startswith("likes "):
        name = f"You {value.text}"
    else:
        name = value.text[:1].upper() + value.text[1:] if alone else f"{value.key}: {value.text}"
    if item.past and value.ends is not None:
        return f"{name}, until {day(value.ends)}."
    return f"{name}, as you said on {day(value.at)}."


def _sources(items: Sequence[Item]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(turn for item in items for turn in item.value.sources))
