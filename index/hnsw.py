"""The HNSW segment: a usearch graph over the int8 bytes of one channel. Proposes candidates; exact ranking is the caller's.

The bytes go in as they are: usearch's own cast of unit vectors to int8 keeps five levels at 768 dimensions and loses recall, whereas
ours are scaled to the data, and cosine does not see a scale. Keys are positions in the channel's VectorSet.
Knows usearch, which is imported on first use. Knows no SQL and no photos.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .errors import AlbumError
from .records import FloatArray, RowArray
from .vectors import Int8Array, quantize

MAGIC = b"GHNS"
VERSION = 1
CONNECTIVITY, EXPANSION_ADD, EXPANSION_SEARCH = 16, 64, 128
_HEADER = struct.Struct("<4sHHQ")  # magic, version, dimensions, vectors; usearch's own serialised index follows


class Hnsw:
    def __init__(self, index: Any, dim: int) -> None:
        self._index = index
        self.dim = dim

    def __len__(self) -> int:
        return len(self._index)

    def candidates(self, query: FloatArray, k: int) -> RowArray:
        """Positions of about k near vectors, nearest first by the graph's rounded distances."""
        count = min(k, len(self))
        if count < 1:
            return np.empty(0, np.int64)
        codes, _ = quantize(query[None, :])
        return np.asarray(self._index.search(codes[0], count).keys, np.int64)

    def to_bytes(self) -> bytes:
        return _HEADER.pack(MAGIC, VERSION, self.dim, len(self)) + bytes(self._index.save())

    @classmethod
    def from_bytes(cls, blob: bytes) -> Hnsw:
        if len(blob) < _HEADER.size or blob[:4] != MAGIC:
            raise AlbumError("HNSW segment: not a graph; rebuild the segment")
        _, version, dim, n = _HEADER.unpack_from(blob)
        if version != VERSION:
            raise AlbumError(f"HNSW segment: version {version}, this program reads {VERSION}; rebuild the segment")
        index = _empty(dim)
        index.load(blob[_HEADER.size :])
        if len(index) != n:
            raise AlbumError(f"HNSW segment: {len(index)} vectors where {n} were promised; rebuild the segment")
        return cls(index, dim)


def build(codes: Int8Array) -> Hnsw:
    """`codes`: int8 [n, d], as stored in the album."""
    index = _empty(int(codes.shape[1]))
    if codes.shape[0]:
        # One thread: parallel insertion lost neighbours (recall@10 0.8 in one of 60 small builds), and gives other bytes each time.
        index.add(np.arange(codes.shape[0], dtype=np.uint64), codes, threads=1)
    return Hnsw(index, int(codes.shape[1]))


def _empty(dim: int) -> Any:
    from usearch.index import Index

    return Index(ndim=dim, metric="cos", dtype="i8", connectivity=CONNECTIVITY, expansion_add=EXPANSION_ADD, expansion_search=EXPANSION_SEARCH)
