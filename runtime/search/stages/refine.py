"""Refines a query: Q → Q̂, the first half of layer 2.

"fast" removes the understood cues and filler words; "llm" asks the bundle's language model.

The model runs on this device and the prompt is sent nowhere, so any entity or memory of the album may be in
it, whatever its sensitivity. Code that uses a model on a server must pass `NOTHING` as the context: it may
receive neither names nor memories.

Names and memories are untrusted data. They are stripped of everything that could end a turn or the quotation,
and the answer is checked, because a small model cannot be trusted to ignore "ignore previous instructions". A
refinement is rejected, and the fast one used, if it drops content words of the query other than for their
correction or translation (replacement.py), if (with such a context) it adds a word that is none of these and
that neither the query, nor a name, nor a memory near the query contains, or if it is not one short line. A
memory is near if it was shown and shares a content word with the query: the paper's refinement adds such a
memory's "Seattle" and "business trip" (Table 9). So the most that a hostile memory can do is add words of the
album's entity names, or its own to a query that is about it; a search shows names alone (`fitting`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...recent import Recent
from .replacement import Dictionary, replaced

if TYPE_CHECKING:
    from ...models.language.llm import Generation
    from ...models.models import Models

MAX_NEW = 32
MAX_ADDED = 8  # words that a refinement without context may add
MAX_NAMES, MAX_NAME, MAX_NAME_WORDS = 8, 40, 4
MAX_MEMORIES, MAX_MEMORY = 3, 120
_NOUN = r"(photos?|pictures?|pics?|images?|shots?|snaps?|photographs?)"
# "Can you show me", "find my", "I'm looking for"; "find" and "looking for" alone are of what is sought, too.
_REQUEST = re.compile(
    r"^\s*((please|hey|hi|ok|okay)[\s,]{1,3}){0,2}((can|could|would|will)\s+(you|i|we)\s+(please\s+)?)?"
    r"((show|find|get|give|bring|fetch)\s+(me|us)\s+|(find|see|show)\s+"
    r"(?=(a|an|the|my|our|any|all|some|that|photos|pictures|pics|images)\s)|"
    r"(i'm|i\s+am)\s+(looking|searching)\s+for\s+|search\s+for\s+(?=(a|an|the|my|our|any|all|photos|pictures)\s)|"
    r"i\s+want\s+to\s+see\s+)",
    re.IGNORECASE,
)
# Of a request, or after a comma: "a sign that says please"
_COMMA_PLEASE = re.compile(r"\s{0,3},\s{0,3}(please|thanks|thank\s{1,3}you)[\s.!?]{0,5}$", re.IGNORECASE)
_PLEASE = re.compile(r"[\s,]{1,3}(please|thanks|thank\s{1,3}you)[\s.!?]{0,5}$", re.IGNORECASE)
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
    """What the language model is shown of the album: entity names and memories, best match first."""

    names: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()

    def notes(self) -> str:
        """The notes for the prompt: one line, cleaned and truncated; "" if there is nothing to quote."""
        names = ", ".join(self.known())
        text = ". ".join(part for part in (names, "; ".join(self.told())) if part)
        return f"<notes>{text}</notes>\n" if text else ""

    def known(self) -> tuple[str, ...]:
        """The names that are quoted: the first MAX_NAMES that are short enough.

        Text with more words than MAX_NAME_WORDS is taken for a sentence that was entered as a name.
        """
        cleaned = (clean(name, MAX_NAME + 1) for name in self.names)
        return tuple(n for n in cleaned if n and len(n) <= MAX_NAME and len(n.split()) <= MAX_NAME_WORDS)[
            :MAX_NAMES
        ]

    def told(self) -> tuple[str, ...]:
        """The memories that are quoted, each cut to one line of at most MAX_MEMORY characters."""
        return tuple(text for text in (clean(m, MAX_MEMORY) for m in self.memories[:MAX_MEMORIES]) if text)


NOTHING = Context()


def fitting(names: Iterable[str], query: str) -> Context:
    """The context for a query: the entity names that share a content word with it ("Tom" → "Tom Miller").

    Measured on SmolLM2-135M: the model repeats unrelated names instead of using them, and the refinement is
    rejected.
    """
    words = content_words(query)
    return Context(tuple(name for name in names if content_words(name) & words)[:MAX_NAMES])


@dataclass(frozen=True, eq=False)
class RefinementRequest:
    """What a refinement of `query` is made with and judged by; `plain` is used where it is rejected.

    `dictionary`: what tells corrections and translations; without it a refinement may replace no word.
    """

    query: str
    plain: str
    context: Context = NOTHING
    dictionary: Dictionary | None = None


# Answers by query, album generation, model and context.
Refinements = Recent[tuple[object, ...], tuple[str, str]]
REMEMBERED = 256  # answers


def clean(text: str, limit: int) -> str:
    """`text` as one line of at most `limit` characters, without control characters, <, >, { and }.

    Every turn marker and quotation of the prompts contains one of these.
    """
    letters = (" " if c in "<>{}" or unicodedata.category(c)[0] in "CZ" else c for c in text[: 4 * limit])
    return _SPACE.sub(" ", "".join(letters)).strip()[:limit].strip()


def fast(rest: str) -> str:
    """The query without filler ("photos of", "that I took"); never empty.

    `rest`: the query without its cue words.
    """
    wanted = _REQUEST.sub("", rest)
    asked = _FILLER.sub("", (_COMMA_PLEASE if wanted == rest else _PLEASE).sub("", wanted))
    text = _SPACE.sub(" ", _TAIL.sub(" ", asked)).strip(" ,.;:?!")
    return text or rest


def says_nothing(text: str) -> bool:
    """Whether `text`, a query without its cues, names no content, such as "photos" of "photos from 2019"."""
    return not _BARE.sub("", text)


def content_words(text: str) -> frozenset[str]:
    """Lower-cased words of at least three letters, cut to a stem of five, without the commonest."""
    return frozenset(w[:5] for w in _WORD.findall(text.lower()) if w not in _COMMON)


def by_llm(
    models: Models,
    asked: RefinementRequest,
    cache: Refinements | None = None,
    generation: int = 0,
    observe: Callable[[Generation], None] | None = None,
) -> tuple[str, str]:
    """(Q̂, "llm"), or (`asked.plain`, "llm (rejected: reason)") if the model's answer fails the checks.

    `cache`: a cache of earlier answers, used for the same query on the same `generation` of the album.
    `observe`: called with what the model generated.
    """
    decoder = models.manifest.artifact("llm_decoder", models.backend).sha256
    key = (asked.query, asked.plain, asked.context, generation, decoder)
    answer = cache.get(key) if cache else None
    if answer is None:
        answer = _ask(models, asked, observe)
        if cache is not None:
            cache.put(key, answer)
    return answer


def _ask(
    models: Models, asked: RefinementRequest, observe: Callable[[Generation], None] | None
) -> tuple[str, str]:
    from ...models.language.llm import Request

    ids = prompt(models, asked.query, asked.context)
    if len(ids) + MAX_NEW > models.manifest.decoder().max_seq:
        return asked.plain, "llm (rejected: the query is too long)"
    answer = models.language_model.generate(Request(ids, MAX_NEW, stop=("\n",)))
    if observe is not None:
        observe(answer)
    text, reason = judged(answer.text, asked)
    return (asked.plain, f"llm (rejected: {reason})") if reason else (text, "llm")


def prompt(models: Models, query: str, context: Context) -> tuple[int, ...]:
    """What the language model is asked for a refinement."""
    return models.prompt("refine", clean(query, 300), context.notes())


def judged(answer: str, asked: RefinementRequest) -> tuple[str, str]:
    """(the language model's answer as one line, why it is rejected, "" if it is not)."""
    text, plain = _SPACE.sub(" ", answer).strip(' "'), asked.plain
    kept, new = (plain, "") if asked.dictionary is None else replaced(text, plain, asked.dictionary)
    return text, objection(text, f"{asked.query} {new}", kept, asked.context)


def objection(text: str, query: str, plain: str, context: Context) -> str:
    """Why `text` is not acceptable as a refinement of `query`; "" if it is."""
    if not text or len(text) > 200 or not text.isprintable():
        return "no short line of text"
    words = content_words(text)
    if dropped := content_words(plain) - words:
        return f"{text!r} drops {', '.join(sorted(dropped))}"
    added = words - content_words(query)
    if context == NOTHING:
        return f"{text!r} adds {len(added)} words" if len(added) > MAX_ADDED else ""
    near = (memory for memory in context.told() if content_words(memory) & content_words(query))
    foreign = added - content_words(" ".join((*context.known(), *near)))
    return (
        f"{text!r} adds {', '.join(sorted(foreign))}, which neither the query nor a name says"
        if foreign
        else ""
    )
