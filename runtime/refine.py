"""Layer 2's first half: Q → Q̂. "fast" takes the understood cues and the filler out; "llm" asks the bundle's language model.

A refinement that drops the query's own content words, or that is not a short line of text, is rejected and the fast one kept.
"""

from __future__ import annotations

import re

from .models import Models

MODES = ("off", "fast", "llm")
MAX_NEW = 32
_FILLER = re.compile(
    r"^\s*(please\s+)?((show|find|get|give)\s+(me\s+)?)?((the|a|an|my|some|all)\s+)*"
    r"(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)\s+((of|with|from|where|when|that|which|showing)\s+)*",
    re.IGNORECASE,
)
_TAIL = re.compile(r"\b(that|which)?\s*(i|we)\s+(took|photographed|shot|snapped|captured|made)\b", re.IGNORECASE)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w{3,}")
_COMMON = frozenset(
    [
        "the",
        "and",
        "for",
        "with",
        "from",
        "that",
        "this",
        "photo",
        "picture",
        "image",
        "photos",
        "pictures",
        "last",
        "time",
        "show",
        "find",
        "where",
        "when",
        "was",
        "were",
        "are",
        "our",
        "his",
        "her",
    ]
)


def fast(rest: str) -> str:
    """The query without its cue words (already out of `rest`), its "photos of" and its "that I took"; never empty."""
    text = _SPACE.sub(" ", _TAIL.sub(" ", _FILLER.sub("", rest))).strip(" ,.;:?!")
    return text or rest


def content_words(text: str) -> frozenset[str]:
    """Lower-cased words of three letters or more, cut to a stem of five, without the commonest."""
    return frozenset(w[:5] for w in _WORD.findall(text.lower()) if w not in _COMMON)


def by_llm(models: Models, query: str, plain: str) -> tuple[str, str]:
    """(Q̂, "llm") or (`plain`, "llm (rejected: reason)"). The query is data: special tokens in it are not honoured."""
    safe = _SPACE.sub(" ", query.replace("<|", "< |")).strip()[:300]
    prompt = models.manifest.prompts["refine"].replace("{query}", safe)
    ids = list(models.llm_tokenizer.encode(prompt).ids)
    if len(ids) + MAX_NEW > models.manifest.language.max_seq:
        return plain, "llm (rejected: the query is too long)"
    text = str(models.llm_tokenizer.decode(list(models.language_model.generate(ids, MAX_NEW).ids))).strip()
    text = _SPACE.sub(" ", text.split("\n")[0]).strip(' "')
    if not text or len(text) > 200:
        return plain, "llm (rejected: no short line of text)"
    lost = content_words(plain) - content_words(text)
    if lost:
        return plain, f"llm (rejected: {text!r} drops {', '.join(sorted(lost))})"
    return text, "llm"
