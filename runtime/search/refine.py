"""Layer 2's first half: Q → Q̂. "fast" takes the understood cues and the filler out; "llm" asks the bundle's
language model.

The model runs on this device and the prompt goes nowhere else, so that any entity or memory of the album may
stand in it, whatever its sensitivity. A model on a server may be given neither names nor memories by this
file's means: pass `NOTHING`.

Names and memories are data. They are cleaned of everything that could end a turn or their own quotation, and
what comes back is checked, for a small model cannot be trusted to ignore "ignore previous instructions": a
refinement that drops the query's own content words, that says with such context a word which neither the
query nor a name holds, or that is not a short line, is rejected and the fast one kept. The most that a
hostile memory can do is to add the words of the album's own entity names.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..models.llm import Generation
    from ..models.models import Models

MAX_NEW = 32
MAX_ADDED = 8  # words that a refinement without context may add
MAX_NAMES, MAX_NAME, MAX_NAME_WORDS = 8, 40, 4
MAX_MEMORIES, MAX_MEMORY = 3, 120
_NOUN = r"(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)"
_FILLER = re.compile(
    r"^\s*(please\s+)?((show|find|get|give)\s+(me\s+)?)?((the|a|an|my|some|all)\s+)*"
    rf"{_NOUN}\s+((of|with|from|where|when|that|which|showing)\s+)*",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"^\s*((the|a|an|my|our|some|all)\s+)*{_NOUN}(\s+(of|with|from|in|at|on))*\s*$", re.IGNORECASE
)
_TAIL = re.compile(
    r"\b(that|which)?\s*(i|we)\s+(took|photographed|shot|snapped|captured|made)\b", re.IGNORECASE
)
_SPACE = re.compile(r"\s+")
_WORD = re.compile(r"\w{3,}")
_COMMON = frozenset(
    (
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
    )
    + ("time", "show", "find", "where", "when", "was", "were", "are", "our", "his", "her")
)


@dataclass(frozen=True)
class Context:
    """What the album knows and the model may see: entity names and memories, most fitting first."""

    names: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()

    def notes(self) -> str:
        """The quotation for the prompt: one line, cleaned and cut; "" when there is nothing to quote."""
        names = ", ".join(self.known())
        memories = "; ".join(
            text for text in (clean(m, MAX_MEMORY) for m in self.memories[:MAX_MEMORIES]) if text
        )
        text = ". ".join(part for part in (names, memories) if part)
        return f"<notes>{text}</notes>\n" if text else ""

    def known(self) -> tuple[str, ...]:
        """The names that are quoted.

        What runs to more words than a name has is a sentence that somebody called a name.
        """
        cleaned = (clean(name, MAX_NAME + 1) for name in self.names)
        return tuple(n for n in cleaned if n and len(n) <= MAX_NAME and len(n.split()) <= MAX_NAME_WORDS)[
            :MAX_NAMES
        ]


NOTHING = Context()


def fitting(names: Iterable[str], query: str) -> Context:
    """The context that a query gets of an album's entity names: those that share a content word with it
    ("Tom" → "Tom Miller").

    Measured on SmolLM2-135M: names that the query does not touch are repeated instead of used, and the
    refinement is rejected.
    """
    words = content_words(query)
    return Context(tuple(name for name in names if content_words(name) & words)[:MAX_NAMES])


class Refinements:
    """Answers kept by query, album generation, model and context; the least recently used go first. Not
    thread-safe.
    """

    def __init__(self, limit: int = 256) -> None:
        self._limit, self._kept = limit, OrderedDict[tuple[object, ...], tuple[str, str]]()

    def get(self, key: tuple[object, ...]) -> tuple[str, str] | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: tuple[object, ...], answer: tuple[str, str]) -> None:
        self._kept[key] = answer
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)


def clean(text: str, limit: int) -> str:
    """One line without control characters, angle brackets and braces (every turn marker and quotation of the
    prompts has them).
    """
    letters = (" " if c in "<>{}" or unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * limit])
    return _SPACE.sub(" ", "".join(letters)).strip()[:limit].strip()


def fast(rest: str) -> str:
    """The query without its cue words (already out of `rest`), its "photos of" and its "that I took"; never
    empty.
    """
    text = _SPACE.sub(" ", _TAIL.sub(" ", _FILLER.sub("", rest))).strip(" ,.;:?!")
    return text or rest


def says_nothing(text: str) -> bool:
    """Whether what the cues left of a query names no content ("photos", of "photos from 2019"): every photo
    is one.
    """
    return not _BARE.sub("", text)


def content_words(text: str) -> frozenset[str]:
    """Lower-cased words of three letters or more, cut to a stem of five, without the commonest."""
    return frozenset(w[:5] for w in _WORD.findall(text.lower()) if w not in _COMMON)


def by_llm(
    models: Models,
    query: str,
    plain: str,
    context: Context = NOTHING,
    kept: Refinements | None = None,
    generation: int = 0,
    observe: Callable[[Generation], None] | None = None,
) -> tuple[str, str]:
    """(Q̂, "llm"), or (`plain`, "llm (rejected: reason)") where the model's answer cannot be trusted.

    `kept`: earlier answers; the same query on the same `generation` of the album is answered from there.
    `observe`: given what the model generated.
    """
    key = (query, plain, context, generation, models.manifest.artifact("llm_decoder", models.backend).sha256)
    found = kept.get(key) if kept else None
    if found is None:
        found = _ask(models, query, plain, context, observe)
        if kept is not None:
            kept.put(key, found)
    return found


def _ask(
    models: Models,
    query: str,
    plain: str,
    context: Context,
    observe: Callable[[Generation], None] | None,
) -> tuple[str, str]:
    from ..models.llm import Request  # a search that asks no language model loads none of its code

    ids, prefix = models.prompt("refine", clean(query, 300), context.notes())
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return plain, "llm (rejected: the query is too long)"
    answer = models.language_model.generate(Request(ids, MAX_NEW, stop=("\n",), prefix=prefix))
    if observe is not None:
        observe(answer)
    text = _SPACE.sub(" ", answer.text).strip(' "')
    against = objection(text, query, plain, context)
    return (plain, f"llm (rejected: {against})") if against else (text, "llm")


def objection(text: str, query: str, plain: str, context: Context) -> str:
    """Why `text` is no refinement of `query`; "" when it is one."""
    if not text or len(text) > 200 or not text.isprintable():
        return "no short line of text"
    said = content_words(text)
    if lost := content_words(plain) - said:
        return f"{text!r} drops {', '.join(sorted(lost))}"
    added = said - content_words(query)
    if context == NOTHING:
        return f"{text!r} adds {len(added)} words" if len(added) > MAX_ADDED else ""
    strange = added - content_words(" ".join(context.known()))
    return (
        f"{text!r} adds {', '.join(sorted(strange))}, which neither the query nor a name says"
        if strange
        else ""
    )
