"""What the person does to memories by hand: shows one, writes one, corrects one, forgets some.

The command and the server's API call these functions. They know no format of output and no address.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gamer.index import OpenedLog
from gamer.index.errors import NoSuchMemory
from gamer.index.memory.records import MAX_KEYWORDS, Forgotten, Item, Kind, NewItem, StoredTurn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import Level

from ..wall_time import milliseconds
from .words import content


@dataclass(frozen=True)
class MemoryDetail:
    """One memory. `said`: the turns it was drawn from. `others`: the other values of its key, by time.

    `drawn`: the other memories that were drawn from these turns, which are forgotten together with it.
    """

    item: Item
    said: tuple[StoredTurn, ...]
    others: tuple[Item, ...]
    drawn: tuple[Item, ...]


def show(store: MemoryStore, row: int) -> MemoryDetail:
    """Raises NoSuchMemory, and AlbumError where the memory or one of its turns is damaged."""
    item = _item(store, row)
    value = item.value
    same = store.values_of(value.kind, value.key) if value.key else []
    return MemoryDetail(
        item,
        tuple(store.turns(value.sources)),
        tuple(other for other in same if other.id != row),
        tuple(other for other in store.items_of(value.sources) if other.id != row),
    )


def add(store: MemoryStore, kind: Kind, key: str, text: str, share: bool) -> int:
    """Stores a memory in the person's own words; returns its id. Raises UnfitMemory.

    `key`: what it is about, such as "home"; a later value takes its place. `share`: it may be exported.
    """
    sharing: Level = "high" if share else "low"
    item = NewItem(kind, key, text, now(), _keywords(text), origin="person", sharing=sharing)
    return store.add_item(item)


def edit(store: MemoryStore, row: int, text: str) -> int:
    """Stores the corrected words of a memory, which becomes past; returns the new one's id.

    Raises NoSuchMemory and UnfitMemory.
    """
    value = _item(store, row).value
    corrected = replace(
        value,
        key=value.key or f"note {row}",
        text=text,
        at=max(now(), value.at),
        keywords=_keywords(text),
        origin="person",
        ends=None,
    )
    return store.replace_item(row, corrected)


def forget(
    store: MemoryStore,
    log: OpenedLog,
    turns: Sequence[int],
    items: Sequence[int],
    keep_bytes: bool = False,
) -> Forgotten:
    """Forgets turns and memories with all that hangs on them, and the log's searches with the same words.

    `keep_bytes`: as in `MemoryStore.forget`. Without turns and items, only the bytes of what was forgotten
    before are looked after. Raises NoSuchMemory, and then forgets nothing.
    """
    if not turns and not items:
        return Forgotten((), (), (), store.sweep())
    gone = store.forget(turns, items, now(), keep_bytes)
    log.forget(queries=gone.texts)
    return gone


def forget_all(store: MemoryStore, log: OpenedLog) -> Forgotten:
    """Forgets everything that was said, all memories, and every search in the log."""
    gone = store.forget_all(now())
    log.forget(queries=None)
    return gone


def now() -> int:
    """ms of wall time."""
    return milliseconds(datetime.now())


def _item(store: MemoryStore, row: int) -> Item:
    item = store.item(row)
    if item is None:
        raise NoSuchMemory(
            f"{store.path}: there is no memory m{row}; `gamer memory list` shows what there is"
        )
    return item


def _keywords(text: str) -> tuple[str, ...]:
    return tuple(content(text)[:MAX_KEYWORDS])
