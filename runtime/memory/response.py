"""The response stage: up to three rounds of think → retrieve or answer.

What is known by key (where do I live?) answers first, then the sentence that was said which answers the
question (`runtime/questions/clauses.py`); what nothing answers is not known. A decider chooses the
retrievals; each gives 2 procedural, 4 semantic and 2 episodic memories. Texts of memories are quoted, and
never carried out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import numpy as np
from numpy.typing import NDArray

from gamer.index.entities.words import STOP_WORDS
from gamer.index.memory.records import ASSISTANT, PERSONA, Item, Kind, Named, NewItem, StoredTurn
from gamer.index.memory.store import MemoryStore

from .. import defaults
from ..questions import clauses
from ..questions.clauses import sentences_of, stem
from ..questions.dates import MONTH_NAMES, day_of, relative_day, resolved, said
from .objects import is_named
from .pictures import FOUND, PhotoFacts, Pictures
from .reading import questions
from .reading.facts import BEFORE, DATE, is_supposed
from .reading.subjects import begin_of, subject_of
from .reading.tokens import tokens_of
from .reading.vocabulary import is_being, kind
from .recall import Period, Recall
from .thinking import Decider, PastRound, RoundQuestion
from .update import OWNER, Updater
from .words import MOST, asks, content

ROUNDS = 3
PROCEDURAL, SEMANTIC, EPISODIC, LINES = 2, 4, 2, 2  # memories of one retrieval; turns shown of an episode
_RANKED = 48  # turns that memories are looked up for
_NAMING = 20_000
_LEAST = defaults.ABOUT
_SAYS = frozenset({"read", "say", "tell"})
_OWN = re.compile(r"\b(?:my|our)\b")
NOTHING = "You have told me nothing about that."
SHOWN = "These photos show it."


@dataclass(frozen=True)
class Episode:
    """`lines`: its turns that fit best, in the order of the conversation."""

    item: Item
    lines: tuple[StoredTurn, ...]


@dataclass(frozen=True)
class Retrieved:
    """What one retrieval found, each kind best first. `ranked`: the turns that may be meant, best first."""

    procedural: tuple[Item, ...] = ()
    semantic: tuple[Item, ...] = ()
    episodes: tuple[Episode, ...] = ()
    ranked: tuple[int, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was found that answers; habits alone do not."""
        return not self.semantic and not self.episodes

    @property
    def turns(self) -> tuple[int, ...]:
        """The turns that it shows, best first, each once."""
        ids = [turn for item in self.semantic for turn in item.value.sources]
        ids += [line.id for episode in self.episodes for line in episode.lines]
        return tuple(dict.fromkeys(ids))


@dataclass(frozen=True)
class Round(PastRound):
    """A retrieval that was made, and what it found."""

    found: Retrieved


