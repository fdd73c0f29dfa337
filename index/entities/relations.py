"""How the entities of a memory are related: (head, relation, tail), by the words that stand between them.

The paper's example (Chair, 119, IKEA), as "the chair at IKEA costs $119", gives chair -at→ IKEA and chair
-costs→ $119. Within a sentence, an entity that follows a preposition or a verb describes an earlier one:

- a price describes the nearest thing, and *costs*;
- a place directly after a place or after something that is *at* or *in* a place describes that one ("ramen
  at Ichiran in Shibuya": Ichiran -in→ Shibuya), so that a walk of the graph learns where things are;
- another entity describes the last one that itself describes nothing ("coffee with Anna":
  coffee -with→ Anna);
- an owner describes what is owned ("Anna's dog": dog -of→ Anna);
- "with Anna and Tom" relates both as the first.

What no rule relates stands alone. Only the entity that describes nothing stands for the photo; its
description is reached through the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .words import STOP_WORDS, VERBS, WORD, looks_verbal

COSTS, OF = "costs", "of"
_PRICE_REACH = 48  # characters between a price and the thing it belongs to
_MAX_SPANS = 64  # entities of a sentence that are compared with each other
_MAX_BETWEEN = 60  # characters between two entities that words relate
_SENTENCE = re.compile(r"[.!?…\n;]")
_WHERE = """
at in near on inside outside
"""
_OTHERS = """
from to with by of for into onto behind beside under over above below between along across through around
before after during without against toward towards named called as
"""
_LOCATIVE = frozenset(_WHERE.split())
_RELATIONS = _LOCATIVE | frozenset(_OTHERS.split())
_BE = frozenset(("is", "are", "was", "were"))
_JOINS = frozenset(("and", "or", "plus"))
_DETERMINERS = frozenset(("the", "a", "an", "my", "our", "his", "her", "their"))


@dataclass(frozen=True)
class Span:
    """An entity in a text: characters `start` to `end`, its name and its kind."""

    start: int
    end: int
    name: str
    kind: str


@dataclass(frozen=True)
class Link:
    """What an entity describes: the position of its parent in the list of spans, and how."""

    parent: int
    relation: str


def upwards(name: str, parent_of: Callable[[str], str | None]) -> set[str]:
    """`name` and all that it describes, directly or not: where `tail` is among them, it may not get `name` as
    its parent.
    """
    found = set[str]()
    above: str | None = name
    while above is not None and above not in found:
        found.add(above)
        above = parent_of(above)
    return found


def related(text: str, spans: Sequence[Span]) -> dict[int, Link]:
    """Position of a span → what it describes. `spans`: in order of `start`, without overlaps."""
    links: dict[int, Link] = {}
    for sentence in _sentences(text, spans):
        _relate(text, spans, sentence, links)
    return links


def _sentences(text: str, spans: Sequence[Span]) -> list[list[int]]:
    """The positions of the spans of each sentence; after _MAX_SPANS a new one begins, since each is compared
    with all before it.
    """
    out: list[list[int]] = []
    for at, span in enumerate(spans):
        if not out or len(out[-1]) == _MAX_SPANS or _SENTENCE.search(text, spans[at - 1].end, span.start):
            out.append([])
        out[-1].append(at)
    return out


def _relate(text: str, spans: Sequence[Span], sentence: list[int], links: dict[int, Link]) -> None:
    waiting: list[tuple[int, str]] = []  # what comes before anything that it could describe, and its relation
    for nth, at in enumerate(sentence):
        before = sentence[nth - 1] if nth else None
        words = _words(text, spans[before].end if before is not None else 0, spans[at].start, nth == 0)
        link = _price(spans, sentence, at, nth) if spans[at].kind == "price" else None
        if link is None and before is not None and spans[at].kind != "price":
            link = _link(text, spans, sentence[:nth], at, words, links)
        if link is not None:
            links[at] = link
        elif _owns(text, spans[at]):
            continue  # an owner describes what is owned, which comes next
        elif _is_head(spans[at]):
            links.update({place: Link(at, relation) for place, relation in waiting})
            waiting = []
        elif spans[at].kind in ("place", "date") and (relation := _relation(words)):
            waiting.append((at, relation))


def _words(text: str, start: int, end: int, first: bool) -> list[str]:
    """The words between two entities, folded; before the first entity of a sentence, the last few."""
    between = text[max(start, end - _MAX_BETWEEN) : end] if first else text[start:end]
    words = [word.casefold() for word in WORD.findall(between)]
    return words[-3:] if first else words


def _link(
    text: str, spans: Sequence[Span], earlier: list[int], at: int, words: list[str], links: dict[int, Link]
) -> Link | None:
    before = earlier[-1]
    gap = text[spans[before].end : spans[at].start]
    if len(gap) > _MAX_BETWEEN:
        return None
    if _owns(text, spans[before]) and not gap.strip():
        return _owned(spans, earlier, at, links)
    if gap.strip() == "," and spans[at].name[:1].isupper():
        return Link(before, "in") if spans[before].kind == "place" else links.get(before)
    if set(words) & _JOINS and set(words) <= _JOINS | _DETERMINERS:
        return links.get(before)
    relation = _relation(words)
    if not relation:
        return None
    if spans[at].kind == "place" and relation in _LOCATIVE and _is_where(spans[before], links.get(before)):
        return Link(before, relation)
    heads = [row for row in earlier if row not in links and _is_head(spans[row])]
    # The subject of a verb comes first; what a preposition describes comes last.
    verb = relation not in _RELATIONS
    return Link(heads[0] if verb else heads[-1], relation) if heads else None


def _owned(spans: Sequence[Span], earlier: list[int], at: int, links: dict[int, Link]) -> Link | None:
    """Relates an owner to what it owns; what is owned takes over what the owner would have described."""
    owner = earlier[-1]
    taken = links.pop(owner, None)
    links[owner] = Link(at, OF)
    return taken if taken is not None and taken.parent != at else None


def _is_where(span: Span, link: Link | None) -> bool:
    """Whether a span says where something is: a place, or what something is at or in."""
    return span.kind == "place" or (link is not None and link.relation in _LOCATIVE)


def _is_head(span: Span) -> bool:
    return span.kind in ("thing", "person")


def _owns(text: str, span: Span) -> bool:
    return text[max(span.start, span.end - 2) : span.end].casefold() in ("'s", "’s")


def _relation(words: Sequence[str]) -> str:
    """The last preposition or verb; "" if there is none."""
    for word in reversed(words):
        if word in _RELATIONS or word in _BE or word in VERBS:
            return word
        if word not in STOP_WORDS and looks_verbal(word):
            return word
    return ""


def _price(spans: Sequence[Span], sentence: list[int], at: int, nth: int) -> Link | None:
    """The nearest thing in the price's sentence; one before the price is preferred to one after it."""
    for others in (reversed(sentence[:nth]), sentence[nth + 1 :]):
        for other in others:
            first, second = sorted((spans[at], spans[other]), key=lambda span: span.start)
            if spans[other].kind == "thing" and second.start - first.end <= _PRICE_REACH:
                return Link(other, COSTS)
    return None
