"""Splits a question into anchors, their relation and the target, by rules.

The prompt of DeepImageSearch's agent asks a language model for such a decomposition (appendix D.3).

"The next cat after the one sitting on the bed" asks for a cat; the bed belongs to the anchor alone, and must
not be asked of the target. A question without an anchor is its own target.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from .question_words import (
    ABOUT_PHOTOS,
    AROUND,
    AROUND_UNIT,
    ASKS,
    BETWEEN,
    COUNT,
    DAY_OF,
    DID,
    EARLIER,
    EDGE,
    FIRST_DID,
    INDEFINITE,
    LAST_CLAUSE,
    LEADING,
    MARKS,
    MOMENT,
    NUMBERS,
    ONE,
    ORDER,
    ORDER_OF_PHOTOS,
    ORDERS,
    OTHERS,
    PHOTOS,
    PICTURE,
    PLACED,
    PLURAL,
    SAID,
    SAME,
    SHIFTED,
    SIDE,
    SUCCESSIVE,
    WITHOUT,
    Asks,
)

Relation = Literal["", "same", "before", "after", "between"]
MAX_READ = 1_000  # characters of a question that are read


@dataclass(frozen=True)
class Question:
    """What a question asks for.

    `target`: what the photos show, "" for any photo. `relation`: of the target to the `anchor`: in the `same`
    `unit` of time, before or after it (or its whole `unit`), or between it and `other`. `order`: 1 for the
    first (or next), 2 for the second, -1 for the last (or previous), 0 for no order. `anchor_order`: the same
    for the anchor ("the first snow"). `count`: how many photos, 0 for all that fit. `occasion`: all photos of
    the one occasion that `order` names ("the next time I saw …"). `with_anchor`: whether the anchor belongs
    to the answer.
    `shift`: units of time from the anchor's to the one asked for ("the day after" is 1). `side`: earlier or
    later than the anchor within its unit. `without`: what the photos must not show.
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
    shift: int = 0
    side: Literal["", "earlier", "later"] = ""
    without: str = ""


def read_question(text: str, names_a_time: Callable[[str], bool] = lambda _: False) -> Question:
    """`names_a_time`: whether a phrase is nothing but a time ("2015", "Christmas"), which is no anchor."""
    flat = " ".join(text[:MAX_READ].split()).rstrip("?!. ")
    clause = LAST_CLAUSE.search(flat)
    asking = flat if clause is None else flat[clause.start("asks") :]
    asks: Asks = next((asks for asks, pattern in ASKS.items() if pattern.search(asking)), "photos")
    question = Question(text, asks, target=flat)
    for read in (_earlier, _shifted, _around_unit, _same, _leading, _between, _around):
        if (found := read(question, flat)) is not None and not _is_time(found, names_a_time):
            return _finished(found)
    if question.asks in ("when", "where") and (did := FIRST_DID.search(flat)) is not None:
        order = ORDERS[did["order"].lower()]
        return replace(question, order=order, count=1, target=stripped(flat[did.end() :]))
    wanted = _without(question, flat)
    return _finished(_headed(wanted, wanted.target))


def _without(question: Question, flat: str) -> Question:
    """Splits "… but not coffee" off the target, unless it is all that the question says."""
    match = WITHOUT.search(flat)
    if match is None or not stripped(flat[: match.start()]) or question.asks not in ("photos", "count"):
        return question
    return replace(question, target=flat[: match.start()], without=match["without"].strip())


def _is_time(question: Question, names_a_time: Callable[[str], bool]) -> bool:
    if not question.anchor or (question.relation == "between" and not question.other):
        return True
    return names_a_time(question.anchor) or bool(question.other and names_a_time(question.other))


def _earlier(question: Question, flat: str) -> Question | None:
    """ "Did I see A first, or B?" has two anchors and no target."""
    match = EARLIER.match(flat)
    if match is None:
        return None
    return replace(question, target="", anchor=match["anchor"].strip(), other=match["other"].strip())


def _shifted(question: Question, flat: str) -> Question | None:
    match = SHIFTED.search(flat)
    if match is None:
        return None
    head = f"{flat[: match.start()]} {match['tail'] or ''}"
    count = NUMBERS.get((match["n"] or "one").lower()) or int(match["n"])
    found = _headed(replace(question, relation="same", unit=match["unit"].lower()), head)
    shift = -count if match["way"].lower() == "before" else count
    return _anchored(replace(found, with_anchor=True, shift=shift), match["anchor"])


def _around_unit(question: Question, flat: str) -> Question | None:
    match = AROUND_UNIT.match(flat)
    if match is None or not (ABOUT_PHOTOS.search(match["head"]) or ORDER.search(match["head"])):
        return None
    found = _around_of(question, match["head"], match["way"], match["anchor"])
    return replace(found, unit=match["unit"].lower())


def _same(question: Question, flat: str) -> Question | None:
    match = SAME.search(flat) or DAY_OF.search(flat)
    if not match:
        return None
    head = f"{flat[: match.start()]} {match['tail'] or ''}"
    if match.groupdict().get("noun") and not _asks_for_more(head) and not MOMENT.match(match["anchor"]):
        return None  # "the party with balloons" is a scene
    side = SIDE.search(head)
    head = SIDE.sub(" ", head)
    found = _headed(replace(question, relation="same", unit=match["unit"].lower()), head)
    if side is not None:
        found = replace(found, side="earlier" if side["side"].lower() == "earlier" else "later")
    return _anchored(replace(found, with_anchor=not OTHERS.search(head)), match["anchor"])