@dataclass(frozen=True)
class Reply:
    """`text`: the answer. `core`: the memories by key that it says. `drawn`: turns whose words it repeats.

    `says`: memories, beside the core ones, whose words it repeats. `source`: the memory that a quote is of.
    `photos`: ids of those that it shows. `tells_of`: of those whose memories it quotes.
    """

    text: str
    core: tuple[Item, ...]
    rounds: tuple[Round, ...]
    drawn: tuple[int, ...]
    says: tuple[int, ...] = ()
    source: Item | None = None
    photos: tuple[str, ...] = ()
    tells_of: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return self.text != NOTHING

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
        first = next(iter(sentences_of(self.source.value.text)), "") if self.source else ""
        return f"“{first}”" if first else self.text


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
        self._decider = decider or Decider()

    def respond(self, question: str, now: datetime) -> Reply:
        """Answers a question from the memories. `now`: the clock on the wall, for "last week"."""
        core = self.core()
        asked = questions.read(question, questions.people_of(core))
        asked = questions.of_oneself(asked, core)
        known = questions.fitting(asked, core)
        rounds: list[Round] = []
        while len(rounds) < ROUNDS:
            asked_now = RoundQuestion(question, now, bool(known), self._recall.months)
            step = self._decider.think(asked_now, rounds)
            if step is None:
                break
            found = self.retrieve(step.text, step.period)
            rounds.append(Round(step, found.is_empty, found))
        objects = self.named_objects(question)
        photos = self._pictures(objects)
        known = [item for item in known if _is_when(item, question) and not self._is_corrected(item)]
        if known:
            text = " ".join(_sentence(item, asked, core, now, alone=len(known) == 1) for item in known)
            return Reply(text, tuple(known), tuple(rounds), _sources(known), photos=photos)
        if (born := questions.birthday(asked, core)) is not None and (age := _age(born, now)):
            return Reply(age, (born,), tuple(rounds), _sources([born]))
        nothing = Reply(NOTHING, (), tuple(rounds), ())
        if not asked.past and (was := questions.fitting(replace(asked, past=True), core)):
            text = " ".join(_no_longer(item, alone=len(was) == 1) for item in was)
            return Reply(text, tuple(was), tuple(rounds), _sources(was))
        if photos:  # by what the person named in a picture
            row, _ = objects[0]
            nothing = Reply(SHOWN, (), tuple(rounds), (), (row,), self._store.item(row), photos)
        return self._quoting(question, asked, core, nothing)

    def core(self) -> list[Item]:
        """The core memories, also those of the session that has not ended, by time."""
        return [*self._store.items("core"), *self._fresh()]

    def _is_corrected(self, item: Item) -> bool:
        """Whether the person has since put the words right that a fact was drawn from."""
        said = self._store.items_of(item.value.sources, "semantic")
        return any(
            one.value.origin == "person" and not one.past and one.value.at > item.value.at for one in said
        )

    def all_values(self, named: str) -> list[Item]:
        """All values, also the earlier ones, of what is named: "where I live", "where I lived before"."""
        core = self.core()
        asked = questions.read(named, questions.people_of(core))
        keys = {item.value.key.removesuffix(BEFORE) for item in questions.fitting(asked, core)}
        values = [item for item in core if item.value.key.removesuffix(BEFORE) in keys]
        old = [item for item in values if item.past or item.value.key.endswith(BEFORE)]
        return old if asked.past else values

    def all_of(self, named: str) -> tuple[list[Item], frozenset[str]]:
        """All that is known of somebody by a name ("Eva", "my sister"), and what turns call them.

        The names are in lower case; none for a thing, or where they are words of any sentence (Will, May).
        """
        core = self.core()
        said = re.sub(r"^(?:my|our) ", "", named.strip())
        name = said.casefold()
        names = frozenset({name, *questions.aliases(name, core)})
        known = [
            item
            for item in core
            if item.value.key.rpartition("'s ")[0] in names or item.value.text.casefold() in names
        ]
        is_person = is_being(name) or said[:1].isupper()
        plain = names & (STOP_WORDS | kind("date") | kind("no name"))
        return known, names - plain if is_person else frozenset()

    def naming(self, names: frozenset[str]) -> list[StoredTurn]:
        """The turns that name somebody, at most _NAMING of them."""
        words = [word for name in names for word in name.split()]
        found = self._store.turns([row for row, _ in self._store.search(words, _NAMING)])
        return [one for one in found if names_one(one.turn.text, names)]

    def retrieve(self, keywords: str, period: Period | None = None) -> Retrieved:
        """The memories that the keywords mean; with `period`, those of turns in it."""
        ranked = self._ranked(keywords, period)
        first, later = self._notes(tuple(content(keywords)), period)
        semantic = (*_of_kind(first, "semantic"), *self._semantic(ranked), *_of_kind(later, "semantic"))
        semantic = semantic[:SEMANTIC]
        shown = {turn for item in semantic for turn in item.value.sources}
        told = [Episode(item, ()) for item in _of_kind(first, "episodic")]
        also = [Episode(item, ()) for item in _of_kind(later, "episodic")]
        episodes = (*told, *self._episodes(ranked, shown), *also)[:EPISODIC]
        return Retrieved(self._procedural(keywords), semantic, episodes, tuple(ranked))

    def named_objects(self, question: str) -> list[tuple[int, Named]]:
        """What the person named in shown pictures and the question names, with the memories' numbers."""
        return [(row, one) for row, one in self._store.objects() if is_named(one.name, question)]

    def _pictures(self, objects: Sequence[tuple[int, Named]]) -> tuple[str, ...]:
        """The photos near to what was named in a shown picture."""
        photos, found = self._photos, list[str]()
        if photos is None:
            return ()
        for _, one in objects:
            found += [one.picture] if photos.holds(one.picture) else []
            vector = one.vector if one.encoder == photos.encoder else photos.vector(one.picture)
            found += () if vector is None else photos.near(vector)
        return tuple(dict.fromkeys(found))[:FOUND]

    def of_photos(self, question: str, told: Sequence[PhotoFacts], shown: bool = False) -> Reply | None:
        """What is told of photos that answers the question; None if nothing does.

        `shown`: it asks about these photos themselves ("where was that taken?"), else about what they tell.
        """
        asked = clauses.sought(question)
        if shown and told and (fact := _of_shown(asked, told)):
            return Reply(fact, (), (), (), tells_of=tuple(one.photo for one in told))
        around = [
            f"{one.place} {day(one.at) if one.at is not None else ''} {' '.join((*one.people, *one.labels))}"
            for one in told
        ]
        found = clauses.best(
            asked,
            [("\n".join(one.texts)[:MOST], near) for one, near in zip(told, around, strict=True)],
            0.0 if shown and not asked.words else clauses.LEAST,
        )
        if found is not None:
            at, sentence, says = *found, "The memory of a photo{} says"
        elif (known := _fact_of(asked, told, around)) is not None:
            return known
        else:
            lines = [
                clauses.printed(asked, one.printed[:MOST], near)
                for one, near in zip(told, around, strict=True)
            ]
            at, says = next((at for at, line in enumerate(lines) if line), -1), "In a photo{} is written"
            if at < 0 and shown and asked.words and asked.words <= _SAYS:  # "what does it say about that?"
                lines = [" ".join((one.printed or " ".join(one.texts))[:MOST].split()) for one in told]
                at = next((at for at, line in enumerate(lines) if line), -1)
                says = says if at >= 0 and told[at].printed else "The memory of a photo{} says"
            if at < 0:
                return None
            sentence = lines[at]
        when = f" of {day(photo.at)}" if (photo := told[at]).at is not None else ""
        text = f"{says.format(when)}: “{sentence[:400]}”"
        return Reply(text, (), (), (), tells_of=(photo.photo,))

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
        new = self._updater.facts_by_rules(self._store.turns(loose))
        stored = self._store.items("core", past=False) if new else []
        current = {item.value.key: item.value for item in stored}
        out: list[Item] = []
        for fact in sorted(new, key=lambda fact: fact.at):
            held = current.get(fact.key)
            if fact.kind != "core" or (held is not None and held.at > fact.at):
                continue
            if held is not None and held.text != fact.text:
                out.append(Item(0, held, True))
            elif held is not None:  # each turn that said it is forgotten with it
                fact = replace(fact, sources=(*fact.sources, *held.sources))
            current[fact.key] = fact
            out.append(Item(0, fact, False))
        return [item for item in out if item.past or current[item.value.key] is item.value]

    def _quoting(
        self, question: str, asked: questions.FactQuestion, core: Sequence[Item], nothing: Reply
    ) -> Reply:
        """The sentence that answers, in the words of who said it, or as the person has corrected it since.

        `nothing`: the answer if none does.
        """
        rounds, photos = nothing.rounds, nothing.photos
        found = next((one.found for one in rounds if not one.found.is_empty), None)
        if found is None:
            return nothing
        told = self._told(found)
        wanted, of = _wanted(question, asked, core)
        said = [(_answering(_text(source), question, of), _speaker(source)) for source in told]
        best = clauses.best(wanted, said)
        if best is None:
            return nothing
        source, sentence = told[best[0]], best[1]
        if isinstance(source, Item):
            drawn = tuple(source.value.sources)
            return Reply(_noted(source), (), rounds, drawn, (source.id,), source, photos)
        text = f"On {day(source.turn.at)} {_speaker(source) or 'you'} said: “{sentence[:400]}”"
        if wanted.wanted == "time":
            text += _resolved(sentence, source.turn.at)
        drawn_of_it = (*found.semantic, *(episode.item for episode in found.episodes))
        memory = next((item for item in drawn_of_it if source.id in item.value.sources), None)
        return Reply(text, (), rounds, (source.id,), (), memory, photos)

    def _told(self, found: Retrieved) -> list[Item | StoredTurn]:
        """What was noted and said, the latest first; of what was corrected by hand, the correction."""
        ranked = list(dict.fromkeys((*found.turns, *found.ranked)))
        corrected = {
            turn: item
            for item in self._store.items_of(ranked)
            if item.value.origin == "person" and not item.past
            for turn in item.value.sources
        }
        notes = (*found.semantic, *(episode.item for episode in found.episodes))
        told: list[Item | StoredTurn] = [item for item in notes if not item.value.sources]
        told += dict.fromkeys(corrected.values())
        turns = self._store.turns([turn for turn in ranked if turn not in corrected])
        told += [stored for stored in turns if stored.turn.speaker != ASSISTANT]
        return sorted(told, key=lambda one: -_at(one))


