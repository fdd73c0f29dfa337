"""Deterministic entity extraction by rules: memory text in, mentions out.

Entities are searched for in this order: quoted names, prices, dates, capitalised names (people, places,
things), noun-like phrases (runs of words between stop words). relations.py says which of them describe
others, as in the paper's example Chair → IKEA, 119.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Protocol

from ..records import Mention
from .relations import Span, related, upwards
from .words import NOT_ENTITIES, STOP_WORDS, WORD, looks_verbal, singular

MAX_MENTIONS = 12
_MAX_TEXT = 20_000  # characters; a longer memory is a document, whose beginning gives its subject
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
# What follows a speaker is speech; "Chair: 119 at IKEA" is a note about a chair.
_NOTED = r"\d[\d,]{0,20}(?:\.\d{1,20})?(?=\s*(?:$|[,;\n])|\s+(?:at|in|from)\b)"
_SPEAKER_AFTER = re.compile(rf"\s?:\s(?!\s*{_NOTED})", re.I)
_NOTED_PRICE = re.compile(rf"(?<=\w:\s){_NOTED}", re.I)
_SENTENCE_START = re.compile(r"(?:^|[.!?:…\n\"“(]\s*|[^\w\s,;'’&/-]\s*)$")
_BREAK = re.compile(r"[.!?;:,\n()…—–/]")


class Extractor(Protocol):
    """A function from a memory's text to its mentions, deterministic.

    `extract` is one; the runtime has another that uses a language model.
    """

    def __call__(self, text: str, /) -> tuple[Mention, ...]: ...


@lru_cache(maxsize=1024)
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
    entities: list[Span] = []
    for match in _QUOTED.finditer(text):
        _take(entities, taken, match.start(), match.end(), (match[1] or match[2]).strip(" ,.!?"), "thing")
    for match in _PRICE.finditer(text):
        _take(entities, taken, match.start(), match.end(), re.sub(r"(?<=[$€£¥])\s+", "", match[0]), "price")
    for match in _NOTED_PRICE.finditer(text):
        _take(entities, taken, match.start(), match.end(), match[0], "price")
    for match in _DATE.finditer(text):
        if match[0] != "may":
            _take(entities, taken, match.start(), match.end(), " ".join(match[0].split()), "date")
    _names(text, entities, taken)
    _phrases(text, entities, taken)
    return _linked(text, entities)


def _take(entities: list[Span], taken: bytearray, start: int, end: int, name: str, kind: str) -> None:
    if len(name) > 1 and not any(taken[start:end]):
        taken[start:end] = b"\x01" * (end - start)
        entities.append(Span(start, end, name, kind))


def _names(text: str, entities: list[Span], taken: bytearray) -> None:
    """Takes runs of capitalised words as names.

    A single word at a sentence's start is a name only if it is a speaker ("Anna: ...") or an owner ("Anna's
    dog"), or is capitalised within a sentence elsewhere in the text.
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
        while " " in name and name.rpartition(" ")[2].casefold() in STOP_WORDS:  # "Tokyo I" → "Tokyo"
            name = name.rpartition(" ")[0].rstrip()
        if " " not in name and _plain(name).casefold() in NOT_ENTITIES:
            continue
        is_speaker = bool(_SPEAKER_AFTER.match(text, match.end()))
        if not at_start or " " in name or is_speaker or _plain(name) != name:
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


def _phrases(text: str, entities: list[Span], taken: bytearray) -> None:
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


def _linked(text: str, entities: list[Span]) -> tuple[Mention, ...]:
    """Limits the mentions to MAX_MENTIONS without repeats, and says what each describes.

    A parent is included even if the limit would have dropped it.
    """
    ordered = sorted(entities, key=lambda item: item.start)
    parents = _parents(text, ordered)
    chosen: dict[str, Span] = {}
    for item in entities:
        key = canonical(item.name)
        if key and key not in STOP_WORDS and len(chosen) < MAX_MENTIONS:
            chosen.setdefault(key, item)
    selected = list(chosen.items())
    for key, _ in selected:
        if key in parents and (above := canonical(parents[key][0].name)) not in chosen and above:
            chosen[above] = parents[key][0]
    extra = list(chosen.items())[len(selected) :]
    kept = dict([*selected[: MAX_MENTIONS - len(extra)], *extra] if len(extra) < MAX_MENTIONS else selected)
    return tuple(
        _mention(item, kept, *parents.get(key, (None, "")))
        for key, item in sorted(kept.items(), key=lambda entry: entry[1].start)
    )


def _parents(text: str, ordered: list[Span]) -> dict[str, tuple[Span, str]]:
    """Canonical name → the parent, and the relation. Of several the first counts that closes no circle."""
    parents: dict[str, tuple[Span, str]] = {}
    above_of: dict[str, str] = {}
    for at, link in sorted(related(text, ordered).items()):
        name, above = canonical(ordered[at].name), canonical(ordered[link.parent].name)
        if name not in above_of and name not in upwards(above, above_of.get):
            parents[name], above_of[name] = (ordered[link.parent], link.relation), above
    return parents


def _mention(item: Span, kept: dict[str, Span], parent: Span | None, relation: str) -> Mention:
    above = None if parent is None else kept.get(canonical(parent.name))
    if above is None:
        return Mention(item.name, item.kind)
    return Mention(item.name, item.kind, above.name, relation)
