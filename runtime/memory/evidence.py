"""Whether a model's answer may be given: only words and numbers that its evidence or the question holds.

A small model invents, and repeats its prompt. What it writes is therefore checked as a whole before any of it
is shown; what fails is not repaired, the rules' answer is given instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .words import content

MAX_WORDS = 60  # of an answer
_ECHO = 5  # words in a row that are the prompt's own
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")


def supports(evidence: Sequence[str], question: str, prompt: str, answer: str) -> bool:
    """Whether nothing in `answer` is the model's own. `prompt`: the instructions that it had."""
    sources = " ".join((*evidence, question))
    stems = {_stem(word) for word in content(sources)}
    numbers = set(_NUMBER.findall(sources))
    return (
        0 < len(answer.split()) <= MAX_WORDS
        and all(_stem(word) in stems for word in content(answer) if not word.isdigit())
        and numbers.issuperset(_NUMBER.findall(answer))
        and not _echoes(answer, prompt)
    )


def _stem(word: str) -> str:
    """A word without a plain ending; "Mary" is not "Mars", as it would be by a search's stems."""
    for ending in ("ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def _echoes(answer: str, prompt: str) -> bool:
    words = _WORD.findall(answer.casefold())
    runs = {tuple(words[at : at + _ECHO]) for at in range(len(words) - _ECHO + 1)}
    own = _WORD.findall(prompt.casefold())
    return any(tuple(own[at : at + _ECHO]) in runs for at in range(len(own) - _ECHO + 1))