def names_one(text: str, names: frozenset[str], spelt: bool = True) -> bool:
    """Whether a text names somebody: by a name, as "my sister" or as "Mum", not as somebody else's.

    `spelt`: names have their capitals in it, as in what was said; in what was noted of it they may not.
    """
    said = clauses.words_in(text)
    words, owners = [word.removesuffix("'s") for word in said], [word.endswith("'s") for word in said]
    low = [word.casefold() for word in words]
    for name in names:
        parts = name.split()
        for at in range(len(words) - len(parts) + 1):
            if low[at : at + len(parts)] != parts:
                continue
            before = low[at - 1] if at else ""
            capital = all(word[:1].isupper() for word in words[at : at + len(parts)])
            if not is_being(name):
                if capital or not spelt:
                    return True
            elif before in ("my", "our") or (
                capital and not (at and owners[at - 1]) and before not in ("a", "the")
            ):
                return True
    return False


def day(at: int) -> str:
    """The date of ms of wall time: "2 November 2026"."""
    return said(_date(at))


def _of_shown(asked: clauses.Sought, told: Sequence[PhotoFacts]) -> str:
    """When and where photos were taken, and who is in them; "" if that is not asked for or not known."""
    if asked.words:
        return ""
    if asked.wanted == "time":
        days = dict.fromkeys(day(one.at) for one in told if one.at is not None)
        return f"{', '.join(days)}." if days else "The album does not know when that was."
    if asked.wanted == "place" and (places := dict.fromkeys(one.place for one in told if one.place)):
        return f"{'; '.join(places)}."
    if asked.wanted == "person" and (names := dict.fromkeys(name for one in told for name in one.people)):
        return f"{', '.join(names)}."
    return ""


