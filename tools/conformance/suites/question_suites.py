"""Suite `questions`: what a query leaves out, its facets, what it counts, and the text to search for."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from gamer.runtime.questions.facets import fact_of
from gamer.runtime.questions.reader import content, read
from gamer.runtime.questions.request import gone_to
from gamer.runtime.questions.words import language_of_wishes
from tools.conformance.fixture import Answers, Given


def questions(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack
    return {
        "read": _read,
        "content": lambda given: {"content": content(given["text"]), "gone": gone_to(given["text"])},
        "language": lambda given: {"language": language_of_wishes(given["text"], given["languages"])},
    }


def _read(given: Given) -> Given:
    """`excluded`: phrases that are times or places. `marked`: whether a photo of the album is a favourite.

    `has`: the facets of the album, "camera:Canon".
    """
    question = read(
        given["text"],
        is_cue=lambda phrase: phrase in given.get("excluded", ()),
        has_favourites=given.get("marked", True),
        has=lambda facet: f"{facet.kind}:{facet.value}" in given.get("has", ()),
        language=given.get("language", ""),
    )
    return {
        "query": question.query,
        "without": list(question.without),
        "favourites": question.favourites,
        "bare": question.bare,
        "pictures": question.pictures,
        "facets": [f"{facet.kind}:{facet.value}" for facet in question.facets],
        "counts": question.counts,
        "soon": question.soon,
        "ordered": [question.order, question.number, question.target] if question.is_ordered else None,
        "grouped": [question.each, question.most, question.target] if question.each else None,
        "facts": [fact_of(phrase) for phrase in question.without],
    }
