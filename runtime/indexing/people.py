"""Names people, makes several one, takes them apart and forgets them; and keeps the photos' memories in step.

A name is written to the photos of a person as a memory of source `people`, by which every search finds them.
Memories that others wrote stay as they are. Nobody is named by the program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import apsw

from gamer.index import Album, AlbumError, AlbumWriter, Memory, OpenedLog, Photo
from gamer.index.album.writing.storage import discard_unfinished
from gamer.index.people import reading, writing
from gamer.index.people.records import People, Person, checked_name

from ..errors import RuntimeFailure
from ..models.models import Models, check_encoders
from .encode import Encoder

BATCH = 64
MIN_PART = 3  # letters of a word of a name: "de" and "al" stand in other queries
_WORDS = re.compile(r"\w+")
Result = TypeVar("Result")
OpenEncoder = Callable[[], Encoder]


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten. `left`: why bytes of it may still be in the file; "" if none are."""

    people: int
    faces: int
    left: str


def people_of(album: Path) -> People:
    """Raises AlbumError for an album in which nobody was searched for."""
    found = reading.read(album)
    if found is None:
        raise AlbumError(
            f"{album}: nobody was searched for in it: `gamer index add {album} PHOTOS --people` does that"
        )
    return found


def encoder_of(models: Callable[[], Models], album: Path) -> OpenEncoder:
    """An encoder that is opened when a photo's memories change. Raises RuntimeFailure if it is another's."""

    def opened() -> Encoder:
        bundle = models()
        with Album.open(album) as album_:
            check_encoders(bundle, album_.meta, album)
        return Encoder(bundle)

    return opened


def name(album: Path, encoder: OpenEncoder, asked: str, text: str) -> Person:
    """Gives a person (p12, or their present name) a name. Raises AlbumError."""
    text = checked_name(text)

    def change(db: apsw.Connection, people: People) -> int:
        person = people.person(asked)
        writing.name(db, album, person, text)
        return person.row

    return _person(album, _changed(album, encoder, change))


def merge(album: Path, encoder: OpenEncoder, asked: str, others: Sequence[str]) -> Person:
    """Makes people one, who keeps the number and the name of the first. Raises AlbumError."""

    def change(db: apsw.Connection, people: People) -> int:
        into = people.person(asked)
        rest = {other.row: other for other in map(people.person, others) if other.row != into.row}
        writing.merge(db, into, list(rest.values()))
        return into.row

    return _person(album, _changed(album, encoder, change))


def split(album: Path, encoder: OpenEncoder, asked: str, faces: Sequence[int]) -> Person:
    """Makes another person of some of a person's faces, who has no name yet. Raises AlbumError."""
    new = _changed(album, encoder, lambda db, people: writing.split(db, people.person(asked), faces))
    return _person(album, new)


def forget(album: Path, encoder: OpenEncoder, asked: Sequence[str]) -> Forgotten:
    """Deletes people, their faces, vectors and names, and the bytes. Raises AlbumError.

    Their photos are not searched again. A new photo of theirs shows somebody whom nobody knows. Without
    `asked`, finishes what an interrupted `forget` left.
    """
    with AlbumWriter.extend(album) as writer:
        gone = {person.row: person for person in _asked(album, asked)}
        _drop_searches(album, [person.name for person in gone.values() if person.name])
        if gone:
            writer.drop_choices([person.name for person in gone.values() if person.name])
            writer.change_optional(lambda db, _: writing.forget(db, list(gone.values())))
        sync(album, writer, encoder)
        left = _erased(album, writer)
    return Forgotten(len(gone), sum(len(person.faces) for person in gone.values()), left)


def _asked(album: Path, asked: Sequence[str]) -> list[Person]:
    """Raises AlbumError for somebody whom the album does not know, as after an interrupted `forget`."""
    try:
        return [people_of(album).person(person) for person in asked]
    except AlbumError as error:
        raise AlbumError(f"{error}; `gamer people forget {album}` finishes an interrupted one") from None


