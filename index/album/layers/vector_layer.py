"""Layer 3 of an open album: vectors by channel, and the words of its memories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Literal

import numpy as np

from ...entities.words import spellings
from ...errors import AlbumError
from ...records import FloatArray, RowArray
from ...vectors import hnsw
from ...vectors.nearest import VectorResult, ascending, nearest
from ...vectors.planner import Estimate, Plan
from ...vectors.quantize import VectorSet, dequantize, top
from .. import loader, segments
from ..album_file import AlbumFile, Layer
from ..results import TextResult
from .lexical import Texts, WordScores, holding, look_up

_NONE: RowArray = np.empty(0, np.int64)


class VectorLayer(Layer):
    """Vector sets, their graphs and the index of words; each loaded once, on first use."""

    def __init__(self, file: AlbumFile) -> None:
        super().__init__(file)
        self._channels: dict[str, VectorSet | None] = {}
        self.graphs: dict[str, tuple[hnsw.Hnsw | None, RowArray]] = {}

    def channels(self) -> list[str]:
        return sorted(self._dims)

    def scores(self, channel: str, query: FloatArray, rows: RowArray | None = None) -> FloatArray:
        """float32 [len(rows)], or [photos] if `rows` is None: each photo's best chunk score in the channel,
        -inf for a photo without a vector.
        """
        vectors = self._vectors(channel)
        if vectors is None:
            return np.full(self._file.photos if rows is None else len(rows), -np.inf, np.float32)
        query = self._file.query(query, vectors.dim, channel)
        return (
            vectors.best_per_row(query, self._file.photos)
            if rows is None
            else vectors.best_of(query, np.asarray(rows, np.int64))
        )

    def chunk_scores(self, channel: str, row: int, query: FloatArray) -> FloatArray:
        """float32 [chunks]: the query's score with each of a photo's vectors, in order; empty without one."""
        vectors = self._vectors(channel)
        if vectors is None:
            return np.zeros(0, np.float32)
        at = vectors.positions_of(np.array([row], np.int64))
        fine = None if vectors.fine is None else vectors.fine[at]
        query = self._file.query(query, vectors.dim, channel)
        return np.asarray(dequantize(vectors.codes[at], vectors.scales[at], fine) @ query, np.float32)

    def vectors(self, channel: str) -> tuple[RowArray, FloatArray]:
        """(owners int64 [V], float32 [V, dim]): all vectors of a channel with their photos' rows."""
        vectors = self._vectors(channel)
        if vectors is None:
            return _NONE, np.zeros((0, self._dims.get(channel, 0)), np.float32)
        found = dequantize(vectors.codes, vectors.scales, vectors.fine)
        return np.asarray(vectors.owners, np.int64), np.asarray(found, np.float32)

    def means(self, channel: str) -> FloatArray:
        """float32 [photos, dim]: the mean of each photo's vectors in the channel, of unit length.

        Zeros for a photo without one; [photos, 0] if the album has no such channel.
        """
        owners, vectors = self.vectors(channel)
        sums = np.zeros((self._file.photos, vectors.shape[1]), np.float32)
        np.add.at(sums, owners, vectors)
        norms = np.linalg.norm(sums, axis=1, keepdims=True)
        return np.asarray(sums / np.maximum(norms, np.float32(1e-12)), np.float32)

    def search_vectors(
        self,
        channel: str,
        query: FloatArray,
        k: int,
        rows: RowArray | None = None,
        plan: Literal["auto"] | Plan = "auto",
    ) -> VectorResult:
        """The k best photos. `plan="auto"` lets the planner choose; the result states the plan used.

        It chooses no graph that would have to be loaded first, which takes as long as a hundred scans.
        """
        vectors = self._vectors(channel)
        if vectors is None:
            return VectorResult(np.empty(0, np.int64), np.empty(0, np.float32), "exact")
        query = self._file.query(query, vectors.dim, channel)
        if rows is not None:
            rows = ascending(np.asarray(rows, np.int64))
        if plan == "hnsw":
            self._load_graph(channel, vectors)
        graph_, behind = self.graphs.get(channel) or (None, _NONE)
        if channel not in self.graphs and plan == "auto":
            left = len(vectors) if rows is None else int(rows.size)
            if Estimate(len(vectors), left, vectors.dim, k).plan == "hnsw":
                self._file.wanted.add(segments.hnsw_name(channel))
        return nearest(vectors, graph_, behind, query, k, rows, plan)

    def mean_of(self, channel: str, rows: RowArray) -> FloatArray | None:
        """float32 [d], L2-normalised: the mean of the vectors of `rows`; None if none of them has one."""
        vectors = self._vectors(channel)
        at = _NONE if vectors is None else vectors.positions_of(np.asarray(rows, np.int64))
        if vectors is None or not at.size:
            return None
        fine = None if vectors.fine is None else vectors.fine[at]
        mean = dequantize(vectors.codes[at], vectors.scales[at], fine).mean(axis=0)
        length = float(np.linalg.norm(mean))
        return np.asarray(mean / length, np.float32) if length else None

    def words(self, query: str, forms: Sequence[tuple[str, ...]] | None = None) -> WordScores:
        """The query's words, each with the photos whose memories hold it (lexical.py).

        `forms`: the words to look up instead, each with what else may stand for it, of which the best counts.
        """
        forms, texts = spellings(query) if forms is None else forms, self._texts
        return self._file.load(lambda db: look_up(db, forms, texts, self._file.photos))

    def holding(self, words: Sequence[str]) -> frozenset[str]:
        """Those of the first MAX_WORDS words that a memory holds, without their scores."""
        return self._file.load(lambda db: holding(db, words))

    def search_text(self, query: str, k: int, rows: RowArray | None = None) -> TextResult:
        """The k photos whose memories hold any of the query's words, by the sum of the words' BM25 scores."""
        scores = self.words(query).bm25
        if rows is not None:
            filtered = np.zeros(self._file.photos, np.float32)
            filtered[rows] = scores[rows]
            scores = filtered
        order = top(np.where(scores > 0, scores, -np.inf), k)
        return TextResult(order, scores[order])

    @cached_property
    def _dims(self) -> dict[str, int]:
        return self._file.load(loader.channel_dims)

    @cached_property
    def _texts(self) -> Texts:
        return self._file.load(lambda db: Texts.read(db, loader.memory_owners(db, self._file.photos)))

    def _vectors(self, channel: str) -> VectorSet | None:
        if (ready := self._channels.get(channel)) is not None:
            return ready  # without the lock, which a thread that loads holds
        with self._file.lock:
            if channel not in self._channels:
                self._channels[channel] = self._file.load(
                    lambda db: loader.vectors(db, channel, self._file.photos)
                )
            return self._channels[channel]

    def _load_graph(self, channel: str, vectors: VectorSet) -> None:
        """Puts into `graphs` the channel's graph and the rows that it does not cover; (None, no rows) if the
        segment is missing or damaged. Others may search meanwhile.
        """
        if channel in self.graphs:
            return
        segment = self._file.load(
            lambda db: segments.load(db, segments.hnsw_name(channel), hnsw.VERSION, self._file.photos)
        )
        try:
            self.graphs[channel] = (
                (None, _NONE)
                if segment is None
                else (hnsw.load(segment.blob, vectors, segment.behind), segment.behind)
            )
        except AlbumError:
            self.graphs[channel] = (None, _NONE)

    def _load_wanted_graphs(self, names: Collection[str]) -> None:
        for channel in self.channels():
            if segments.hnsw_name(channel) in names and (vectors := self._vectors(channel)) is not None:
                self._load_graph(channel, vectors)
