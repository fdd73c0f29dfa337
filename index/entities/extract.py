"""Deterministic entity extraction by rules: memory text in, mentions out.

Entities are searched for in this order: quoted names, prices, dates, capitalised names (people, places,
things), noun-like phrases (runs of words between stop words). A price becomes a child of the nearest thing,
as in the paper's example Chair → 119.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from ..records import Mention
from .words import NOT_ENTITIES, STOP_WORDS, WORD, looks_verbal, singular

MAX_MENTIONS = 12
_MAX_TEXT = 20_000  # characters; a longer memory is a document, whose beginning gives its subject
_PRICE_REACH = 48  # characters between a price and the thing it belongs to
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    "|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_QUOTED = re.compile(r"[\"“«]([^\"“”«»\n]{2,60})[\"”»]|(?<![\w'])'([^'\n]{2,60})'(?!\w)")
# Bounded repeats: a price has few digits, and in a long run of digits and commas an unbounded pattern would
# rescan the run from every digit.
_PRICE = re.compile(
    r"[$€£¥]\s?\d[\d,]{0,20}(?:\.\d{1,20})?"
    r"|(?<![\w.])\d[\d,]{0,20}(?:\.\d{1,20})?\s?(?:[€£¥]|(?:dollars?|euros?|pounds|yuan|yen|bucks|usd|eur|gbp|cny|rmb)\b)",
    re.I,
)
_DATE = re.compile(
    rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b{_MONTH}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+\d{{4}})?\b|\b{_MONTH}\s+\d{{4}}\b|\b(?:19|20)\d{{2}}\b",
    re.I,
)
_CAPITAL = r"[^\W\d_a-zß-öø-ÿ][\w’'\-]*"
_NAME = re.compile(rf"{_CAPITAL}(?:[ \t]+(?:(?:of|de|la|da|van|von|the|&)[ \t]+)?{_CAPITAL})*")
_PLACE_BEFORE = re.compile(
    r"\b(?:in|at|from|near|to|around|toward|towards|outside|inside|visiting|visited)\s+(?:the\s+)?$", re.I
)
_SPEAKER_AFTER = re.compile(r"\s?:\s")
_SENTENCE_START = re.compile(r"(?:^|[.!?:…\n\"“(]\s*|[^\w\s,;'’&/-]\s*)$")
_BREAK = re.compile(r"[.!?;:,\n()…—–/]")


@dataclass(frozen=True)
class _Candidate:
    start: int
    end: int
    name: str
    kind: str


class Extractor(Protocol):
    """A function from a memory's text to its mentions, deterministic.

    `extract` is one; the runtime has another that uses a language model.
    """

    def __call__(self, text: str, /) -> tuple[Mention, ...]: ...


def canonical(name: str) -> str:
    """The key of an entity's spellings: lower case, single spaces, no possessive, last word singular."""
    words = re.sub(r"['’]s\b", "", name.casefold()).split()
    if words:
        words[-1] = singular(words[-1])
    return " ".join(words)


def extract(text: str) -> tuple[Mention, ...]:
    """At most MAX_MENTIONS mentions, names before phrases, one per canonical name."""
    text = text[:_MAX_TEXT]
    taken = bytearray(len(text))
    entities: list[_Candidate] = []
    for match in _QUOTED.finditer(text):
        _take(entities, taken, match.start(), match.end(), (match[1] or match[2]).strip(" ,.!?"), "thing")
    for match in _PRICE.finditer(text):
        _take(entities, taken, match.start(), match.end(), re.sub(r"(?<=[$€£¥])\s+", "", match[0]), "price")
    for match in _DATE.finditer(text):
        if match[0] != "may":
            _take(entities, taken, match.start(), match.end(), " ".join(match[0].split()), "date")
    _names(text, entities, taken)
    _phrases(text, entities, taken)
    return _linked(text, entities)


def _take(entities: list[_Candidate], taken: bytearray, start: int, end: int, name: str, kind: str) -> None:
    if len(name) > 1 and not any(taken[start:end]):
        taken[start:end] = b"\x01" * (end - start)
        entities.append(_Candidate(start, end, name, kind))


