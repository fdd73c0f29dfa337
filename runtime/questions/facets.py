"""What a question says of facts that an album knows of its photos: their shape, videos, the camera.

Only what the album has is read: "videos of the cat" are words where there is no clip. "A portrait of Anna" is
about a picture, so that a shape needs its noun ("in portrait format", "vertical photos").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from .words import Word, Words, text_of, words_of

Kind = Literal["clip", "orientation", "camera"]
Has = Callable[[Kind, str], bool]  # whether a photo of the album has it
_TIED = frozenset({"at", "from", "in", "of", "with"})  # "video of the cat"; "the video shop" is a shop
_BY = frozenset({"by", "on", "using", "with"})
_OWNED = frozenset({"my", "our", "the"})
_CAMERA = 5  # words of a camera's name


@dataclass(frozen=True)
class Facets:
    """`orientation`: "portrait" or "landscape". `clips`: videos. `camera`: words of its name, as written."""

    orientation: str = ""
    clips: bool = False
    camera: str = ""


NONE = Facets()


def take_facets(words: Words, has: Has) -> tuple[list[Word], Facets]:
    """The words without the facets that they name, and these."""
    words, clips = _clips(list(words), has)
    words, orientation = _orientation(words, has)
    words, camera = _camera(words, has)
    return words, Facets(orientation, clips, camera)


def fact_of(phrase: str) -> str:
    """ "date" or "place" if a phrase names nothing but this, "" otherwise: "without a date"."""
    named = {word.values.get("fact", "") for word in words_of(" ".join(phrase.split()))}
    return named.pop() if len(named) == 1 else ""


def _orientation(words: list[Word], has: Has) -> tuple[list[Word], str]:
    for at, word in enumerate(words):
        value, follows = word.values.get("shape", ""), words[at + 1 : at + 2]
        begin, end = at - 1 if at and words[at - 1].key == "in" else at, at + 1
        if follows and follows[0].has("format"):
            end = at + 2
        elif follows and follows[0].has("picture") and word.key != value:
            begin = at
        elif begin == at or (follows and not follows[0].is_mark):
            continue
        if value and has("orientation", value):
            return [*words[:begin], *words[end:]], value
    return words, ""


def _clips(words: list[Word], has: Has) -> tuple[list[Word], bool]:
    """Videos are asked for only where nothing is said before them: "kids watching a video" is a scene."""
    for at, word in enumerate(words):
        follows = words[at + 1] if at + 1 < len(words) else None
        several = word.key.endswith("s") or follows is None or follows.is_mark or follows.key in _TIED
        first = all(before.values and not before.has("picture", "pictured") for before in words[:at])
        if word.has("clip") and several and first and has("clip", ""):
            photos = replace(word, text="photos", key="photos", values={"picture": ""})
            return [*words[:at], photos, *words[at + 1 :]], True
    return words, False


def _camera(words: list[Word], has: Has) -> tuple[list[Word], str]:
    """A camera's name ends the question: "taken with my iPhone", "on the Canon"."""
    end = len(words)
    while end and words[end - 1].is_mark:
        end -= 1
    for at in range(end - 2, max(-1, end - 3 - _CAMERA), -1):
        if words[at].key not in _BY:
            continue
        begin = at - 1 if at and words[at - 1].has("made") else at
        first = at + 2 if words[at + 1].key in _OWNED else at + 1
        name = text_of(words[first:end])
        # Without "taken", a name has a capital or a number in it: "dinner with the family", "on the Canon".
        named = name != name.lower() or any(letter.isdigit() for letter in name)
        if (begin < at or (first > at + 1 and named)) and not name.isdecimal() and has("camera", name):
            return [*words[:begin], *(words[end:] if begin else [])], name
    return words, ""
