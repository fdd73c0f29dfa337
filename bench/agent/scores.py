"""Scores of sets and of short answers."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def set_f1(found: Collection[object], relevant: Collection[object]) -> float:
    """F1 of a set; 1 if both are empty."""
    if not found and not relevant:
        return 1.0
    both = len(set(found) & set(relevant))
    return 2 * both / (len(set(found)) + len(set(relevant)))


def token_f1(answer: str, expected: str) -> float:
    """F1 over words without articles and punctuation, as SQuAD's evaluation script defines it."""
    words, wanted = Counter(_words(answer)), Counter(_words(expected))
    both = sum((words & wanted).values())
    if not words or not wanted:
        return float(words == wanted)
    return 2 * both / (sum(words.values()) + sum(wanted.values()))


def contains(answer: str, expected: str) -> bool:
    """Whether all words of the expected answer occur in the answer: right without a judge."""
    wanted = _words(expected)
    return bool(wanted) and set(wanted) <= set(_words(answer))


def _words(text: str) -> list[str]:
    return _ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split()
