"""Which of a word's glosses a search takes: for BM25 all, for the text tower one, which the album may change.

A dictionary says that "patio" is a court or a yard; the album says which of them somebody wrote of. So the
first gloss is taken that a memory of the album holds, unless the dictionary thinks little of it. More than
that was tried and finds no more (docs/languages.md): the gloss whose memory holds others of the query's words
too, the sentence whose vector is nearest to the album's memories, and the mean of several sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gamer.index.album.layers.lexical import MAX_WORDS, WordScores
from gamer.index.entities.words import spellings

from .reading import Piece, Reading

# The album's words, each with what else may stand for it, as Album.words.
LookUp = Callable[[Sequence[tuple[str, ...]]], WordScores]
TOLD = 0.3  # of a dictionary's weight: what it counts that a memory holds a gloss
_MARKS = str.maketrans("", "", "¿¡«»„")


@dataclass(frozen=True)
class Glossed:
    """A query as a search uses it.

    `text`: in English, for the text tower. `forms`: its words for BM25, each with its other glosses. `lines`:
    what was read, for the trace.
    """

    text: str
    forms: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]


def chosen(reading: Reading, look_up: LookUp) -> Glossed:
    """The glosses of a reading that fit the album."""
    content = [piece for piece in reading.pieces if piece.options and not piece.says_nothing]
    held = _held([option.text for piece in content for option in piece.options], look_up)
    text, forms, kept, lines = list[str](), list[tuple[str, ...]](), "", list[str]()
    for piece in reading.pieces:
        gloss = _best(piece, held) if piece.options else piece.said
        text.append(gloss)
        if not piece.options:
            kept += piece.said
        elif not piece.says_nothing:
            others = (option.text for option in piece.options if option.text != gloss)
            forms += [*_plain(kept), (gloss.casefold(), *others)]
            lines.append(f"{piece.said} → {', '.join(forms[-1])}")
            kept = ""
    return Glossed(
        " ".join("".join(text).translate(_MARKS).split()),
        tuple(dict.fromkeys([*forms, *_plain(kept)])),
        tuple(dict.fromkeys(lines)),
    )


def _plain(text: str) -> list[tuple[str, ...]]:
    """The words of a part of the query that stays as it is."""
    return spellings(text) if any(letter.isalnum() for letter in text) else []


def _best(piece: Piece, held: Mapping[str, bool]) -> str:
    if piece.says_nothing:
        return piece.options[0].text
    return max(piece.options, key=lambda option: option.weight + TOLD * held.get(option.text, False)).text


def _held(glosses: Sequence[str], look_up: LookUp) -> dict[str, bool]:
    """Of each gloss, whether a memory holds it; a word that is too common to be looked up is held."""
    asked = list(dict.fromkeys(glosses))[:MAX_WORDS]
    found = (
        {word.text: word.rows.size > 0 for word in look_up([(gloss,) for gloss in asked]).words}
        if asked
        else {}
    )
    return {gloss: found.get(gloss, True) for gloss in asked}
