"""What a question asks for, as the one reader gives it to search, agents and conversations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .facets import Facet
from .grouped import Group

Asks = Literal["photos", "when", "where", "who", "count", "fact"]
Relation = Literal["", "same", "before", "after", "between"]
Side = Literal["", "earlier", "later"]


@dataclass(frozen=True)
class Question:
    """What a text asks for.

    `asks`: for photos, a time, a place, a person, a number or a fact. `target`: what the photos show, ""
    for any photo. `relation`: of the target to the `anchor`: in the `same` `unit` of time, before or
    after it (or its whole `unit`), or between it and `other`. `order`: 1 for the first (or next), 2 for
    the second, -1 for the last (or previous), -2 for the one before it, 0 for no order. `anchor_order`:
    the same for the anchor ("the first snow"). `number`: how many photos, 0 for all that fit. `occasion`:
    all photos of the one occasion that `order` names ("the next time I saw …"). `exhaustive`: whether it
    says that all or every one is meant. `with_anchor`: whether the anchor belongs to the answer. `shift`:
    units of time from the anchor's to the one asked for ("the day after" is 1). `side`: earlier or later
    than the anchor within its unit. `each`: what their number is asked for by; `most`: whether only of
    that with the most of them. `without`: what the photos must not show. `favourites`: only photos that
    the person marked. `bare`: whether it says nothing else of what photos show. `pictures`: whether photos
    are asked for by name, not what was said; `about_photos`: whether the text asks about photos at all;
    `shows`: whether it asks to be shown something. `query`: the text that a search takes, without what
    `without`, `favourites`, `facets` and a count say. `counts`: whether the number of photos of `query` is
    asked for. `soon`: `query` with "after the wedding" as "in the week after the wedding", or "".
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
    number: int = 0
    occasion: bool = False
    exhaustive: bool = False
    with_anchor: bool = False
    shift: int = 0
    side: Side = ""
    without: tuple[str, ...] = ()
    favourites: bool = False
    bare: bool = False
    facets: tuple[Facet, ...] = ()
    each: Group = ""
    most: bool = False
    pictures: bool = False
    about_photos: bool = False
    shows: bool = False
    query: str = ""
    counts: bool = False
    soon: str = ""

    @property
    def is_limited(self) -> bool:
        """Whether it says which photos of its target: those without something, marked, or with a facet."""
        return bool(self.without or self.favourites or self.facets)

    @property
    def is_ordered(self) -> bool:
        """Whether photos are asked for by their order in time, without an anchor."""
        return bool(self.order) and self.asks == "photos" and not (self.relation or self.each)
