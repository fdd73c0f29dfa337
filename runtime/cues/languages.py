"""Reads the time and place words of other languages as English ones, which the cue reader then reads.

Rules as data (`languages` of cue_rules.json, which the Kotlin and Swift readers share) turn "im letzten
Sommer" into "last summer" and "在巴黎" into "in Paris"; everything else of the query stays as it is. The
language is found from the query's letters and words, without a model. An English query is never changed.
This module knows nothing of dates: what the English words mean is decided by `parse`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ..bundle.gazetteer import Gazetteer
from .tables import Language, pattern, tables

Span = tuple[int, int]
MAX_LOOKUPS = 400
LONGEST_NAME, SHORTEST_NAME = 8, 2  # characters of a name in a script without spaces
MOST_WORDS = 3  # of a name in a script with spaces

_WORD = re.compile(r"[^\W\d_]+")
_HYPHENATED = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_NAMED = re.compile(r"<<(@?)([a-z]+)([0-9]?)>>")
_SLOT = re.compile(r"\{([a-z]+[0-9]?)(?:-([0-9]))?\}")
_IDEOGRAPHS = re.compile(r"[\u3041-\u30ff\u4e00-\u9fff]+")
_KATAKANA = re.compile(r"[\u30a1-\u30ff]")


@dataclass(frozen=True)
class Reading:
    """A query whose time and place words are English.

    `text`: the query that the cue reader reads. `sources`: for each of its characters the characters
    [start, end) of the original query that it stands for.
    """

    text: str
    sources: tuple[Span, ...]

    def original(self, span: Span) -> Span:
        """The characters of the original query that a span of `text` stands for."""
        sources = self.sources[slice(*span)]
        return min(a for a, _ in sources), max(b for _, b in sources)


@dataclass(frozen=True)
class _Piece:
    """The English words for the characters `span`, in parts that each name their own source."""

    span: Span
    parts: tuple[tuple[str, Span], ...]


def translated(text: str, this_year: int, gazetteer: Gazetteer | None) -> Reading | None:
    """The query with its time and place words in English; None if it has none of another language.

    `this_year`: the year of the user's clock, from which "last May" in other languages is counted.
    `gazetteer`: knows the names of places in other scripts; without it they stay as they are.
    """
    language = language_of(text)
    if language is None:
        return None
    low = lowered(text)
    pieces = _phrases(low, language, this_year)
    if gazetteer is not None and language.marks:
        names = _spaceless_names if language.spaceless else _inflected_names
        pieces += names(low, language, gazetteer, pieces)
    return _joined(text, pieces) if pieces else None


def lowered(text: str) -> str:
    """Lower case, one character for each; full-width digits and signs become ASCII."""
    if text.isascii():
        return text.lower()
    return "".join((chr(ord(c) - 0xFEE0) if "\uff01" <= c <= "\uff5e" else c).lower()[:1] for c in text)


def language_of(text: str) -> Language | None:
    """The language whose letters the query has, or most of whose words; None for English.

    A language of Latin letters needs more words that English lacks than English has words that it lacks: "Las
    Vegas" and "El Niño" make no query Spanish.
    """
    known = tables().languages
    low = lowered(text)
    if not low.isascii():
        for language in known:
            if language.marks and re.search(language.marks, low):
                return language
    words = set(_WORD.findall(low))
    english = words & tables().english
    best, most = None, (0, 0)
    for language in known:
        own = words & language.words
        alone = len(own - english)
        if (alone, len(own)) > most and alone > len(english - own):
            best, most = language, (alone, len(own))
    return best


@cache
def compiled(language: Language, text: str) -> re.Pattern[str]:
    """A rule's pattern; of a language with spaces it does not match inside a word."""
    expanded = pattern(expand(language, text))
    return re.compile(expanded if language.spaceless else rf"(?<![\w-])(?:{expanded})(?![\w-])")


def expand(language: Language, text: str) -> str:
    """The pattern with its tables expanded, still in the shared syntax.

    <<name>> is a group of that name with the words of the table, longest first, <<name2>> a second one,
    <<@name>> the words without a group. Raises KeyError for an unknown table.
    """

    def words(m: re.Match[str]) -> str:
        name, number = m[2], m[3]
        choices = language.digits.get(name) or "|".join(
            re.escape(w).replace(r"\ ", r"\s+")
            for w in sorted(language.tables[name], key=lambda w: (-len(w), w))
        )
        return f"(?:{choices})" if m[1] else f"(?<{name}{number}>{choices})"

    return _NAMED.sub(words, text)


def _phrases(low: str, language: Language, this_year: int) -> list[_Piece]:
    """The pieces that the rules find; of overlapping ones that of the earlier rule."""
    taken = bytearray(len(low))
    out = []
    for rule in language.rules:
        search, at = compiled(language, rule.pattern).search, 0
        while m := search(low, at):
            a, b = m.span()
            if a < b and not any(taken[a:b]):
                taken[a:b] = b"\1" * (b - a)
                out.append(_Piece((a, b), tuple(_filled(m, rule.english, language, this_year))))
                at = b
            else:
                at = a + 1  # a shorter match may begin after the characters that are taken
    return out


