"""Opens an album as it may be told elsewhere: as if what must stay on the device had never been in it.

A photo or memory that is marked so (see sharing.py) is not hidden but absent: the photos that may be told are
written to an album of their own, in a folder that only the owner may read and that goes with it. Whatever the
marked memories had a part in is made again from the others: text vectors, entities, the statistics of words.
So nothing that the album answers depends on them. Names and summaries of events may have come from them, too:
the album has none, and the caller makes them again.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import apsw

from ..fields import detailed
from ..records import TITLE, Encoded, FloatArray, Mention, Photo
from . import loader, schema
from .album import Album
from .declarations import optional_tables
from .sharing import leaving, may_leave
from .writing import choices
from .writing.rows import TEXT, StoredVector
from .writing.writer import AlbumWriter

_BATCH = 512  # photos that are held at once
_NO_GRAPH = 1 << 40  # vectors from which on a channel gets a graph: it would take longer than scans save
_STAYS = "sharing = 'low' OR sensitivity = 'high'"
_MARKED = f"SELECT 1 FROM photos WHERE {_STAYS} UNION ALL SELECT 1 FROM memories WHERE {_STAYS} LIMIT 1"


class Encoder(Protocol):
    """Makes again what an album derives from memories."""

    def mentions(self, photo: Photo) -> tuple[Mention, ...]: ...

    def retold(self, photos: Sequence[Photo]) -> list[Encoded]:
        """The photos' text vectors and mentions."""
        ...

    def names(self, names: Sequence[str]) -> FloatArray:
        """float32 [n, dim]."""
        ...


def open_leaving(
    album: Album, encoder: Encoder, describe: Callable[[Path], object] = lambda path: None
) -> Album:
    """The album without what must stay on the device, and without people, things and memories of the owner.

    Reads the file again, as it is now. `describe`: makes the events of the album at a path again, and is
    called if this one has events. Raises AlbumError as Album.open does, and if the temporary folder is full.
    """
    with Album.open(album.path) as source:
        if not source.reading(lambda db, _: db.execute(_MARKED).fetchone()):
            return _unmarked(album.path)
        folder = tempfile.TemporaryDirectory(prefix="gamer-")
        try:
            path = Path(folder.name) / album.path.name
            _write(source, path, encoder)
            if source.events():
                describe(path)
            view = Album.open(path)
        except BaseException:
            folder.cleanup()
            raise
    weakref.finalize(view, folder.cleanup)
    return view


def partly_withheld(album: Album) -> frozenset[str]:
    """The ids of photos of which a memory must stay: their pictures may show what it says."""
    sql = f"SELECT id FROM photos WHERE row IN (SELECT photo FROM memories WHERE {_STAYS})"
    return frozenset(album.reading(lambda db, _: [str(photo_id) for (photo_id,) in db.execute(sql)]))


def _unmarked(path: Path) -> Album:
    """An album in which nothing is marked, without what optional tables hold, which is told to nobody."""
    db = schema.open_reader(path)
    try:
        db.execute("PRAGMA query_only=0")
        for group in optional_tables.GROUPS:
            group.hide(db)
        db.execute("PRAGMA query_only=1")
        return Album(db, path)
    except schema.UNREADABLE as error:
        db.close()
        raise schema.unusable(path, error) from None
    except BaseException:
        db.close()
        raise


def _write(source: Album, path: Path, encoder: Encoder) -> None:
    with AlbumWriter.create(path, source.meta, hnsw_from=_NO_GRAPH) as writer:
        for start in range(0, len(source), _BATCH):
            rows = range(start, min(start + _BATCH, len(source)))
            told = [pair for pair in zip(rows, source.photos(rows), strict=True) if may_leave(pair[1])]
            touched = {row for row, photo in told if leaving(photo) != photo.memories}
            retold = iter(encoder.retold([_open_part(photo) for row, photo in told if row in touched]))
            writer.add(
                [
                    next(retold)
                    if row in touched
                    else Encoded(_open_part(photo), {}, encoder.mentions(photo))
                    for row, photo in told
                ]
            )
            writer.copy_vectors(source.reading(partial(_vectors, photos=told, touched=touched)))
        writer.repeat_choices(source.reading(lambda db, _: choices.of_album(db)))
        writer.finish(encoder.names)


def _open_part(photo: Photo) -> Photo:
    """A photo that may leave, with the memories that may; if the place's name must stay, no position."""
    unplaced = any(memory.source == "place" and not may_leave(memory) for memory in photo.memories)
    lat, lon = (None, None) if unplaced else (photo.lat, photo.lon)
    return replace(detailed(photo, {}), memories=leaving(photo), lat=lat, lon=lon)


def _vectors(
    db: apsw.Connection, _: Path, photos: Sequence[tuple[int, Photo]], touched: set[int]
) -> list[tuple[str, list[StoredVector]]]:
    """Each photo's id with its vectors as they are stored; for the rows `touched` without those of texts.

    Without titles: the model that wrote them had learned from the marked memories as well.
    """
    channels, columns = loader.channel_dims(db).keys() - {TITLE}, "channel, chunk, scale, data, fine"
    sql = f"SELECT {columns} FROM vectors WHERE channel=? AND photo=? ORDER BY chunk"
    out = []
    for row, photo in photos:
        taken = sorted(channels - {TEXT} if row in touched else channels)
        stored: list[Any] = [record for channel in taken for record in db.execute(sql, (channel, row))]
        out.append((photo.id, stored))
    return out
