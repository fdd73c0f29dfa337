"""The people in an album's photos: listed, named, made one, taken apart and forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..indexing import people

if TYPE_CHECKING:
    from gamer.index.people.records import Person

    from ..indexing.people import Forgotten, OpenEncoder
    from .opened import OpenAlbum


class People:
    """Found by `album.add(…, people=True)`. A person is called p12, or by name; names are yours.

    All raise AlbumError for an album in which nobody was searched for, and for an unknown person.
    """

    def __init__(self, album: OpenAlbum) -> None:
        self._album = album

    def __iter__(self) -> Iterator[Person]:
        """Those with a name first, then those who were seen most."""
        return iter(people.people_of(self._album.path).people)

    def __getitem__(self, person: str) -> Person:
        return people.people_of(self._album.path).person(person)

    def name(self, person: str, name: str) -> Person:
        """Their photos are then found by it."""
        return self._album.change(people.name, self._encoder(), person, name)

    def merge(self, person: str, *others: str) -> Person:
        """Makes them one, who keeps the name of the first."""
        return self._album.change(people.merge, self._encoder(), person, others)

    def split(self, person: str, faces: Sequence[int]) -> Person:
        """Makes another person of some of a person's faces (their rows)."""
        return self._album.change(people.split, self._encoder(), person, faces)

    def forget(self, *persons: str) -> Forgotten:
        """Deletes their faces, vectors and names, and the bytes; without any, finishes an interrupted one."""
        return self._album.change(people.forget, self._encoder(), persons)

    def forget_all(self) -> Forgotten:
        """Deletes all that is known of people, and the bytes."""
        return self._album.change(people.forget_all, self._encoder())

    def erase(self) -> str:
        """Erases the bytes of those who were forgotten while others had the album open; as Forgotten.left."""
        return people.erase(self._album.path)

    def _encoder(self) -> OpenEncoder:
        return people.encoder_of(lambda: self._album.bundle.models, self._album.path)
