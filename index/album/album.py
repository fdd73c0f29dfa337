"""Album: a read-only view of one album file, with the three layers' searches. Loads each layer's arrays once,
on first use.

Every call may come from any thread: SQL runs under one lock, arrays are read-only once loaded. Knows rows,
cubes, vectors and words; knows no model (queries arrive as vectors) and writes nothing. A segment that is
behind or damaged is passed over, and the rows are scanned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import apsw
import numpy as np
from numpy.typing import NDArray

from ..entities import entity_vectors, graph
from ..entities.entity_vectors import Nodes
from ..entities.words import spellings
from ..errors import AlbumError
from ..records import Cube, EntityMatch, FloatArray, Photo, RowArray
from ..row_sets import RowSet
from ..space import cubes, kdtree
from ..space.cubes import CubeResult
from ..space.kdtree import LOWEST, Int64Array
from ..vectors import hnsw
from ..vectors.nearest import VectorResult, ascending, nearest
from ..vectors.planner import Estimate, Plan
from ..vectors.quantize import VectorSet, top
from . import checksums as crc
from . import loader, segments
from .check import find_problems, measure, words_problems
from .lexical import Texts, WordScores, look_up
from .preferences import Preferences, between_photos, reorder
from .results import AlbumMeta, AlbumStats, TextResult
from .schema import damaged, open_reader
from .sharing import leaving

_NONE: RowArray = np.empty(0, np.int64)
_SAME = 4  # answers about boxes that are kept
_T = TypeVar("_T")


class Album:
    def __init__(self, connection: apsw.Connection, path: Path) -> None:
        self._db = connection
        self._lock = threading.RLock()
        self.path = path
        self.meta: AlbumMeta = self._load(lambda db: loader.read_meta(db, path))
        self.generation: int = self._load(loader.read_generation)
        self._n = self._load(loader.photo_count)
        self._channels: dict[str, VectorSet | None] = {}
        self._graphs: dict[str, tuple[hnsw.Hnsw | None, RowArray]] = {}

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
        with self._lock:
            self._db.close()

    def __enter__(self) -> Album:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._n

    # Photos

    def photo(self, row: int) -> Photo:
        return self.photos([row])[0]

    def photos(self, rows: Sequence[int] | RowArray) -> list[Photo]:
        """In their order. A photo that is shown has been read whole and as it was written.

        Raises AlbumError.
        """
        wanted, channels = [int(row) for row in rows], self.channels()
        found, checksums = self._load(
            lambda db: (loader.photos(db, wanted), crc.of_photos(db, wanted, channels))
        )
        for row in wanted:
            if row not in found:
                raise AlbumError(f"{self.path}: no photo in row {row}; rows are 0..{self._n - 1}")
            if found[row][1] not in (None, checksums[row]):
                raise AlbumError(
                    f"{self.path}: the photo in row {row} is damaged (its checksum differs); run verify and index it again"
                )
        return [found[row][0] for row in wanted]

    def row_of(self, photo_id: str) -> int:
        found = self._sql("SELECT row FROM photos WHERE id=?", (photo_id,))
        if not found:
            raise AlbumError(f"{self.path}: no photo with id {photo_id!r} in this album")
        return int(found[0][0])

    def times(self) -> Int64Array:
        """Milliseconds of wall time as if UTC by row, the least int64 where unknown."""
        return self._points[:, 2]

    def positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        """float64 [n, 2] of (latitude, longitude) in degrees, nan where unknown."""
        return self._positions

    # Layer 1: space and time

    def in_cubes(self, wanted: Sequence[Cube]) -> CubeResult:
        """`rows`: inside any cube, or not judged because the field is unknown. No cubes: every photo."""
        return self._cut(tuple(wanted))

    def within(self, wanted: Sequence[Cube]) -> RowSet:
        """The photos inside any cube, by known fields."""
        return self._held(tuple(wanted))

    def near(
        self,
        k: int,
        lat: float | None = None,
        lon: float | None = None,
        taken_at: int | None = None,
        metres_an_hour: float = 1000.0,
    ) -> RowArray:
        """The k photos nearest to a place, a time, or both, nearest first; those whose field is unknown are
        never near.

        `taken_at` is wall time. An hour apart counts as `metres_an_hour` apart.
        """
        return self._space.near(k, lat, lon, taken_at, metres_an_hour)

    # Layer 2: entities

    def activate(self, rows: RowArray) -> RowArray:
        """Sorted rows of the entities that these photos mention."""
        return self._entities_of.of(np.asarray(rows, np.int64))

    def match_entities(
        self, query: FloatArray, rows: RowArray | RowSet, delta: float, limit: int = 32
    ) -> list[EntityMatch]:
        """Walk the graph from the entities of `rows`, keep similarity ≥ delta, best first.

        A match names only photos among `rows`.
        """
        if self._nodes is None:
            return []
        similarity = self._nodes.similar(self._query(query, self._nodes.dim, "entities"), delta)
        similar = np.flatnonzero(similarity >= delta)
        wanted = rows if isinstance(rows, RowSet) else RowSet.of(np.asarray(rows, np.int64), self._n)
        # Only a similar node can be kept, so it is these that are asked whether a photo among `rows`
        # activates them.
        photos, which = self._photos_of.gather(similar)
        activated = similar[np.bincount(which[wanted.mask[photos]], minlength=similar.size) > 0]
        out = []
        for row in graph.traverse(activated, similarity, self._edges, delta):
            linked = wanted.keep(self._photos_of.gather(row[None])[0])
            if linked.size:
                name, kind = self._entity_name(int(row))
                out.append(EntityMatch(int(row), name, kind, float(similarity[row]), tuple(linked.tolist())))
            if len(out) >= limit:
                break
        return out

    def entity_names(self, limit: int) -> list[str]:
        """The most linked first."""
        order = np.argsort(-np.bincount(self._mentions[0], minlength=self._entity_count), kind="stable")
        roots = self._load(loader.entity_roots)
        return [self._entity_name(int(row))[0] for row in order[roots[order] == order][:limit]]

    def entity_links(self, entities: Sequence[int]) -> list[tuple[int, int]]:
        """The edges (parent and child, in either order, once each) that join two of these entity rows."""
        known = sorted(set(entities))
        near, which = self._edges.gather(np.asarray(known, np.int64))
        return sorted(
            {
                (known[at], int(row))
                for row, at in zip(near, which, strict=True)
                if known[at] < row and int(row) in set(known)
            }
        )

    # Layer 3: vectors and words

    def channels(self) -> list[str]:
        return sorted(self._dims)

    def scores(self, channel: str, query: FloatArray, rows: RowArray | None = None) -> FloatArray:
        """float32, one for each of `rows` in their order (all photos if None): the best chunk, -inf where
        there is none in the channel.
        """
        vectors = self._vectors(channel)
        if vectors is None:
            return np.full(self._n if rows is None else len(rows), -np.inf, np.float32)
        query = self._query(query, vectors.dim, channel)
        return (
            vectors.best_per_row(query, self._n)
            if rows is None
            else vectors.best_of(query, np.asarray(rows, np.int64))
        )

    def search_vectors(
        self,
        channel: str,
        query: FloatArray,
        k: int,
        rows: RowArray | None = None,
        plan: Literal["auto"] | Plan = "auto",
    ) -> VectorResult:
        """The k best photos. `plan="auto"` lets the planner choose; the plan that was used comes back with
        the result.
        """
        vectors = self._vectors(channel)
        if vectors is None:
            return VectorResult(np.empty(0, np.int64), np.empty(0, np.float32), "exact")
        query = self._query(query, vectors.dim, channel)
        if rows is not None:
            rows = ascending(np.asarray(rows, np.int64))
        # The graph segment is only read when it might be used: loading it costs more than a small scan.
        graph_, behind = self._graphs.get(channel) or (None, _NONE)
        if graph_ is None and channel not in self._graphs and plan != "exact":
            left = len(vectors) if rows is None else int(rows.size)
            if plan == "hnsw" or Estimate(len(vectors), left, vectors.dim, k, True).plan == "hnsw":
                graph_, behind = self._graph(channel, vectors)
        return nearest(vectors, graph_, behind, query, k, rows, plan)

    def words(self, query: str) -> WordScores:
        """The query's words, each with the photos whose memories hold it (lexical.py)."""
        asked, texts = spellings(query), self._texts
        return self._load(lambda db: look_up(db, asked, texts, self._n))

    def search_text(self, query: str, k: int, rows: RowArray | None = None) -> TextResult:
        """BM25 of the query's words, any of them, over memories."""
        scores = self.words(query).bm25
        if rows is not None:
            kept = np.zeros(self._n, np.float32)
            kept[rows] = scores[rows]
            scores = kept
        order = top(np.where(scores > 0, scores, -np.inf), k)
        return TextResult(order, scores[order])

    @cached_property
    def conversations(self) -> NDArray[np.bool_]:
        """By row: whether a message is attached, so that the photos and messages just before and after it
        belong to its meaning.
        """
        said = np.zeros(self._n, np.bool_)
        rows = np.array(
            self._sql("SELECT DISTINCT photo FROM memories WHERE source = 'chat'"), np.int64
        ).reshape(-1)
        self._load(lambda db: loader.within(rows, self._n, "memories"))
        said[rows] = True
        return said

    # Feedback and labels

    def preferences(self) -> Preferences:
        """What was said with `prefer`, entities as the roots that they were merged into."""
        found = self._sql("SELECT kind, better, worse FROM preferences ORDER BY kind, better, worse")
        roots = (
            self._load(loader.entity_roots).tolist() if any(kind == "entity" for kind, _, _ in found) else []
        )
        photos = tuple((int(a), int(b)) for kind, a, b in found if kind == "photo")
        entities = tuple(
            (roots[a], roots[b]) for kind, a, b in found if kind == "entity" and max(a, b) < len(roots)
        )
        return Preferences(photos, entities)

    def preferred(self, ranked: Sequence[int]) -> list[int]:
        """`ranked` (rows that match, best first) with what was preferred before what it was preferred to.

        See preferences.reorder.
        """
        told = self._preferences
        if not told.photos and not told.entities:
            return list(ranked)
        rows = np.asarray(ranked, np.int64)
        linked = (
            {row: set(self._entities_of.of(rows[at : at + 1]).tolist()) for at, row in enumerate(ranked)}
            if told.entities
            else {}
        )
        return reorder(ranked, [*told.photos, *between_photos(told.entities, linked)])

    def prompt_memories(self, rows: Sequence[int] | RowArray) -> list[list[str]]:
        """For each row the memories that may enter a prompt for a model that runs elsewhere: nothing
        low-sharing or high-sensitivity.
        """
        return [[memory.text for memory in leaving(photo)] for photo in self.photos(rows)]

    # The file

    def stats(self) -> AlbumStats:
        return self._load(lambda db: measure(db, self.path, self.generation))

    def verify(self) -> list[str]:
        """Problems, one a line; empty when the album is clean."""
        with self._lock:
            return find_problems(self._db, self.path) + words_problems(self.path)

    # Inside

    @cached_property
    def _preferences(self) -> Preferences:
        return self.preferences()

    def _sql(self, sql: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return self._load(lambda db: db.execute(sql, values).fetchall())

    def _load(self, read: Callable[[apsw.Connection], _T]) -> _T:
        """Reads under the lock. Pages that SQLite refuses, and values of a type that no writer wrote, are a
        damaged file.

        `read` must touch no cached property: Python 3.11 computes each under a lock of its own, and two
        threads would wait for each other.
        """
        with self._lock:
            try:
                return read(self._db)
            except (apsw.Error, ValueError, TypeError, OverflowError) as error:
                raise damaged(self.path, error) from None

    @cached_property
    def _cut(self) -> Callable[[tuple[Cube, ...]], CubeResult]:
        """Within one search the same boxes are asked for several times: for the cube, as evidence, and to
        tell places of one name apart.
        """
        return lru_cache(maxsize=_SAME)(self._space.in_cubes)

    @cached_property
    def _held(self) -> Callable[[tuple[Cube, ...]], RowSet]:
        return lru_cache(maxsize=_SAME)(self._space.within)

    @cached_property
    def _points(self) -> Int64Array:
        return self._space.points()

    @cached_property
    def _positions(self) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        raw = self._points[:, :2]
        return np.where(raw == LOWEST, np.nan, raw / cubes.E7)

    @cached_property
    def _space(self) -> cubes.Space:
        """The tree of the segment with what it is behind in; without a segment that can be used, a tree of
        all rows.
        """
        found = self._load(lambda db: segments.load(db, segments.KDTREE, kdtree.VERSION, self._n))
        if found is not None:
            try:
                tree = kdtree.KDTree.from_bytes(found.blob)
            except AlbumError:
                tree = None
            if tree is not None and len(tree) == found.rows:
                late = self._load(lambda db: loader.points_of(db, found.behind))
                return cubes.Space.of(tree, self._n, found.behind, late)
        return cubes.Space.of(
            kdtree.build(self._load(loader.points)), self._n, _NONE, np.empty((0, 3), np.int64)
        )

    @cached_property
    def _dims(self) -> dict[str, int]:
        return self._load(loader.channel_dims)

    @cached_property
    def _entity_count(self) -> int:
        return int(self._sql("SELECT count(*) FROM entities")[0][0])

    @cached_property
    def _nodes(self) -> Nodes | None:
        def read(db: apsw.Connection) -> Nodes | None:
            found = loader.entity_vectors(db)
            if found is None:
                return None
            graph = (
                segments.load(db, entity_vectors.SEGMENT, hnsw.VERSION, self._n)
                if len(found.vectors) >= entity_vectors.GRAPH_FROM
                else None
            )
            return Nodes.of(found, None if graph is None else graph.blob)

        return self._load(read)

    @cached_property
    def _mentions(self) -> RowArray:
        limits = (self._entity_count, self._n)
        return self._load(lambda db: loader.pairs(db, "mentions", limits))

    @cached_property
    def _entities_of(self) -> graph.Adjacency:
        return graph.adjacency(self._mentions[1], self._mentions[0], self._n, self._entity_count)

    @cached_property
    def _photos_of(self) -> graph.Adjacency:
        return graph.adjacency(self._mentions[0], self._mentions[1], self._entity_count, self._n)

    @cached_property
    def _edges(self) -> graph.Adjacency:
        limits = (self._entity_count, self._entity_count)
        parents, children = self._load(lambda db: loader.pairs(db, "edges", limits))
        both = np.concatenate([parents, children]), np.concatenate([children, parents])
        return graph.adjacency(both[0], both[1], self._entity_count, self._entity_count)

    @cached_property
    def _texts(self) -> Texts:
        return self._load(lambda db: Texts.read(db, loader.memory_owners(db, self._n)))

    def _entity_name(self, row: int) -> tuple[str, str]:
        name, kind = self._sql("SELECT name, kind FROM entities WHERE row=?", (row,))[0]
        return str(name), str(kind)

    def _vectors(self, channel: str) -> VectorSet | None:
        with self._lock:
            if channel not in self._channels:
                self._channels[channel] = self._load(lambda db: loader.vectors(db, channel, self._n))
            return self._channels[channel]

    def _graph(self, channel: str, vectors: VectorSet) -> tuple[hnsw.Hnsw | None, RowArray]:
        """The channel's graph, and the rows that it knows nothing of.

        A segment that is damaged is not there.
        """
        with self._lock:
            if channel not in self._graphs:
                found = self._load(
                    lambda db: segments.load(db, segments.hnsw_name(channel), hnsw.VERSION, self._n)
                )
                try:
                    self._graphs[channel] = (
                        (None, _NONE)
                        if found is None
                        else (hnsw.load(found.blob, vectors, found.behind), found.behind)
                    )
                except AlbumError:
                    self._graphs[channel] = (None, _NONE)
            return self._graphs[channel]

    def _query(self, query: FloatArray, dim: int, where: str) -> FloatArray:
        array = np.asarray(query, np.float32).reshape(-1)
        if array.size != dim:
            raise AlbumError(
                f"{self.path}: a query of {array.size} dimensions, but {where} has {dim}; use the encoder that built the album"
            )
        return array
