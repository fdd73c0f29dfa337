"""Which of a word's glosses a search takes: for BM25 all, for the text tower one, which the album may change.

A dictionary says that "patio" is a court or a yard; the album says which of them somebody wrote of. So the
first gloss is taken that a memory of the album holds, unless the dictionary thinks little of it. The query's
own words stay beside their glosses, and where memories hold most of them, these are in its language, and the
text tower gets the query as it is. More than
that was tried and finds no more (docs/languages.md): the gloss whose memory holds others of the query's words
too, the sentence whose vector is nearest to the album's memories, and the mean of several sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from gamer.index.album.layers.lexical import MAX_WORDS
from gamer.index.entities.words import spellings

from .reading import Piece, Reading

Holding = Callable[[Sequence[str]], Collection[str]]  # which of some words a memory holds, as Album.holding
TOLD = 0.3  # of a dictionary's weight: what it counts that a memory holds a gloss
MOST_FORMS = 10  # of a word for BM25
# English words with forms that no stemmer finds: a dictionary gives "win", and a memory says "won".
_IRREGULAR = """
become became | begin began begun | bite bit bitten | blow blew blown | break broke broken | bring brought |
build built | buy bought | catch caught | choose chose chosen | come came | cost cost | cut cut | dig dug |
draw drew drawn | drink drank drunk | drive drove driven | eat ate eaten | fall fell fallen | feed fed |
feel felt | fight fought | find found | fly flew flown | forget forgot forgotten | freeze froze frozen |
get got | give gave given | go went gone | grow grew grown | hang hung | hear heard | hide hid hidden |
hold held | keep kept | know knew known | lead led | leave left | lend lent | lie lay lain | light lit |
lose lost | make made | mean meant | meet met | pay paid | ride rode ridden | ring rang | rise rose risen |
run ran | say said | see saw seen | sell sold | send sent | shake shook shaken | shine shone | shoot shot |
sing sang sung | sink sank sunk | sit sat | sleep slept | speak spoke spoken | spend spent | stand stood |
steal stole stolen | stick stuck | strike struck | swim swam swum | take took taken | teach taught |
tear tore torn | tell told | think thought | throw threw thrown | understand understood | wake woke |
wear wore worn | win won | write wrote written | child children | man men | woman women | foot feet |
tooth teeth | mouse mice | goose geese | knife knives | leaf leaves | wife wives | life lives | wolf wolves |
shelf shelves | loaf loaves | person people
"""
_FORMS = {words.split()[0]: tuple(words.split()[1:]) for words in _IRREGULAR.split("|")}
_MARKS = str.maketrans("", "", "¿¡«»„")


@dataclass(frozen=True)
class Glossed:
    """A query as a search uses it.

    `text`: for the text tower, in English unless the album's memories are in the query's language. `forms`:
    its words for BM25, each with what else may stand for it. `lines`: what was read, for the trace.
    """

    text: str
    forms: tuple[tuple[str, ...], ...]
    lines: tuple[str, ...]


def chosen(reading: Reading, holding: Holding) -> Glossed | None:
    """The glosses of a reading that fit the album; None if only words such as "the" have one."""
    content = [piece for piece in reading.pieces if piece.options and not piece.says_nothing]
    if not content:
        return None
    own = [piece.word.casefold() for piece in content]
    held = _held([*own, *(option.text for piece in content for option in piece.options)], holding)
    is_albums = 2 * sum(held.get(word, False) for word in own) > len(own)
    text, forms, kept, lines = list[str](), list[tuple[str, ...]](), "", list[str]()
    for piece in reading.pieces:
        gloss = _best(piece, held) if piece.options else piece.said
        text.append(gloss)
        if not piece.options or (piece.says_nothing and is_albums):
            kept += piece.said
        elif not piece.says_nothing:
            said = (gloss.casefold(), *(option.text for option in piece.options if option.text != gloss))
            alone = piece.is_english and not is_albums  # "pain" is bread, and would find pains
            forms += [*_plain(kept), _with_forms(said, "" if alone else piece.word.casefold())]
            lines.append(f"{piece.said} → {', '.join(said)}")
            kept = ""
    sentence = reading.text if is_albums else "".join(text)
    return Glossed(
        " ".join(sentence.translate(_MARKS).split()),
        tuple(dict.fromkeys([*forms, *_plain(kept)])),
        tuple(dict.fromkeys(lines)),
    )


def _plain(text: str) -> list[tuple[str, ...]]:
    """The words of a part of the query that stays as it is."""
    return spellings(text) if any(letter.isalnum() for letter in text) else []


def _with_forms(glosses: Sequence[str], own: str) -> tuple[str, ...]:
    """What stands for a word in memories: its glosses, with their forms, and the word itself."""
    more = (form for gloss in glosses for form in _FORMS.get(gloss, ()))
    return tuple(dict.fromkeys((*((own,) if own else ()), *glosses, *more)))[:MOST_FORMS]


def _best(piece: Piece, held: Mapping[str, bool]) -> str:
    if piece.says_nothing:
        return piece.options[0].text
    return max(piece.options, key=lambda option: option.weight + TOLD * held.get(option.text, False)).text


def _held(glosses: Sequence[str], holding: Holding) -> dict[str, bool]:
    """Of each word, whether a memory holds it."""
    asked = list(dict.fromkeys(glosses))[:MAX_WORDS]
    found = holding(asked) if asked else ()
    return {gloss: gloss in found for gloss in asked}
