"""/api/v1/people, /faces: who is in the photos, by their faces; named, made one, taken apart and forgotten.

Each request reads the people as they are in the file, so that it sees what `gamer people` does meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path as FilePath
from typing import Annotated, TypeVar

from fastapi import FastAPI, HTTPException, Path, Response
from pydantic import BeforeValidator, Field

from gamer.index import AlbumError
from gamer.index.people import reading
from gamer.index.people.records import MAX_NAME, Person, StoredFace

from .live import Edition, LiveAlbum, Mark, Threads, mark_of
from .memories import Memories
from .server.problem import Refused, problems, without_folder
from .views import VISIBLE, Body, Faces, FaceView, PeopleForgotten, PeopleView, PersonView, digits, number

PEOPLE = "/api/v1/people"
AT_ONCE = 2
MAX_PEOPLE, MAX_FACES = 200, 500
T = TypeVar("T")
Key = Annotated[str, Path(pattern="^p(0|[1-9][0-9]{0,8})$", description="as in the list", examples=["p1"])]
Other = Annotated[str, Field(pattern="^p(0|[1-9][0-9]{0,8})$")]
FaceNumber = Annotated[int, Field(ge=0, le=2**31 - 1), BeforeValidator(number)]
FaceId = Annotated[int, Path(ge=0, le=2**31 - 1), BeforeValidator(digits)]


class NameRequest(Body, strict=True):
    """A line of at most 80 characters without a comma, that nobody else has."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME, pattern=VISIBLE)]


class MergeRequest(Body, strict=True):
    """Those who are the same person."""

    others: Annotated[list[Other], Field(min_length=1, max_length=MAX_PEOPLE)]


class SplitRequest(Body):
    """Some of a person's faces, which are somebody else's."""

    faces: Annotated[list[FaceNumber], Field(min_length=1, max_length=MAX_FACES)]


def add_people(api: FastAPI, live: LiveAlbum, memories: Memories) -> None:
    """Adds the routes. `memories`: erases the bytes of the forgotten once the album is closed."""
    threads = Threads(live, AT_ONCE)
    people = live.file.people

    async def of(person: str, call: Callable[[], T]) -> T:
        """Refuses what does not fit, in the words of the album, and shows what has changed at once."""

        def done() -> T:
            status = 404
            try:
                _ = people[person]
                status = 422
                return call()
            except AlbumError as error:
                raise HTTPException(status, without_folder(str(error), live.path)) from None
            finally:
                live.look()

        return await threads.run(done)

    writes = problems(404, 408, 413, 503)

    @api.get(PEOPLE, responses=problems(503), tags=["people"])
    async def list_people() -> PeopleView:
        """Those with a name first, then those who were seen most; without a name at least twice."""
        return await threads.run(lambda: _listed(live))

    @api.get(f"{PEOPLE}/{{person}}", responses=problems(404, 503), tags=["people"])
    async def show_person(person: Key) -> Faces:
        """A person's faces, the clearest first."""
        return await of(person, lambda: _faces(live, person))

    @api.get(
        "/api/v1/faces/{face}",
        response_class=Response,
        responses={200: {"content": {"image/webp": {}}}, **problems(404, 503)},
        tags=["people"],
    )
    async def face(face: FaceId) -> Response:
        """A face as WebP, cut from its photo."""
        return await threads.read(partial(_cut, face))

    @api.put(f"{PEOPLE}/{{person}}/name", responses=writes, tags=["people"])
    async def name_person(person: Key, asked: NameRequest) -> PersonView:
        """Gives a name, by which their photos are then found."""
        return await of(person, lambda: _person(people.name(person, asked.name)))

    @api.post(f"{PEOPLE}/{{person}}/merged", responses=writes, tags=["people"])
    async def merge_people(person: Key, asked: MergeRequest) -> PersonView:
        """Makes people one, who keeps the name of the first; they stay one."""
        return await of(person, lambda: _person(people.merge(person, *asked.others)))

    @api.post(f"{PEOPLE}/{{person}}/split", responses=writes, tags=["people"])
    async def split_person(person: Key, asked: SplitRequest) -> PersonView:
        """Makes another person of some faces, without a name; they stay two."""
        return await of(person, lambda: _person(people.split(person, asked.faces)))

    @api.delete(f"{PEOPLE}/{{person}}", responses=writes, tags=["people"])
    async def forget_person(person: Key) -> PeopleForgotten:
        """Deletes a person's faces, vectors and name. Their bytes are erased when the server stops."""
        gone = await of(person, lambda: people.forget(person))
        memories.left(people.erase)
        return PeopleForgotten(gone.faces)


def _listed(live: LiveAlbum) -> PeopleView:
    found = reading.read(live.path)
    if found is None:
        return PeopleView(False, (), 0)
    shown = [person for person in found.people if person.name or len(person.faces) > 1][:MAX_PEOPLE]
    return PeopleView(True, tuple(map(_person, shown)), len(found.people) - len(shown))


def _person(person: Person) -> PersonView:
    clearest = max(person.faces, key=lambda face: face.quality)
    return PersonView(person.key, person.name, len(person.faces), len(person.photos), clearest.row)


def _faces(live: LiveAlbum, person: str) -> Faces:
    found = live.file.people[person]
    clearest = sorted(found.faces, key=lambda face: -face.quality)[:MAX_FACES]
    with live.edition() as edition:
        return Faces(_person(found), tuple(FaceView(f.row, edition.album.row_of(f.photo)) for f in clearest))


@lru_cache(maxsize=4)
def _boxes(album: FilePath, mark: Mark) -> dict[int, StoredFace]:
    """The faces by their rows, as long as the file is what it was."""
    found = reading.read(album)
    return {} if found is None else {face.row: face for face in found.faces}


def _cut(row: int, edition: Edition) -> Response:
    path = edition.album.path
    face = _boxes(path, mark_of(path)).get(row)
    if face is None:
        raise Refused(404, "no_face")
    cut = edition.pictures.face(edition.album.row_of(face.photo), face.box)
    headers = {"etag": f'"{cut.tag}"', "cache-control": "private, no-cache"}
    return Response(cut.data, 200, headers, "image/webp")
