"""Tells the words of what is asked for from those of its anchor: before, after, between, the same day.

A wrong reading is worse than none: a plain search still finds the photo, and a relation to an anchor that
nobody meant finds another. Where words only sound like an order ("cat chasing after a ball"), there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from .phrases import (
    asks_for_more,
    is_about_photos,
    is_clause,
    is_definite,
    is_moment,
    is_plural,
    refers,
)
from .question import Relation, Side
from .request import Request, said_length
from .words import Word, Words, index_of, listed, text_of, trimmed

IsTime = Callable[[str], bool]
_DATES = frozenset({"last", "next", "tomorrow", "yesterday"})
_FIRST = frozenset({"earlier", "first"})


@dataclass(frozen=True)
class Split:
    """`head`: the words of what is asked for. `other`: the second anchor of "between". `exact`: right after.

    The rest: see Question. Without a relation the anchors are compared: which was first.
    """

    head: list[Word]
    anchor: list[Word]
    relation: Relation = "same"
    other: tuple[Word, ...] = ()
    unit: str = ""
    shift: int = 0
    side: Side = ""
    exact: bool = False


def split_of(request: Request, is_time: IsTime, is_place: IsTime) -> Split | None:
    """None for a request without an anchor; a time is none, and a place only one that is compared."""
    for part in (_which_first, _shifted, _same, _between, _around, _at_an_event):
        split = part(request)
        if split is None:
            continue
        anchors = [text_of(split.anchor)]
        if split.relation in ("", "between"):
            anchors.append(text_of(split.other))
        bound = f"{split.relation} {anchors[0]}"  # "after May": a month, though "May" alone may be a name
        compared = [one for one in anchors if split.relation or not is_place(one)]
        if all(anchors) and not any(map(is_time, (*compared, *([bound] if split.relation else [])))):
            return split
    return _told(request, is_time) if request.sentence else None


def _told(request: Request, is_time: IsTime) -> Split | None:
    """The anchor that a story names: "The week before the hike we bought boots. Find the boots." """
    story = replace(request, words=request.sentence, sentence=(), story=(), is_question=False, asked=True)
    for part in (_shifted, _same, _between):
        split = part(story)
        if split is not None and split.anchor and not is_time(text_of(split.anchor)):
            return replace(split, head=list(request.words))
    return None


def _which_first(request: Request) -> Split | None:
    """ "Did I see A first, or B?", "which came first, A or B", "was A before B?"."""
    words = request.words
    keys = [word.key for word in words]
    if request.asks not in ("fact", "where") or not {"after", "before", "or"} & {*keys}:
        return None
    around = index_of(words, "before", "after")
    if "or" not in keys or (around > 0 and words[around + 2 : around + 3] and words[around + 2].has("after")):
        then = around + 3 if keys[around + 1 : around + 2] == ["or"] else around + 1
        # "Was the wedding before the move", not "were the kids happy before the move"
        begins = words[0].has("definite") and around == 2
        named = around > 0 and (begins or all(word.text[:1].isupper() for word in words[:around]))
        after = words[then:]
        other = bool(after) and (after[0].has("definite") or after[0].text[:1].isupper())
        return _two(words[:around], after) if request.was and named and other else None
    link = keys.index("or")
    first = next((at for at, key in enumerate(keys) if key in _FIRST), -1)
    mark = max((at for at in range(link) if words[at].is_mark), default=-1)
    if 0 <= first == mark - 1 and mark < link - 1:  # "which trip was first, A or B", not "the first night"
        return _two(words[mark + 1 : link], words[link + 1 :])
    if request.asks != "fact":
        return None
    if keys[0] in ("which", "what") or "came" in keys[:link]:
        return _two(words[first + 1 : link], words[link + 1 :]) if 0 <= first < link else None
    around = index_of(words[:link], "before", "after")
    if around > 0 and "way" in keys[link:]:
        return _two(words[:around], words[around + 1 : link])
    if first < 0:
        return None
    return _two(words[: min(first, link)], [word for word in words[link + 1 :] if word.key != "first"])


def _two(one: Words, other: Words) -> Split | None:
    anchor, second = _named(one), _named(other)
    return Split([], anchor, "", tuple(second)) if anchor and second else None


def _named(words: Words) -> list[Word]:
    """What is compared, without "did I see"."""
    rest = trimmed(words, "courtesy", "aux", "self", "which", "generic")
    while rest and (rest[0].has("seen") or rest[0].key == "it") and rest[0].key not in ("meet", "met"):
        rest = rest[1:]
    return rest


def _shifted(request: Request) -> Split | None:
    """ "Two days after the concert": another day, counted from the anchor's."""
    words = request.words
    for at in range(len(words) - 1):
        way = words[at + 1]
        counts = way.has("before", "after") and way.key not in ("once", "since", "until")
        # "Earlier that day before the eagle" is within the day.
        within = at > 0 and words[at - 1].key in ("same", "that", "this")
        if not counts or within or words[at].values.get("unit", "event") in ("event", "trip"):
            continue
        count = words[at - 1].number if at else 0
        first = at - 1 if count else at
        while first and (
            words[first - 1].has("definite", "order", "preposition")
            or words[first - 1].key in ("following", "very")
        ):
            first -= 1
        anchor, tail = _anchor_and_tail(words, at + 2)
        if (
            anchor
            and anchor[0].key not in _DATES
            and not all(word.has("unit", "definite") for word in anchor)
        ):
            sign = -1 if way.has("before") else 1
            unit = words[at].values["unit"]
            return Split([*words[:first], *tail], anchor, unit=unit, shift=sign * (count or 1))
    return None


