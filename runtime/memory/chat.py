"""A conversation about what one said and photographed: each turn is stored, answered and learnt from.

The rules answer. The bundle's language model may word an answer from what they retrieved, where that is asked
for, and is heard only if its evidence holds every word (evidence.py). What it reads of memories stands in
quotes, and nothing that a turn says is carried out. A model that runs elsewhere is never used here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from gamer.index import OpenedLog
from gamer.index.errors import AlbumBusy
from gamer.index.memory.records import ASSISTANT, MAX_TURN, PERSONA, Item, NewItem, StoredTurn, Turn, clip
from gamer.index.memory.store import MemoryStore

from ..defaults import ANSWER_SYSTEM
from ..errors import RuntimeFailure
from ..questions.clauses import sentences_of, sought
from ..wall_time import milliseconds
from . import by_hand, personality
from .evidence import supports
from .pictures import LISTED, Answered, Pictures
from .reading.context import MAX_HISTORY, Act, Context, Resolved, context_of, resolve
from .reading.facts import BEFORE, NOBODY, Fact, Meant, clauses_of, facts_of, told
from .reading.persona import Manner, manner_of
from .recall import SILENCE_MS, Encoder, Recall
from .response import NOTHING, Reply, Responder, Retrieved, day, names_one
from .thinking import Decider
from .update import MAX_TEXT, OWNER, Updater
from .words import MOST

if TYPE_CHECKING:
    from threading import Event

    from ..models.language.chat import Chat
    from ..models.models import Models

NOTED = "Noted."
TOLD_OF_PHOTOS = "Told what a photo's memory says."  # the turn that is stored of such an answer
NOT_AMONG = "There is no such photo among those that I showed."
NO_LONGER = "These photos are no longer in the album."
WHOM = "Of whom, or of what? Say the name, as in “forget everything about Eva”."
KEPT = "I delete no photos. `gamer index remove` takes one out of the album, and leaves its file."
_REPLIES: dict[Act, str] = {
    "greets": "Hello. I keep what you tell me, and answer from that and from your photos.",
    "thanks": "You are welcome.",
    "orders": "I cannot do that, but I have noted it.",
}
_FEW = 4  # words
_PRONOUN = re.compile(r"(?:and |but |so )?(?:he|she|they|his|her|their)\b", re.IGNORECASE)
# What is asked of what a photo's memory tells, rather than of photos: "why is the clock photo blurred?"
_TOLD_OF = frozenset({"reason", "money", "duration", "colour", "name", "person"})
MAX_NEW = 96  # tokens of a worded answer
_MAX_QUOTED = 240  # characters of each memory in the prompt
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Exchange:
    """One exchange. `reply`: what the rules found. `text`: what was answered.

    `photos`: ids of those that were asked for. `sources`: of those whose memories it quotes. `steps`: a line
    for each call of a tool. `waiting`: turns that are not stored yet, because another program writes the
    album (`flush`). `forgot`: whether it forgot something.
    """

    reply: Reply
    text: str
    waiting: int = 0
    photos: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    forgot: bool = False


class Conversation:
    """Not thread-safe. `model`: may word answers, else the rules do. `decider`: the rules if None."""

    def __init__(
        self,
        store: MemoryStore,
        encoder: Encoder | None = None,
        photos: Pictures | None = None,
        model: Chat | None = None,
        name: str | None = None,
        decider: Decider | None = None,
    ) -> None:
        self.store, self._model, self.photos = store, model, photos
        self.updater = Updater(store, encoder, decider=decider, pictures=photos)
        self._responder = Responder(store, Recall(store, encoder), self.updater, photos, decider)
        self._waiting: list[Turn] = []
        self.name = name or f"chat {uuid4().hex[:12]}"

    def say(
        self,
        text: str,
        now: datetime,
        tell: Tell | None = None,
        cancel: Event | None = None,
        pictures: Sequence[str] = (),
    ) -> Exchange:
        """Stores a turn of the owner's, answers it, and learns from it. `tell` hears the answer as it comes.

        `pictures`: ids of photos that it is said of.

        While another program writes the album, turns are answered and wait to be stored. Raises AlbumError
        for a turn that is empty or over a megabyte, and where the album cannot be written at all.
        """
        at = milliseconds(now)
        context = context_of(self._history(), OWNER)
        if pictures:  # "where was this taken?" is asked of them
            context = replace(context, shown=tuple(pictures))
        said = resolve(text, context)
        if said.act in ("forgets", "deletes"):  # the order itself is not stored
            return self._forget(said, context, now, tell)
        turn = Turn(uuid4().hex, self.name, OWNER, at, text, tuple(pictures))
        found = self._found(said, context, now)
        reply = found.reply
        self._keep(turn)
        manner, answer = self._manner(text), ""
        if said.act == "asks" and self._model is not None and (reply.drawn or reply.says):
            answer = self._worded(said.text, reply, manner, cancel)
        answer = answer or manner.noted(reply.brief if manner.short else reply.text)
        if tell is not None:
            tell(answer)
        drawn, says = _shown(reply)
        # What a photo's memory says is not copied: it goes when the photo does.
        spoken = clip(answer, MAX_TURN) if not found.sources else TOLD_OF_PHOTOS
        shown = found.photos or found.sources
        self._keep(
            Turn(uuid4().hex, self.name, ASSISTANT, at + 1, spoken, shown[:LISTED], drawn=drawn, says=says)
        )
        if not self._waiting:
            with suppress(AlbumBusy):  # the next turn goes on with it
                self.updater.run(at)
                if said.act == "corrects":
                    self._correct(context, said.text, at)
        return replace(found, text=answer, waiting=len(self._waiting))

    def _found(self, said: Resolved, context: Context, now: datetime) -> Exchange:
        """What the rules answer to a turn, before it is worded."""
        if said.act in _REPLIES:
            return _exchange(_REPLIES[said.act])
        if said.act == "corrects":
            return _exchange(f"Noted: {said.text}")
        text = said.text[:MOST]
        if said.act == "tells" and not self._names_fact(text):
            return _exchange(NOTED)
        if said.act == "shows" and said.of_shown:
            held = self._shown_again(context, said.order)
            missing = NOT_AMONG if said.order else NO_LONGER
            return Exchange(_exchange("Here." if held else missing).reply, "", photos=held)
        if self.photos is not None and said.of_shown and (held := self._shown_again(context, said.order)):
            seen = self.photos.told(text, held)
            if (of_shown := self._responder.of_photos(text, seen, shown=True)) is not None:
                return Exchange(of_shown, "", sources=of_shown.tells_of)
        leaving = (*context.seen, *context.shown) if said.more else ()
        told_of = (
            not said.more
            and sought(text).wanted in _TOLD_OF
            and said.act == "shows"
            and self.photos is not None
        )
        if told_of and (reply := self._of_photos(text)) is not None:
            return Exchange(reply, "", sources=reply.tells_of)
        if said.act == "shows" and (by_tools := self._by_tools(text, now, leaving)) is not None:
            return Exchange(Reply(by_tools.text, (), (), ()), "", 0, by_tools.photos, by_tools.steps)
        answer = self._responder.respond(text, now)
        if not answer.is_known:
            answer = self._of_photos(text) or answer
        return Exchange(answer, "", 0, answer.photos, sources=answer.tells_of)

    def _shown_again(self, context: Context, order: int) -> tuple[str, ...]:
        """Ids of the photos that were shown; with `order` of the one that has this place by time."""
        if self.photos is None:
            return ()
        held = tuple(one for one in context.shown if self.photos.holds(one))
        if not order:
            return held
        dated = (one for one in self.photos.told("", held) if one.at is not None) if held else ()
        by_time = [one.photo for one in sorted(dated, key=lambda one: one.at or 0)]
        at = order - 1 if order > 0 else len(by_time) + order
        return (by_time[at],) if 0 <= at < len(by_time) else ()

    def _of_photos(self, question: str) -> Reply | None:
        """What the memories of photos say that answers the question; None if nothing does."""
        photos = self.photos
        return None if photos is None else self._responder.of_photos(question, photos.told(question))

    def _names_fact(self, text: str) -> bool:
        """Whether a few words without a verb name what is known: "wifi password please"."""
        return len(text.split()) <= _FEW and not facts_of(text) and bool(self._responder.all_values(text))

    def _by_tools(self, question: str, now: datetime, leaving: Sequence[str]) -> Answered | None:
        """What the agents' tools answer to a question about photos.

        None without photos, and to a question about what the person named in a shown picture.
        """
        if self.photos is None or self._responder.named_objects(question):
            return None
        return self.photos.answer(question, now, leaving)

    def _history(self) -> list[StoredTurn]:
        """The last turns of this conversation; those that wait to be stored have no number yet."""
        waiting = [StoredTurn(0, turn, None, False) for turn in self._waiting]
        return [*self.store.recent(self.name, MAX_HISTORY), *waiting]

    def _forget(self, said: Resolved, context: Context, now: datetime, tell: Tell | None) -> Exchange:
        """Forgets what was said last, or what is known of something, but no photo."""
        gone = False
        try:
            if self._waiting:
                raise AlbumBusy("turns wait")
            if said.act == "deletes":
                found = _ToForget(KEPT)
            elif said.whole and not said.forgets:
                found = _ToForget(WHOM)
            else:
                named = said.forgets
                found = self._to_forget(named, said.whole) if named else self._last_told(context, now)
            text, gone = found.text, bool(found.turns or found.items)
            if gone and self._erase(found, now):
                text += " The bytes are erased as soon as no program has the album open."
        except AlbumBusy:
            text = "Nothing was forgotten: another program writes the album. Say it again in a moment."
        if tell is not None:
            tell(text)
        return replace(_exchange(text), text=text, forgot=gone)

    def _erase(self, found: _ToForget, now: datetime) -> str:
        """Stores what stays, then forgets; returns why bytes may be left, or ""."""
        if found.stay:  # before the rest goes: a kill in between loses nothing
            self.store.add_turns(found.stay)
        kept = [one for one in self.store.items_of(found.turns, "core") if _is_by_hand(one, found.items)]
        gone = by_hand.forget(self.store, OpenedLog(self.store.path), found.turns, found.items)
        self.updater.run(milliseconds(now))
        for item in kept:  # what the person corrected by hand is not drawn from turns again
            self.store.add_item(replace(item.value, sources=()))
        for fact in found.facts:
            self.store.add_item(fact)
        return gone.left

    def _last_told(self, context: Context, now: datetime) -> _ToForget:
        """The last statement, unless a silence lies between."""
        last = self.store.turns([context.told_by]) if context.told_by else []
        if not last or milliseconds(now) - last[0].turn.at > SILENCE_MS:
            return _ToForget("There is nothing to forget: say what, as in “forget where I live”.")
        return _ToForget(f"Forgotten: “{last[0].turn.text[:200]}”", (last[0].id,))

    def _to_forget(self, named: str, whole: bool) -> _ToForget:
        """All values of what is named, and what else was said in these turns, which stays.

        `whole`: all that is known of somebody.
        """
        known, names = self._responder.all_of(named) if whole else ([], frozenset[str]())
        naming = self._responder.naming(names)
        values = known or self._responder.all_values(named)
        if not values:  # "forget that I live in Lyon"
            said = {(fact.key, fact.value.casefold()) for fact in told(named, NOBODY)[1]}
            core = self._responder.core()
            keys = {one.value.key for one in core if (one.value.key, one.value.text.casefold()) in said}
            values = [one for one in core if one.value.key.removesuffix(BEFORE) in keys]
        noted = [item for item in self.store.items() if names_one(item.value.text, names)] if names else []
        if not (values or naming or noted):
            return _ToForget(NOTHING)
        keys = {item.value.key for item in values}
        sources = dict.fromkeys(turn for item in values for turn in item.value.sources)
        turns = self.store.turns(list(sources | dict.fromkeys(one.id for one in naming)))
        beside, stay = set[str](), list[Turn]()
        for stored in turns:
            left, facts = _without(stored.turn, keys, names)
            beside |= {fact.key for fact in facts if fact.key not in keys}
            stay += [left] if left is not None else []
        kept = [
            one
            for one in self._beside(beside, values, [one.id for one in turns])
            if not names_one(f"{one.key} {one.text}", names, spelt=False)
        ]
        lost = sorted(keys) + sorted(beside.difference(one.key for one in kept))
        gone = [*dict.fromkeys(key.removesuffix(BEFORE) for key in lost)]
        gone += [f"what you said of {named}"] if naming or noted else []
        items = tuple(dict.fromkeys(item.id for item in (*values, *noted) if item.id))
        ids = tuple(one.id for one in turns)
        return _ToForget(f"Forgotten: {', '.join(gone)}.", ids, items, tuple(stay), tuple(kept))

    def _beside(self, keys: set[str], going: Sequence[Item], turns: Sequence[int]) -> list[NewItem]:
        """What the same clauses told of other things and still holds, unless it says what is forgotten."""
        gone = [item.value.text.casefold() for item in going]
        return [
            replace(item.value, sources=())
            for item in self._responder.core()
            if item.value.key in keys and not item.past and not {*item.value.sources}.isdisjoint(turns)
            if not any(text in item.value.text.casefold() for text in gone)
        ]

    def _correct(self, context: Context, text: str, at: int) -> None:
        """Puts what was said last right, where it was noted."""
        for item in self.store.items_of([context.told_by] if context.told_by else [], "semantic"):
            self.store.replace_item(
                item.id, replace(item.value, text=text[:MAX_TEXT], origin="person", at=at)
            )

    def path_of(self, photo: str) -> str:
        """How a person finds a photo: its file, or its id where that is not known."""
        return photo if self.photos is None else self.photos.path(photo)

    def flush(self) -> None:
        """Stores the turns that wait. Raises AlbumBusy if they cannot be stored yet."""
        if self._waiting:
            self.store.add_turns(self._waiting)
            self._waiting.clear()

    def _keep(self, turn: Turn) -> None:
        waited = turn.speaker == ASSISTANT and bool(self._waiting)  # in vain, a moment ago
        self._waiting.append(turn)
        with suppress(AlbumBusy):
            if not waited:
                self.flush()

    def _manner(self, text: str) -> Manner:
        """How to answer a turn, by the wishes so far and those in it."""
        said = [(item.value.key, item.value.text) for item in self._responder.core() if not item.past]
        wishes = dict(said) | {fact.key: fact.value for fact in facts_of(text)}
        return manner_of((key, value) for key, value in wishes.items() if key.startswith(PERSONA))

    def _worded(self, question: str, reply: Reply, manner: Manner, cancel: Event | None) -> str:
        """The model's answer from as many notes as fit its cache; "" if its evidence does not hold it."""
        notes = notes_of(reply)
        while notes:
            try:
                return self._generated(question, notes, manner, cancel)
            except RuntimeFailure:  # they do not fit
                notes = notes[: len(notes) // 2]
        return ""

    def _generated(self, question: str, notes: list[str], manner: Manner, cancel: Event | None) -> str:
        from ..models.language.chat import Message, Wish

        assert self._model is not None
        who = personality.read(self.store).sentence() if personality.is_on(self.store) else ""
        orders = "\n".join(filter(None, [ANSWER_SYSTEM, manner.prompt(), who]))
        system = Message("system", "\n".join([orders, *notes]))
        ids = self._model.ids([system, Message("user", question[:1_000])])
        answer = self._model.generate(ids, Wish(MAX_NEW), None, cancel).text.strip()
        return answer if supports(notes, question, orders, answer) else ""


def _exchange(text: str) -> Exchange:
    return Exchange(Reply(text, (), (), ()), "")


@dataclass(frozen=True)
class _ToForget:
    """What is forgotten, with the answer. `stay`: turns that are stored in place of those that go.

    `facts`: what else the clauses that go told.
    """

    text: str
    turns: tuple[int, ...] = ()
    items: tuple[int, ...] = ()
    stay: tuple[Turn, ...] = ()
    facts: tuple[NewItem, ...] = ()


def _without(turn: Turn, keys: set[str], names: frozenset[str]) -> tuple[Turn | None, list[Fact]]:
    """A turn without the clauses that tell of these keys or name somebody, and all that those told.

    None if nothing else was said, or if no clause tells it by itself, but by what was said before.
    """
    left, lost, meant, named, of_them = list[str](), list[Fact](), NOBODY, False, False
    for sentence in sentences_of(turn.text):
        before = meant
        meant, found = told(sentence, before)
        # "She is ill." goes with the sentence that says who.
        of_them = names_one(sentence, names) or (of_them and _PRONOUN.match(sentence) is not None)
        if of_them:
            stays, goes, named = list[str](), [*found], True
        else:
            stays, goes = _apart(sentence, before, keys) if _tells(found, keys) else ([sentence], [])
        left += stays
        lost += goes
    apart = bool(left) and (named or bool(lost)) and turn.speaker != ASSISTANT
    stays_apart = replace(turn, uid=uuid4().hex, text=" ".join(left)) if apart else None
    return stays_apart, lost


def _apart(sentence: str, meant: Meant, keys: set[str]) -> tuple[list[str], list[Fact]]:
    """The clauses of a sentence that stay, as sentences, and the facts of the others.

    What stays must tell by itself, and with the same words, what it told beside the others.
    """
    left, lost = list[str](), list[Fact]()
    for clause in clauses_of(sentence):
        meant, found = told(clause, meant)
        if found and not _tells(found, keys) and told(clause)[1] == found:
            left.append(f"{clause.strip().rstrip('.!?')}.")
        else:
            lost += found
    return left, lost


def _tells(found: Sequence[Fact], keys: set[str]) -> bool:
    return not keys.isdisjoint(fact.key for fact in found)


def _is_by_hand(item: Item, going: Sequence[int]) -> bool:
    return item.value.origin == "person" and not item.past and item.id not in going


def model_of(models: Models | None) -> Chat | None:
    """What words the answers; None without a language model that reads dialogues."""
    from ..models.language.chat import Chat

    if models is None or models.manifest.language is None:
        return None
    opened = Chat(models)
    return opened if opened.has_template else None


def notes_of(reply: Reply) -> list[str]:
    """What a model reads of a reply: the facts, then the memories, a quoted line each."""
    lines = [f"{item.value.key}: “{item.value.text[:_MAX_QUOTED]}”" for item in reply.core]
    found = reply.rounds[-1].found if reply.rounds else Retrieved()
    told = [*found.semantic, *(episode.item for episode in found.episodes if not episode.lines)]
    lines += [f"{day(item.value.at)}: “{item.value.text[:_MAX_QUOTED]}”" for item in told]
    return [line.replace("<|", "< |") for line in lines]


def _shown(reply: Reply) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The turns and the memories whose words the answer may repeat."""
    turns = [turn for one in reply.rounds for turn in one.found.turns]
    items = [item.id for item in reply.core if item.id]  # those of an open session are not stored yet
    for one in reply.rounds:
        items += [item.id for item in one.found.semantic]
        items += [episode.item.id for episode in one.found.episodes if not episode.lines]
    return tuple(sorted({*reply.drawn, *turns})), tuple(sorted({*reply.says, *items}))