def forget_all(album: Path, encoder: OpenEncoder) -> Forgotten:
    """Deletes all faces, people and names given to them, the tables, and the bytes. Raises AlbumError.

    What was deleted before, by a call that was interrupted, is erased, too.
    """
    with AlbumWriter.extend(album) as writer:
        before = reading.read(album) or People()
        _drop_searches(album, list(before.names.values()))
        drop_all(album, writer, encoder)
        left = _erased(album, writer)
    return Forgotten(len(before.people), len(before.faces), left)


def drop_all(album: Path, writer: AlbumWriter, encoder: OpenEncoder) -> None:
    """Deletes what an album has of people, if it has anything; the bytes go when it is compacted."""
    if (before := reading.read(album)) is None:
        return
    writer.drop_choices(list(before.names.values()))
    writer.change_optional(lambda db, _: writing.forget_all(db))
    if sync(album, writer, encoder):
        writer.change_optional(lambda db, _: writing.forget_all(db))


def sync(album: Path, writer: AlbumWriter, encoder: OpenEncoder) -> int:
    """Brings the memories of photos in step with the names of the people they show; how many it changed."""
    people = reading.read(album)
    if people is None:
        return 0
    wanted, written = people.named_in(), dict[str, set[str]]()
    for photo_id, text in people.written:
        written.setdefault(photo_id, set()).add(text)
    todo = [p for p in sorted({*wanted, *written}) if set(wanted.get(p, ())) != written.get(p, set())]
    changed, opened = 0, None
    for start in range(0, len(todo), BATCH):
        batch = todo[start : start + BATCH]
        with Album.open(album) as now:
            photos = [now.photo(now.row_of(photo_id)) for photo_id in batch]
        retold = [_retold(p, wanted.get(p.id, ()), written.get(p.id, set())) for p in photos]
        texts = {photo.id: added for photo, added in retold}
        fresh = [new for (new, _), old in zip(retold, photos, strict=True) if new.memories != old.memories]
        opened = opened or (encoder() if fresh else None)
        encoded = opened.retold(fresh) if opened else []
        writer.retell(encoded, lambda db, texts=texts: writing.note_written(db, texts))  # type: ignore[misc]
        changed += len(batch)
    if opened:
        writer.embed(opened.names)
    return changed


def _retold(photo: Photo, wanted: Sequence[str], written: set[str]) -> tuple[Photo, tuple[str, ...]]:
    """The photo with the names that it should have, and those of them that nobody else gave it."""
    others = tuple(m for m in photo.memories if m.source != "people" or m.text not in written)
    known = {part.strip() for m in others if m.source == "people" for part in m.text.split(",")}
    added = tuple(name for name in wanted if name not in known)
    return replace(photo, memories=(*others, *(Memory("people", name) for name in added))), added


def _changed(
    album: Path, encoder: OpenEncoder, change: Callable[[apsw.Connection, People], Result]
) -> Result:
    with AlbumWriter.extend(album) as writer:
        people = people_of(album)
        try:
            done = writer.change_optional(lambda db, _: change(db, people))
        except AlbumError:
            sync(album, writer, encoder)  # refused, perhaps because it was done and killed before this
            raise
        sync(album, writer, encoder)
    return done


def _person(album: Path, row: int) -> Person:
    return people_of(album).person(f"p{row}")


def _drop_searches(album: Path, names: Sequence[str]) -> None:
    """Deletes the searches with a word of these names, or a name itself, from what is kept of searches."""
    log, whole = OpenedLog(album), [name.casefold() for name in names]
    parts = {part for name in whole for part in _WORDS.findall(name) if len(part) >= MIN_PART}

    def told(query: str) -> bool:
        return any(name in query for name in whole) or not parts.isdisjoint(_WORDS.findall(query))

    log.forget(queries=[entry.query for entry in log.read() if told(entry.query.casefold())])


def erase(album: Path) -> str:
    """Erases the bytes of those who were forgotten while others had the album open; as Forgotten.left."""
    with AlbumWriter.extend(album) as writer:
        return _erased(album, writer)


def _erased(album: Path, writer: AlbumWriter) -> str:
    """Writes the file anew, so that nothing deleted is left; "", or why that could not be done."""
    try:
        writer.compact()
    except (AlbumError, RuntimeFailure) as error:
        return str(error)
    return discard_unfinished(album.resolve())