def _same(request: Request) -> Split | None:
    """ "The same day as", "the day of", "that evening": the anchor's unit of time."""
    for at, word in enumerate(request.words):
        one = word.has("unit") and not word.key.endswith("s")  # "the days of the week" are no day
        if one and (split := _same_at(request, at)) is not None:
            return split
    return None


def _same_at(request: Request, at: int) -> Split | None:
    """The same for the unit at index `at`."""
    words, unit = request.words, request.words[at].values["unit"]
    same = at > 0 and words[at - 1].key == "same"
    first = at - 1 if same else at
    while first and words[first - 1].has("definite", "preposition"):
        first -= 1
    if first and words[first - 1].key in ("made", "shot", "taken"):
        first -= 1
    follows, (side, head) = words[at + 1 :], _side(words[:first])
    of = bool(follows) and follows[0].key == "of"
    sided = of and (request.is_question or index_of(follows, "earlier", "later") >= 0)
    clause = at == 0 and bool(follows) and follows[0].has("subject")  # "year I moved"
    if first == at and not (sided or clause):
        return None  # "walk of fame", "day trip"
    if head and head[-1].has("before", "after"):
        return None  # "after the day of …": of its whole
    if (start := _anchor_at(words, at, same)) > 0:
        anchor, tail = _anchor_and_tail(words, start)
        anchor, late = _late_side(anchor)
        head = [*head, *tail]
        scene = follows[0].key in ("of", "with") and not same and not is_moment(anchor) and not request.asked
        scene = scene and not (of and anchor and _is_owned(anchor[0]))
        if scene and not (asks_for_more(head, request) or (of and request.is_question)):
            return None  # "the party with balloons"
        if anchor:
            return Split(head, anchor, unit=unit, side=side or late)
    return _told_unit(request, at, head, side)


def _is_owned(word: Word) -> bool:
    """ "Mom's scan", "my exam"."""
    return word.key in ("my", "our") or word.has("possessive") or word.key.endswith(("'s", "s'"))


def _anchor_at(words: Words, at: int, same: bool) -> int:
    """Where the anchor begins after the unit at index `at`; 0 where none follows."""
    follows = words[at + 1 :]
    if not follows:
        return 0
    if follows[0].key in ("in", "on") and len(follows) > 1 and follows[1].key == "which":
        return at + 3
    if follows[0].key in ("of", "that", "when", "where", "with") or (
        same and follows[0].key in ("as", "like")
    ):
        return at + 2
    if follows[0].has("subject"):
        return at + 1  # "the day we moved"
    definite = at > 0 and follows[0].has("definite") and words[at - 1].has("definite")
    return at + 1 if definite and is_clause(_anchor_and_tail(words, at + 1)[0]) else 0


def _told_unit(request: Request, at: int, head: list[Word], side: Side) -> Split | None:
    """ "That evening", "the following day" of what was told; "that morning, earlier than the cake"."""
    words, unit = request.words, request.words[at].values["unit"]
    before = words[at - 1].key if at else ""
    follows, story = words[at + 1 :], list(request.story)
    late, rest = _side(follows)
    if story and before in ("following", "next"):
        return Split([*words[: at - 1], *follows], story, unit=unit, shift=1)
    if story and before in ("same", "that", "this"):
        return Split([*head, *rest], story, unit=unit, side=side or late)
    than = next((i for i, word in enumerate(follows[:3]) if word.key in ("earlier than", "later than")), -1)
    if before != "that" or than < 0:
        return None
    anchor, tail = _anchor_and_tail(follows, than + 1)
    return Split(
        [*head, *tail], anchor, unit=unit, side="earlier" if follows[than].has("before") else "later"
    )


