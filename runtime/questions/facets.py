"""What a question says of facts that an album knows of its photos: their shape, what took them, who is there.

Only what the album has is read: "videos of the cat" are words where there is no clip. "A portrait of Anna" is
about a picture, so that a shape needs its noun ("in portrait format", "vertical photos").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from .words import Word, Words, listed, text_of, words_of

# medium: "video", "screenshot" or "receipt"; fact: what is known of a photo (the role "fact");
# alone: the name of somebody whose face alone is there, "" for anybody's; together: the names of people whose
# faces are there, "" for any two.
Kind = Literal["medium", "orientation", "camera", "fact", "alone", "together"]
_OWNED = frozenset({"my", "our", "the"})
_BEFORE_SHAPE = _OWNED | {"all", "any", "me", "some"}
_CAMERA = 5  # words of a camera's name


@dataclass(frozen=True)
class Facet:
    """`value`: "portrait", "video", a camera's name as it is written, a fact, names."""

    kind: Kind
    value: str = ""


Has = Callable[[Facet], bool]  # whether a photo of the album has it
Taken = tuple[list[Word], Facet | None]


def take_facets(words: Words, has: Has) -> tuple[list[Word], tuple[Facet, ...]]:
    """The words without the facets that they name, and these."""
    left, facets = list(words), []
    for take in (_medium, _orientation, _fact, _alone, _together, _company, _camera):
        left, facet = take(left, has)
        if facet is not None:
            facets.append(facet)
    return left, tuple(facets)


def fact_of(phrase: str) -> str:
    """The fact, such as "date", if a phrase names nothing but it, "" otherwise: "without a date"."""
    named = {word.values.get("fact", "") for word in words_of(" ".join(phrase.split()))}
    return named.pop() if len(named) == 1 else ""


def _orientation(words: list[Word], has: Has) -> Taken:
    for at, word in enumerate(words):
        value, follows = word.values.get("shape", ""), words[at + 1 : at + 2]
        begin, end = at - 1 if at and words[at - 1].key == "in" else at, at + 1
        if follows and follows[0].has("format"):
            end = at + 2
        elif follows and follows[0].has("picture") and (word.key != value or _is_square(words, at)):
            begin = at
        elif begin == at or (follows and not follows[0].is_mark):
            continue
        facet = Facet("orientation", value)
        if value and has(facet):
            return [*words[:begin], *words[end:]], facet
    return words, None


def _is_square(words: list[Word], at: int) -> bool:
    """Of "my square photos", not of those of "Times Square"."""
    return words[at].key == "square" and (not at or words[at - 1].key in _BEFORE_SHAPE)


def _medium(words: list[Word], has: Has) -> Taken:
    """It is asked for only where nothing is said before it: "kids watching a video" is a scene."""
    for at, word in enumerate(words):
        facet = Facet("medium", word.values.get("medium", ""))
        several = word.key.endswith("s") or _ends(words, at + 1, frozenset())
        first = all(before.values and not before.has("picture", "pictured") for before in words[:at])
        if facet.value and several and first and has(facet):
            photos = replace(word, text="photos", key="photos", values={"picture": ""})
            return [*words[:at], photos, *words[at + 1 :]], facet
    return words, None


def _fact(words: list[Word], has: Has) -> Taken:
    """ "With flash"; other facts only right behind the photos: "with a date", "with text in them"."""
    for at, word in enumerate(words):
        facet = Facet("fact", word.values.get("fact", ""))
        article = at > 0 and words[at - 1].key in ("a", "an", "the")
        begin = at - 2 if article else at - 1
        if not facet.value or begin < 0 or words[begin].key not in listed("containing"):
            continue
        of_photos = begin > 0 and words[begin - 1].has("picture", "medium")
        end = at + 1
        if end + 1 < len(words) and words[end].key in ("in", "on") and words[end + 1].key in ("it", "them"):
            end += 2
        bare = facet.value == "flash" and (not article or words[at - 1].key == "the")
        if (bare or of_photos) and _ends(words, end) and has(facet):
            begin -= begin > 0 and words[begin - 1].has("made")  # "taken with flash"
            return [*words[:begin], *words[end:]], facet
    return words, None


