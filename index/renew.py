"""An album's copy that waits for other encoders: every row, label, merge and preference kept, every vector gone. Knows tables; knows no model."""

from __future__ import annotations

from pathlib import Path

import apsw

from . import crc, loader, storage
from .errors import AlbumError
from .results import AlbumMeta
from .schema import connect, one_line


def begin(album: Path, aside: Path, meta: AlbumMeta) -> None:
    """`aside` appears whole or not at all. `album` is of today's format. The caller gives each photo its vectors again with `AlbumWriter.update`."""
    partial = aside.with_name(aside.name + ".partial")
    storage.discard(partial)
    try:
        old = connect(album)
        try:
            old.execute("VACUUM INTO ?", (str(partial),))
        finally:
            old.close()
        copy = storage.open_for_writing(partial)
        try:
            with copy:
                copy.execute("DELETE FROM vectors; DELETE FROM segments; UPDATE entities SET scale = NULL, data = NULL")
                for record in copy.execute(f"SELECT row, {crc.ENTITY_COLUMNS} FROM entities").fetchall():
                    copy.execute("UPDATE entities SET crc = ? WHERE row = ?", (crc.of_values(record[1:]), record[0]))
                told = {
                    "text_encoder": meta.text_encoder,
                    "image_encoder": meta.image_encoder,
                    "dim": str(meta.dim),
                    "delta": repr(float(meta.delta)),
                }
                copy.executemany("INSERT OR REPLACE INTO meta VALUES(?,?)", [*told.items(), ("crc", str(loader.meta_crc(told)))])
        finally:
            copy.close()
    except apsw.Error as error:
        raise AlbumError(f"{partial}: cannot be written ({one_line(error)}); check the folder and the free space") from None
    storage.publish(partial, aside)


def encoded(aside: Path) -> set[int]:
    """The rows that have vectors: what an interrupted run had done."""
    db = connect(aside)
    try:
        return {int(row) for (row,) in db.execute("SELECT DISTINCT photo FROM vectors")}
    finally:
        db.close()