def _between(request: Request) -> Split | None:
    words = request.words
    at = next((i for i, word in enumerate(words) if word.key in ("between", "in between")), -1)
    link = next((i for i in range(at + 2, len(words)) if words[i].key == "and"), -1)
    if at < 0 or link < 0:
        return _from_until(request)
    other, tail = _anchor_and_tail(words, link + 1)
    head, anchor = [*words[:at], *tail], list(words[at + 1 : link])
    wanted = (
        is_plural(head, request) or request.did or request.asks == "count" or index_of(head, "order") >= 0
    )
    wanted = wanted or (is_about_photos(head, request) and not trimmed(head, *listed("edges")))
    spoken = trimmed(words[:at], "preposition")
    set_off = at > 1 and any(word.is_mark for word in words[at - 2 : at])
    definite = anchor[0].has("definite") and is_definite(other) and (request.asked or set_off or not spoken)
    definite = definite or not trimmed(head)
    # "The bridge between two towers" is a scene.
    return Split(head, anchor, "between", tuple(other)) if wanted or definite else None


def _from_until(request: Request) -> Split | None:
    """ "From A until B", "after A but before B"."""
    words = request.words
    last = next((at for at in range(len(words)) if _ends_a_span(words, at)), 0)
    first = next((at for at, word in enumerate(words[:last]) if word.key in ("after", "from", "since")), -1)
    if first < 0:
        return None
    anchor = [word for word in words[first + 1 : last] if word.key not in ("but", "when")]
    other, tail = _anchor_and_tail(words, last + 1)
    return Split([*words[:first], *tail], anchor, "between", tuple(other)) if anchor and other else None


def _ends_a_span(words: Words, at: int) -> bool:
    """ "Until", "but before"."""
    if words[at].key == "before":
        return at > 0 and words[at - 1].key == "but"
    return words[at].key in ("through to", "until", "up to")


def _around(request: Request) -> Split | None:
    """Before or after an anchor, or its whole unit of time."""
    words = request.words
    at = _way_at(words)
    if at < 0:
        return None
    anchor, tail = _anchor_and_tail(words, at + 1)
    edge = at
    while edge and (
        words[edge - 1].has("exactly") or words[edge - 1].key in ("came", "comes", "coming", "only", "that")
    ):
        edge -= 1
    exact = index_of(words[edge:at], "exactly") >= 0
    before = list(words[:edge])
    if len(before) > 1 and before[-1].key == "and" and before[-2].is_mark:
        before.pop()
    head = [*before, *tail]
    if request.story and (not anchor or refers(anchor)):
        anchor = list(request.story)
    if not anchor or refers(anchor):
        return None
    leads = not before and bool(tail)
    spoken = before
    while spoken and spoken[-1].key in ("from", "only"):
        spoken = spoken[:-1]
    set_off = leads or (bool(spoken) and spoken[-1].is_mark)
    if not (exact or leads or _is_order(request, head, trimmed(before), anchor, words[at], set_off)):
        return None
    unit, anchor = _whole_unit(anchor)
    side, head = _side(head)
    unit_at = index_of(head, "unit")
    if side and (request.story or unit_at >= 0):  # "earlier that day, before I fell"
        of = head[unit_at].values["unit"] if unit_at >= 0 else "day"
        return Split([word for word in head if not word.has("unit")], anchor, unit=of, side=side)
    if not tail and not trimmed(head, *listed("edges")) and index_of(head, "all") >= 0:
        anchor, head = _shown_with(anchor, head)
    return Split(head, anchor, "after" if words[at].has("after") else "before", unit=unit, exact=exact)


def _way_at(words: Words) -> int:
    """The index of "before", "after" or a word like them; -1 without one. "Before and after" is none."""
    for at, word in enumerate(words):
        follows = words[at + 1 : at + 3]
        if word.key == "up to" and follows and follows[0].has("them"):
            return at
        if word.has("before", "after"):
            both = len(follows) > 1 and follows[0].key == "and" and follows[1].has("before", "after")
            return -1 if both else at
    return -1


