"""Decides which thing a sighting tells of: the same head noun, and no attribute that contradicts.

"My red bag" and "my blue bag" stay apart, "my bag" joins the one that was seen most. It knows no table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from .records import ATTRIBUTES, UNSPECIFIED, Attributes, Sighting

IDENTITY = ("subcategory", "color", "shape", "material", "brand", "pattern")
SAID = 0.2
MOST_TOLD = 12  # values of an attribute, as EgoMemory's Figure 8 lists of one
MOST_COMPARED = 200  # things of one head that a sighting is compared with, so that growing stays linear


@dataclass
class Group:
    """A thing while sightings are assigned. `fixed`: a person set it apart, so that nothing joins it."""

    id: int
    head: str
    fixed: bool = False
    size: int = 0
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, attributes: Attributes) -> None:
        self.size += 1
        for name in ATTRIBUTES:
            if (value := getattr(attributes, name)) != UNSPECIFIED:
                self.counts.setdefault(name, Counter())[value] += 1

    def mode(self, name: str) -> str:
        """The commonest value, of equally common ones the first by alphabet; UNSPECIFIED if there is none."""
        counts = self.counts.get(name)
        return min(counts, key=lambda value: (-counts[value], value)) if counts else UNSPECIFIED

    def frequencies(self) -> tuple[tuple[str, str, int], ...]:
        """(attribute, value, how many sightings give it), of each the MOST_TOLD commonest values first."""
        return tuple(
            (name, value, count)
            for name in ATTRIBUTES
            for value, count in sorted(
                self.counts.get(name, Counter[str]()).items(), key=lambda one: (-one[1], one[0])
            )[:MOST_TOLD]
        )

    def told(self) -> Attributes:
        """The modes that a share of SAID of the sightings give; the others are unspecified."""
        modes = {name: self.mode(name) for name in self.counts}
        said = {n: v for n, v in modes.items() if self.counts[n][v] >= SAID * self.size}
        return Attributes(**said)


def agreement(seen: Attributes, known: Callable[[str], str]) -> int | None:
    """How many attributes say the same of both; None if one contradicts. `known`: name → value."""
    same = 0
    for name in IDENTITY:
        one, other = getattr(seen, name), known(name)
        if UNSPECIFIED in (one, other):
            continue
        if not set(one.split(" and ")) & set(other.split(" and ")):
            return None
        same += 1
    return same


class Grouping:
    """All things by head noun, to which sightings are assigned one by one."""

    def __init__(self) -> None:
        self._by_head: dict[str, list[Group]] = {}

    def know(self, group: Group) -> None:
        self._by_head.setdefault(group.head, []).append(group)

    def of(self, sighting: Sighting) -> Group | None:
        """The thing that agrees in most attributes, of these the most seen, then the oldest; None if new."""
        best: tuple[int, int, int] | None = None
        found: Group | None = None
        for group in self._by_head.get(sighting.head, [])[:MOST_COMPARED]:
            same = None if group.fixed else agreement(sighting.attributes, group.mode)
            if same is not None and (best is None or (same, group.size, -group.id) > best):
                best, found = (same, group.size, -group.id), group
        return found


def name_of(head: str, attributes: Attributes) -> str:
    """In words: the brand, what it looks like, and the head or the kind of it; at most four words of color
    and the like.
    """
    noun = head if attributes.subcategory == UNSPECIFIED else attributes.subcategory
    told = (attributes.color, attributes.pattern, attributes.material, attributes.brand)
    return " ".join([*(value for value in told if value != UNSPECIFIED), noun])