def _names(text: str, entities: list[_Candidate], taken: bytearray) -> None:
    """Takes runs of capitalised words as names.

    A single word at a sentence's start is a name only if it is a speaker ("Anna: ...") or is capitalised
    within a sentence elsewhere in the text.
    """
    candidates = [match for match in _NAME.finditer(text) if not taken[match.start()]]
    inner: set[str] = set()  # canonical names that are surely names
    spans: list[tuple[int, int, str, bool]] = []
    for match in candidates:
        start, name = match.start(), match[0].rstrip("’'-")
        at_start = bool(_SENTENCE_START.search(text[max(0, start - 8) : start]))
        head, _, rest = name.partition(" ")
        while rest and _plain(head).casefold() in NOT_ENTITIES:  # "The Golden Gate" → "Golden Gate"
            start, name, at_start = match.start() + match[0].index(rest, len(head)), rest.lstrip(), False
            head, _, rest = name.partition(" ")
        if " " not in name and _plain(name).casefold() in NOT_ENTITIES:
            continue
        is_speaker = bool(_SPEAKER_AFTER.match(text, match.end()))
        if not at_start or " " in name or is_speaker:
            inner.add(canonical(name))
        spans.append(
            (start, match.start() + len(match[0]), re.sub(r"['’]s$", "", " ".join(name.split())), is_speaker)
        )
    for start, end, name, is_speaker in spans:
        if canonical(name) in inner:
            place = _PLACE_BEFORE.search(text[max(0, start - 24) : start])
            _take(
                entities, taken, start, end, name, "person" if is_speaker else "place" if place else "thing"
            )


def _phrases(text: str, entities: list[_Candidate], taken: bytearray) -> None:
    """Takes runs of content words as things: at most the last two words, where English has its head noun.

    Frequent phrases come first, then early ones.
    """
    runs: list[list[re.Match[str]]] = [[]]
    last = 0
    for match in WORD.finditer(text):
        if runs[-1] and (_BREAK.search(text, last, match.start()) or taken[match.start()]):
            runs.append([])
        last = match.end()
        if taken[match.start()]:
            continue
        if _is_content(match[0]):
            runs[-1].append(match)
        elif runs[-1]:
            runs.append([])
    for run in runs:
        # "line stretching" → "line", but "dining table" stays.
        while run and looks_verbal(_plain(run[-1][0]).lower()):
            run.pop()
    spans = [run[-2:] for run in runs if run]
    names = [" ".join([*(m[0].lower() for m in span[:-1]), singular(span[-1][0].lower())]) for span in spans]
    counts = Counter(names)
    ranked = sorted(range(len(spans)), key=lambda i: (-counts[names[i]], -len(spans[i]), spans[i][0].start()))
    for i in ranked:
        _take(entities, taken, spans[i][0].start(), spans[i][-1].end(), names[i], "thing")


def _is_content(word: str) -> bool:
    lower = _plain(word).casefold()
    return (
        len(lower) >= 3
        and lower not in NOT_ENTITIES
        and not lower.isdigit()
        and not (lower.endswith("ly") and len(lower) > 5)
    )


def _plain(word: str) -> str:
    return word.replace("’", "'").removesuffix("'s")


def _linked(text: str, entities: list[_Candidate]) -> tuple[Mention, ...]:
    """Limits the mentions to MAX_MENTIONS without repeats, and links each price to the thing it belongs to.

    The nearest thing becomes the parent of the price and of a place near it. A parent is included even if the
    limit would have dropped it.
    """
    chosen: dict[str, _Candidate] = {}
    for item in entities:
        key = canonical(item.name)
        if key and key not in STOP_WORDS and len(chosen) < MAX_MENTIONS:
            chosen.setdefault(key, item)
    selected = list(chosen.values())
    parents: dict[str, str] = {}
    for item in selected:
        if item.kind == "price" and (parent := _neighbour(text, item, entities)) is not None:
            parents[item.name] = parent.name
            if canonical(parent.name) not in chosen:
                chosen[canonical(parent.name)] = parent
            # A place near the price is the shop, and describes the thing too: Chair → 119, IKEA.
            shops = [place for place in selected if place.kind == "place" and _is_near(text, item, place)]
            parents |= {place.name: parent.name for place in shops if place.name not in parents}
    extra = list(chosen.values())[len(selected) :]
    selected = [*selected[: MAX_MENTIONS - len(extra)], *extra] if len(extra) < MAX_MENTIONS else selected
    ordered = sorted(selected, key=lambda item: item.start)
    names = {item.name for item in ordered}
    return tuple(
        Mention(i.name, i.kind, parents[i.name] if parents.get(i.name) in names else None) for i in ordered
    )


def _is_near(text: str, price: _Candidate, place: _Candidate) -> bool:
    """Whether both are in one sentence, at most _PRICE_REACH characters apart."""
    first, second = sorted((price, place), key=lambda item: item.start)
    return second.start - first.end <= _PRICE_REACH and "." not in text[first.end : second.start]


def _neighbour(text: str, price: _Candidate, entities: list[_Candidate]) -> _Candidate | None:
    """The nearest thing in the price's sentence; one before the price is preferred to one after it."""
    things = [item for item in entities if item.kind == "thing"]
    before = [
        t
        for t in things
        if t.end <= price.start
        and price.start - t.end <= _PRICE_REACH
        and "." not in text[t.end : price.start]
    ]
    if before:
        return max(before, key=lambda item: item.end)
    after = [
        t
        for t in things
        if t.start >= price.end
        and t.start - price.end <= _PRICE_REACH
        and "." not in text[price.end : t.start]
    ]
    return min(after, key=lambda item: item.start, default=None)
