"""What kind of answer a question wants: camroll's question types (Table 10), by rule instead of a model."""

from __future__ import annotations

import re

from gamer.runtime.questions.reader import read

TYPES = ("visual", "when", "where", "who", "what")
_VISUAL = re.compile(
    r"\b(colou?rs?|how many|wear(ing|s)?|breed|shapes?|patterns?|logo|expressions?|look(ed|s)? like|"
    r"which (hand|eye|side)|(sign|poster|banner|label|shirt)s?\b[^.?]{0,80} (say|said|read))\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"\b(how (long|often)|(what|which) (time|date|year|month|season)|first, or)\b", re.IGNORECASE
)


def type_of(question: str) -> str:
    """One of TYPES. There the right answers decide; of 1,069 questions they would change one here."""
    asks = read(question).asks
    if asks == "when" or _MOMENT.search(question):
        return "when"
    if asks in ("where", "who"):
        return asks
    return "visual" if asks == "count" or _VISUAL.search(question) else "what"
