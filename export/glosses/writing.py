"""Encodes a table of glosses as the bytes that runtime/glosses/table.py describes and reads."""

from __future__ import annotations

import json
import struct
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from gamer.runtime.glosses.table import BLOCK, MAGIC, START, VERSION, Header, Rule


@dataclass(frozen=True)
class Spelling:
    """What the header says of the language: see table.Header."""

    language: str
    rules: tuple[Rule, ...] = ()
    links: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()
    spaceless: bool = False
    sources: tuple[str, ...] = ()


def encoded(
    spelt: Spelling, words: Mapping[str, Mapping[str, float]], forms: Mapping[str, list[str]]
) -> bytes:
    """The file. `words`: word → gloss → what it is worth; `forms`: form → the words whose glosses it has."""
    used = sorted({word for named in forms.values() for word in named})
    glosses = sorted({gloss for word in used for gloss in words[word]}, key=str.encode)
    number_of = {gloss: number for number, gloss in enumerate(glosses)}
    said = {word: _sense(words[word], number_of) for word in used}
    senses = {sense: number for number, sense in enumerate(dict.fromkeys(said.values()))}
    sense_of = {word: senses[sense] for word, sense in said.items()}  # words of the same glosses share one
    numbers = {
        form.encode(): list(dict.fromkeys(sense_of[w] for w in named)) for form, named in forms.items()
    }
    blocks, listed = _words(numbers)
    sections = (
        blocks,
        listed,
        *_strings(senses),
        *_strings(gloss.encode() for gloss in glosses),
    )
    header = Header(
        spelt.language,
        len(numbers),
        len(senses),
        len(glosses),
        tuple(map(len, sections)),
        spelt.rules,
        spelt.links,
        spelt.endings,
        spelt.spaceless,
        spelt.sources,
    )
    text = json.dumps(asdict(header), ensure_ascii=False).encode()
    return START.pack(MAGIC, VERSION, len(text)) + text + b"".join(sections)


def _sense(glosses: Mapping[str, float], number_of: Mapping[str, int]) -> bytes:
    most = max(glosses.values())
    ordered = sorted(glosses, key=lambda gloss: -glosses[gloss])
    parts = ((number_of[gloss], max(1, round(255 * glosses[gloss] / most))) for gloss in ordered)
    return b"".join(number.to_bytes(3, "little") + bytes((weight,)) for number, weight in parts)


def _words(numbers: Mapping[bytes, list[int]]) -> tuple[bytes, bytes]:
    blocks, out, before = array("I"), bytearray(), b""
    for at, word in enumerate(sorted(numbers)):
        if at % BLOCK == 0:
            blocks.append(len(out))
            before = b""
        shared = next((n for n, (a, b) in enumerate(zip(before, word, strict=False)) if a != b), None)
        shared = min(len(before), len(word)) if shared is None else shared
        out += bytes((shared, len(word) - shared)) + word[shared:] + bytes((len(numbers[word]),))
        out += b"".join(number.to_bytes(3, "little") for number in numbers[word])
        before = word
    return struct.pack(f"<{len(blocks)}I", *blocks), bytes(out)


def _strings(items: Iterable[bytes]) -> tuple[bytes, bytes]:
    """(Where each begins and the last ends, all of them.)"""
    ends, joined = [0], bytearray()
    for item in items:
        joined += item
        ends.append(len(joined))
    return struct.pack(f"<{len(ends)}I", *ends), bytes(joined)
