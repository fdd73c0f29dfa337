"""Changes of the tables of faces, inside the caller's transaction: faces in, grouped, named, forgotten.

The numbers of people and faces are never given again, so that a command means whom it meant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import apsw
import numpy as np

from ..album.declarations.checksums import AMONG
from ..album.declarations.face_tables import FACES, SEALED, SEALED_PEOPLE
from ..errors import AlbumError
from ..json_checked import Between, stored
from ..records import IndexedPhoto
from ..vectors.quantize import quantize
from . import reading
from .grouping import THRESHOLD, group
from .records import MAX_FACES, LookedAt, NewFace, People, Person

_Number = Annotated[int, Between(0, 1 << 53)]
_GROUPED = "grouped"  # the greatest number of a face that was grouped


def begin(db: apsw.Connection, path: Path, encoder: str) -> None:
    """Makes the tables if there are none. Raises AlbumError if the faces there are another encoder's."""
    if not FACES.exist(db):
        FACES.create(db)
        db.execute("INSERT INTO face_meta VALUES('encoder', ?)", (encoder,))
        return
    FACES.check_version(db, path)
    before = reading.of(db, path).encoder
    if before != encoder:
        raise AlbumError(
            f"{path}: its faces were made by {before}, the bundle has {encoder}: "
            "`gamer people forget --all`, then find them again"
        )


def store(db: apsw.Connection, photos: Iterable[LookedAt]) -> None:
    """Stores what was found in photos, in place of earlier faces of theirs. Each is a person of its own."""
    _keep_numbers(db)
    for looked in photos:
        db.execute("DELETE FROM faces WHERE photo=?", (looked.photo,))
        db.execute("INSERT OR REPLACE INTO face_photos VALUES(?,?,0)", (looked.photo, looked.sha256))
        for face in looked.faces[:MAX_FACES]:
            _insert(db, looked.photo, face, _new_person(db))
    _drop_empty(db)


def regroup(db: apsw.Connection, path: Path, threshold: float = THRESHOLD) -> None:
    """Groups the faces that were stored since the last time with each other and with those of before."""
    found, before = reading.of(db, path), _meta(db, _GROUPED)
    fresh = np.flatnonzero(np.array([face.row for face in found.faces], np.int64) > before)
    persons = group(found.vectors, found.persons, fresh, found.held, threshold)
    for face, person in zip(found.faces, persons.tolist(), strict=True):
        if face.person != person:
            _put(db, face.row, person, face.fixed)
    _drop_empty(db)
    _set_meta(db, _GROUPED, _last(db, "face", "faces"))


def name(db: apsw.Connection, path: Path, person: Person, text: str) -> None:
    """Gives a person a name, in place of an earlier one. Raises AlbumError if somebody else has it."""
    for row, other in reading.of(db, path).names.items():
        if other.casefold() == text.casefold() and row != person.row:
            raise AlbumError(
                f"p{row} is called {other} already: merge the two if they are one, or tell them apart by name"
            )
    _name(db, person.row, text)


def merge(db: apsw.Connection, into: Person, others: Sequence[Person]) -> None:
    """Makes people one: `into`, whose name stays, or who gets that of the first of the others with one."""
    if into.name is None and (named := next((p.name for p in others if p.name), None)):
        for other in others:
            _name(db, other.row, None)
        _name(db, into.row, named)
    for face in (*into.faces, *(face for person in others for face in person.faces)):
        _put(db, face.row, into.row, True)
    _drop_empty(db)


def split(db: apsw.Connection, person: Person, faces: Sequence[int]) -> int:
    """Makes a new person of some of a person's faces and returns their number. Raises AlbumError."""
    own = {face.row for face in person.faces}
    if not faces or not set(faces) < own:
        raise AlbumError(
            f"{person.key} has the faces {_list(own)}: name some of them, not all, to make another person of"
        )
    new = _new_person(db)
    for row in own:
        _put(db, row, new if row in faces else person.row, True)
    return new


def forget(db: apsw.Connection, people: Sequence[Person]) -> None:
    """Deletes people with their faces. Nobody is searched any more in the photos that showed them."""
    _keep_numbers(db)
    rows = json.dumps([person.row for person in people])
    db.execute(
        f"UPDATE face_photos SET closed=1 WHERE photo IN (SELECT photo FROM faces WHERE person {AMONG})",
        (rows,),
    )
    db.execute(f"DELETE FROM faces WHERE person {AMONG}", (rows,))
    _drop_empty(db)


