"""Reads from a query what resemblance cannot say: what to leave out, favourites, "how many", soon after.

Rules alone, on the words; wishes_met.py acts on them. What is not read for certain stays in the query's text,
since a title such as "Man without a hat" is also a wish.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

MAX_READ = 300  # characters: nobody phrases a wish in more
_PICTURES = r"(?:photo(?:graph)?s?|pictures?|pics?|images?|shots?|snap(?:shot)?s?|ones?)"
_COUNT = re.compile(r"^\s*how\s+many\s+(?:different\s+)?(?P<what>.+?)[\s?.!]*$", re.IGNORECASE)
_ASKING = re.compile(
    r"\s+(?:(?:do|did|have)\s+(?:i|we)(?:\s+(?:have|take|taken|own|shoot|photograph|see|seen|meet|met))?"
    r"|(?:are|were)\s+there)\b",
    re.IGNORECASE,
)
_OF = re.compile(r"^of\s+(?:my|our|the|these|those)\s+", re.IGNORECASE)
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
# What is left out is a list of things; a preposition or a word of time ends a thing's name.
_WORD = (
    r"(?!(?:in|at|on|from|near|during|last|this|when|while|that|which|by|with|and|or|nor|but|no|not|without)\b)"
    r"[\w'-]+"
)
_DETERMINER = r"(?:(?:with|of|showing|the\s+ones?\s+(?:with|of)|any|the|an?|my|our)\s+)?"
_THING = rf"{_DETERMINER}{_WORD}(?:\s+{_WORD}){{0,3}}"
_NO = r"(?:(?:no|not|without)\s+)"
_LIST = (
    rf"{_THING}(?:\s*,\s*(?:and\s+|or\s+)?{_NO}{_THING}"
    rf"|(?:\s*,\s*{_THING})*\s*,?\s+(?:and|or|nor)\s+{_NO}?{_THING})*"
)
# "with no people in them": the photos themselves.
_IN_THEM = r"(?:\s+(?:in|on)\s+(?:it|them|sight|the\s+(?:photo|picture|image|frame)s?)\b)?"
_WITHOUT = re.compile(
    r",?\s*\b(?:but\s+(?:not|no|without)|(?:but\s+)?(?:excluding|except(?:\s+for)?|without)|(?:and|with)\s+no)\s+"
    rf"(?P<things>{_LIST}){_IN_THEM}|,\s*(?:not|no)\s+(?P<bare>{_LIST})(?=\s*(?:[,.!?]|$))",
    re.IGNORECASE,
)
_BETWEEN = re.compile(rf"\s*,\s*(?:(?:and|or)\s+)?{_NO}?|\s+(?:and|or|nor)\s+{_NO}?", re.IGNORECASE)
_ARTICLE = re.compile(f"^{_DETERMINER}", re.IGNORECASE)
_ANYBODY = re.compile(r"^(?:one|body|anyone|anybody|person|persons|humans?)$", re.IGNORECASE)
# Prepositions after which a time or a place is excluded, which the rules of cues read.
_CUE = re.compile(r"^(?:in|at|from|on|taken|those|during|before|after)\b", re.IGNORECASE)
_SOON = re.compile(
    r"^(?P<head>[^,;]*?)(?:^|\s)(?:right\s+|just\s+|shortly\s+|soon\s+)?(?P<way>after|before)\s+"
    r"(?P<event>(?:the|my|our|his|her|their|[\w'-]+'s)\s+[^,;?!]+?)[\s?.!]*$",
    re.IGNORECASE,
)
# What a street looks like after the rain is no matter of a week.
_WEATHER = re.compile(
    r"\b(?:rain|storm|snow|snowfall|sunset|sunrise|dark|fog|flood|shower)\s*$", re.IGNORECASE
)
_UNIT = re.compile(
    r"\b(?:days?|nights?|mornings?|evenings?|weekends?|weeks?|months?|years?)\s*$", re.IGNORECASE
)


@dataclass(frozen=True)
class Wishes:
    """`text`: the query without them. `without`: what no photo may show. `favourites`: only photos that the
    person marked. `count`: whether a number is asked for. `pictures`: whether photos are asked for, not what
    was said. `soon`: `text` with "after the wedding" as "in the week after the wedding", else "".
    """

    text: str
    without: tuple[str, ...] = ()
    favourites: bool = False
    count: bool = False
    pictures: bool = False
    soon: str = ""


def read_wishes(
    query: str, has_favourites: bool = True, is_cue: Callable[[str], bool] = lambda _: False
) -> Wishes:
    """`has_favourites`: whether a photo of the album is marked; else "my favourite cat" is only words.

    `is_cue`: whether what is left out is a time or a place ("except 2024"), which the rules of cues exclude.
    """
    if len(query) > MAX_READ:
        return Wishes(query)
    query = " ".join(query.split())  # the patterns below would try every part of a long space
    wishes = _count(Wishes(query, pictures=_PHOTOS.match(query) is not None))
    if has_favourites and (match := _FAVOURITE.search(wishes.text)):
        noun = "photos" if match["noun"] is not None else ""
        text = f"{wishes.text[: match.start()]}{noun}{wishes.text[match.end() :]}"
        wishes = replace(wishes, text=_tidy(text), favourites=True)
    wishes = _without(wishes, is_cue)
    return replace(wishes, soon=_soon(wishes.text))


def _count(wishes: Wishes) -> Wishes:
    match = _COUNT.match(wishes.text)
    if match is None:
        return wishes
    counted = _OF.sub("", _ASKING.sub("", match["what"], count=1))
    return wishes if _FACT.search(counted) else replace(wishes, text=_tidy(counted), count=True)


def _without(wishes: Wishes, is_cue: Callable[[str], bool]) -> Wishes:
    phrases: list[str] = []
    text = wishes.text
    for match in reversed(list(_WITHOUT.finditer(text))):
        things = [_ARTICLE.sub("", one) for one in _BETWEEN.split(match["things"] or match["bare"])]
        cues = [one for one in things if _CUE.match(one) or is_cue(one)]
        # A time or a place stays in the text, with its negation.
        kept = "".join(f", not {one}" for one in cues)
        left = _tidy(f"{text[: match.start()]}{kept} {text[match.end() :]}")
        if len(cues) < len(things) and _tidy(text[: match.start()] + " " + text[match.end() :]):
            phrases += reversed([_ANYBODY.sub("people", one) for one in things if one not in cues])
            text = left
    return replace(wishes, text=text, without=tuple(reversed(phrases)))


def _soon(text: str) -> str:
    match = _SOON.match(text)
    # "the day after": the rules of cues count the days.
    if match is None or _UNIT.search(match["head"]) or _WEATHER.search(match["event"]):
        return ""
    return f"{match['head'].strip() or 'photos'} in the week {match['way'].lower()} {match['event']}"


def _tidy(text: str) -> str:
    return re.sub(r"\s+([,.;:?!])", r"\1", " ".join(text.split())).strip(" ,;")
