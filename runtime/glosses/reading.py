"""Reads a query or a memory in another language as English, word by word, with the tables of a bundle.

The longest phrase of a table is taken at each word; a word that it does not have is split as a compound, or
freed of pronouns at its end, or compared with the album's names in Latin letters. Words that are English or
names stay as they are. Nothing is decided of several glosses here: see choice.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from gamer.index.entities.words import STOP_WORDS

from ..cues.languages import language_of
from . import guess
from .letters import LEAST_ALIKE, SURELY_ALIKE, Names, latin
from .table import LEAST_STEM, LONGEST, MOST_WORDS, WORD, Gloss, GlossTable, folded, latin_script

MOST_READ = 48  # words of a query, or of a window of a memory, that are read; the others stay
MOST_OPTIONS = 4  # glosses of a word that a search uses
LEAST_WEIGHT = 0.15  # of a gloss, beside the best of its word
LEAST_FUNCTION = 0.4  # the weight from which a gloss such as "have" makes a word one that says little
LEAST_COMPOUND = 8  # letters of a compound that tells its language
LEAST_PART = 4  # letters of a compound's word
MOST_CLITIC = 2  # letters of "l'", "qu'"
LONGEST_RUN = 8  # characters of a word that is written without spaces
SURELY_ENGLISH = 2.0  # nats by which a word of a foreign query is likelier English


@dataclass(frozen=True)
class Piece:
    """A part of the query. `said`: its characters; `options`: English for it, the best first.

    Without options it stays as it is: `said` is then a name, an English word, or anything between words.
    `word`: what memories in the language of the query would hold, of a part of a compound the whole;
    `is_english`: English has it too.
    """

    said: str
    options: tuple[Gloss, ...] = ()
    word: str = ""
    is_english: bool = False

    @property
    def says_nothing(self) -> bool:
        """Whether it is a word such as "the", which no memory is found by; its first gloss is that word."""
        return bool(self.options) and _says_nothing(self.options[0].text)


@dataclass(frozen=True)
class Reading:
    """A text in a language other than English. `language`: its code; "" if no table has its script."""

    text: str
    language: str
    pieces: tuple[Piece, ...]

    @property
    def english(self) -> str:
        """The text with the first gloss of each of its words."""
        return "".join(piece.options[0].text if piece.options else piece.said for piece in self.pieces)


class Reader:
    """The tables of one bundle. `english`: the ranks of English words (guess.ranks)."""

    def __init__(self, tables: Sequence[GlossTable], english: guess.Ranks) -> None:
        self.tables = {table.language: table for table in tables}
        self.english = english

    def read(self, text: str, names: Names, language: str | None = "") -> Reading | None:
        """The reading of a text; None for an English one, and where nothing of it can be read.

        `language`: the code of the one that it is probably in; "" if the reader of cues shall say, None if
        the tables alone shall.
        """
        words = list(WORD.finditer(text))[:MOST_READ]
        if not words or not (self.tables or not text.isascii()):
            return None
        said = [folded(word[0]) for word in words]
        lookups = {
            code: partial(self._known, table)
            for code, table in self.tables.items()
            if not table.header.spaceless
        }
        asked = [
            guess.QueryWord(word, word in names, at > 0 and match[0][0].isupper())
            for at, (word, match) in enumerate(zip(said, words, strict=True))
        ]
        told = cue.name if language == "" and (cue := language_of(text)) else language or None
        code = guess.language(asked, lookups, self.english, told)
        spaceless = next((t for t in self.tables.values() if t.header.spaceless), None)
        table = self.tables.get(code or "")
        if table is None and spaceless is not None and _ideographs(text):
            table = spaceless
        foreign = any(not latin_script(word) for word in said)
        if table is None and not foreign:
            return None
        pieces = _Sentence(text, words, said, names, table, self.english).pieces()
        if not any(piece.options for piece in pieces):
            return None
        return Reading(text, table.language if table else "", tuple(pieces))

    def _known(self, table: GlossTable, word: str) -> tuple[Gloss, ...]:
        """The glosses of a word, or of a compound's last."""
        if latin_script(word) != table.is_latin:
            return ()
        glosses = table.lookup(word)
        if glosses or word in self.english or not table.header.links or len(word) < LEAST_COMPOUND:
            return glosses
        at = _head(table, word)
        return () if at is None else table.lookup(word[at:])


def _says_nothing(gloss: str) -> bool:
    return all(word in STOP_WORDS for word in gloss.lower().split())


def _ideographs(text: str) -> bool:
    return bool(re.search(r"[\u3041-\u30ff\u4e00-\u9fff\u0e00-\u0e7f]", text))


def _head(table: GlossTable, said: str) -> int | None:
    """Where the last word of a compound begins, the longest that follows another word; None if it is none."""
    if not table.header.links or len(said) > LONGEST:
        return None
    for at in range(LEAST_PART, len(said) - LEAST_PART + 1):
        if table.lookup(said[at:]) and any(table.lookup(word) for word in _before(table, said[:at])):
            return at
    return None


