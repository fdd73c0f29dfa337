"""The words of a text with their roles in a question, from the vocabulary of cue_rules.json ("questions").

Words of other languages are other spellings of English ones: "ohne" is "without". Only words are there that
say one English word wherever they stand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..cues.tables import tables

_TOKEN = re.compile(r"[^\W_]+(?:['’/.-][^\W_]+)*|[^\s¿¡]")
_CONTRACTED = re.compile(r"['’](?:s|d|re|ve)$")
_QUOTES = frozenset("\"'“”‘’")  # what stands between two of them is quoted, not said
# German nouns behind which "nach der" says where to, or what for; "Ausflug" is more often followed by a time.
_GOAL = re.compile(r"(?:wege?|reisen?|(?<![sp])flug|flüge|fahrt(?:en)?|suchen?|fragen?)$")
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
        """The number that it names, 1 to 999; 0 if it names none."""
        if self.key.isdecimal() and self.key.isascii() and len(self.key) < 4:
            return int(self.key)
        return int(self.values.get("number", 0))


Words = Sequence[Word]


@cache
def sections(file: Path) -> Mapping[str, Mapping[str, str]]:
    """A file of words: role → its words, each with its reading, "" without one."""
    out: dict[str, dict[str, str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            out[line.strip("[]")] = words = {}
        elif line and not line.startswith("#"):
            word, _, reading = line.partition(" = ")
            words[word] = reading
    return out


def listed(name: str) -> frozenset[str]:
    """A list of words that the reader's rules name, shared with the readers of the apps."""
    return tables().questions.lists[name]


class _Vocabulary:
    """English words with their roles, and those of another language as spellings of them."""

    def __init__(self, *languages: str) -> None:
        self._roles: dict[str, dict[str, str]] = {}
        known = tables().questions.words
        for role, words in (pair for language in languages for pair in known.get(language, {}).items()):
            for word, reading in words.items():
                self._roles.setdefault(word, {})[role] = reading

    def values(self, key: str) -> Mapping[str, str]:
        """Role → reading."""
        return self._roles.get(key, {})

    def usual(self, text: str) -> str:
        return self.values(text).get("spelling", text)

    def key(self, text: str) -> str:
        usual = self.usual(text.lower().replace("’", "'"))
        bare = _CONTRACTED.sub("", usual)
        asks = bare != usual and self.values(bare).keys() & {"when", "where", "who", "which", "how"}
        return bare if asks else usual


@cache
def _vocabulary(language: str) -> _Vocabulary:
    return _Vocabulary(*dict.fromkeys(("en", language)))


def words_of(source: str, language: str = "") -> list[Word]:
    """The words and marks of a text in which every space is a single one.

    `language`: a code such as "de" of what the text may be in besides English; one that has no words is none.
    """
    known = _vocabulary(language)
    tokens = [span for match in _TOKEN.finditer(source) for span in _spans(match, known)]
    written = [source[slice(*span)].lower() for span in tokens]
    keys = [known.key(text) for text in written]
    out, at, quoted = list[Word](), 0, False
    while at < len(tokens):
        phrases = (
            (n, phrase)
            for n in range(_LONGEST, 1, -1)
            for phrase in (" ".join(keys[at : at + n]), " ".join(written[at : at + n]))
            if "phrase" in known.values(phrase)
            and not (phrase.startswith("nach ") and at and _GOAL.search(written[at - 1]))
        )
        size, said = next(phrases, (1, keys[at]))
        key, spans = known.usual(said) if size > 1 else said, tokens[at : at + size]
        whole = (spans[0][0], spans[-1][1])
        quoted ^= key in _QUOTES
        for part, (start, end) in [(key, whole)] if known.values(key) else _parts(key, spans):
            out.append(Word(source[start:end], part, start, end, {} if quoted else known.values(part)))
        at += size
    return out


def _spans(match: re.Match[str], known: _Vocabulary) -> list[tuple[int, int]]:
    """The characters of a word, or of an article before an apostrophe and its word."""
    text = match.group().lower().replace("’", "'")
    cut = match.start() + text.find("'") + 1
    own = "spelling" in known.values(text) or "spelling" not in known.values(text[: text.find("'") + 1])
    return [match.span()] if own else [(match.start(), cut), (cut, match.end())]


def _parts(key: str, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[str, tuple[int, int]]]:
    """English words with the characters that say them: one each, and the last all that are left."""
    words = key.split(" ", len(spans) - 1)
    for at, word in enumerate(words):
        yield word, (spans[at][0], spans[at if at < len(words) - 1 else -1][1])


def language_of_wishes(text: str, languages: Iterable[str]) -> str:
    """The one of `languages` that has most words of a wish in `text` ("senza", "na de"); "" without such."""
    source = " ".join(text.split())
    wishes = {language: _wishes(source, language) for language in languages}
    most = max(wishes.values(), default=0)
    best = [language for language, number in wishes.items() if number == most]
    return best[0] if most and (len(best) == 1 or " " not in source) else ""


def _wishes(source: str, language: str) -> int:
    english = _vocabulary("")
    said = [word for word in words_of(source, language) if word.has(*listed("wishes"))]
    written = [word.text.lower() for word in said]
    return sum(text not in listed("english_too") and not english.values(text) for text in written)


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
