"""Reads a table of glosses: the words of one language, each with English words for it.

A bundle has one file for each language, `glosses-de.bin`, which is read by memory map and binary search:

    "GmGl"          4 bytes
    version         u16, 1
    length          u32 of the header
    header          UTF-8 JSON: `Header`, with the number of bytes of each section
    blocks          u32 [words / BLOCK, rounded up], where each block of words begins in `words`
    words           words in order of their UTF-8 bytes; see below
    senses          u32 [senses + 1], where each sense begins and ends in `sense bytes`
    sense bytes     per gloss of a sense, the best first: u24 its number, u8 its weight (the best: 255)
    glosses         u32 [glosses + 1], where each gloss begins and ends in `gloss bytes`
    gloss bytes     UTF-8, in order of their bytes

All numbers are little-endian. A word of the table is a form as people write it, or a phrase of up to four, in
the spelling of `folded`, with one space between two; forms that the header's rules lead to their word are
left out. It is stored as: u8 the number of bytes that it begins with as the word before it (0 for the first
of a block), u8 the number of the others, these; u8 the number of its senses, u24 each of them. A form of
several words has the senses of all. A reader needs no lemmatiser.
"""

from __future__ import annotations

import mmap
import re
import struct
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from gamer.index.json_checked import Between, Items, JsonError, Text, parse, read_as

from ..errors import BundleError

MAGIC, VERSION, BLOCK = b"GmGl", 1, 16
LARGEST = 1_024  # bytes of a word with its senses are fewer
START = struct.Struct("<4sHI")
MOST_WORDS = 4  # of a phrase
LONGEST = 100  # bytes of a word of the table, and of a gloss
MOST_SENSES, MOST_GLOSSES = 4, 4  # of a word, of a sense
LEAST_STEM = 3  # letters that an inflected word shares with its base
MAX_BYTES = 16_000_000  # a table that this program writes has at most 3 MB
WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[\u0000-\u024f\u1e00-\u1eff]")
_SPELT = str.maketrans({"ё": "е", "œ": "oe", "æ": "ae"})
_Count = Annotated[int, Between(0, 1 << 24)]
_Ending = Annotated[str, Text(8)]


@dataclass(frozen=True)
class Rule:
    """How an inflected word is looked up: `ending` is cut off, and `base` put in its place."""

    ending: _Ending
    base: _Ending


@dataclass(frozen=True)
class Header:
    """What a table says of itself.

    `sizes`: bytes of the six sections. `rules`: of inflection, in the order in which they are tried for a
    word that the table does not have. `links`: what a compound may have between two words; () if the
    language has no compounds. `endings`: pronouns that may be written at the end of a word. `spaceless`:
    whether words are written without spaces between them. `sources`: the dictionaries.
    """

    language: Annotated[str, Text(pattern=r"[a-z]{2,3}", form="that is a code such as de")]
    words: _Count
    senses: _Count
    glosses: _Count
    sizes: Annotated[tuple[_Count, ...], Items(6, 6)]
    rules: Annotated[tuple[Rule, ...], Items(most=256)] = ()
    links: Annotated[tuple[str, ...], Items(most=16)] = ()
    endings: Annotated[tuple[_Ending, ...], Items(most=32)] = ()
    spaceless: bool = False
    sources: Annotated[tuple[str, ...], Items(most=32)] = ()


@dataclass(frozen=True)
class Gloss:
    """English for a word. `weight`: 0..1, 1 for the best of a sense."""

    text: str
    weight: float


def folded(text: str) -> str:
    """The spelling in which words are stored: lower case, composed, ß as ss, ё as е, œ as oe, æ as ae."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", text).casefold().translate(_SPELT)


class RuleSet:
    """Rules of inflection by their endings, for many words."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._bases: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for place, rule in enumerate(rules):
            self._bases[rule.ending].append((place, rule.base))
        self._lengths = sorted({len(rule.ending) for rule in rules})

    def bases(self, word: str) -> list[str]:
        """What a word may be an inflected form of, by the rules in their order."""
        stems = (word[: len(word) - length] for length in self._lengths if len(word) - length >= LEAST_STEM)
        led = ((*pair, stem) for stem in stems for pair in self._bases.get(word[len(stem) :], ()))
        return [stem + base for _, base, stem in sorted(led)]


def latin_script(word: str) -> bool:
    return bool(_LATIN.match(word))


