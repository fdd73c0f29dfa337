"""The words of a text with their roles in a question, from the vocabulary in en.txt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TOKEN = re.compile(r"[^\W_]+(?:['’/.-][^\W_]+)*|\S")
_CONTRACTED = re.compile(r"['’](?:s|d|re|ve)$")
_QUOTES = frozenset("\"'“”‘’")  # what stands between two of them is quoted, not said
_LONGEST = 4  # words of a phrase of the vocabulary
_CLOSING = ",.;:?!)"
_MARKS = "!\"'()*,-./:;?[]‘’“”–—…"


@dataclass(frozen=True)
class Word:
    """A word, a mark, or a phrase that the vocabulary takes for one ("most recent").

    `text`: as it is written. `key`: in lower case and usual spelling. `start`, `end`: its characters in the
    source. `values`: role → reading.
    """

    text: str
    key: str
    start: int
    end: int
    values: Mapping[str, str]

    def has(self, *roles: str) -> bool:
        """Whether it has one of `roles`."""
        return any(role in self.values for role in roles)

    @property
    def is_mark(self) -> bool:
        return self.text in _MARKS

    @property
    def number(self) -> int:
        """The number that it names, 1 to 99; 0 if it names none."""
        if self.key.isdecimal() and self.key.isascii() and len(self.key) < 3:
            return int(self.key)
        return int(self.values.get("number", 0))


Words = Sequence[Word]


@cache
def _vocabulary() -> dict[str, dict[str, str]]:
    """Word → role → its reading."""
    out: dict[str, dict[str, str]] = {}
    role = ""
    for line in Path(__file__).with_name("en.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            role = line.strip("[]")
        elif line and not line.startswith("#"):
            word, _, reading = line.partition(" = ")
            out.setdefault(word, {})[role] = reading
    return out


def words_of(source: str) -> list[Word]:
    """The words and marks of a text in which every space is a single one."""
    tokens = list(_TOKEN.finditer(source))
    keys = [_key(token.group()) for token in tokens]
    out, at, quoted = list[Word](), 0, False
    while at < len(tokens):
        size = next(
            (n for n in range(_LONGEST, 1, -1) if "phrase" in _values(" ".join(keys[at : at + n]))), 1
        )
        key, last = " ".join(keys[at : at + size]), tokens[min(at + size, len(tokens)) - 1]
        start = tokens[at].start()
        quoted ^= key in _QUOTES
        out.append(Word(source[start : last.end()], key, start, last.end(), {} if quoted else _values(key)))
        at += size
    return out


def _key(text: str) -> str:
    plain = text.lower().replace("’", "'")
    usual = _values(plain).get("spelling", plain)
    bare = _CONTRACTED.sub("", usual)
    return (
        bare if bare != usual and _values(bare).keys() & {"when", "where", "who", "which", "how"} else usual
    )


def _values(key: str) -> Mapping[str, str]:
    return _vocabulary().get(key, {})


def text_of(words: Words) -> str:
    """The words as they were written, with single spaces where something between them was left out."""
    out, end = "", 0
    for word in words:
        touches = word.start == end or word.text in _CLOSING
        out += word.text if not out or touches else f" {word.text}"
        end = word.end
    return out.strip(" ,;:.-")


def index_of(words: Words, *roles: str, start: int = 0) -> int:
    """The index of the first word with one of `roles`, from `start` on; -1 if there is none."""
    return next((at for at in range(start, len(words)) if words[at].has(*roles)), -1)


def split_at(words: Words, is_border: Callable[[Word], bool]) -> list[list[Word]]:
    """The runs of words between the borders; empty runs are left out."""
    runs: list[list[Word]] = [[]]
    for word in words:
        if is_border(word):
            runs.append([])
        else:
            runs[-1].append(word)
    return [run for run in runs if run]


def trimmed(words: Words, *roles: str) -> list[Word]:
    """`words` without those at both ends that have one of `roles`, and without marks there."""
    first, last = 0, len(words)
    while first < last and (words[first].is_mark or words[first].has(*roles)):
        first += 1
    while first < last and (words[last - 1].is_mark or words[last - 1].has(*roles)):
        last -= 1
    return list(words[first:last])
