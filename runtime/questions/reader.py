"""Reads a text into a `Question`: by the roles of its words and their order, whatever the phrasing.

"The next cat after the one sitting on the bed" asks for a cat; the bed belongs to the anchor alone, and must
not be asked of the target. A question without an anchor is its own target. The prompt of DeepImageSearch's
agent asks a language model for such a decomposition (appendix D.3).
"""

from __future__ import annotations

from dataclasses import replace

from .excluded import IsCue, leave_out, take_favourites
from .facets import Has, take_facets
from .grouped import take_groups
from .phrases import is_moment, is_plural, names_one, names_several, stripped
from .query import query_of, said
from .question import Asks, Question
from .relations import IsTime, Split, split_of
from .request import Request, request_of, said_length
from .words import Word, Words, index_of, listed, text_of, trimmed, words_of

MAX_READ = 1_000  # characters of a question that are read


def read(
    text: str,
    is_time: IsTime = lambda _: False,
    is_cue: IsCue = lambda _: False,
    has_favourites: bool = True,
    has: Has = lambda *_: False,
    language: str = "",
    is_place: IsTime = lambda _: False,
) -> Question:
    """`is_time`: whether a phrase is nothing but a time or place ("2015", "Christmas"), which is no anchor;
    `is_place`: nothing but a place, which may be compared with another.

    `is_cue`: whether what is left out is a time or place ("except 2024"), which the reader of cues excludes.
    `has_favourites`: whether a photo of the album is marked; else "my favourite cat" is only words.
    `has`: whether the album has a facet ("in portrait format"); else it is words too.
    `language`: see words_of. Of `text` the first MAX_READ characters are read.
    """
    source = " ".join(text[:MAX_READ].split())
    written = words_of(source, language)
    words, things = leave_out(written, is_cue)
    words, favourites = take_favourites(words) if has_favourites else (words, False)
    words, facets = take_facets(words, has)
    words, each, most = take_groups(words)
    request = request_of(words)
    query = query_of(source if words == written else said(words) or "photos", words)
    question = Question(
        text,
        request.asks,
        exhaustive=any(word.key in ("all", "every", "everything") for word in words),
        without=things,
        favourites=favourites,
        bare=not trimmed(words, *listed("edges")),
        facets=facets,
        each=each,
        most=most,
        pictures=_begins_with_pictures(words),
        about_photos=_is_about_pictures(words, request),
        shows=request.shows,
        query=text if len(text) > MAX_READ else query.text,
        counts=query.counts,
        soon=query.soon,
    )
    split = split_of(request, is_time, is_place)
    return _plain(question, request) if split is None else _related(question, request, split)


def content(text: str) -> str:
    """`text` without the words at its ends that say nothing of what photos show; "" if it says nothing."""
    return text_of(stripped(words_of(" ".join(text.split()))))


def _begins_with_pictures(words: Words) -> bool:
    at = index_of(words[:5], "picture", "one")
    return at >= 0 and not any(word.is_mark for word in words[:at])


def _is_about_pictures(words: Words, request: Request) -> bool:
    at = index_of(words, "picture", "pictured")
    if at < 0 or request.asked or request.is_question:
        return at >= 0
    before, after = words[:at], words[at + 1 :]
    if not after or not all(word.has("all", "article", "definite") for word in before):
        return False
    # "My photos taken in Rome" are asked for, "my photos taken in Rome were lost" is told.
    dated = after[0].has("after", "before", "made") and index_of(after, "aux") < 0
    return dated or (not before and after[0].has("preposition"))