def _alone(words: list[Word], has: Has) -> Taken:
    """ "Anna alone", "Anna by herself": of somebody whom the album knows; "the tree alone" is a scene."""
    for at, word in enumerate(words):
        begin = at
        while begin and _is_name(words[begin - 1], begin - 1):
            begin -= 1
        facet = Facet("alone", text_of(words[begin:at]))
        if word.has("alone") and begin < at and _ends(words, at + 1) and has(facet):
            return [*words[:at], *words[at + 1 :]], facet
    return words, None


def _together(words: list[Word], has: Has) -> Taken:
    """ "Anna and Tom together": names with "and" or commas between them."""
    for at, word in enumerate(words):
        begin = at
        while begin and (_is_name(words[begin - 1], begin - 1) or words[begin - 1].key in ("and", ",", "&")):
            begin -= 1
        facet = Facet("together", text_of(words[begin:at]))
        if word.key == "together" and at - begin > 2 and has(facet):
            return [*words[:at], *words[at + 1 :]], facet
    return words, None


def _company(words: list[Word], has: Has) -> Taken:
    """ "Group photos", "people together", "somebody alone", "only one person".

    "Two people in a boat" is a scene, in which no face need be seen; so is all of which more is said.
    """
    for at, (word, follows) in enumerate(pairwise(words)):
        kind = _kind_of_company(word, follows, words[at - 1] if at else None)
        counted = kind == "together" and at > 0 and words[at - 1].key in listed("how_many_people")
        begin = at - 1 if counted or (at and words[at - 1].key in ("just", "only")) else at
        while begin and words[begin - 1].key in listed("determiners") | listed("containing"):
            begin -= 1
        of_it = at + 2 < len(words) and words[at + 2].key == "of"  # "a group picture of penguins"
        only = all(
            before.has("all", "courtesy", "medium", "picture", "request", "self") for before in words[:begin]
        )
        if kind and only and not of_it and _ends(words, at + 2) and has(Facet(kind)):
            photos = replace(word, text="photos", key="photos", values={"picture": ""})
            pictured = any(one.has("picture", "medium") for one in words[:begin])
            return [*words[:begin], *([] if pictured else [photos]), *words[at + 2 :]], Facet(kind)
    return words, None


def _kind_of_company(word: Word, follows: Word, before: Word | None) -> Kind | None:
    if word.key == "group" and follows.has("picture"):
        return "together"
    if word.key == "one" and follows.key in listed("persons"):
        return "alone" if before is not None and before.key in ("just", "only") else None
    if word.key not in listed("persons"):
        return None
    return "together" if follows.key == "together" else "alone" if follows.has("alone") else None


def _camera(words: list[Word], has: Has) -> Taken:
    """A camera's name ends the question, or what is told before a place or time: "taken with my iPhone"."""
    end = len(words)
    while end and words[end - 1].is_mark:
        end -= 1
    ends = [end, *(at for at in range(end - 1, 1, -1) if words[at].key in listed("taken_where"))]
    taken = (_camera_before(words, at, has) for at in ends)
    return next((one for one in taken if one[1] is not None), (words, None))


def _camera_before(words: list[Word], end: int, has: Has) -> Taken:
    for at in range(end - 2, max(-1, end - 3 - _CAMERA), -1):
        if words[at].key not in listed("by_what"):
            continue
        begin = at - 1 if at and words[at - 1].has("made") else at
        first = at + 2 if words[at + 1].key in _OWNED else at + 1
        facet = Facet("camera", text_of(words[first:end]))
        # Without "taken", a name has a capital or a number in it: "dinner with the family", "on the Canon".
        named = facet.value != facet.value.lower() or any(letter.isdigit() for letter in facet.value)
        is_name = bool(facet.value) and not facet.value.isdecimal()
        if is_name and (begin < at or (first > at + 1 and named)) and has(facet):
            rest = [*words[:begin], *words[end:]]
            return [] if all(word.is_mark for word in rest) else rest, facet
    return words, None


def _ends(words: Words, at: int, more: frozenset[str] = frozenset({"by", "on"})) -> bool:
    """Whether a phrase ends before `at`: at the question's end, a mark, or a word that ties it to others.

    "Video of the cat"; "the video shop" is a shop. `more`: of the words that tie.
    """
    return at >= len(words) or words[at].is_mark or words[at].key in listed("tied") | more


def _is_name(word: Word, at: int) -> bool:
    """Whether it is written with a capital, and not for beginning the question, or is no other word."""
    return word.text[:1].isupper() and (at > 0 or not word.values)
