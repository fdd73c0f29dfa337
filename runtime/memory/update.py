"""The update stage: what is drawn from turns in idle time.

After each turn its statements become a semantic memory. After a session, which a silence of 60 minutes ends,
core and procedural facts are drawn from the owner's turns, and each topic becomes an episode. Every turn and
every session is one transaction, so an update that was killed goes on where it stopped and stores nothing
twice. What is stored consists of words that people said: the assistant's turns are never read for facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gamer.index.memory.records import ASSISTANT, MAX_KEYWORDS, Named, NewItem, StoredTurn, Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import FloatArray

from ..questions.clauses import sentences_of
from . import personality
from .objects import objects_of
from .pictures import Pictures
from .reading.context import MAX_HISTORY, Context, context_of, resolve
from .reading.facts import Fact
from .recall import SILENCE_MS, Encoder
from .thinking import Decider
from .words import MOST, STATES, asks, content, traits

OWNER = "me"
_BATCH = 64
MAX_TEXT = 480  # characters of a semantic memory and of a summary
_LEAST_TOPIC, _MOST_TOPIC = 4, 12  # turns
_MOST_SESSION = 400  # turns; a conversation without a pause is cut into sessions of so many
_WRONG_CLOCK_MS = 366 * 86_400_000  # what is dated later than this from now was dated by a wrong clock


@dataclass(frozen=True)
class Updated:
    """What one update did: turns digested, sessions closed."""

    turns: int
    sessions: int


class Updater:
    """`owner`: the speaker whose facts are the person's own; others' turns only give semantic memories.

    `decider`: what draws the facts and chooses the topics' sentences when a session closes. `pictures`: the
    album's, for the vectors of those that turns came with.
    """

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder | None = None,
        owner: str = OWNER,
        decider: Decider | None = None,
        pictures: Pictures | None = None,
    ) -> None:
        self._store, self._encoder, self._owner, self._pictures = store, encoder, owner, pictures
        self._decider = decider or Decider()

    def run(self, now: int, stop: Callable[[], bool] = lambda: False) -> Updated:
        """Digests what is new and closes the sessions that have ended by `now` (ms of wall time)."""
        turns = sessions = 0
        while not stop() and (batch := self._store.undigested(_BATCH)):
            for stored in batch:
                turns += self._digest(stored)
                if stop():
                    break
        for session in ended(self._store.loose(), now):
            if stop():
                break
            sessions += self._close(session)
        self._store.redate(now + _WRONG_CLOCK_MS)
        personality.advance(self._store, self._owner)
        return Updated(turns, sessions)

    def encode_missing(self, stop: Callable[[], bool] = lambda: False) -> int:
        """Gives each digested turn a vector of this encoder's that lacks one; returns how many."""
        if self._encoder is None:
            return 0
        self._store.use_encoder(self._encoder.name)
        done = last = 0
        while not stop() and (batch := self._store.without_vector(last, _BATCH)):
            vectors = []
            for stored in batch:
                vectors.append((stored.id, self._encoder.encode(spoken(stored.turn))))
                if stop():
                    break
            self._store.add_vectors(vectors, self._encoder.name)
            done, last = done + len(vectors), batch[-1].id
        return done

    def facts_by_rules(self, turns: Sequence[StoredTurn]) -> list[NewItem]:
        """The core and procedural memories that the rules, which take no time, draw from turns in order."""
        return self._facts(turns, Decider())

    def _facts(self, turns: Sequence[StoredTurn], decider: Decider) -> list[NewItem]:
        out, contexts = list[NewItem](), dict[str, Context]()
        told = self._store.values_of("core", "car") if turns else []
        cars = [item.value for item in told if not item.past]
        for stored in turns:
            chat = stored.turn.chat
            if chat not in contexts:
                before = self._store.recent(chat, MAX_HISTORY, stored.id)
                contexts[chat] = context_of(before, self._owner)
            if stored.turn.speaker == self._owner:
                said = resolve(stored.turn.text, contexts[chat])
                if said.act != "forgets":
                    text = said.text if said.act in ("corrects", "asks") else stored.turn.text
                    known = tuple(Fact(one.key, one.text) for one in cars if one.at <= stored.turn.at)
                    drawn = decider.facts(text, replace(contexts[chat].meant, known=known))
                    out += [_item(fact, stored) for fact in drawn if fact.firm or not self._knows(fact, out)]
            contexts[chat] = context_of([stored], self._owner, contexts[chat])
        return out

    def _knows(self, fact: Fact, drawn: Sequence[NewItem]) -> bool:
        stored = (item.value for item in self._store.items(fact.kind, past=False))
        return any(one.key == fact.key for one in (*drawn, *stored))

    def _digest(self, stored: StoredTurn) -> bool:
        turn = stored.turn
        bits = traits(turn.text, bool(turn.pictures))
        encoder = self._encoder
        vector = None if encoder is None else encoder.encode(spoken(turn))
        items, objects = [], self._objects(turn)
        if (bits & STATES or objects) and turn.speaker != ASSISTANT:
            said = " ".join(one for one in sentences_of(turn.text[:20_000]) if not asks(one))[:MAX_TEXT]
            words = tuple(content(said)[:MAX_KEYWORDS])
            items.append(
                NewItem(
                    "semantic", f"turn {stored.id}", said, turn.at, words, sharing=turn.sharing,
                    sources=(stored.id,),
                )
            )  # fmt: skip
        name = "" if encoder is None else encoder.name
        return self._store.digest(stored.id, bits, items, vector, name, objects)

    def _objects(self, turn: Turn) -> list[Named]:
        """What the pictures show that came with a turn of the owner's, by the names in it."""
        names = objects_of(turn.text) if turn.pictures and turn.speaker == self._owner else []
        pictures = turn.pictures if names else ()
        known = self._pictures
        if known is None:
            return [Named(name, picture, None, "") for name in names for picture in pictures]
        vectors = {picture: known.vector(picture) for picture in pictures}
        return [
            Named(name, picture, vectors[picture], known.encoder) for name in names for picture in pictures
        ]

    def _close(self, ids: Sequence[int]) -> bool:
        turns = self._store.turns(ids)
        items = self._facts(turns, self._decider)
        told = (_episode(topic, self._decider) for topic in self._topics(turns))
        items += [episode for episode in told if episode is not None]
        return self._store.close_session(ids, items)

    def _topics(self, turns: Sequence[StoredTurn]) -> Iterator[list[StoredTurn]]:
        """Runs of turns about one thing: cut where the words before and after differ most."""
        rows = _word_vectors(turns)
        start = 0
        while len(turns) - start > _MOST_TOPIC:
            cuts = range(start + _LEAST_TOPIC, start + _MOST_TOPIC + 1)
            cut = min(cuts, key=lambda at: _likeness(rows, at))
            yield list(turns[start:cut])
            start = cut
        yield list(turns[start:])


