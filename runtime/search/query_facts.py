"""What a query asks for of time and place, and whether photos of the album are known to fit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gamer.index import Album, Cube, RowSet

from ..cues.parse import Cues
from ..cues.places import PlaceCue
from ..cues.time_ranges import TimeCue
from ..questions.reader import content
from .answer import Hit
from .remarks import Remark


@dataclass(frozen=True, eq=False)
class QueryFacts:
    """`none`: what to say where no photo fits. `only`: whether the query says nothing else.

    `times`, `inside`: the photos known to fit the times, and all that is asked, places too; `possible`: those
    that fit it as far as is known.
    """

    none: Remark
    only: bool
    times: RowSet
    inside: RowSet
    possible: RowSet

    def judged(self, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The hits of a query that says nothing else: certain inside, impossible outside."""
        known, possible = self.inside.mask, self.possible.mask & bool(len(self.inside))
        return tuple(
            replace(hit, probability=1.0 if known[hit.row] else hit.probability if possible[hit.row] else 0.0)
            for hit in hits
        )


def query_facts(cues: Cues, album: Album, within: RowSet, then: RowSet | None) -> QueryFacts | None:
    """None for a query that names no time and no place.

    `within`: the photos that may be shown. `then`: those that fit the times by a date printed on them.
    """
    named: list[TimeCue | PlaceCue] = [*cues.times, *cues.places]
    if not named:
        return None
    printed = within.mask & (then.mask if then is not None else False)
    dated = within.among(album.within([Cube(start=cue.start, end=cue.end) for cue in cues.times]))
    inside = within.among(album.within(cues.cubes)).mask
    if any(place.photos == 0 for place in cues.places):
        inside = inside & False
    elif not cues.places:
        inside = inside | printed
    # A holiday is more than its days: a memory may tell of Christmas on the tenth of December.
    days = all(cue.kind not in ("holiday", "anchor", "last time") for cue in cues.times)
    plain = days and not (cues.negated or cues.recurring or cues.anchors)
    return QueryFacts(
        none_of(cues),
        plain and says_nothing_else(cues, named),
        RowSet(dated.mask | printed),
        RowSet(inside),
        within.among(album.in_cubes(cues.cubes).found),
    )


def none_of(cues: Cues) -> Remark:
    """What to say where no photo fits the times and places of `cues`: "none in Paris in 2019"."""
    named: list[TimeCue | PlaceCue] = [*cues.times, *cues.places]
    said = " ".join(cue.text for cue in sorted(named, key=lambda cue: cue.span))
    return Remark("none", said)


def says_nothing_else(cues: Cues, named: Sequence[TimeCue | PlaceCue]) -> bool:
    """Whether the query of `cues` is about nothing but what `named` say."""
    letters = list(cues.query)
    for first, last in (cue.span for cue in named):
        letters[first:last] = " " * (last - first)
    return not content(" ".join("".join(letters).split()))


def is_time_or_place(cues: Cues) -> bool:
    """Whether the query of `cues` names nothing but times and places that the album has, or is a time of day.

    "Sunset" and "noon" are times of day; "the sunset" is one that somebody saw.
    """
    if cues.negated:
        return False
    if cues.recurring:
        return [cue.text.casefold() for cue in cues.recurring] == [cues.query.strip().casefold()]
    named: list[TimeCue | PlaceCue] = [*cues.times, *(one for one in cues.places if one.photos != 0)]
    return bool(named) and says_nothing_else(cues, named)
