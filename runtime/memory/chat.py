"""A conversation about what one said and photographed: each turn is stored, answered and learnt from.

The rules answer. The bundle's language model may word an answer from what they retrieved, where that is asked
for, and is heard only if its evidence holds every word (evidence.py). What it reads of memories stands in
quotes, and nothing that a turn says is carried out. A model that runs elsewhere is never used here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from uuid import uuid4

from gamer.index.errors import AlbumBusy
from gamer.index.memory.records import ASSISTANT, MAX_TURN, PERSONA, Turn, clip
from gamer.index.memory.store import MemoryStore

from ..defaults import ANSWER_SYSTEM
from ..errors import RuntimeFailure
from ..questions.reader import read
from . import personality
from .deciders import Decider
from .evidence import supports
from .facts import facts_of
from .persona import Manner, manner_of
from .pictures import Answered, Pictures
from .recall import Encoder, Recall
from .response import Reply, Responder, Retrieved, day
from .update import OWNER, Updater
from .words import asks, sentences

if TYPE_CHECKING:
    from threading import Event

    from ..models.language.chat import Chat
    from ..models.models import Models

NOTED = "Noted."
MAX_NEW = 96  # tokens of a worded answer
_MAX_QUOTED = 240  # characters of each memory in the prompt
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Exchange:
    """One exchange. `reply`: what the rules found. `text`: what was answered.

    `photos`: ids of those that go with it. `steps`: a line for each call of a tool. `waiting`: turns that are
    not stored yet, because another program writes the album (`flush`).
    """

    reply: Reply
    text: str
    waiting: int = 0
    photos: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()


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
        question = read(text[-2_000:])
        wants_photos = question.shows or question.about_photos
        asked = wants_photos or any(asks(sentence) for sentence in sentences(text[-2_000:]))
        turn = Turn(uuid4().hex, self.name, OWNER, at, text, tuple(pictures))
        by_tools = self._by_tools(text[:2_000], now) if wants_photos else None
        if by_tools is not None or not asked:
            reply = Reply(by_tools.text if by_tools else NOTED, (), (), ())
        else:
            reply = self._responder.respond(text[:2_000], now)
        self._keep(turn)
        manner, answer = self._manner(text), ""
        if asked and self._model is not None and (reply.drawn or reply.says):
            answer = self._worded(text, reply, manner, cancel)
        answer = answer or manner.noted(reply.brief if manner.short else reply.text)
        if tell is not None:
            tell(answer)
        drawn, says = _shown(reply)
        spoken = clip(answer, MAX_TURN)
        self._keep(Turn(uuid4().hex, self.name, ASSISTANT, at + 1, spoken, drawn=drawn, says=says))
        if not self._waiting:
            with suppress(AlbumBusy):  # the next turn goes on with it
                self.updater.run(at)
        found = by_tools or Answered(reply.text, reply.photos, ())
        return Exchange(reply, answer, len(self._waiting), found.photos, found.steps)

    def _by_tools(self, question: str, now: datetime) -> Answered | None:
        """What the agents' tools answer to a question about photos.

        None without photos, and to a question about what the person named in a shown picture.
        """
        if self.photos is None or self._responder.names_object(question):
            return None
        return self.photos.answer(question, now)

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


def milliseconds(now: datetime) -> int:
    """Wall time as ms, as if it were UTC."""
    return int(now.replace(tzinfo=UTC).timestamp() * 1000)


def _shown(reply: Reply) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The turns and the memories whose words the answer may repeat."""
    turns = [turn for one in reply.rounds for turn in one.found.turns]
    items = [item.id for item in reply.core if item.id]  # those of an open session are not stored yet
    for one in reply.rounds:
        items += [item.id for item in one.found.semantic]
        items += [episode.item.id for episode in one.found.episodes if not episode.lines]
    return tuple(sorted({*reply.drawn, *turns})), tuple(sorted({*reply.says, *items}))
