"""Names that the person gives to what a shown picture shows: "this is my blue mug", "that's Rex, my dog".

Only words of the sentence become a name, and only of a sentence that states something.
"""

from __future__ import annotations

import re

from ..questions.clauses import sentences_of, stem
from .reading.values import value_of
from .words import MOST, asks, content

MAX_OBJECTS = 4  # of one turn
_MAX_NAME = 60  # characters
_SHOWS = re.compile(
    r"\b(?:this|that|here|these|those)(?:'s| is| are)(?: (?:one|thing))? "
    r"(?:(?P<called>[^\W\d_][\w'-]{0,23}), )?(?:my|our) (?P<name>.+)",
    re.IGNORECASE,
)


def objects_of(text: str) -> list[str]:
    """The names in a turn that came with a picture, in order, each once."""
    out: dict[str, None] = {}
    for sentence in sentences_of(text[:MOST]):
        found = None if asks(sentence) else _SHOWS.search(sentence.replace("’", "'"))
        if found is None:
            continue
        for name in (found["called"] or "", value_of(found["name"])):
            if content(name) and len(name) <= _MAX_NAME:
                out[name.casefold()] = None
    return [*out][:MAX_OBJECTS]


def is_named(name: str, words: str) -> bool:
    """Whether a text has every word of an object's name."""
    return {stem(word) for word in content(name)} <= {stem(word) for word in content(words)}
