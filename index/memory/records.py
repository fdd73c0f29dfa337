"""The data classes of a person's memories: a turn as said, a memory drawn from turns, what `forget` removed.

Times are milliseconds since 1970-01-01 of the clock on the wall, as if it were UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ..errors import UnfitMemory
from ..records import FloatArray, Level, RowArray

Kind = Literal["core", "semantic", "episodic", "procedural"]
Origin = Literal["rules", "llm", "person"]
Block = Literal["human", "persona", ""]
KINDS: tuple[Kind, ...] = get_args(Kind)
ASSISTANT = "assistant"  # the speaker whose turns say nothing about the person
PERSONA = "persona: "  # begins the keys of the core memories that say how the assistant should be
PROCEDURAL = 5  # goals and habits that are current at once
MAX_TURN, MAX_ITEM, MAX_NAME, MAX_KEYWORDS = 1 << 20, 2_000, 200, 48  # bytes of UTF-8; the last: words
_EARLIEST, _LATEST = -62_135_596_800_000, 253_402_300_799_999  # years 1 to 9999


@dataclass(frozen=True)
class Turn:
    """What one speaker said at once, unchanged.

    `uid`: the same turn given twice is stored once. `pictures`: ids of photos that were shown with it.
    `drawn`, `says`: for an assistant's turn, the turns and the memories that it repeats; forgetting one of
    these forgets it too.
    `sharing`: "low" keeps it on the device, and is what a turn has unless a person says otherwise.
    Raises UnfitMemory for a time outside of the years 1 to 9999, and for a turn that is empty or too long.
    """

    uid: str
    chat: str
    speaker: str
    at: int
    text: str
    pictures: tuple[str, ...] = ()
    sharing: Level = "low"
    drawn: tuple[int, ...] = ()
    says: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check("turn", self.text, MAX_TURN, self.at)
        for name in (self.uid, self.chat, self.speaker):
            _check("name of a turn", name, MAX_NAME, self.at)
        if any("\n" in picture for picture in self.pictures):
            raise UnfitMemory(
                "the id of a picture has a line break in it: give the id that `gamer search` shows"
            )


@dataclass(frozen=True)
class StoredTurn:
    """A turn and its number. `session`: None until that was closed. `digested`: its facts were drawn."""

    id: int
    turn: Turn
    session: int | None
    digested: bool


@dataclass(frozen=True)
class NewItem:
    """A memory to store.

    `key`: memories of one kind and key follow each other, the latest is current; "" stands alone.
    `keywords`: words to find it by. `ends`: of an episode, its last turn. `sources`: turns it was drawn from.
    """

    kind: Kind
    key: str
    text: str
    at: int
    keywords: tuple[str, ...] = ()
    ends: int | None = None
    origin: Origin = "rules"
    sharing: Level = "low"
    sources: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _check("memory", self.text, MAX_ITEM, self.at)
        _check("key of a memory", self.key or "-", MAX_NAME, self.at)
        if self.kind not in KINDS:
            raise UnfitMemory(f"a memory of kind {self.kind!r}: choose one of {', '.join(KINDS)}")
        if self.kind in ("core", "procedural") and not self.key:
            raise UnfitMemory(f"a {self.kind} memory without a key: say what it is about, such as 'home'")
        if len(self.keywords) > MAX_KEYWORDS:
            raise UnfitMemory(f"a memory of {len(self.keywords)} keywords: give at most {MAX_KEYWORDS}")

    @property
    def block(self) -> Block:
        """Of a core memory, whether it tells of the owner or of how the assistant should be; "" of others."""
        if self.kind != "core":
            return ""
        return "persona" if self.key.startswith(PERSONA) else "human"


@dataclass(frozen=True)
class Item:
    """A stored memory. `past`: a later value took its place, at `ends`."""

    id: int
    value: NewItem
    past: bool


@dataclass(frozen=True, eq=False)
class Named:
    """What a shown picture shows, by the name that the person gave it.

    `picture`: the photo's id. `vector`: float32 [d], of the picture; None where none was at hand. `encoder`:
    the name of what made it.
    """

    name: str
    picture: str
    vector: FloatArray | None
    encoder: str


@dataclass(frozen=True)
class Forgotten:
    """What `forget` removed. `texts`: of all of it. `left`: why bytes of it may be left, or ""."""

    turns: tuple[int, ...]
    items: tuple[int, ...]
    texts: tuple[str, ...]
    left: str

    @property
    def erased(self) -> bool:
        """Whether no copy of the bytes is left in the file or its log."""
        return not self.left


@dataclass(frozen=True, eq=False)
class Heads:
    """Columns of all turns from an id on, by id; all of length n.

    `ids`, `at`: int64. `chats`, `speakers`, `sessions`: int64, numbers of names (-1: no session).
    `traits`: int64, bits that the runtime set, -1 for one that it has not read. `codes`: int8 [n, d], d = 0
    without vectors; `scales`: float32, 0 for a turn without a vector. `names`: their speakers.
    """

    ids: RowArray
    at: RowArray
    chats: RowArray
    speakers: RowArray
    sessions: RowArray
    traits: RowArray
    codes: NDArray[np.int8]
    scales: FloatArray
    names: tuple[str, ...]


def clip(text: str, most: int) -> str:
    """The longest beginning of a text that has at most `most` bytes of UTF-8."""
    return text if len(text) * 4 <= most else text.encode()[:most].decode(errors="ignore")


def _check(what: str, text: str, most: int, at: int) -> None:
    if not text.strip():
        raise UnfitMemory(f"an empty {what}: say something")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise UnfitMemory(f"a {what} with half a character (a lone surrogate): give valid Unicode") from None
    if size > most:
        raise UnfitMemory(f"a {what} of {size} bytes: give at most {most}")
    if not _EARLIEST <= at <= _LATEST:
        raise UnfitMemory(f"a {what} at {at} ms: give a time in the years 1 to 9999")
