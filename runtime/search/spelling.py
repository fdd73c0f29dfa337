"""Mends the spelling of a query's words, for a query that otherwise finds nothing.

A word is unknown if neither the album's memories, the text tower's vocabulary nor the gazetteer holds it. It
is replaced by a word one edit away: a name of the album, else a word of its memories, else the commonest of
the vocabulary. A word with a capital that the album does not hold may also stand for such a name. In a query
of another language than English only names are mended: its words are unknown to an English vocabulary.
"""

from __future__ import annotations

import re

from gamer.index import Album
from gamer.index.album.layers.lexical import MAX_WORDS

from ..cues.languages import language_of
from ..models.models import Models

LEAST, LEAST_NAME = 4, 3  # letters: shorter words have too many neighbours
MAX_MENDED = 4  # unknown words of one query
_WORD = re.compile(rf"[^\W\d_]{{{LEAST_NAME},20}}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def mended(text: str, album: Album, models: Models, is_english: bool = True) -> str:
    """`text` with its misspelt words replaced; unchanged if there is none, or more than MAX_MENDED.

    `is_english`: False for a query that is known to be in another language.
    """
    words = list(dict.fromkeys(_WORD.findall(text)))
    held = _held(album, [word.lower() for word in words])
    unwritten = [word for word in words if word.lower() not in held]
    if not unwritten:
        return text
    vocabulary, names = models.text.words, _names(album)
    unknown = {
        word
        for word in unwritten
        if len(word) >= LEAST and word.lower() not in vocabulary and not models.gazetteer.lookup(word)
    }
    if len(unknown) > MAX_MENDED:
        return text
    english = is_english and language_of(text) is None
    for word in unwritten:
        candidates = near(word.lower())
        is_name = word[0].isupper() and not text.startswith(word)
        better = next((c for c in candidates if c in names), None) if is_name or word in unknown else None
        if better is None and english and word in unknown:
            known = sorted((c for c in candidates if c in vocabulary), key=lambda c: vocabulary[c])
            in_album = _held(album, known)
            better = next((c for c in known if c in in_album), next(iter(known), None))
        if better is not None:
            shown = better.capitalize() if word[0].isupper() else better
            text = re.sub(rf"\b{re.escape(word)}\b", shown, text)
    return text


def _names(album: Album) -> frozenset[str]:
    """The album's entities that are called by one word with a capital, in lower case: mostly people.

    The rules that find entities do not tell people from things for certain.
    """
    listed = (entity.name for entity in album.listed_entities())
    return frozenset(name.lower() for name in listed if name.isalpha() and name.istitle())


def near(word: str) -> list[str]:
    """All strings one edit away: a letter too many, too few or wrong, or two exchanged.

    The first letter stays: people seldom mistake it, and most false corrections change it.
    """
    splits = [(word[:at], word[at:]) for at in range(1, len(word) + 1)]
    out = {head + tail[1:] for head, tail in splits if tail}
    out |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    out |= {head + letter + tail[1:] for head, tail in splits if tail for letter in _LETTERS}
    out |= {head + letter + tail for head, tail in splits for letter in _LETTERS}
    return sorted(out - {word})


def _held(album: Album, words: list[str]) -> set[str]:
    """Those of `words` that a memory of the album holds."""
    held: set[str] = set()
    for start in range(0, len(words), MAX_WORDS):
        scores = album.words(" ".join(words[start : start + MAX_WORDS]))
        held |= {word.text.lower() for word in scores.words if word.rows.size}
    return held & set(words)
