"""The HNSW segment: usearch's links over the vectors of one channel, without the vectors.

It proposes candidates; the caller ranks them. The links number the vectors in order of (photo, chunk) at the
time the graph was built, so the segment also stores how many chunks each photo had. A photo that changed
since keeps its nodes in the graph, but these nodes are never returned.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from ..errors import AlbumError
from ..records import RowArray
from . import usearch_graph
from .quantize import Int8Array, Query, VectorSet

MAGIC = b"GHNS"
VERSION = 2
LIBRARY = b"usearch"
# Magic, version, dimensions, vectors, photos, library; then uint16 chunks of each photo, and the links.
_HEADER = struct.Struct("<4sHHQQ16s")


class Hnsw:
    """An opened graph over the vectors of a VectorSet.

    `places`: int64, the VectorSet position of each graph node, -1 where the photo has changed since; None if
    node numbers and positions are the same.
    """

    def __init__(self, walk: usearch_graph.UsearchWalk, places: RowArray | None, size: int) -> None:
        self._walk, self._places, self._size = walk, places, size

    def __len__(self) -> int:
        return self._size

    def candidates(self, query: Query, count: int) -> RowArray:
        """VectorSet positions of at most `count` near vectors, nearest first by usearch's distances."""
        if count < 1 or not self._size:
            return np.empty(0, np.int64)
        nodes = self._walk.nearest(query.first, min(count, self._size))
        if self._places is None:
            return nodes
        positions = self._places[nodes]
        return positions[positions >= 0]


def build(vectors: VectorSet, photos: int) -> bytes:
    """Builds a graph and returns the segment's bytes. `photos`: the album's number of photo rows."""
    counts = np.bincount(vectors.owners, minlength=photos).astype("<u2")
    head = _HEADER.pack(MAGIC, VERSION, vectors.dim, len(vectors), photos, LIBRARY)
    return head + counts.tobytes() + usearch_graph.build(vectors.codes)


def load(blob: bytes, vectors: VectorSet, behind: RowArray) -> Hnsw:
    """Opens a segment. `behind`: int64, the photo rows that changed since it was built.

    Raises AlbumError if the bytes are not a graph over the vectors of the other rows.
    """
    counts = counts_of(blob)
    _, version, dim, n, photos, library = _HEADER.unpack_from(blob)
    if library.rstrip(b"\0") != LIBRARY:
        raise AlbumError(
            "HNSW segment: made by a library that this program does not read; rebuild the segment"
        )
    if version != VERSION or dim != vectors.dim:
        raise AlbumError(
            f"HNSW segment: version {version} of {dim} dimensions, expected {VERSION} of {vectors.dim}; "
            "rebuild the segment"
        )
    if int(counts.sum()) != n:
        raise AlbumError(
            f"HNSW segment: {int(counts.sum())} chunks where {n} were promised; rebuild the segment"
        )
    places = _places(counts, vectors, behind)
    codes = vectors.codes[:n] if places is None else _codes(vectors.codes, places)
    return Hnsw(usearch_graph.load(blob[_HEADER.size + 2 * photos :], codes), places, n)


def counts_of(blob: bytes) -> RowArray:
    """int64 [photos]: how many vectors each photo had when the graph was built. Raises AlbumError."""
    if len(blob) < _HEADER.size or blob[:4] != MAGIC:
        raise AlbumError("HNSW segment: not a graph; rebuild the segment")
    photos = int(_HEADER.unpack_from(blob)[4])
    if len(blob) < _HEADER.size + 2 * photos:
        raise AlbumError("HNSW segment: shorter than its number of photos; rebuild the segment")
    return np.frombuffer(blob, "<u2", photos, _HEADER.size).astype(np.int64)


def _places(counts: RowArray, vectors: VectorSet, behind: RowArray) -> RowArray | None:
    now = np.bincount(vectors.owners, minlength=counts.size)[: counts.size]
    stale = now != counts
    if not stale.any() and not (behind < counts.size).any():
        return None
    if np.setdiff1d(np.flatnonzero(stale[: len(now)]), behind).size and (
        vectors.owners.size and int(vectors.owners[-1]) >= counts.size - 1
    ):
        raise AlbumError("HNSW segment: its photos have other vectors than the rows; rebuild the segment")
    fresh = ~stale
    fresh[behind[behind < counts.size]] = False
    owners = np.repeat(np.arange(counts.size, dtype=np.int64), counts)
    first = np.cumsum(counts) - counts
    begin = np.searchsorted(vectors.owners, np.arange(counts.size))
    at = begin[owners] + np.arange(owners.size) - first[owners]
    return np.asarray(np.where(fresh[owners], at, -1), np.int64)


def _codes(codes: Int8Array, places: RowArray) -> NDArray[np.int8]:
    """The codes in node order; a node without a current vector gets zeros, which are near to no query."""
    out = codes[np.maximum(places, 0)]
    out[places < 0] = 0
    return out