def forget_all(db: apsw.Connection) -> None:
    """Deletes the tables, but for the list of memories that naming wrote, if there are any to take back."""
    db.execute("DELETE FROM faces; DELETE FROM face_people; DELETE FROM face_photos")
    if db.execute(reading.WRITTEN).fetchone() is None:
        for table in FACES.tables:
            db.execute(f"DROP TABLE {table}")


def note_written(db: apsw.Connection, texts: Mapping[str, Iterable[str]]) -> None:
    """Notes which memories of photos (id → texts) naming has written from now on."""
    for photo, written in texts.items():
        db.execute("DELETE FROM face_names WHERE photo=?", (photo,))
        db.executemany("INSERT INTO face_names VALUES(?,?)", [(photo, text) for text in written])


def carry(
    db: apsw.Connection, path: Path, old: People, of_old: Sequence[IndexedPhoto], now: Sequence[IndexedPhoto]
) -> None:
    """Takes over the faces of the album that this one replaces, for the pictures that both have.

    A picture is known by its content, whatever its name is now.
    """
    begin(db, path, old.encoder)
    have = reading.of(db, path).looked_at
    content = {known.id: known.sha256 for known in of_old}
    place = {known.sha256: known.id for known in reversed(now) if known.sha256}
    new_id = {photo: place[sha] for photo, sha in content.items() if sha in place and place[sha] not in have}
    for photo, new in new_id.items():
        if photo in old.looked_at:
            values = (new, old.looked_at[photo], photo in old.closed)
            db.execute("INSERT OR REPLACE INTO face_photos VALUES(?,?,?)", values)
    kept = [(face, old.vectors[at]) for at, face in enumerate(old.faces) if face.photo in new_id]
    row_of: dict[int, int] = {}
    for person in sorted({face.person for face, _ in kept}):
        row_of[person] = _new_person(db, at_least=person)
        _name(db, row_of[person], old.names.get(person))
    for face, vector in kept:  # in the order of their numbers, which they keep
        found = NewFace(face.box, face.quality, vector)
        _insert(db, new_id[face.photo], found, row_of[face.person], face.fixed, at_least=face.row)
    _set_meta(db, _GROUPED, _last(db, "face", "faces"))


def _insert(
    db: apsw.Connection, photo: str, face: NewFace, person: int, fixed: bool = False, at_least: int = 1
) -> None:
    row = _next(db, "face", "faces", at_least)
    codes, scales = quantize(np.asarray(face.vector, np.float32).reshape(1, -1))
    box = tuple(float(side) for side in face.box)
    values = (photo, *box, float(face.quality), person, int(fixed), float(scales[0]), codes.tobytes())
    SEALED.insert(db, values, id=row)


def _put(db: apsw.Connection, row: int, person: int, fixed: bool) -> None:
    """Puts a face to a person."""
    db.execute("UPDATE faces SET person=?, fixed=? WHERE id=?", (person, int(fixed), row))
    SEALED.seal(db, row)


def _new_person(db: apsw.Connection, at_least: int = 1) -> int:
    row = _next(db, "person", "face_people", at_least)
    SEALED_PEOPLE.insert(db, (row, None))
    return row


def _name(db: apsw.Connection, row: int, text: str | None) -> None:
    SEALED_PEOPLE.insert(db, (row, text))


def _drop_empty(db: apsw.Connection) -> None:
    """Deletes the people who have no face left."""
    _keep_numbers(db)
    db.execute("DELETE FROM face_people WHERE id NOT IN (SELECT person FROM faces)")


def _keep_numbers(db: apsw.Connection) -> None:
    """Notes the greatest numbers that there were, before some are deleted."""
    for what, table in (("person", "face_people"), ("face", "faces")):
        _set_meta(db, f"last {what}", _last(db, what, table))


def _next(db: apsw.Connection, what: str, table: str, at_least: int) -> int:
    return max(_last(db, what, table) + 1, at_least)


def _last(db: apsw.Connection, what: str, table: str) -> int:
    (most,) = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone() or (0,)
    return max(int(most), _meta(db, f"last {what}"))


def _meta(db: apsw.Connection, key: str) -> int:
    """A noted number; 0 for a damaged one, so that whoever is to be forgotten is."""
    found: Any = db.execute("SELECT value FROM face_meta WHERE key=?", (key,)).get
    number: int | None = stored(_Number, found) if isinstance(found, str) else None
    return number or 0


def _set_meta(db: apsw.Connection, key: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO face_meta VALUES(?,?)", (key, str(value)))


def _list(rows: Iterable[int]) -> str:
    return ", ".join(f"f{row}" for row in sorted(rows)[:8])
