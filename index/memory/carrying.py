"""Carries what an album knows about its owner into the album that is about to replace it.

A rebuilt album comes from photos alone: without this it would have forgotten its owner without a word.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from ..album.declarations.person_tables import PERSON, ROWS
from ..album.schema import one_line
from ..album.writing import storage
from ..errors import AlbumError


def carry(old: Path, new: Path) -> bool:
    """Copies the person's tables of `old` into the closed album `new`; False if there is nothing to copy.

    The caller holds the writer lock of `old` until `new` has taken its place. Raises AlbumError for memories
    of a later version, and if `new` cannot be written. A damaged `old` may be replaced, and gives nothing.
    """
    if not old.is_file():
        return False
    db = storage.open_for_writing(new)
    try:
        copied = _copied(db, old)
        storage.seal(db, new)
        return copied
    except (apsw.CorruptError, apsw.NotADBError):
        return False
    except apsw.Error as error:
        raise AlbumError(
            f"{new}: the memories of {old} could not be copied ({one_line(error)}); check the free space"
        ) from None
    finally:
        db.close()


def _copied(db: apsw.Connection, old: Path) -> bool:
    db.execute("PRAGMA secure_delete=ON").fetchall()
    db.execute("ATTACH ? AS old", (str(old),))
    if not db.execute("SELECT 1 FROM old.sqlite_schema WHERE name='person_meta'").fetchone():
        return False
    with storage.transaction(db):
        if not PERSON.exist(db):  # an interrupted build may have come this far
            PERSON.create(db)
        there = {name for (name,) in db.execute("SELECT name FROM old.sqlite_schema")}
        for table in ROWS:
            if table not in there:  # the old album is of version 1
                continue
            db.execute(f"DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM old.{table}")
        if "person_objects" not in there:
            db.execute("UPDATE person_meta SET value=? WHERE key='version' AND value='1'",
                       (str(PERSON.version),))  # fmt: skip
        PERSON.check_version(db, old)
        db.execute("INSERT INTO person_words(person_words) VALUES('rebuild')")
    db.execute("DETACH old")
    return True