def _related(question: Question, request: Request, split: Split) -> Question:
    other = text_of(_anchor(split.other)) or text_of(split.other)
    if not split.relation:
        return replace(question, anchor=text_of(split.anchor), other=other)
    wanted = _wanted(question, request, split.head, split)
    order, phrase = _anchor_order(split.anchor)
    anchor = text_of(_anchor(_of_one(phrase, wanted.target))) or text_of(split.anchor)
    if wanted.occasion and wanted.target and wanted.order and not _shares_a_word(wanted.target, anchor):
        anchor = f"{wanted.target} {anchor}"  # "the next jellyfish after the big swarm": a swarm of these
    asks: Asks = "photos" if question.asks == "fact" and request.about_a_photo else question.asks
    return replace(
        wanted,
        asks=asks,
        relation=split.relation,
        unit=split.unit,
        shift=split.shift,
        side=split.side,
        anchor=anchor,
        anchor_order=order,
        other=other,
        with_anchor=split.relation == "same" and (bool(split.shift) or index_of(split.head, "more") < 0),
    )


def _plain(question: Question, request: Request) -> Question:
    wanted = _wanted(question, request, request.words, None)
    asks = request.is_question or request.asked or index_of(request.words[:1], "all") >= 0
    if asks or question.is_limited or wanted.order or wanted.number:
        return wanted
    return replace(wanted, target=text_of(request.words))


def _wanted(question: Question, request: Request, head: Words, split: Split | None) -> Question:
    """Reads order, number and target from what a question says besides its anchor."""
    head = _put_before(_counted_back(head))
    at = _order_at(head, request, split is not None)
    order = int(head[at].values["order"]) if at >= 0 else 0
    counted = _number_at(head, at)
    number = head[counted].number if counted >= 0 else 0
    several = names_several(head) or (at >= 0 and _is_plural_noun(head, at + 1))
    time = at >= 0 and at + 1 < len(head) and head[at + 1].key in ("occasion", "time")
    occasion = time or bool(order and several and not number and split and split.relation != "same")
    single = not several if order else _is_near(request, head, split)
    return replace(
        question,
        order=order,
        number=number or int(single and request.asks != "count"),
        occasion=occasion,
        target=text_of(
            stripped([w for i, w in enumerate(head) if i not in (at, counted)], request.asks == "who")
        ),
    )


def _counted_back(head: Words) -> Words:
    """ "The third last", "the second to last": one word of order, counted from the end."""
    for at in range(len(head) - 1):
        end = at + 1
        for link in ("to", "the"):
            end += end < len(head) and head[end].key == link
        if end < len(head) and head[at].has("order") and head[end].has("order"):
            first, then = (int(head[n].values["order"]) for n in (at, end))
            if first > 1 and abs(then) == 1:
                both = replace(head[end], values={**head[end].values, "order": str(first * then)})
                return [*head[:at], both, *head[end + 1 :]]
    return head


def _put_before(head: Words) -> Words:
    """ "Which of the photos of the cat is the oldest": the oldest photo of the cat."""
    rest, at = head[:-1], index_of(head, "picture")
    while rest and rest[-1].has("definite"):
        rest = rest[:-1]
    asked = at >= 0 and head[0].key in ("which", "what") and head[-1].has("order")
    if not asked or not rest[-1].has("aux"):
        return head
    one, picture = rest[-1].key in ("is", "was"), rest[at]
    if one:
        picture = replace(picture, text=picture.text.removesuffix("s"), key=picture.key.removesuffix("s"))
    return [*rest[:at], head[-1], picture, *rest[at + 1 : -1]]


def _is_near(request: Request, head: Words, split: Split | None) -> bool:
    """Whether one photo is asked for, the nearest to the anchor: "right after", "the photo before"."""
    if split is None:
        return False
    near = split.exact or names_one(head) or is_moment(split.anchor)
    return near and split.relation in ("before", "after") and not is_plural(head, request)


def _is_plural_noun(words: Words, at: int) -> bool:
    return at < len(words) and words[at].key.endswith("s") and words[at].key[-2:] not in ("is", "ss", "us")