class GlossTable:
    """An open table. Threads may share it. Raises BundleError, in one line, for a file that is none."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.header, at = _opened(self._data)
        except (OSError, ValueError, struct.error, JsonError) as error:
            raise BundleError(f"{path}: not a table of glosses ({error}): export the bundle again") from None
        self._starts = [at + sum(self.header.sizes[:n]) for n in range(6)]
        self._blocks = memoryview(self._data)[self._starts[0] : self._starts[1]].cast("I")
        self._rules = RuleSet(self.header.rules)
        self.lookup = lru_cache(maxsize=8192)(self._lookup)
        self.first = lru_cache(maxsize=2048)(self._first)  # every search begins with the same ones
        self.block = lru_cache(maxsize=512)(self._block)  # what a word may come from often stands near it

    @cached_property
    def is_latin(self) -> bool:
        """Whether its words are in Latin letters, by the word in its middle."""
        if not self._blocks:
            return True
        at = self._starts[1] + self._blocks[len(self._blocks) // 2]
        try:
            word = self._data[at + 2 : at + 2 + self._data[at + 1]]
        except IndexError as error:
            raise BundleError(f"{self.path}: damaged ({error}): export the bundle again") from None
        return latin_script(word.decode("utf-8", "replace"))

    @property
    def language(self) -> str:
        return self.header.language

    def _lookup(self, word: str) -> tuple[Gloss, ...]:
        """The glosses of a word or phrase in the spelling of `folded`, the best first; () if it is not there.

        Raises BundleError for a damaged file.
        """
        if (found := self.listed(word)) or " " in word:
            return found
        for base in self._rules.bases(word):
            if found := self.listed(base):
                return found
        return ()

    def listed(self, word: str) -> tuple[Gloss, ...]:
        """The glosses of a word as the table lists it, without the rules."""
        key = word.encode("utf-8", "ignore")
        if not 0 < len(key) <= LONGEST or not self._blocks:
            return ()
        try:
            if not (senses := self._senses_of(key)):
                return ()
            weights: dict[str, float] = {}
            for sense in senses:
                for gloss in self._sense(sense):
                    weights[gloss.text] = max(weights.get(gloss.text, 0.0), gloss.weight)
        except (IndexError, ValueError, struct.error) as error:
            raise BundleError(f"{self.path}: damaged ({error}): export the bundle again") from None
        ordered = sorted(weights.items(), key=lambda pair: -pair[1])
        return tuple(Gloss(text, weight) for text, weight in ordered[:MOST_GLOSSES])

    def _first(self, block: int) -> bytes:
        at = self._starts[1] + self._blocks[block]
        return self._data[at + 2 : at + 2 + self._data[at + 1]]

    def _senses_of(self, key: bytes) -> Sequence[int]:
        # The last block whose first word is not after the key.
        low, high = 0, len(self._blocks)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.first(middle) <= key else (low, middle)
        listed, last, broken = self.block(low)
        if broken and last < key:
            raise ValueError(broken)
        if (found := listed.get(key)) is None:
            return ()
        return [int.from_bytes(found[n : n + 3], "little") for n in range(0, len(found), 3)]

    def _block(self, number: int) -> tuple[dict[bytes, bytes], bytes, str]:
        """(Word → its senses, the last word, why reading broke off); words out of order are never met."""
        begin, end = self._starts[1] + self._blocks[number], self._starts[2]
        if number + 1 < len(self._blocks):
            end = self._starts[1] + self._blocks[number + 1]
        data = self._data[begin : max(begin, end) + LARGEST]  # bytes are read faster than a map
        listed, last, word, at = dict[bytes, bytes](), b"", b"", 0
        try:
            for _ in range(BLOCK):
                if at >= end - begin:
                    break
                shared, added = data[at], data[at + 1]
                word = word[:shared] + data[at + 2 : at + 2 + added]
                at += 2 + added
                senses = data[at + 1 : at + 1 + 3 * data[at]]
                at += 1 + 3 * data[at]
                if word > last or not listed:
                    listed[word] = senses
                    last = word
        except IndexError as error:
            return listed, last, str(error)
        return listed, last, ""

    def _sense(self, number: int) -> list[Gloss]:
        begin, end = struct.unpack_from("<2I", self._data, self._starts[2] + 4 * self._within(number, 1))
        base, out = self._starts[3], list[Gloss]()
        for at in range(base + begin, base + min(end, begin + 4 * MOST_GLOSSES), 4):
            gloss = int.from_bytes(self._data[at : at + 3], "little")
            out.append(Gloss(self._gloss(gloss).decode(), self._data[at + 3] / 255))
        return out

    def _within(self, number: int, section: int) -> int:
        if number >= (self.header.senses, self.header.glosses)[section - 1]:
            raise ValueError(f"no sense or gloss {number}")
        return number

    def _gloss(self, number: int) -> bytes:
        begin, end = struct.unpack_from("<2I", self._data, self._starts[4] + 4 * self._within(number, 2))
        return self._data[self._starts[5] + begin : self._starts[5] + min(end, begin + LONGEST)]


def _opened(data: mmap.mmap) -> tuple[Header, int]:
    """(The header, where the sections begin). Raises ValueError, struct.error or JsonError."""
    magic, version, length = START.unpack_from(data)
    if magic != MAGIC or len(data) > MAX_BYTES:
        raise ValueError("another kind of file" if magic != MAGIC else "too large")
    if version != VERSION:
        raise ValueError(f"version {version}, this program reads {VERSION}")
    at = START.size + length
    header: Header = read_as(Header, parse(data[START.size : at]))
    blocks = -(-header.words // BLOCK)
    want = (4 * blocks, 4 * (header.senses + 1), 4 * (header.glosses + 1))
    if header.sizes[0::2] != want or at + sum(header.sizes) != len(data):
        raise ValueError("its sections' sizes differ")
    return header, at
