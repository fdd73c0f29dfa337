"""What an album knows about its owner: listed, added to, corrected, forgotten, and talked with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from gamer.index import OpenedLog
from gamer.index.memory.records import Forgotten, Item, Kind
from gamer.index.memory.store import MemoryStore

from ..errors import NoBundle, RuntimeFailure
from ..memory import by_hand, deciders, personality
from ..memory.chat import Conversation, Exchange, model_of
from ..memory.personality import Personality
from ..memory.pictures import Pictures
from ..memory.recall import encoder_of
from ..memory.update import Updated, Updater

if TYPE_CHECKING:
    from ..models.language.chat import Chat
    from ..models.models import Models
    from .opened import OpenAlbum


class Memory:
    """Stays in the album's file; what is forgotten is erased from it. Memories are named by their number."""

    def __init__(self, album: OpenAlbum) -> None:
        self._album = album

    def __iter__(self) -> Iterator[Item]:
        """The memories that hold, by time."""
        return iter(self.items())

    def items(self, kind: Kind | None = None, past: bool = False) -> list[Item]:
        """`past`: also the values that later ones replaced."""
        with self.store(write=False) as store:
            return store.items(kind, past)

    def latest(self, kind: Kind, past: bool, limit: int, skip: int) -> tuple[list[Item], int]:
        """A page of memories, the latest first, and how many there are."""
        with self.store(write=False) as store:
            return store.latest(kind, past, limit, skip)

    def show(self, memory: int) -> by_hand.MemoryDetail:
        """A memory with the turns that it was drawn from, and its other values. Raises NoSuchMemory."""
        with self.store(write=False) as store:
            return by_hand.show(store, memory)

    def add(self, text: str, *, kind: Kind = "semantic", key: str = "", share: bool = False) -> int:
        """Stores a memory in your words. `key`: what it is about, such as "home": a later value replaces it.

        `share`: it may be exported. Returns its number.
        """
        with self.store() as store:
            return by_hand.add(store, kind, key, text, share)

    def correct(self, memory: int, text: str) -> int:
        """Stores the corrected words; what was there before is kept as past. Returns the new number."""
        with self.store() as store:
            return by_hand.edit(store, memory, text)

    def forget(self, *memories: int, turns: Sequence[int] = (), keep_bytes: bool = False) -> Forgotten:
        """Forgets memories and turns with all that hangs on them, and the bytes.

        Without any, only the bytes of what was forgotten before are looked after. `keep_bytes`: `sweep` looks
        after them, once nobody has the album open.
        """
        with self.store() as store:
            return by_hand.forget(store, OpenedLog(self._album.path), turns, memories, keep_bytes)

    def sweep(self) -> str:
        """Erases the bytes of what was forgotten; returns why some may be left, or ""."""
        with self.store() as store:
            return store.sweep()

    def forget_all(self) -> Forgotten:
        """Forgets everything that was said, all memories, and every search that was kept."""
        with self.store() as store:
            return by_hand.forget_all(store, OpenedLog(self._album.path))

    def personality(self) -> Personality | None:
        """What was learnt of the owner's manner; None where that is off."""
        with self.store(write=False) as store:
            return personality.read(store) if personality.is_on(store) else None

    def learn_personality(self, on: bool) -> None:
        """Turns learning on or off; off also forgets what was learnt."""
        with self.store() as store:
            personality.turn_on(store, on)

    def update(self, decider: Literal["rules", "llm"] = "rules") -> tuple[Updated, int]:
        """Draws memories from what was said since the last time; also encodes turns that were not yet.

        Returns what was drawn, and how many turns were encoded.
        """
        models = self._models()
        with self.store() as store:
            updater = Updater(store, encoder_of(models), decider=deciders.decider(decider, models))
            return updater.run(by_hand.now()), updater.encode_missing()

    def learn(self, stop: Callable[[], bool], now: int | None = None) -> None:
        """As `update`, in short steps, before each of which `stop` is asked. `now`: ms of wall time.

        An album without memories stays as it is.
        """
        with self.store(write=False) as snapshot:
            if not snapshot.exists:  # to open it for writing may convert an album of an older format
                return
        with self.store() as store:
            updater = Updater(store, encoder_of(self._models()))
            updater.run(by_hand.now() if now is None else now, stop)
            updater.encode_missing(stop)

    @contextmanager
    def talk(
        self, name: str | None = None, *, worded: bool = False, decider: Literal["rules", "llm"] = "rules"
    ) -> Iterator[Conversation]:
        """A conversation, which remembers what is said. `name`: of one to go on with.

        `worded`: the bundle's language model may word answers. Without a bundle, answers are found by words
        alone, and no photos are searched.
        """
        models, photos = self._models(), None
        if models is not None and len(self._album):
            with suppress(RuntimeFailure):  # other encoders made the album's vectors
                photos = Pictures(self._album.engine)
        with MemoryStore.open(self._album.path) as store:
            yield Conversation(
                store,
                encoder_of(models),
                photos,
                self._words if worded else None,
                name,
                deciders.decider(decider, models),
            )

    def say(
        self, text: str, now: datetime | None = None, tell: Callable[[str], None] | None = None
    ) -> Exchange:
        """One turn of a conversation of its own: stored, answered, learned from."""
        with self.talk() as conversation:
            said = conversation.say(text, now or datetime.now(), tell)
            conversation.flush()
        return said

    @contextmanager
    def store(self, write: bool = True) -> Iterator[MemoryStore]:
        """The tables themselves."""
        if write:
            with self._album.changing() as path, MemoryStore.open(path) as opened:
                yield opened
        else:
            with MemoryStore.open(self._album.path, write=False) as opened:
                yield opened

    @cached_property
    def _words(self) -> Chat | None:
        """What words answers."""
        return model_of(self._models())

    def _models(self) -> Models | None:
        """None without a bundle."""
        try:
            return self._album.bundle.models
        except NoBundle:
            return None