def _leading(question: Question, flat: str) -> Question | None:
    match = LEADING.match(flat)
    if match is None or not _speaks_of_order(match["head"], flat[: match.start("way")], match):
        return None
    return _around_of(question, match["head"], match["way"], match["anchor"])


def _around(question: Question, flat: str) -> Question | None:
    match = AROUND.match(flat)
    if match is None:
        return None
    head, way = match["head"], match["way"].lower()
    adverb = flat[match.end("head") : match.start("way")]
    if way in ("following", "preceding") and not adverb and not PHOTOS.search(head):
        return None  # "ducklings following their mother"
    if not _speaks_of_order(head, adverb, match):
        return None
    return _around_of(question, head, way, match["anchor"])


def _asks_for_more(head: str) -> bool:
    return bool(PLURAL.search(head) or OTHERS.search(head) or ORDER.search(head) or stripped(head))


def _speaks_of_order(head: str, adverb: str, match: re.Match[str]) -> bool:
    """Whether "before" and "after" mean the order of photos, and not what one of them shows."""
    if ORDER.search(head):
        return True
    if PLACED.search(head):
        return False
    if adverb.strip() or MOMENT.match(match["anchor"]):
        return True
    return bool(ABOUT_PHOTOS.search(head)) and not INDEFINITE.match(match["anchor"])


def _around_of(question: Question, head: str, way: str, anchor: str) -> Question:
    relation: Relation = "before" if way.lower() in ("before", "preceding") else "after"
    found = _headed(replace(question, relation=relation), head)
    return _anchored(found, anchor, bool(SUCCESSIVE.search(head)))


def _between(question: Question, flat: str) -> Question | None:
    match = BETWEEN.match(flat)
    if match is None or (question.asks == "fact" and flat.lower().startswith("how many")):
        return None  # "how many weeks passed between …" asks for a length of time
    head = match["head"]
    found = _headed(replace(question, relation="between"), head)
    photo = ABOUT_PHOTOS.search(head) is not None and not found.target
    if not (photo or PLURAL.search(head) or ORDER.search(head) or DID.search(head)):
        return None  # "the bridge between two towers"
    found = _anchored(found, match["anchor"])
    return replace(found, other=_trimmed_anchor(match["other"]))


def _headed(question: Question, head: str) -> Question:
    """Reads order, number and target from what a question says besides its anchor."""
    order = (ORDER if question.relation else ORDER_OF_PHOTOS).search(head)
    count = COUNT.search(head)
    number = 0 if count is None else NUMBERS.get(count["n"].lower()) or int(count["n"])
    plural = bool(PLURAL.search(head))
    single = question.relation != "same" and not plural and not number
    target = head if order is None else head[: order.start()] + " " + head[order.end() :]
    if question.relation or order or question.asks == "count":
        target = stripped(re.sub(rf",?\s*{SAID}\b", " ", COUNT.sub(" ", target), flags=re.IGNORECASE))
    return replace(
        question,
        order=ORDERS[order["order"].lower()] if order else 0,
        occasion=bool(order and order["time"])
        or bool(order and plural and not number and question.relation not in ("", "same")),
        count=number or (1 if single and (order or question.relation in ("before", "after")) else 0),
        target=target,
    )


def _anchored(question: Question, anchor: str, successive: bool = False) -> Question:
    """`successive`: whether the target is the next of its kind: then the anchor is of that kind too."""
    order = re.match(
        rf"(?:the\s+|my\s+|our\s+)?(?P<order>{'|'.join(ORDERS)})\s+(?=\S)", anchor, re.IGNORECASE
    )
    phrase = _trimmed_anchor(anchor[order.end() :] if order else anchor)
    phrase = ONE.sub(question.target, phrase).strip()
    if successive and question.target and question.order and not _shares_a_word(question.target, phrase):
        phrase = f"{question.target} {phrase}"  # "the next jellyfish after the big swarm": a swarm of these
    return replace(question, anchor=phrase, anchor_order=ORDERS[order["order"].lower()] if order else 0)


def _trimmed_anchor(anchor: str) -> str:
    trimmed = re.sub(rf"^(?:when\s+|that\s+)?{SAID}\s+", "", anchor.strip(" ,;:"), flags=re.IGNORECASE)
    trimmed = re.sub(r"\s+(?:(?:was|were)\s+)?(?:taken|shot)$", "", trimmed, flags=re.IGNORECASE)
    return re.sub(
        rf"^(?:the\s+|my\s+|our\s+)?{PICTURE}s?\s+(?:of|with|showing)\s+", "", trimmed, flags=re.IGNORECASE
    )


def _shares_a_word(first: str, second: str) -> bool:
    words = [{w[:5] for w in re.findall(r"\w{3,}", text.lower())} for text in (first, second)]
    return bool(words[0] & words[1])


def stripped(text: str) -> str:
    """`text` without the words at its ends that say nothing of what photos show; "" if it says nothing."""
    text = " ".join(text.split())
    while match := EDGE.match(text):
        text = text[match.end() :]
    while text:
        rest, _, last = text.rpartition(" ")
        if not EDGE.fullmatch(last.lstrip(MARKS) + " "):
            break
        text = rest
    return text.strip(" ,;:.-")


def _finished(question: Question) -> Question:
    """A question about a photo's neighbour asks for photos, whatever its first word."""
    if question.relation and question.asks == "fact":
        return replace(question, asks="photos")
    return question