def _fact_of(asked: clauses.Sought, told: Sequence[PhotoFacts], around: Sequence[str]) -> Reply | None:
    """ "When was I in Beijing?", "where did she lose it?": by the photo that has all that is named."""
    asked = clauses.without_deed(asked)
    if asked.wanted not in ("place", "time") or not (asked.names or asked.words):
        return None
    for one, near in zip(told, around, strict=True):
        when = day(one.at) if one.at is not None else ""
        known = when if asked.wanted == "time" else one.place
        if known and clauses.fit(replace(asked, wanted=""), " ".join((*one.texts, near)), near):
            return Reply(f"{known}, by a photo.", (), (), (), tells_of=(one.photo,))
    return None


def _is_when(item: Item, question: str) -> bool:
    """Whether a fact says when, if that is asked: "what time is my flight?" is not answered by its number."""
    asked = clauses.sought(question)
    return (
        asked.wanted != "time" or item.value.key.startswith(DATE) or clauses.has_value(asked, item.value.text)
    )


def _at(source: Item | StoredTurn) -> int:
    return source.value.at if isinstance(source, Item) else source.turn.at


def _text(source: Item | StoredTurn) -> str:
    return source.value.text if isinstance(source, Item) else source.turn.text[:MOST]


def _speaker(source: Item | StoredTurn) -> str:
    """Who said it; "" for the owner."""
    return "" if isinstance(source, Item) or source.turn.speaker == OWNER else source.turn.speaker


def _wanted(
    question: str, asked: questions.FactQuestion, core: Sequence[Item]
) -> tuple[clauses.Sought, frozenset[str] | None]:
    """What a sentence must have, and whom alone, beside the owner, it may be about; None for anybody."""
    wanted = clauses.sought(question, questions.alike(core))
    named = questions.aliases(asked.person, core)
    if named and not any(forms & named for forms in wanted.names):
        wanted = replace(wanted, names=(*wanted.names, named))
    if asked.person == "" and not wanted.names:
        return wanted, frozenset()
    return wanted, named if asked.person and is_being(asked.person) else None


def _answering(text: str, question: str, of: frozenset[str] | None) -> str:
    """The sentences of a text that may answer."""
    return " ".join(one for one in sentences_of(text) if _may_answer(one, question, of))


def _may_answer(sentence: str, question: str, of: frozenset[str] | None) -> bool:
    """Whether a sentence states something. `of`: of none but these people and the owner; None: of anybody."""
    if asks(sentence) or re.search(r"\bshow (?:me|us)\b", sentence, re.IGNORECASE):
        return False
    if is_supposed(sentence) and not re.search(
        r"\b(?:say|said|tell|told|think|wish|want)\b", question, re.IGNORECASE
    ):
        return False
    theirs = (rf"'s {name}\b|\b{name} of (?:my|our|the|a|his|her)\b" for name in map(re.escape, of or ()))
    if any(re.search(pattern, sentence, re.IGNORECASE) for pattern in theirs):
        return False  # somebody else's
    tokens = tokens_of(sentence)
    subject = subject_of(tokens, begin_of(tokens), "") if of is not None else None
    return subject is None or not subject.person or subject.person in (of or ())