def _before(table: GlossTable, part: str) -> Iterator[str]:
    """What the first part of a compound may be: without each of the letters that a compound puts between."""
    for link in table.header.links:
        if part.endswith(link) and len(part) - len(link) >= LEAST_PART:
            yield part.removesuffix(link) if link else part


class _Sentence:
    def __init__(
        self,
        text: str,
        words: Sequence[re.Match[str]],
        said: Sequence[str],
        names: Names,
        table: GlossTable | None,
        english: guess.Ranks,
    ) -> None:
        self._text, self._words, self._said = text, words, said
        self._names, self._table, self._english = names, table, english

    def pieces(self) -> list[Piece]:
        out, at, end = list[Piece](), 0, 0
        while at < len(self._words):
            out.append(Piece(self._text[end : self._words[at].start()]))
            count, found = self._at(at)
            if count == 1 and self._is_clitic(at, found):
                end = self._words[at].end() + 1
                at += 1
                continue
            end = self._words[at + count - 1].end()
            whole = self._text[self._words[at].start() : end]
            shared = folded(whole) in self._english
            found = [
                replace(piece, word=whole, is_english=shared) if piece.options else piece for piece in found
            ]
            out += found if len(found) != 1 else [replace(found[0], said=whole)]
            at += count
        out.append(Piece(self._text[end:]))
        return [piece for piece in out if piece.said]

    def _is_clitic(self, at: int, found: Sequence[Piece]) -> bool:
        """Whether a word such as "l" stands before an apostrophe, and says nothing."""
        end = self._words[at].end()
        if self._table is None or self._text[end : end + 1] not in ("'", "’"):
            return False
        return end - self._words[at].start() <= MOST_CLITIC or all(piece.says_nothing for piece in found)

    def _at(self, at: int) -> tuple[int, list[Piece]]:
        """(How many words from `at` are read together, what they are.)"""
        if self._table is not None:
            for count in range(min(MOST_WORDS, len(self._words) - at), 1, -1):
                if glosses := self._glosses(" ".join(self._said[at : at + count])):
                    return count, [Piece("", glosses)]
        return 1, self._word(at)

    def _word(self, at: int) -> list[Piece]:
        word, said = self._words[at][0], self._said[at]
        in_sentence = at > 0 and word[:1].isupper()
        is_name = word[:1].isupper() and said in self._names
        if in_sentence and not latin_script(said) and (name := self._names.like(word, SURELY_ALIKE)):
            return [Piece(word, (Gloss(name, 1.0),))]
        if self._table is not None:
            glosses = self._glosses(said)
            if glosses and not is_name and self._foreign(said, glosses):
                return [Piece(word, glosses)]
            if is_name or said in self._english:
                return [Piece(word)]
            if parts := self._compound(said) or self._freed(said) or self._run(word, said):
                return parts
        if latin_script(said):
            return [Piece(word)]
        name = self._names.like(word, LEAST_ALIKE if word[:1].isupper() else SURELY_ALIKE)
        if name is None and self._table is not None:
            name = latin(word).capitalize()
        return [Piece(word, (Gloss(name, 1.0),) if name else ())]

    def _foreign(self, said: str, glosses: Sequence[Gloss]) -> bool:
        return guess.likelier(said, glosses, self._english) > -SURELY_ENGLISH

    def _glosses(self, said: str) -> tuple[Gloss, ...]:
        found = self._table.lookup(said) if self._table is not None else ()
        likely = [gloss for gloss in found if gloss.weight >= LEAST_WEIGHT][:MOST_OPTIONS]
        # "hat" is "has" before it is "holds": of several glosses that of a word that says little comes first.
        return tuple(
            sorted(
                likely, key=lambda gloss: not (gloss.weight >= LEAST_FUNCTION and gloss.text in STOP_WORDS)
            )
        )

    def _compound(self, said: str) -> list[Piece]:
        """A compound as its words; empty if it is none."""
        if self._table is None or (at := _head(self._table, said)) is None:
            return []
        first = next(word for word in _before(self._table, said[:at]) if self._table.lookup(word))
        before, head = self._glosses(first), self._glosses(said[at:])
        return [Piece(said[:at], before), Piece(" "), Piece(said[at:], head)]

    def _freed(self, said: str) -> list[Piece]:
        """A verb without the pronouns that are written at its end."""
        endings = self._table.header.endings if self._table is not None else ()
        for ending in endings:
            stem = said.removesuffix(ending)
            if stem != said and len(stem) >= LEAST_STEM and (glosses := self._glosses(stem)):
                return [Piece(said, glosses)]
        return []

    def _run(self, word: str, said: str) -> list[Piece]:
        """A run of characters without spaces: at each the longest word that the table has."""
        if self._table is None or not self._table.header.spaceless:
            return []
        out, at = list[Piece](), 0
        while at < len(said):
            for length in range(min(LONGEST_RUN, len(said) - at), 0, -1):
                if glosses := self._glosses(said[at : at + length]):
                    out += [Piece(said[at : at + length], glosses), Piece(" ")]
                    break
            else:
                length = 1
                out.append(Piece(said[at]))
            at += length
        return out if any(piece.options for piece in out) else []
