"""The data classes of people: a face that was found, a face that is stored, a person, and all of an album's.

All are frozen and hold data only. Boxes are left, top, width and height as shares of the upright photo's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..errors import AlbumError
from ..records import FloatArray, RowArray

Box = tuple[float, float, float, float]
MAX_NAME = 80  # characters
MAX_FACES = 100  # of a photo; more are a crowd, or an attack


@dataclass(frozen=True, eq=False)
class NewFace:
    """A face as it was found. `quality`: the detector's score. `vector`: float32 [128], of any length."""

    box: Box
    quality: float
    vector: FloatArray


@dataclass(frozen=True)
class LookedAt:
    """A photo that was searched for faces, with the hash of the content that was searched."""

    photo: str
    sha256: str | None
    faces: tuple[NewFace, ...]


@dataclass(frozen=True)
class StoredFace:
    """A face of an album. `fixed`: its owner put it to this person."""

    row: int
    photo: str
    box: Box
    quality: float
    person: int
    fixed: bool


@dataclass(frozen=True)
class Person:
    """Faces of one person. `name`: None until the owner gives one."""

    row: int
    name: str | None
    faces: tuple[StoredFace, ...]

    @property
    def key(self) -> str:
        """How the person is called in commands."""
        return f"p{self.row}"

    @property
    def photos(self) -> tuple[str, ...]:
        """Their photos' ids, each once, in the order of the faces."""
        return tuple(dict.fromkeys(face.photo for face in self.faces))


@dataclass(frozen=True, eq=False)
class People:
    """The faces of an album by row, with their vectors float32 [n, 128] and the people they belong to.

    `names`: of the people that have one. `looked_at`: the photos that were searched → the hash of what was
    searched. `closed`: those in which nobody is searched any more, because someone in them was forgotten.
    `written`: the memories (photo, text) that naming wrote. `encoder`: what made the vectors.
    """

    faces: tuple[StoredFace, ...] = ()
    vectors: FloatArray = field(default_factory=lambda: np.zeros((0, 128), np.float32))
    names: dict[int, str] = field(default_factory=dict)
    looked_at: dict[str, str | None] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    written: frozenset[tuple[str, str]] = frozenset()
    encoder: str = ""

    @cached_property
    def people(self) -> tuple[Person, ...]:
        """Those with a face: the named first, then those with the most faces."""
        of: dict[int, list[StoredFace]] = {}
        for face in self.faces:
            of.setdefault(face.person, []).append(face)
        found = [Person(row, self.names.get(row), tuple(faces)) for row, faces in of.items()]
        return tuple(sorted(found, key=lambda p: (p.name is None, -len(p.faces), p.row)))

    @property
    def persons(self) -> RowArray:
        """int64 [n]: the person of each face."""
        return np.array([face.person for face in self.faces], np.int64)

    @property
    def held(self) -> frozenset[int]:
        """The people whom the owner named, or to whom the owner put a face: never merged unasked."""
        return frozenset(self.names) | {face.person for face in self.faces if face.fixed}

    def person(self, asked: str) -> Person:
        """The person called p12, or by name. Raises AlbumError."""
        wanted = asked.strip().casefold()
        found = [p for p in self.people if wanted == p.key or wanted == (p.name or "").casefold() != ""]
        if not found:
            raise AlbumError(f"there is nobody called {asked[:40]!r}: `gamer people list` shows who is there")
        return found[0]

    def named_in(self) -> dict[str, tuple[str, ...]]:
        """Photo → the names of the people whose faces it shows, in alphabetical order."""
        shown: dict[str, set[str]] = {}
        for face in self.faces:
            if (name := self.names.get(face.person)) is not None:
                shown.setdefault(face.photo, set()).add(name)
        return {photo: tuple(sorted(names)) for photo, names in shown.items()}


def checked_name(name: str) -> str:
    """A name in one line. Raises AlbumError for one that is empty, too long, or would be read as several."""
    line = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if not line or len(line) > MAX_NAME:
        raise AlbumError(f"a name has 1 to {MAX_NAME} characters, this one has {len(line)}: give another")
    if "," in line:
        raise AlbumError(f"{line!r}: a name has no comma, which stands between the names of several people")
    if line[0] in "pP" and line[1:].isdigit():
        raise AlbumError(f"{line!r}: is how people without a name are called: give another")
    return line