def _is_order(request: Request, head: Words, spoken: Words, anchor: Words, way: Word, set_off: bool) -> bool:
    """Whether "before" and "after" mean the order of photos, and not what one of them shows.

    `spoken`: what of the head stands before the anchor. `set_off`: whether a comma stands between them.
    """
    if way.key in ("as soon as", "once"):
        return is_clause(anchor)
    if any(word.has("order") and not _is_of_unit(head, at) for at, word in enumerate(head)):
        return True
    if spoken and spoken[-1].has("placed"):
        return False
    named = bool(spoken) and spoken[-1].has("made", "one", "picture")
    if way.key in ("following", "preceding") and not named:
        return False  # "ducklings following their mother"
    if is_moment(anchor) or way.key in ("prior to", "since"):
        return True
    if set_off or not spoken or request.asks != "photos":
        return is_definite(anchor) or way.has("way")
    if anchor[0].has("subject") or (len(anchor) > 2 and anchor[0].has("definite") and anchor[1].has("order")):
        return True
    return is_about_photos(head, request) and anchor[0].key not in ("a", "an", "and", "another", "some")


def _is_of_unit(words: Words, at: int) -> bool:
    """Whether the order at index `at` is that of "last summer", "the first day"."""
    return at + 1 < len(words) and words[at + 1].has("unit")


def _at_an_event(request: Request) -> Split | None:
    """ "Was there a cat at the party?" """
    words = request.words
    at = next((i for i in range(len(words) - 2, 0, -1) if words[i].key == "at"), 0)
    if not request.is_closed or not at or not words[at + 1].has("definite"):
        return None
    return Split(list(words[:at]), list(words[at + 1 :]), unit="event")


def _shown_with(anchor: list[Word], head: list[Word]) -> tuple[list[Word], list[Word]]:
    """ "Everything after the party with the couch in it": the couch is what is looked for."""
    for at in range(1, len(anchor) - 1):
        has = anchor[at].key == "that" and anchor[at + 1].key in ("has", "have", "show", "shows")
        if has or (anchor[at].key == "with" and anchor[at + 1].has("definite")):
            rest = anchor[at + 2 :]
            inside = len(rest) > 1 and rest[-1].key in ("it", "them")
            return anchor[:at], [*head, *(rest[:-2] if inside else rest)]
    return anchor, head


def _anchor_and_tail(words: Words, start: int) -> tuple[list[Word], list[Word]]:
    """The anchor from `start` on, and what follows it behind a mark, or where another clause begins."""
    mark = next(
        (at for at in range(start, len(words)) if words[at].is_mark and words[at].text in ",:;.—–-"), -1
    )
    if mark >= 0:
        return list(words[start:mark]), list(words[mark + 1 :])
    other = next((at for at in range(start + 2, len(words)) if _begins_clause(words, at)), len(words))
    return list(words[start:other]), list(words[other:])


def _begins_clause(words: Words, at: int) -> bool:
    """ "Three days before the operation | I photographed the tree"."""
    before = words[at - 1]
    goes_on = before.has("aux", "one", "picture", "preposition", "unit", "when", "where", "which", "who")
    return (
        words[at].key in ("he", "i", "she", "they", "we")
        and at + 1 < len(words)
        and not goes_on
        and before.key not in ("and", "that")
    )


def _late_side(anchor: list[Word]) -> tuple[list[Word], Side]:
    """ "… as the owl but later"."""
    at = index_of(anchor[-2:], "earlier", "later")
    if len(anchor) < 3 or at < 0:
        return anchor, ""
    late = anchor[-2:][at]
    rest = anchor[: anchor.index(late)]
    while len(rest) > 1 and rest[-1].key in ("a", "bit", "but", "only"):
        rest = rest[:-1]
    return rest, "earlier" if late.has("earlier") else "later"


def _side(words: Words) -> tuple[Side, list[Word]]:
    at = index_of(words, "earlier", "later")
    if at < 0:
        return "", list(words)
    side: Side = "earlier" if words[at].has("earlier") else "later"
    return side, [word for word in words if not word.has(side)]


def _whole_unit(anchor: list[Word]) -> tuple[str, list[Word]]:
    """ "The day I saw the whale": the unit, and what it is the unit of."""
    if len(anchor) < 3 or not anchor[0].has("definite") or not anchor[1].has("unit"):
        return "", anchor
    linked = anchor[2].key in ("of", "that", "when", "where")
    if not (linked or anchor[2].has("subject") or said_length(anchor[2:])):
        return "", anchor
    return anchor[1].values["unit"], anchor[3:] if linked else anchor[2:]