def _order_at(head: Words, request: Request, related: bool) -> int:
    """The index of the order of the photos asked for; -1 if there is none."""
    for at, word in enumerate(head):
        if not word.has("order") or (at + 1 < len(head) and head[at + 1].has("unit")):
            continue
        if related or _orders_photos(head, at):
            return at
        relative = any(other.key in ("that", "which", "who") for other in head[:at])
        verbal = request.asks in ("when", "where") and word.key in ("first", "last")
        if request.is_question and (verbal or _orders_an_event(head, at)) and not relative:
            return at
    return -1


def _orders_photos(head: Words, at: int) -> bool:
    """Without an anchor, only photos and times are counted: "first snow" is something that a photo shows."""
    follows = head[at + 1 : at + 4]
    if not follows:
        return False
    counted = bool(follows[0].number) and len(follows) > 1 and follows[0].key not in ("a", "an")
    recent = head[at].key in ("earliest", "latest", "most recent", "newest", "oldest")
    return (
        counted
        or (recent and at > 0 and (head[at - 1].key in ("my", "our") or head[at - 1].has("picture")))
        or any(said_length(head[i:]) for i in range(at + 2, len(head)))
        or (at > 0 and head[at - 1].number > 1)
        or follows[0].key in ("occasion", "time")
        or index_of(follows[:2], "picture", "one") >= 0
        or index_of(follows, "pictured") >= 0
    )


def _orders_an_event(head: Words, at: int) -> bool:
    """ "When did I first see …", "the last taxi receipt, what does it say?"."""
    return at == 0 or head[at - 1].has("aux", "definite", "self", "subject")


def _number_at(head: Words, order: int) -> int:
    """The index of the number of photos asked for; -1 if there is none."""
    for at, word in enumerate(head):
        if not word.number or word.key in ("a", "an"):
            continue
        nouns = [w for w in head[at + 1 : at + 4] if w.has("picture", "pictured") or w.key == "ones"]
        if (nouns and not (word.key == "one" and nouns[0].key.endswith("s"))) or (
            order >= 0 and abs(at - order) == 1
        ):
            return at
    return -1


def _anchor_order(anchor: list[Word]) -> tuple[int, list[Word]]:
    """ "The first snow" is 1, and the snow."""
    anchor = [*_counted_back(anchor)]
    at = 1 if anchor and anchor[0].has("definite") else 0
    if at + 1 >= len(anchor) or not anchor[at].has("order"):
        return 0, anchor
    owner = anchor[:at] if at and anchor[0].key not in ("my", "our", "the") else []
    return int(anchor[at].values["order"]), [*owner, *anchor[at + 1 :]]


def _of_one(anchor: list[Word], target: str) -> list[Word]:
    """ "The one in the snow" is another of what is asked for."""
    at = 1 if anchor and anchor[0].has("definite") else 0
    if at < len(anchor) and anchor[at].has("one"):
        rest = anchor[at + 1 :]
        if target and rest:
            return [replace(anchor[at], text=target, key=target, values={}), *rest]
        return rest[1:] if rest and rest[0].key in ("of", "where", "with") else rest
    return anchor[:-1] if len(anchor) > 1 and anchor[-1].key == "one" else anchor


def _anchor(words: Words) -> list[Word]:
    """An anchor without "I saw", "the photo of", "was taken"."""
    rest = list(words)
    if [word.key for word in rest[:2]] == ["the", "moment"]:
        rest = rest[2:]
    if rest and rest[0].key in ("that", "when"):
        rest = rest[1:]
    rest = rest[said_length(rest) :]
    while rest and rest[-1].key in ("shot", "taken", "was", "were"):
        rest.pop()
    at = 1 if rest and rest[0].has("definite") else 0
    of = at + 1 < len(rest) and rest[at].has("picture") and rest[at + 1].key in ("of", "showing", "with")
    return rest[at + 2 :] if of else rest


def _shares_a_word(first: str, second: str) -> bool:
    stems = [{word[:5] for word in text.lower().split() if len(word) > 2} for text in (first, second)]
    return bool(stems[0] & stems[1])
