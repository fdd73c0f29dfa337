"""Searches the photos of an album for faces, and groups these into people, whom only the owner names.

Photos that were searched before are left alone, unless their picture has changed. Batches are committed: an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.index import AlbumError, AlbumWriter, IngestError, Size, Skip, load_photo
from gamer.index.people import reading, writing
from gamer.index.people.records import LookedAt, NewFace, People
from gamer.index.records import IndexedPhoto

from ..errors import RuntimeFailure
from ..models.faces import SEARCHED, FaceReader
from ..models.models import Models
from .ahead import Ahead

BATCH = 32
_AHEAD = 2  # whole pictures that wait, decoded
Pixels = NDArray[np.uint8]
Progress = Callable[[int, int, str], None]  # done, total, name


@dataclass(frozen=True)
class FaceSearch:
    """What a search for people did: photos searched now; faces and people (of more than one face) in all."""

    searched: int
    faces: int
    people: int


def search(
    album: Path, writer: AlbumWriter, models: Models, skips: list[Skip], progress: Progress | None = None
) -> FaceSearch:
    """Searches the photos of the album at `album`, which `writer` holds, that were not searched yet.

    Appends to `skips` the pictures that cannot be read. Raises BundleError for a bundle without face
    networks, AlbumError for an album with faces of another encoder.
    """
    reader = models.faces
    writer.change_optional(lambda db, _: writing.begin(db, album, reader.name))
    todo = _unsearched(writer.known(), reading.read(album) or People())
    searched, ahead = 0, Ahead(_picture, _AHEAD, workers=1)
    try:
        for photo in todo:
            ahead.add(photo)
        for start in range(0, len(todo), BATCH):
            batch = todo[start : start + BATCH]
            looked = _look(batch, ahead, reader, skips)
            writer.change_optional(lambda db, _, looked=looked: writing.store(db, looked))  # type: ignore[misc]
            searched += len(looked)
            if progress:
                progress(start + len(batch), len(todo), batch[-1].id)
    finally:
        ahead.close()
    writer.change_optional(lambda db, _: writing.regroup(db, album))
    found = reading.read(album) or People()
    return FaceSearch(searched, len(found.faces), sum(len(person.faces) > 1 for person in found.people))


def check(models: Models, asked: bool | None) -> None:
    """Raises BundleError where people are asked for and the bundle cannot find them: before hours of work."""
    if asked:
        _ = models.faces


def carry(old: Path, working: Path, writer: AlbumWriter) -> bool:
    """Takes the faces and names of the album `old` over into the one that will replace it, as far as they
    are of the same pictures; False if there is nothing to take, or `old` cannot be read.
    """
    from gamer.index import Album

    if not old.is_file():
        return False
    try:
        people = reading.read(old)
        if people is None:
            return False
        with Album.open(old) as opened:
            known = [IndexedPhoto(p.id, p.path, p.sha256) for p in opened.photos(range(len(opened)))]
    except AlbumError:
        return False  # damaged: it may be replaced
    writer.change_optional(lambda db, _: writing.carry(db, working, people, known, writer.known()))
    return True


def _unsearched(known: Sequence[IndexedPhoto], people: People) -> list[IndexedPhoto]:
    """The photos with a picture that were not searched as it is now, without those that stay closed."""
    return [
        photo
        for photo in known
        if photo.path is not None
        and photo.id not in people.closed
        and (photo.id not in people.looked_at or people.looked_at[photo.id] != photo.sha256)
    ]


def _picture(photo: IndexedPhoto) -> Pixels:
    path = Path(photo.path or "")
    if not path.is_file():  # reading a pipe or a terminal would block
        raise IngestError(f"{path}: no such file")
    return load_photo(photo, least=Size(longer=2 * SEARCHED))  # of a face, twice the detector's pixels


def _look(
    photos: Sequence[IndexedPhoto],
    pictures: Ahead[IndexedPhoto, Pixels],
    reader: FaceReader,
    skips: list[Skip],
) -> list[LookedAt]:
    looked = []
    for photo in photos:
        path = Path(photo.path or "")
        try:
            faces = reader.read(pictures.result(photo))
        except (IngestError, RuntimeFailure) as error:
            skips.append(Skip(str(path), f"not searched for people: {str(error).removeprefix(f'{path}: ')}"))
            continue
        found = tuple(NewFace(face.box, face.quality, face.vector) for face in faces)
        looked.append(LookedAt(photo.id, photo.sha256, found))
    return looked
