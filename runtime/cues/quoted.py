"""Cues that the language model quotes from a query: time, place and what the photo shows.

Used where the rules read no cue and the caller asks for it. The model cannot invent: a grammar over the words
of the query excludes every token that would leave the query (grammar.py), so each value is a substring of the
query or empty. The rules still decide what a value means (which dates, which place). Prompt and query stay on
the device.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..models.language.grammar import Constraint, Grammar
from ..models.language.llm import Request
from ..models.models import Models

FIELDS = ("time", "place", "text")
MAX_NEW = 96  # tokens generated
MAX_QUERY = 300  # characters read
# The query is split at characters that could end a JSON string or a turn of the prompt, and at white space
# that a tokenizer might normalise.
_SPLIT = re.compile(r'["\\<>{}\x00-\x1f\x7f-\x9f\N{REPLACEMENT CHARACTER}]|\s{2,}|[^\S ]')


@dataclass(frozen=True)
class QuotedCues:
    """Substrings of the query: when, where, and what the photo shows; "" where the model quotes nothing."""

    time: str
    place: str
    text: str


def grammar(query: str) -> Grammar:
    """The grammar of {"time":"…","place":"…","text":"…"}; a value is empty or complete words of `query`.

    The words of a value are consecutive and unchanged.
    """
    spans, result = pieces(query), Grammar()
    for n, name in enumerate(FIELDS):
        result.literal(("{" if n == 0 else '",') + f'"{name}":"').span_of(spans)
    return result.literal('"}').done()


def pieces(query: str) -> list[str]:
    """The parts of the query that may be quoted."""
    return [piece.strip() for piece in _SPLIT.split(query[:MAX_QUERY]) if piece.strip()]


def cues_by_llm(models: Models, query: str) -> QuotedCues | None:
    """The quotes that the bundle's language model gives for `query`.

    None if the query has no word, the prompt does not fit the decoder's cache, no grammar can hold the model,
    or the generation stopped before its end. Not thread-safe, since it uses the bundle's only language model.
    Raises BundleError for a bundle without this prompt.
    """
    spans = pieces(query)
    if not spans or not models.can_be_held:
        return None
    ids = models.prompt("cues", " ".join(spans))
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return None
    constraint = Constraint(grammar(query), models.llm_vocabulary)
    generation = models.language_model.generate(Request(ids, MAX_NEW, constraint=constraint))
    if not constraint.complete:
        return None
    # The tokens' bytes are exactly those that the grammar accepted; `json` removes the quotation marks.
    values = json.loads(b"".join(models.llm_vocabulary.bytes_of[i] for i in generation.ids))
    time, place, text = (str(values[name]) for name in FIELDS)
    return QuotedCues("" if _overlap(time, text) else time, "" if _overlap(place, text) else place, text)


def _overlap(value: str, text: str) -> bool:
    """Whether a time or place contains the text or is part of it.

    A small model without an answer repeats the question.
    """
    return bool(text) and (value in text or text in value)