def spoken(turn: Turn) -> str:
    """What a turn's vector is made of."""
    return f"{turn.speaker}: {turn.text[:MOST]}"


def ended(loose: Sequence[tuple[int, str, int]], now: int) -> Iterator[list[int]]:
    """The sessions among (id, chat, at), sorted by chat and time, that a silence has ended.

    One without a silence is cut where it becomes very long. A session whose clock is wrong, more than
    a silence ahead of `now`, has ended too: it would stay open for years.
    """
    session: list[int] = []
    last_chat, last_at = "", 0
    for row, chat, at in loose:
        if session and (chat != last_chat or at - last_at >= SILENCE_MS):
            if chat == last_chat or abs(now - last_at) >= SILENCE_MS:
                yield session
            session = []
        elif len(session) == _MOST_SESSION:
            yield session
            session = []
        session.append(row)
        last_chat, last_at = chat, at
    if session and abs(now - last_at) >= SILENCE_MS:
        yield session


def _item(fact: Fact, stored: StoredTurn) -> NewItem:
    return NewItem(
        fact.kind, fact.key, fact.value, stored.turn.at, tuple(content(fact.value)[:MAX_KEYWORDS]),
        origin=fact.origin, sharing=stored.turn.sharing, sources=(stored.id,),
    )  # fmt: skip


def _episode(topic: Sequence[StoredTurn], decider: Decider) -> NewItem | None:
    """A topic's memory; None where nobody but the assistant said anything.

    The summary is the decider's sentence, or those that hold most of the topic's frequent words.
    """
    people = [stored.turn for stored in topic if stored.turn.speaker != ASSISTANT]
    counts = Counter(word for turn in people for word in content(turn.text[:20_000]))
    if not counts:
        return None
    said = [one for turn in people for one in sentences_of(turn.text[:20_000]) if content(one)]
    best = sorted(said, key=lambda one: (asks(one), -_weight(one, counts)))[:2]
    chosen = decider.topic([one for one in said if not asks(one)])
    summary = (chosen or " ".join(one for one in said if one in best))[:MAX_TEXT]
    words = tuple(word for word, _ in counts.most_common(16))
    first, last = topic[0], topic[-1]
    shared = all(stored.turn.sharing == "high" for stored in topic)
    return NewItem(
        "episodic", f"turn {first.id}", summary, first.turn.at, words, last.turn.at,
        origin="llm" if chosen else "rules", sharing="high" if shared else "low",
        sources=tuple(sorted(stored.id for stored in topic)),
    )  # fmt: skip


def _weight(sentence: str, counts: Counter[str]) -> float:
    words = content(sentence)
    return sum(counts[word] for word in words) / (len(words) + 4)


def _word_vectors(turns: Sequence[StoredTurn]) -> FloatArray:
    said = [content(stored.turn.text[:20_000])[:200] for stored in turns]
    known = {word: at for at, word in enumerate(dict.fromkeys(word for words in said for word in words))}
    rows = np.zeros((len(turns), min(len(known), 4_096) + 1), np.float32)
    for row, words in enumerate(said):
        for word in words:
            rows[row, min(known[word], rows.shape[1] - 1)] += 1
    return rows


def _likeness(rows: FloatArray, at: int) -> float:
    """The cosine of the three rows before a cut and the three after it."""
    before, after = rows[max(at - 3, 0) : at].sum(axis=0), rows[at : at + 3].sum(axis=0)
    norm = float(np.linalg.norm(before) * np.linalg.norm(after))
    return float(before @ after) / norm if norm else 0.0
