"""Reads from a query what resemblance cannot say: what to leave out, favourites, "how many", soon after.

Rules alone, on the words; find.py acts on them. What is not read for certain stays in the query's text, since
a title such as "Man without a hat" is also a wish.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

MAX_READ = 300  # characters: nobody phrases a wish in more
_PICTURES = r"(?:photo(?:graph)?s?|pictures?|pics?|images?|shots?|snap(?:shot)?s?|ones?)"
_COUNT = re.compile(r"^\s*how\s+many\s+(?:different\s+)?(?P<what>.+?)[\s?.!]*$", re.IGNORECASE)
_ASKING = re.compile(
    r"\s+(?:(?:do|did|have)\s+(?:i|we)(?:\s+(?:have|take|taken|own|shoot|photograph))?|(?:are|were)\s+there)\b",
    re.IGNORECASE,
)
# "How many people came to the party" asks for a fact, not for a number of photos.
_FACT = re.compile(
    r"\b(?:did|do|does|was|has|had|have|came|went|cost|will|can|should|is)\b|"
    r"^(?:times|days|weeks|months|years|hours|minutes|people)\b",
    re.IGNORECASE,
)
_PHOTOS = re.compile(rf"^\s*(?:[\w']+\s+){{0,4}}?{_PICTURES}\b", re.IGNORECASE)
_FAVOURITE = re.compile(
    rf"\b(?:(?:my|our|the|all)\s+)*(?:favou?rited?|starred)\s+(?=(?:[\w'-]+\s+){{0,2}}{_PICTURES}\b)|"
    r"\b(?:my|our)\s+favou?rites\b(?P<noun>)",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r",?\s*\b(?:but\s+(?:not|no|without)|(?:but\s+)?(?:excluding|except(?:\s+for)?|without)|(?:and|with)\s+no)\s+"
    r"(?:(?:with|of|showing|the\s+ones?\s+(?:with|of)|any|the|an?)\s+)?"
    r"(?P<phrase>[\w'-]+(?:\s+(?!(?:in|at|on|from|near|during|last|this|when|while|that|which|by|with)\b)[\w'-]+){0,3})"
    r"|,\s*(?:not|no)\s+(?:(?:the|an?|any)\s+)?(?P<bare>[\w'-]+(?:\s+[\w'-]+)?)[\s.!?]*$",
    re.IGNORECASE,
)
# Prepositions after which a time or a place is excluded, which the rules of cues read.
_CUE = re.compile(r"^(?:in|at|from|on|taken|those|during|before|after)\b", re.IGNORECASE)
_SOON = re.compile(
    rf"^(?P<head>.*\b(?:{_PICTURES}|i|we)\b[^,;]*?)\s(?:right\s+|just\s+|shortly\s+|soon\s+)?(?P<way>after|before)\s+"
    r"(?P<event>(?:the|my|our|his|her|their|[\w'-]+'s)\s+[^,;?!]+?)[\s?.!]*$",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"\b(?:days?|nights?|mornings?|evenings?|weekends?|weeks?|months?|years?)\s*$", re.IGNORECASE
)


@dataclass(frozen=True)
class Wishes:
    """`text`: the query without them. `without`: what no photo may show. `favourites`: only photos that the
    person marked. `count`: whether a number is asked for. `pictures`: whether photos are asked for, not what
    was said. `soon`: `text` with "after the wedding" as "in the
    week after the wedding", "" if it says no such thing.
    """

    text: str
    without: tuple[str, ...] = ()
    favourites: bool = False
    count: bool = False
    pictures: bool = False
    soon: str = ""


def read_wishes(query: str, has_favourites: bool = True) -> Wishes:
    """`has_favourites`: whether a photo of the album is marked; else "my favourite cat" is only words."""
    if len(query) > MAX_READ:
        return Wishes(query)
    wishes = _count(Wishes(query, pictures=_PHOTOS.match(query) is not None))
    if has_favourites and (match := _FAVOURITE.search(wishes.text)):
        noun = "photos" if match["noun"] is not None else ""
        text = f"{wishes.text[: match.start()]}{noun}{wishes.text[match.end() :]}"
        wishes = replace(wishes, text=_tidy(text), favourites=True)
    wishes = _without(wishes)
    return replace(wishes, soon=_soon(wishes.text))


def _count(wishes: Wishes) -> Wishes:
    match = _COUNT.match(wishes.text)
    if match is None:
        return wishes
    counted = _ASKING.sub("", match["what"], count=1)
    return wishes if _FACT.search(counted) else replace(wishes, text=_tidy(counted), count=True)


def _without(wishes: Wishes) -> Wishes:
    phrases: list[str] = []
    text = wishes.text
    for match in reversed(list(_WITHOUT.finditer(text))):
        phrase = match["phrase"] or match["bare"] or ""
        left = _tidy(text[: match.start()] + " " + text[match.end() :])
        if left and not _CUE.match(phrase):
            phrases.append(phrase)
            text = left
    return replace(wishes, text=text, without=tuple(reversed(phrases)))


def _soon(text: str) -> str:
    match = _SOON.match(text)
    if match is None or _UNIT.search(match["head"]):  # "the day after": the rules of cues count the days
        return ""
    return f"{match['head']} in the week {match['way'].lower()} {match['event']}"


def _tidy(text: str) -> str:
    return re.sub(r"\s+([,.;:?!])", r"\1", " ".join(text.split())).strip(" ,;")
