"""What an album knows about its owner: listed, added to, corrected, forgotten, and talked with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from ..errors import NoBundle, RuntimeFailure

if TYPE_CHECKING:
    from gamer.index.memory.records import Forgotten, Item, Kind
    from gamer.index.memory.store import MemoryStore

    from ..memory.by_hand import MemoryDetail
    from ..memory.chat import Conversation, Exchange
    from ..memory.personality import Personality
    from ..memory.update import Updated
    from .bundle import Bundle
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

    def show(self, memory: int) -> MemoryDetail:
        """A memory with the turns that it was drawn from, and its other values. Raises NoSuchMemory."""
        from ..memory import by_hand

        with self.store(write=False) as store:
            return by_hand.show(store, memory)

    def add(self, text: str, *, kind: Kind = "semantic", key: str = "", share: bool = False) -> int:
        """Stores a memory in your words. `key`: what it is about, such as "home": a later value replaces it.

        `share`: it may be exported. Returns its number.
        """
        from ..memory import by_hand

        with self.store() as store:
            return by_hand.add(store, kind, key, text, share)

    def correct(self, memory: int, text: str) -> int:
        """Stores the corrected words; what was there before is kept as past. Returns the new number."""
        from ..memory import by_hand

        with self.store() as store:
            return by_hand.edit(store, memory, text)

    def forget(self, *memories: int, turns: Sequence[int] = ()) -> Forgotten:
        """Forgets memories and turns with all that hangs on them, and the bytes.

        Without any, only the bytes of what was forgotten before are looked after.
        """
        from gamer.index import OpenedLog

        from ..memory import by_hand

        with self.store() as store:
            return by_hand.forget(store, OpenedLog(self._album.path), turns, memories)

    def forget_all(self) -> Forgotten:
        """Forgets everything that was said, all memories, and every search that was kept."""
        from gamer.index import OpenedLog

        from ..memory import by_hand

        with self.store() as store:
            return by_hand.forget_all(store, OpenedLog(self._album.path))

    def personality(self) -> Personality | None:
        """What was learnt of the owner's manner; None where that is off."""
        from ..memory import personality

        with self.store(write=False) as store:
            return personality.read(store) if personality.is_on(store) else None

    def learn_personality(self, on: bool) -> None:
        """Turns learning on or off; off also forgets what was learnt."""
        from ..memory import personality

        with self.store() as store:
            personality.turn_on(store, on)

    def update(self, decider: Literal["rules", "llm"] = "rules") -> tuple[Updated, int]:
        """Draws memories from what was said since the last time; also encodes turns that were not yet.

        Returns what was drawn, and how many turns were encoded.
        """
        from ..memory import by_hand, deciders
        from ..memory.recall import encoder_of
        from ..memory.update import Updater

        bundle = self._bundle()
        models = None if bundle is None else bundle.models
        with self.store() as store:
            updater = Updater(store, encoder_of(models), decider=deciders.decider(decider, models))
            return updater.run(by_hand.now()), updater.encode_missing()

    @contextmanager
    def talk(
        self, name: str | None = None, *, worded: bool = False, decider: Literal["rules", "llm"] = "rules"
    ) -> Iterator[Conversation]:
        """A conversation, which remembers what is said. `name`: of one to go on with.

        `worded`: the bundle's language model may word answers. Without a bundle, answers are found by words
        alone, and no photos are searched.
        """
        from gamer.index.memory.store import MemoryStore

        from ..memory import deciders
        from ..memory.chat import Conversation, model_of
        from ..memory.pictures import AlbumPictures
        from ..memory.recall import encoder_of

        bundle = self._bundle()
        models = None if bundle is None else bundle.models
        photos = None
        if bundle is not None and len(self._album):
            try:
                photos = AlbumPictures(self._album.engine)
            except RuntimeFailure:  # other encoders made the album's vectors
                photos = None
        with MemoryStore.open(self._album.path) as store:
            yield Conversation(
                store,
                encoder_of(models),
                photos,
                model_of(models) if worded else None,
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
        from gamer.index.memory.store import MemoryStore

        if not write:
            with MemoryStore.open(self._album.path, write=False) as opened:
                yield opened
            return
        with self._album.changing() as path, MemoryStore.open(path) as opened:
            yield opened

    def _bundle(self) -> Bundle | None:
        try:
            return self._album.bundle
        except NoBundle:
            return None
