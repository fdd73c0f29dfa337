"""Splits a question into episode, breakdown and target (ImageSeeker's first step), by rules.

"The next cat after the one sitting on the bed" asks for a cat; the bed belongs to the anchor alone, and must
not be asked of the target. A question without an anchor is its own target.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Asks = Literal["photos", "when", "where", "who", "count", "fact"]
Relation = Literal["", "same", "before", "after", "between"]
MAX_READ = 1_000  # characters of a question that are read


@dataclass(frozen=True)
class Question:
    """What a question asks for.

    `target`: what the photos show, "" for any photo. `relation`: of the target to the `anchor`: in the `same`
    `unit` of time, before or after it, or between it and `other`. `order`: 1 for the first (or next), 2 for
    the second, -1 for the last (or previous), 0 for no order. `anchor_order`: the same for the anchor ("the
    first snow"). `count`: how many photos, 0 for all that fit. `occasion`: all photos of the one occasion
    that `order` names ("the next time I saw …"). `with_anchor`: whether the anchor belongs to the answer.
    """

    text: str
    asks: Asks = "photos"
    target: str = ""
    relation: Relation = ""
    unit: str = ""
    anchor: str = ""
    other: str = ""
    order: int = 0
    anchor_order: int = 0
    count: int = 0
    occasion: bool = False
    with_anchor: bool = False


_UNITS = (
    "day|date|morning|afternoon|evening|night|trip|journey|outing|event|walk|hike|party|visit|weekend|week|"
    "month"
)
_I = r"(?:i|we)(?:'d|'ve| had| have)?"
_VERB = (
    r"(?:photographed|photograph|took|take|taken|shot|shoot|saw|see|seen|visited|visit|captured|went to|"
    r"was at|were at|was in|were in|stood|met|ate|had|made|snapped|got|found)"
)
_ADVERB = r"(?:\s+(?:also|ever|then|just|\w+ly))*"  # no word in two ways, or repeated ones take for ever
_SAID = rf"{_I}{_ADVERB}\s+{_VERB}(?:\s+(?:a|the|some)?\s*(?:photos?|pictures?|shots?|pics?)\s+of)?"
_PICTURE = r"(?:photo(?:graph)?|picture|shot|image|pic|snapshot|snap|frame)"
_FROM = r"(?:(?:taken|made|shot)\s+)?(?:\b(?:on|from|of|during|in|at)\s+)?"
_ANCHOR_AND_TAIL = r"(?P<anchor>[^:;]+?)(?:(?:[:;]|,(?=\s*(?:what|which|who|where|when|how|did|was|were)\b))\s*(?P<tail>.+))?$"
_SAME = re.compile(
    rf"{_FROM}(?:\b(?:the|that|this)\s+)?\bsame\s+(?P<unit>{_UNITS})\s+"
    rf"(?:as|that|when|with|of|where)\s+{_ANCHOR_AND_TAIL}",
    re.IGNORECASE,
)
_DAY_OF = re.compile(
    rf"{_FROM}\bthe\s+(?P<unit>{_UNITS})\s+"
    rf"(?:(?:(?P<noun>of|with)|when|where|that|on which|in which)\s+(?:{_SAID}\s+)?|{_SAID}\s+)"
    rf"{_ANCHOR_AND_TAIL}",
    re.IGNORECASE,
)
_AROUND = re.compile(
    r"(?P<head>.*?)(?:\b(?:right|just|directly|immediately|shortly|straight|soon|only|coming|that\s+came|which\s+came)\s+)*"
    r"\b(?P<way>before|after|following|preceding)\b\s+(?P<anchor>\S.*)$",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:right\s+|just\s+|directly\s+|immediately\s+)?(?P<way>before|after|following)\s+(?P<anchor>[^,]+),\s*(?P<head>.+)$",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?P<head>.*?)\bbetween\s+(?P<anchor>.+?)\s+and\s+(?P<other>.+)$", re.IGNORECASE)
_EARLIER = re.compile(
    rf"^did\s+{_I}\s+(?:{_VERB}\s+)?(?P<anchor>.+?)\s+first,?\s+or\s+"
    rf"(?:did\s+{_I}\s+(?:{_VERB}\s+)?)?(?P<other>.+?)(?:\s+first)?$",
    re.IGNORECASE,
)
_ORDERS = {
    "first": 1, "earliest": 1, "oldest": 1, "next": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5,
    "last": -1, "latest": -1, "newest": -1, "final": -1, "previous": -1, "most recent": -1,
}  # fmt: skip
_ORDER_WORD = (
    rf"\b(?:very\s+)?(?P<order>{'|'.join(_ORDERS)})\b(?!\s+(?:to|night|week|month|year|summer|winter)\b)"
)
_ORDER = re.compile(rf"{_ORDER_WORD}(?P<time>\s+(?:time|occasion)\b)?", re.IGNORECASE)
# Without an anchor, only photos and times are counted: "the first snow" is something that a photo shows.
_ORDER_OF_PHOTOS = re.compile(
    rf"{_ORDER_WORD}(?:(?P<time>\s+(?:time|occasion)\b)|(?=\s+(?:\w+\s+)?{_PICTURE}s?\b))", re.IGNORECASE
)
_NUMBERS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
}
_COUNT = re.compile(
    rf"\b(?P<n>{'|'.join(_NUMBERS)}|[1-9][0-9]?)\s+(?=(?:(?:{'|'.join(_ORDERS)})\s+)?{_PICTURE}s\b)",
    re.IGNORECASE,
)
_OTHERS = re.compile(r"\b(?:else|others?|rest|remaining|more|another)\b", re.IGNORECASE)
_ONE = re.compile(r"^(?:the|those)\s+ones?\b", re.IGNORECASE)
_PLURAL = re.compile(
    rf"\b(?:{_PICTURE}s|everything|all|every|each|others|ones)\b|\bwhat(?:ever)?\s+(?:else\s+)?(?:i|we|did)\b|"
    r"\bwhich\s+\w+[^su\W]s\s+(?:did|do|have|had|were|are)\b|^how\s+(?:many|often)\b",
    re.IGNORECASE,
)
# "A cat before the mirror" describes a picture. A question about the order of photos says so: by an order, by
# a word for pictures or for all of them, or by what the photographer did.
_I_DID = rf"\b{_SAID}\b|\b(?:did|do|was|were|have|had)\s+(?:i|we)\b"
_ABOUT_PHOTOS = re.compile(
    rf"\b{_PICTURE}s?\b|\bwhat\s+(?:else|came|comes|happened)\b|\b(?:everything|all|every|each|others?|ones?)\b|{_I_DID}",
    re.IGNORECASE,
)
_DID = re.compile(_I_DID, re.IGNORECASE)
_PHOTOS = re.compile(rf"\b(?:{_PICTURE}s?|ones?)\s*$", re.IGNORECASE)
_MOMENT = re.compile(
    rf"(?:when\s+)?{_SAID}\b|(?:the|that|this|those|my|our)\s+(?:{_PICTURE}s?|ones?)\b", re.IGNORECASE
)
_INDEFINITE = re.compile(r"(?:an?|some|and|another)\b", re.IGNORECASE)
_PLACED = re.compile(
    r"\b(?:and|never|standing|stands?|stood|sitting|sits?|sat|kneeling|kneels|posing|poses|posed|bowing|"
    r"chasing|running|runs|ran|named|called)\s*$",
    re.IGNORECASE,
)
_SUCCESSIVE = re.compile(r"\b(?:next|previous|another)\b", re.IGNORECASE)
_EDGE = re.compile(
    r"\W+|(?:what|which|when|where|who|whom|whose|how\s+(?:many|often)|else|others?|everything|anything|all|any|"
    r"every|each|the|an?|my|our|rest|remaining|that|this|those|these|them|"
    rf"{_PICTURE}s?|ones?|times?|occasion|moment|i|we|me|us|you|did|do|does|just|right|directly|immediately|"
    r"shortly|soon|straight|very|only|even|finally|show|find|give|list|get|see|want|please|from|of|on|in|at|during|for|to|"
    r"was|were|is|are|had|have|has|came|come|comes|taken|made|there|it|and|with|more|another|"
    rf"{_VERB})(?![\w'-])\s*",
    re.IGNORECASE,
)
_MARKS = " ,;:.-–—!?'\"“”‘’()"
_WHICH = r"(?:what|which)\s+(?:day|date|year|month|time)"
_ASKS: dict[Asks, re.Pattern[str]] = {
    "when": re.compile(rf"^(?:(?:on|in|since|until)\s+)?(?:when|{_WHICH})\b", re.IGNORECASE),
    "where": re.compile(
        r"^(?:where|(?:in|at|to|from)?\s*(?:what|which)\s+(?:place|city|country|town))\b", re.IGNORECASE
    ),
    "who": re.compile(r"^(?:who|with\s+whom|whom|whose)\b", re.IGNORECASE),
    "count": re.compile(r"^how\s+(?:many|often)\b", re.IGNORECASE),
    "fact": re.compile(
        r"^(?:how|why|what|which|did|do|does|is|are|was|were|has|have|had|would|could|can)\b", re.IGNORECASE
    ),
}


# "When I was eating in Berlin, what was on the table?" asks what, not when.
_LAST_CLAUSE = re.compile(
    r"(?:,|—|–| - )\s*(?P<asks>(?:what|which|who|where|when|how)\b[^,—–]*)$", re.IGNORECASE
)


def read_question(text: str, names_a_time: Callable[[str], bool] = lambda _: False) -> Question:
    """`names_a_time`: whether a phrase is nothing but a time ("2015", "Christmas"), which is no anchor."""
    flat = " ".join(text[:MAX_READ].split()).rstrip("?!. ")
    clause = _LAST_CLAUSE.search(flat)
    asking = flat if clause is None else flat[clause.start("asks") :]
    asks: Asks = next((asks for asks, pattern in _ASKS.items() if pattern.search(asking)), "photos")
    question = Question(text, asks, target=flat)
    for read in (_earlier, _same, _leading, _between, _around):
        if (found := read(question, flat)) is not None and not _is_time(found, names_a_time):
            return _finished(found)
    return _finished(_headed(question, flat))


def _is_time(question: Question, names_a_time: Callable[[str], bool]) -> bool:
    if not question.anchor or (question.relation == "between" and not question.other):
        return True
    return names_a_time(question.anchor) or bool(question.other and names_a_time(question.other))


def _earlier(question: Question, flat: str) -> Question | None:
    """ "Did I see A first, or B?" has two anchors and no target."""
    match = _EARLIER.match(flat)
    if match is None:
        return None
    return replace(question, target="", anchor=match["anchor"].strip(), other=match["other"].strip())


def _same(question: Question, flat: str) -> Question | None:
    match = _SAME.search(flat) or _DAY_OF.search(flat)
    if not match:
        return None
    head = f"{flat[: match.start()]} {match['tail'] or ''}"
    if match.groupdict().get("noun") and not _asks_for_more(head) and not _MOMENT.match(match["anchor"]):
        return None  # "the party with balloons" is a scene
    found = _headed(replace(question, relation="same", unit=match["unit"].lower()), head)
    return _anchored(replace(found, with_anchor=not _OTHERS.search(head)), match["anchor"])


def _leading(question: Question, flat: str) -> Question | None:
    match = _LEADING.match(flat)
    if match is None or not _speaks_of_order(match["head"], flat[: match.start("way")], match):
        return None
    return _around_of(question, match["head"], match["way"], match["anchor"])


def _around(question: Question, flat: str) -> Question | None:
    match = _AROUND.match(flat)
    if match is None:
        return None
    head, way = match["head"], match["way"].lower()
    adverb = flat[match.end("head") : match.start("way")]
    if way in ("following", "preceding") and not adverb and not _PHOTOS.search(head):
        return None  # "ducklings following their mother"
    if not _speaks_of_order(head, adverb, match):
        return None
    return _around_of(question, head, way, match["anchor"])


def _asks_for_more(head: str) -> bool:
    return bool(_PLURAL.search(head) or _OTHERS.search(head) or _ORDER.search(head) or _without_edges(head))


def _speaks_of_order(head: str, adverb: str, match: re.Match[str]) -> bool:
    """Whether "before" and "after" mean the order of photos, and not what one of them shows."""
    if _ORDER.search(head):
        return True
    if _PLACED.search(head):
        return False
    if adverb.strip() or _MOMENT.match(match["anchor"]):
        return True
    return bool(_ABOUT_PHOTOS.search(head)) and not _INDEFINITE.match(match["anchor"])


def _around_of(question: Question, head: str, way: str, anchor: str) -> Question:
    relation: Relation = "before" if way.lower() in ("before", "preceding") else "after"
    found = _headed(replace(question, relation=relation), head)
    return _anchored(found, anchor, bool(_SUCCESSIVE.search(head)))


def _between(question: Question, flat: str) -> Question | None:
    match = _BETWEEN.match(flat)
    if match is None:
        return None
    head = match["head"]
    found = _headed(replace(question, relation="between"), head)
    photo = _ABOUT_PHOTOS.search(head) is not None and not found.target
    if not (photo or _PLURAL.search(head) or _ORDER.search(head) or _DID.search(head)):
        return None  # "the bridge between two towers"
    found = _anchored(found, match["anchor"])
    return replace(found, other=_trimmed_anchor(match["other"]))


def _headed(question: Question, head: str) -> Question:
    """Reads order, number and target from what a question says besides its anchor."""
    order = (_ORDER if question.relation else _ORDER_OF_PHOTOS).search(head)
    count = _COUNT.search(head)
    number = 0 if count is None else _NUMBERS.get(count["n"].lower()) or int(count["n"])
    plural = bool(_PLURAL.search(head))
    single = question.relation != "same" and not plural and not number
    target = head if order is None else head[: order.start()] + " " + head[order.end() :]
    if question.relation or order or question.asks == "count":
        target = _without_edges(re.sub(rf",?\s*{_SAID}\b", " ", _COUNT.sub(" ", target), flags=re.IGNORECASE))
    return replace(
        question,
        order=_ORDERS[order["order"].lower()] if order else 0,
        occasion=bool(order and order["time"])
        or bool(order and plural and not number and question.relation not in ("", "same")),
        count=number or (1 if single and (order or question.relation in ("before", "after")) else 0),
        target=target,
    )


def _anchored(question: Question, anchor: str, successive: bool = False) -> Question:
    """`successive`: whether the target is the next of its kind: then the anchor is of that kind too."""
    order = re.match(
        rf"(?:the\s+|my\s+|our\s+)?(?P<order>{'|'.join(_ORDERS)})\s+(?=\S)", anchor, re.IGNORECASE
    )
    phrase = _trimmed_anchor(anchor[order.end() :] if order else anchor)
    phrase = _ONE.sub(question.target, phrase).strip()
    if successive and question.target and question.order and not _shares_a_word(question.target, phrase):
        phrase = f"{question.target} {phrase}"  # "the next jellyfish after the big swarm": a swarm of these
    return replace(question, anchor=phrase, anchor_order=_ORDERS[order["order"].lower()] if order else 0)


def _trimmed_anchor(anchor: str) -> str:
    trimmed = re.sub(rf"^(?:when\s+|that\s+)?{_SAID}\s+", "", anchor.strip(" ,;:"), flags=re.IGNORECASE)
    trimmed = re.sub(r"\s+(?:(?:was|were)\s+)?(?:taken|shot)$", "", trimmed, flags=re.IGNORECASE)
    return re.sub(
        rf"^(?:the\s+|my\s+|our\s+)?{_PICTURE}s?\s+(?:of|with|showing)\s+", "", trimmed, flags=re.IGNORECASE
    )


def _shares_a_word(first: str, second: str) -> bool:
    words = [{w[:5] for w in re.findall(r"\w{3,}", text.lower())} for text in (first, second)]
    return bool(words[0] & words[1])


def _without_edges(text: str) -> str:
    """`text` without words at its ends that say nothing of what the photos show."""
    text = " ".join(text.split())
    while match := _EDGE.match(text):
        text = text[match.end() :]
    while text:
        rest, _, last = text.rpartition(" ")
        if not _EDGE.fullmatch(last.lstrip(_MARKS) + " "):
            break
        text = rest
    return text.strip(" ,;:.-")


def _finished(question: Question) -> Question:
    """A question about a photo's neighbour asks for photos, whatever its first word."""
    if question.relation and question.asks == "fact":
        return replace(question, asks="photos")
    return question
