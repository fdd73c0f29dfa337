"""Which sentence of the photos that a search found answers a question, or whether none does.

A question has a clause that asks ("what towel did my sister use") and circumstances ("on the day the kitten
left paw prints"). The sentence must speak of what the clause asks, and have a value of the kind that it wants
near what it is asked of. The circumstances only say which photo is meant: others of its day may tell them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from . import clauses

# Chosen on 24 questions about camera rolls and 68 of our own.
LEAST = 0.3  # of the words of the clause that asks, by rarity: what the sentence must have of them
UNNAMED = 0.6  # the same, where it lacks what the value is asked of
ENOUGH = 1.0  # of a score: what is said beside that, where, and how far down
NEAR = 5  # words from a colour, a number or a side to what has it
_PIECES = re.compile(r"[,;:]\s+|\s?[—–]\s?|\s-\s|(?<=[.!?])\s+")
_ASKS = re.compile(
    r"(?:(?:in|on|at|from|to|of|for|with|by) )?(?:who|whom|whose|what|which|when|where|why|how|did|was|were|"
    r"is|are|does|do|has|have|had)\b(?! (?:i|we|my|our) )",
    re.IGNORECASE,
)
_AUX = r"(?:was|were|is|are|did|does|do|has|have|had)"
_LATER = re.compile(r"\s(?:when|while|where|that|during|after|before|because)\s(?=\w)", re.IGNORECASE)
_REFERS = re.compile(r"\b(?:it|its|that|they|their|them)\b", re.IGNORECASE)
# What the value is asked of, and the sentence must say: a noun ("what colour fabric did we use", "the name of
# the waiter"), or what was done ("who won", "what was I wearing"). "What colour was the Smart car I took".
_OF = (
    re.compile(r"\bnames? of (?:the |my |our |an? )?([^ ,?]{1,40})", re.IGNORECASE),
    re.compile(r"\bhow many ([^ ,?]{1,40})", re.IGNORECASE),
    re.compile(rf"\bwhom? (?:{_AUX} )?([^ ,?]{{1,40}})", re.IGNORECASE),
    re.compile(
        rf"\b(?:what|which) (?:colou?rs? )?(?:of )?(?!{_AUX}\b)([^,]{{0,60}}?) {_AUX}\b", re.IGNORECASE
    ),
    re.compile(r"\b(?:what|where) [^,]{0,60}?\b(\w{2,15}ing)\b", re.IGNORECASE),
    re.compile(
        rf"\b{_AUX} (.{{0,60}}?)"
        r"(?: (?:i|we|you|he|she|they|that|which|with|on|in|at|near|by|of|from) |\W{0,3}$)",
        re.IGNORECASE,
    ),
)


@dataclass(frozen=True)
class Asking:
    """A question in its parts, as stems, with the words: `core` of the clause that asks, `around` of its
    circumstances, `of` of what the value is asked of.
    """

    sought: clauses.Sought
    core: Mapping[str, str]
    around: Mapping[str, str]
    of: Mapping[str, str]


@dataclass(frozen=True)
class QuotedPhoto:
    """What is known of a photo that was found.

    `around`: the share of the circumstances, by rarity, that it or another of its day has. `replies`: whether
    it is a message of a conversation: of the best photo's, an answer need not repeat what it answers.
    """

    text: str
    replies: bool = False
    around: float = 0.0


@dataclass(frozen=True)
class Quotation:
    """`answers`: False of the nearest sentence where none answers."""

    text: str
    answers: bool


def asking(question: str) -> Asking:
    pieces = [piece.strip() for piece in _PIECES.split(question) if piece.strip()] or [question]
    begins = [at for at, piece in enumerate(pieces) if _ASKS.match(piece)]
    at = begins[-1] if begins else len(pieces) - 1
    later = _LATER.search(pieces[at], 10)
    clause = pieces[at][: later.start()] if later else pieces[at]
    core, whose = _content(clause), clause
    if at and len(core) < 2 and _REFERS.search(clause):  # "I saw a ride — what was its name?"
        core, whose = core | _content(pieces[at - 1]), pieces[at - 1]
    found = [_content(match[1]) for pattern in _OF if (match := pattern.search(clause))]
    of = next((words for words in found if words), _content(whose))
    around = {stem: word for stem, word in _content(question).items() if stem not in core}
    return Asking(clauses.sought(clause), core, around, of or core)


def quotation(asked: Asking, told: Sequence[QuotedPhoto], rarity: Mapping[str, float]) -> Quotation | None:
    """Of what photos tell, best photo first, the sentence that answers best. None where none tells anything.

    `rarity`: of each stem of the question.
    """
    total = sum(rarity[word] for word in asked.core)
    best: tuple[float, bool, str] | None = None
    for rank, one in enumerate(told):
        held = _content(one.text)
        for sentence in clauses.sentences_of(one.text):
            here = _content(sentence)
            share, beside = (
                sum(rarity[word] for word in asked.core if word in words) / (total or 1)
                for words in (here, held)
            )
            valued = not asked.sought.wanted or _has_value(asked, sentence)
            wanted = bool(asked.sought.wanted) and valued
            of = any(word in here for word in asked.of)
            score = share + 0.5 * (beside + one.around + 1 / (2 + rank)) + 0.3 * wanted + 0.15 * of
            least = LEAST * (1 - 0.5 * wanted) if of else UNNAMED
            replies = one.replies and (beside > 0 or not rank)
            answers = valued and (replies or (share >= least and score >= ENOUGH))
            if best is None or (answers, score) > (best[1], best[0] + 1e-9):
                best = score, answers, sentence
    return None if best is None else Quotation(best[2], best[1])


def _has_value(asked: Asking, sentence: str) -> bool:
    """Whether a sentence has a value of the kind that is wanted; a colour or a side near what has it."""
    pattern = clauses.VALUES.get(asked.sought.wanted)
    if asked.sought.wanted not in ("colour", "number", "side") or pattern is None:
        return clauses.has_value(asked.sought, sentence)
    words = _words(sentence)
    whose = [at for at, word in enumerate(words) if clauses.stem(word) in asked.of]
    return any(
        pattern.fullmatch(word) and any(abs(at - other) <= NEAR for other in whose)
        for at, word in enumerate(words)
    )


def _words(text: str) -> list[str]:
    """The words, those joined by hyphens each by itself."""
    return [part for word in clauses.words_in(text) for part in word.split("-") if part]


def _content(text: str) -> dict[str, str]:
    """Stem → word."""
    return {clauses.stem(word): word for word in _words(text) if len(word) > 1 and clauses.is_content(word)}
