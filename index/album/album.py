"""Album: a read-only view of one album file. Its layers, in modules of their own, load when first used.

Every method may be called from any thread: SQL runs under one lock, and arrays are read-only once loaded.
Queries arrive as vectors. For photos that a segment does not cover, or if the segment is damaged, the rows
are scanned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from ..entities import entity_vectors
from ..errors import AlbumError
from ..fields import FIELDS, detailed
from ..records import Clip, FloatArray, Photo, RowArray
from . import loader, notes
from .album_file import AlbumFile
from .check import find_problems, measure, words_problems
from .declarations import checksums, clip_tables, field_tables
from .ids import image_id
from .layers.entity_layer import EntityLayer
from .layers.event_layer import EventLayer
from .layers.space_layer import SpaceLayer
from .layers.vector_layer import VectorLayer
from .preferences import Preferences, between_photos, reorder
from .results import AlbumStats
from .schema import open_reader
from .sharing import leaving

_T = TypeVar("_T")


class Album(SpaceLayer, EntityLayer, VectorLayer, EventLayer):
    """`Album.open(path)`: photos, and what it inherits of the layers that search them.

    Layer 1: `in_cubes`, `within`, `near`, `times`, `positions` (space_layer.py). Layer 2: `activate`,
    `match_entities`, `entity_names`, `entity_links` (entity_layer.py). Layer 3: `channels`, `scores`,
    `search_vectors`, `mean_of`, `words`, `holding`, `search_text` (vector_layer.py).
    Events: `events`, `event_of`, `search_events` (event_layer.py).
    """

    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        super().__init__(AlbumFile(connection, path))
        self.path = path
        self._graphs: Thread | None = None
        self._sound: set[int] = set()  # rows whose values were found to be what their checksums say
        self.generation: int = self._file.load(loader.read_generation)

    @classmethod
    def open(cls, path: Path) -> Album:
        path = Path(path)
        connection = open_reader(path)
        try:
            return cls(connection, path)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self._file.lock:
            self._file.connection.close()

    def load_graphs(self, wait: bool = False) -> None:
        """Loads, in a thread, the graphs that searches have done without so far.

        Called before each search, it leaves them out of a process that searches once. `wait` for them.
        """
        with self._file.lock:
            if self._file.wanted and (self._graphs is None or not self._graphs.is_alive()):
                names, self._file.wanted = self._file.wanted, set()
                self._graphs = Thread(target=self._load_graphs, args=(names,))
                self._graphs.start()
        if wait and self._graphs is not None:
            self._graphs.join()

    def _load_graphs(self, names: set[str]) -> None:
        with suppress(AlbumError):  # the file was closed; or it is damaged, as the next search will say
            self._load_wanted_graphs(names)
            if entity_vectors.SEGMENT in names:
                self._load_entity_graph()

    def __enter__(self) -> Album:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._file.photos

    def photo(self, row: int) -> Photo:
        return self.photos([row])[0]

    def photos(self, rows: Sequence[int] | RowArray) -> list[Photo]:
        """The photos of the given rows, in that order, each checked against its checksum when first read.

        Raises AlbumError for a row that does not exist and for a photo whose checksum differs. Albums of
        format 1 store no checksums.
        """
        wanted, channels = [int(row) for row in rows], self.channels()
        fresh = [row for row in wanted if row not in self._sound]
        loaded, sums = self._file.load(
            lambda db: (
                loader.photos(db, wanted),
                checksums.of_photos(db, fresh, channels) if fresh else {},
            )
        )
        for row in wanted:
            if row not in loaded:
                raise AlbumError(
                    f"{self._file.path}: no photo in row {row}; rows are 0..{self._file.photos - 1}"
                )
            if row in sums and loaded[row][1] not in (None, sums[row]):
                raise AlbumError(
                    f"{self._file.path}: the photo in row {row} is damaged (its checksum differs); run "
                    "verify and index it again"
                )
        self._sound.update(fresh)
        photos = [loaded[row][0] for row in wanted]
        details = self.details([photo.id for photo in photos])
        return [detailed(photo, details.get(photo.id, {})) for photo in photos] if details else photos

    def details(self, photo_ids: Sequence[str] | None = None) -> dict[str, dict[str, str]]:
        """Id → field → value, of those photos of which a field is known; of all for None.

        Raises AlbumError for a value whose checksum differs.
        """
        return self._file.load(lambda db: field_tables.read(db, self.path, photo_ids))

    @cached_property
    def rows_by_detail(self) -> dict[str, dict[str, list[int]]]:
        """Field → value → the rows of the photos that have it, ascending."""
        out: dict[str, dict[str, list[int]]] = {field.name: {} for field in FIELDS}
        details = self.details()
        for row, photo in enumerate(self.ids()):
            for name, value in details.get(photo, {}).items():
                out[name].setdefault(value, []).append(row)
        return out

    def clips(self, photo_ids: Sequence[str]) -> dict[str, Clip]:
        """Id → the clip, of those photos that are clips or parts of one.

        Raises AlbumError for a clip whose checksum differs.
        """
        return self._file.load(lambda db: clip_tables.read(db, self.path, photo_ids))

    def second(self, row: int, clip: Clip, query: FloatArray) -> float:
        """Where in its file a clip fits a vector of the channel "image" best, in seconds; else its begin."""
        scores = self.chunk_scores("image", row, query)
        if not len(clip.frames) == len(scores) > 0:
            return clip.start / 1000
        return clip.frames[int(np.argmax(scores))] / 1000

    def ids(self) -> list[str]:
        """The photos' ids, by row."""
        return self._file.load(loader.photo_ids)

    def reading(self, read: Callable[[apsw.Connection, Path], _T]) -> _T:
        """What a function reads of the album's optional tables, such as `gamer.index.things.bank.things`."""
        return self._file.load(lambda db: read(db, self.path))

    @property
    def bundle(self) -> Path | None:
        """The bundle whose models last wrote the album, if it noted one; it may be gone."""
        folder = self._file.load(lambda db: notes.read(db, notes.BUNDLE))
        return Path(folder) if folder else None

    @property
    def removed(self) -> frozenset[str]:
        """What was removed for good: the pictures' SHA-256, and ids of photos without one."""
        return self._file.load(notes.removed)

    def row_of(self, photo_id: str) -> int:
        matches = self._file.sql("SELECT row FROM photos WHERE id=?", (photo_id,))
        if not matches:
            raise AlbumError(f"{self._file.path}: no photo with id {photo_id!r} in this album")
        return int(matches[0][0])

    def rows_of_file(self, name: str) -> list[int]:
        """The rows of the photos whose path is `name`, or ends with it after a slash."""
        ends = "substr(path, -length(?1) - 1) = '/' || ?1"
        rows = self._file.sql(f"SELECT row FROM photos WHERE path = ?1 OR {ends} ORDER BY row", (name,))
        return [int(row) for (row,) in rows]

    def paths(self) -> list[str | None]:
        """Of each photo, by row, the path of its file when it was last seen."""
        records = self._file.sql("SELECT path FROM photos ORDER BY row")
        return [path if isinstance(path, str) else None for (path,) in records]

    def memories_of(self, source: str) -> list[tuple[int, str]]:
        """(row, text) of every memory of a source, by row and id."""
        records = self._file.sql(
            "SELECT photo, text FROM memories WHERE source = ? ORDER BY photo, id", (source,)
        )
        return [(row, text) for row, text in records if isinstance(row, int) and isinstance(text, str)]

    def row_of_image(self, image_id: str) -> int:
        """The photo that a short id (`gamer.index.image_id`) names. Raises AlbumError for an unknown one."""
        rows = self._images.get(image_id, [])
        if len(rows) != 1:
            named = "no photo" if not rows else f"{len(rows)} photos"
            raise AlbumError(f"{self._file.path}: {named} with image id {image_id!r} in this album")
        return rows[0]

    @cached_property
    def _images(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, photo_id in enumerate(self.ids()):
            rows.setdefault(image_id(photo_id), []).append(row)
        return rows

    def pictured(self) -> NDArray[np.bool_]:
        """bool [photos]: whether a photo has a file, and is not only something that was said."""
        return self._are("photos", "SELECT row FROM photos WHERE path IS NOT NULL")

    def lacking(self, channel: str) -> NDArray[np.bool_]:
        """bool [photos]: whether a photo has no vector in the channel."""
        return ~self._are("vectors", "SELECT DISTINCT photo FROM vectors WHERE channel = ?", channel)

    @cached_property
    def conversations(self) -> NDArray[np.bool_]:
        """bool [photos]: whether a photo has a chat message.

        For such a photo, the photos and messages just before and after it are part of its context.
        """
        return self._are("memories", "SELECT DISTINCT photo FROM memories WHERE source = 'chat'")

    def _are(self, table: str, sql: str, *given: str) -> NDArray[np.bool_]:
        """bool [photos]: whether a photo's row is among those that `sql` selects of a table."""
        rows = np.array(self._file.sql(sql, given), np.int64).reshape(-1)
        self._file.load(lambda db: loader.within(rows, self._file.photos, table))
        mask = np.zeros(self._file.photos, np.bool_)
        mask[rows] = True
        return mask

    def preferences(self) -> Preferences:
        """The stored preferences; a merged entity is replaced by its root."""
        records = self._file.sql("SELECT kind, better, worse FROM preferences ORDER BY kind, better, worse")
        roots = (
            self._file.load(loader.entity_roots).tolist()
            if any(kind == "entity" for kind, _, _ in records)
            else []
        )
        numbered = [(kind, a, b) for kind, a, b in records if isinstance(a, int) and isinstance(b, int)]
        photos = tuple((a, b) for kind, a, b in numbered if kind == "photo")
        entities = tuple(
            (roots[a], roots[b])
            for kind, a, b in numbered
            if kind == "entity" and min(a, b) >= 0 and max(a, b) < len(roots)
        )
        return Preferences(photos, entities)

    def preferred(self, ranked: Sequence[int]) -> list[int]:
        """`ranked` (rows that match, best first), reordered by the stored preferences: see
        preferences.reorder.
        """
        preferences = self._preferences
        if not preferences.photos and not preferences.entities:
            return list(ranked)
        rows = np.asarray(ranked, np.int64)
        linked = (
            {row: set(self.entities_of.of(rows[at : at + 1]).tolist()) for at, row in enumerate(ranked)}
            if preferences.entities
            else {}
        )
        return reorder(ranked, [*preferences.photos, *between_photos(preferences.entities, linked)])

    def prompt_memories(self, rows: Sequence[int] | RowArray) -> list[list[str]]:
        """For each row, the memories that may enter a prompt for a model that runs elsewhere: none that is
        marked low-sharing or high-sensitivity.
        """
        return [[memory.text for memory in leaving(photo)] for photo in self.photos(rows)]

    def stats(self) -> AlbumStats:
        return self._file.load(lambda db: measure(db, self.path, self.generation))

    def verify(self) -> list[str]:
        """Problems, one a line; empty when the album is clean."""
        with self._file.lock:
            return find_problems(self._file.connection, self.path) + words_problems(self.path)

    @cached_property
    def _preferences(self) -> Preferences:
        return self.preferences()