def _is_about(features: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of each candidate whether it, or a neighbour, has a word of the question, or is near in meaning."""
    return np.asarray((features[:, :4].max(axis=1, initial=0) > 0) | (features[:, 4] >= _LEAST))


def _of_kind(items: list[Item], kind: Kind) -> list[Item]:
    return [item for item in items if item.value.kind == kind]


def _noted(item: Item) -> str:
    return f"On {day(item.value.at)} you noted: “{item.value.text[:400]}”"


def _sentence(
    item: Item, asked: questions.FactQuestion, core: Sequence[Item], now: datetime, alone: bool
) -> str:
    """A fact in a sentence: "Braga, as you said on 26 November 2026. Before that Porto."

    With others, its key stands before it.
    """
    value: NewItem = item.value
    owner, of, what = value.key.rpartition("'s ")
    who = owner.capitalize() if of else "You"
    negated = questions.is_negated(value.text)
    if what == "name" and of and asked.person == value.text.casefold():
        name = f"Your {owner}"  # "who is Clara?"
    elif what.startswith("likes ") or negated:
        be = (
            ("is" if of else "are") + " "
            if re.match(r"(?:not|an?|into|fond|tired|really into)\b", value.text)
            else ""
        )
        told = re.sub(r"^(?:am|is|are) ", "is " if of else "are ", value.text)
        name = f"{who} {be}{_OWN.sub('your', told)}"
    else:
        text = resolved(value.text, _date(value.at)) if value.key.startswith(DATE) else value.text
        name = text[:1].upper() + text[1:] if alone else f"{value.key.removeprefix(PERSONA)}: {text}"
    if asked.closed and not item.past and not what.startswith("likes "):
        agrees = questions.agrees(asked, value.text)
        if agrees is not None:
            told = name[:1].lower() + name[1:] if name.startswith("You ") else name
            name = f"{'Yes' if agrees else 'No'}: {told}"
    if item.past and value.ends is not None:
        return f"{name}, until {day(value.ends)}."
    before = None if asked.past or item.past or negated else questions.before(item, core)
    colon = ":" * what.startswith("likes ")
    earlier = f" Before that{colon} {before.value.text}." if before is not None else ""
    told = f"{name}, as you said on {day(value.at)}."
    return f"{told}{_passed(value, now)}{earlier}"


def _no_longer(item: Item, alone: bool) -> str:
    """Of what is known only that it held before: "Siemens, but no longer, as you said on 1 January 2026."."""
    text = item.value.text if alone else f"{item.value.key.removesuffix(BEFORE)}: {item.value.text}"
    return f"{text[:1].upper()}{text[1:]}, but no longer, as you said on {day(item.value.at)}."


def _resolved(text: str, at: int) -> str:
    """ " (28 November 2026)", beside a quote with "tomorrow", said the day before; "" beside others."""
    when = relative_day(text, _date(at))
    return "" if when is None else f" ({said(when)})"


def _passed(value: NewItem, now: datetime) -> str:
    """That the day has gone by which something was to be on; birthdays and anniversaries come again."""
    if not value.key.startswith(DATE) or re.search(r"\b(?:birthday|anniversary)\b", value.key):
        return ""
    when = day_of(value.text, _date(value.at))
    return " That day has passed." if when is not None and when < now.date() else ""


def _date(at: int) -> date:
    return datetime.fromtimestamp(at / 1000, UTC).date()


def _age(born: Item, now: datetime) -> str:
    """ "74: you said “12 March 1952”"; "" where the year was not said."""
    found = re.search(r"\b(19|20)\d\d\b", born.value.text)
    if found is None:
        return ""
    month = next((at for at, name in enumerate(MONTH_NAMES, 1) if name.lower() in born.value.text.lower()), 1)
    days = re.search(r"\b(\d{1,2})(?:st|nd|rd|th)?\b", born.value.text.replace(found[0], ""))
    date = int(days[1]) if days else 1
    years = now.year - int(found[0]) - ((now.month, now.day) < (month, date))
    return f"{years}, born on {born.value.text}, as you said on {day(born.value.at)}."


def _sources(items: Sequence[Item]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(turn for item in items for turn in item.value.sources))
