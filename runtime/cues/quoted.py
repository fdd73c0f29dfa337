"""Cues by the language model, where rules found none and the caller asks: time, place and what is seen, each
quoted from the query.

It cannot invent: a grammar over the query's own words allows no token that would leave the query
(grammar.py), so every value is a substring of the query or empty. What a value means (which dates, which
place) is still the rules' business. Prompt and query stay on the device.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from ..models.grammar import Constraint, Grammar
from ..models.llm import Request
from ..models.models import Models

FIELDS = ("time", "place", "text")
MAX_NEW = 96
MAX_QUERY = 300
# What could end a JSON string or a prompt's turn splits the query; so does white space that a tokenizer might
# fold.
_SPLIT = re.compile(r'["\\<>{}\x00-\x1f\x7f-\x9f\N{REPLACEMENT CHARACTER}]|\s{2,}|[^\S ]')


@dataclass(frozen=True)
class QuotedCues:
    """Substrings of the query; "" where the model sees none."""

    time: str
    place: str
    text: str


def grammar(query: str) -> Grammar:
    """{"time":"…","place":"…","text":"…"} with whole words of `query`, just as they stand there, or nothing,
    as values.
    """
    spans, built = pieces(query), Grammar()
    for n, name in enumerate(FIELDS):
        built.literal(("{" if n == 0 else '",') + f'"{name}":"').span_of(spans)
    return built.literal('"}').done()


def pieces(query: str) -> list[str]:
    """The stretches of the query that may be quoted."""
    return [piece.strip() for piece in _SPLIT.split(query[:MAX_QUERY]) if piece.strip()]


def cues_by_llm(models: Models, query: str) -> QuotedCues | None:
    """What the bundle's model reads out of `query`; None when it did not come to an end or the query holds no
    word. Uses the one LLM: not thread-safe. Raises BundleError for a bundle without this prompt."""
    spans = pieces(query)
    if not spans:
        return None
    ids, prefix = models.prompt("cues", " ".join(spans))
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return None
    constraint = Constraint(grammar(query), models.llm_vocabulary)
    said = models.language_model.generate(Request(ids, MAX_NEW, constraint=constraint, prefix=prefix))
    if not constraint.complete:
        return None
    # The token ids decode to what the grammar read, byte for byte; `json` takes the quotes off.
    found = json.loads(b"".join(models.llm_vocabulary.bytes_of[i] for i in said.ids))
    time, place, text = (str(found[name]) for name in FIELDS)
    return QuotedCues("" if _overlap(time, text) else time, "" if _overlap(place, text) else place, text)


def _overlap(value: str, text: str) -> bool:
    """Whether a time or place is quoted from what is seen, or the other way round: a small model that has no
    answer repeats the question.
    """
    return bool(text) and (value in text or text in value)