def _filled(m: re.Match[str], english: str, language: Language, this_year: int) -> Iterator[tuple[str, Span]]:
    """The template's parts: literal words stand for the whole match, slots for their group."""
    last = 0
    for slot in _SLOT.finditer(english):
        if slot.start() > last:
            yield english[last : slot.start()], m.span()
        last = slot.end()
        if slot[2]:
            yield str(this_year - int(slot[2])), m.span()
        elif m[slot[1]] is not None:
            said = " ".join(m[slot[1]].split())
            yield language.tables.get(slot[1].rstrip("23"), {}).get(said, said), m.span(slot[1])
    if last < len(english):
        yield english[last:], m.span()


def _free(low: str, pieces: Sequence[_Piece]) -> bytearray:
    free = bytearray(b"\1" * len(low))
    for piece in pieces:
        a, b = piece.span
        free[a:b] = b"\0" * (b - a)
    return free


def _spaceless_names(
    low: str, language: Language, gazetteer: Gazetteer, pieces: Sequence[_Piece]
) -> list[_Piece]:
    """The names of places in a text without spaces: at each character the longest that the gazetteer has."""
    free, out, lookups = _free(low, pieces), [], 0
    for run in _IDEOGRAPHS.finditer(low):
        at = run.start()
        while at < run.end() and lookups < MAX_LOOKUPS:
            step = 1
            for length in range(min(LONGEST_NAME, run.end() - at), SHORTEST_NAME - 1, -1):
                span = (at, at + length)
                if not all(free[at : at + length]) or _within_word(low, span):
                    continue
                lookups += 1
                places = gazetteer.lookup(low[at : at + length])
                if places:
                    out.append(_place_piece(low, span, places[0].name, language, free))
                    step = length
                    break
            at += step
    return out


def _within_word(low: str, span: Span) -> bool:
    """Whether the characters begin or end inside a longer word of katakana: "アメリカ" of "アメリカン"."""
    a, b = span
    return any(
        0 < edge < len(low) and _KATAKANA.match(low[edge - 1]) and _KATAKANA.match(low[edge])
        for edge in (a, b)
    )


def _inflected_names(
    low: str, language: Language, gazetteer: Gazetteer, pieces: Sequence[_Piece]
) -> list[_Piece]:
    """The names of places in a text with spaces, in any case: "Лиссабоне" is looked up as "Лиссабон" too."""
    free, lookups = _free(low, pieces), 0
    words = [m for m in _HYPHENATED.finditer(low) if not m[0].isascii()]
    out: list[_Piece] = []
    at = 0
    while at < len(words) and lookups < MAX_LOOKUPS:
        found = 0
        for count in range(min(MOST_WORDS, len(words) - at), 0, -1):
            span = (words[at].start(), words[at + count - 1].end())
            if not all(free[span[0] : span[1]]) or span[1] - span[0] < SHORTEST_NAME + 1:
                continue
            forms = _forms(low[slice(*span)], language)
            lookups += len(forms)
            name = next((p[0].name for form in forms if (p := gazetteer.lookup(form))), None)
            if name is not None:
                out.append(_place_piece(low, span, name, language, free))
                found = count
                break
        at += found or 1
    return out


def _forms(name: str, language: Language) -> list[str]:
    """The name, and what it may be the inflected form of."""
    forms = (
        name[: len(name) - len(ending)] + base for ending, base in language.endings if name.endswith(ending)
    )
    return list(dict.fromkeys(form for form in forms if len(form) > SHORTEST_NAME))


def _place_piece(low: str, span: Span, name: str, language: Language, free: bytearray) -> _Piece:
    """The English name, with "in" or "near" if a word beside it says so that no phrase has."""
    for english, before, after in (
        ("near ", language.near_before, language.near_after),
        ("in ", language.before, language.after),
    ):
        left = re.search(rf"(?:{before})$", low[: span[0]]) if before else None
        right = re.compile(after).match(low, span[1]) if after else None
        whole = (left.start() if left else span[0], right.end() if right else span[1])
        if whole != span and all(free[slice(*whole)]):
            return _Piece(whole, ((english, whole), (name, span)))
    return _Piece(span, ((name, span),))


def _joined(text: str, pieces: Sequence[_Piece]) -> Reading:
    """The text with the pieces in place, and spaces around them."""
    out: list[str] = []
    sources: list[Span] = []

    def add(words: str, source: Span) -> None:
        out.extend(words)
        sources.extend([source] * len(words))

    at = 0
    for piece in sorted(pieces, key=lambda p: p.span):
        if piece.span[0] < at:
            continue  # the particle between two names is taken once
        for i in range(at, piece.span[0]):
            add(text[i], (i, i + 1))
        if out and out[-1] != " ":
            add(" ", (piece.span[0], piece.span[0]))
        for words, source in piece.parts:
            add(words, source)
        at = piece.span[1]
        if at < len(text) and text[at].isalnum():
            add(" ", (at, at))
    for i in range(at, len(text)):
        add(text[i], (i, i + 1))
    return Reading("".join(out), tuple(sources))
