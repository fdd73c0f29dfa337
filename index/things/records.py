"""What the bank of things takes in and gives out, as frozen dataclasses. They know no table and no rule."""

from __future__ import annotations

from dataclasses import dataclass, fields

UNSPECIFIED = "unspecified"


@dataclass(frozen=True)
class Attributes:
    """Twelve attributes in words; several values of one have " and " between. UNSPECIFIED where unknown."""

    category: str = UNSPECIFIED
    subcategory: str = UNSPECIFIED
    color: str = UNSPECIFIED
    texture: str = UNSPECIFIED
    shape: str = UNSPECIFIED
    material: str = UNSPECIFIED
    brand: str = UNSPECIFIED
    style: str = UNSPECIFIED
    pattern: str = UNSPECIFIED
    feature: str = UNSPECIFIED
    usage: str = UNSPECIFIED
    status: str = UNSPECIFIED


ATTRIBUTES = tuple(field.name for field in fields(Attributes))


@dataclass(frozen=True)
class Sighting:
    """A thing as one memory tells of it. `head`: its head noun, singular; `owned`: whether it is the owner's
    ("my bag").
    """

    head: str
    attributes: Attributes = Attributes()
    owned: bool = False


@dataclass(frozen=True)
class Thing:
    """An entry of the bank: the sightings that tell of one thing.

    `name`: its commonest attributes and its head. `attributes`: of each the commonest value, where a
    fifth of the sightings give it. `photos`: ids,
    ascending; `days`, `events`: over how many it recurs; `owned`: sightings that call it the owner's.
    `aliases`: ids of the things that were merged into it. `told`: (attribute, value, how many sightings give
    it), by attribute, the commonest value first.
    """

    id: int
    head: str
    name: str
    attributes: Attributes
    photos: tuple[str, ...]
    days: int
    events: int
    owned: int
    aliases: tuple[int, ...] = ()
    told: tuple[tuple[str, str, int], ...] = ()

    @property
    def recurrence(self) -> int:
        """Over how many days, or events where these are more, the thing was seen."""
        return max(self.days, self.events)
