"""The hnswlib engine: a graph's links, stored without the vectors.

It is an optional extra, because hnswlib is distributed as source only and needs a compiler. hnswlib computes
in floats, so the codes are converted to floats (four times the memory of usearch's). Its level 0 holds for
each vector a count, links, the vector and a label; the vectors are removed when saving and put back on load.
hnswlib writes and reads its format through a temporary file. It does not validate its input, so every link of
level 0 and of the levels above is checked here.
"""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from ...errors import AlbumError
from ...installing import install
from ...records import FloatArray, RowArray
from ..quantize import Int8Array

M, EF_CONSTRUCTION = 16, 96
# Offset of level 0, capacity, count, bytes per element, offsets of label and vector, greatest level, entry
# point, M of the upper levels, M of level 0, M, 1 / ln M, ef.
_HEAD = struct.Struct("<6QiI3QdQ")


class HnswlibWalk:
    def __init__(self, index: Any) -> None:
        self._index, self._lock = index, Lock()

    def nearest(self, query: Int8Array, count: int) -> RowArray:
        count = min(count, int(self._index.element_count))
        # ef is a setting of the index, not of the call: without the lock another thread could change it.
        with self._lock:
            self._index.set_ef(count)
            while count:
                try:
                    return np.asarray(self._index.knn_query(query.astype(np.float32), count)[0][0], np.int64)
                except RuntimeError:
                    # Fewer than `count` vectors can be reached: dense clusters cut others off the graph.
                    count //= 2
        return np.zeros(0, np.int64)


def build(codes: Int8Array) -> bytes:
    n, dim = codes.shape
    index = _hnswlib().Index("ip", dim)
    index.init_index(max(n, 1), M=M, ef_construction=EF_CONSTRUCTION)
    index.add_items(_unit(codes), np.arange(n), num_threads=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "graph")
        index.save_index(str(file))
        saved = file.read_bytes()
    size, at, end = _layout(saved, dim)
    level0 = np.frombuffer(saved, np.uint8, n * size, _HEAD.size).reshape(n, size)
    without_vectors = np.concatenate([level0[:, :at], level0[:, end:]], axis=1)
    return saved[: _HEAD.size] + without_vectors.tobytes() + saved[_HEAD.size + n * size :]


def load(links: bytes, codes: Int8Array) -> HnswlibWalk:
    n, dim = codes.shape
    size, at, end = _layout(links, dim)
    rest = size - (end - at)
    _check(links, n, rest, at)
    without_vectors = np.frombuffer(links, np.uint8, n * rest, _HEAD.size).reshape(n, rest)
    level0 = np.empty((n, size), np.uint8)
    level0[:, :at], level0[:, end:] = without_vectors[:, :at], without_vectors[:, at:]
    level0[:, at:end] = _unit(codes).view(np.uint8)
    index = _hnswlib().Index("ip", dim)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "graph")
        file.write_bytes(links[: _HEAD.size] + level0.tobytes() + links[_HEAD.size + n * rest :])
        try:
            index.load_index(str(file), max_elements=max(n, 1))
        except RuntimeError as error:
            raise AlbumError(f"HNSW segment: hnswlib refuses it ({error}); rebuild the segment") from None
    index.set_num_threads(1)
    return HnswlibWalk(index)


def _hnswlib() -> Any:
    try:
        import hnswlib
    except ImportError:
        raise AlbumError(
            f"the graph engine hnswlib is not installed: {install('hnswlib')}, which wants a C++ compiler"
        ) from None
    return hnswlib


def _unit(codes: Int8Array) -> FloatArray:
    floats = codes.astype(np.float32)
    return np.asarray(floats / np.maximum(np.linalg.norm(floats, axis=1, keepdims=True), 1e-9), np.float32)


def _layout(saved: bytes, dim: int) -> tuple[int, int, int]:
    """Bytes per element of level 0, and the offsets at which its vector begins and ends."""
    if len(saved) < _HEAD.size:
        raise AlbumError("HNSW segment: not a graph of hnswlib; rebuild the segment")
    _, _, _, size, label, at, *_ = _HEAD.unpack_from(saved)
    if (size, label, at) != (4 + 8 * M + 4 * dim + 8, 4 + 8 * M + 4 * dim, 4 + 8 * M):
        raise AlbumError("HNSW segment: not a graph of hnswlib over these vectors; rebuild the segment")
    return size, at, label


def _check(links: bytes, n: int, rest: int, at: int) -> None:
    _, capacity, count, _, _, _, top, entry, wide, wide0, _, _, _ = _HEAD.unpack_from(links)
    sane = (
        count == n <= capacity
        and wide == M
        and wide0 == 2 * M
        and len(links) >= _HEAD.size + n * rest + 4 * n
    )
    if not sane or (n and not (entry < n and 0 <= top < 64)):
        raise AlbumError("HNSW segment: its head does not fit its nodes; rebuild the segment")
    level0 = np.ascontiguousarray(
        np.frombuffer(links, np.uint8, n * rest, _HEAD.size).reshape(n, rest)[:, :at]
    ).view("<u4")
    _check_links(level0, wide0, n)
    position, greatest = _HEAD.size + n * rest, 0
    for slot in range(n):
        (size,) = struct.unpack_from("<I", links, position) if position + 4 <= len(links) else (1,)
        if size % (4 + 4 * wide) or position + 4 + size > len(links):
            raise AlbumError("HNSW segment: levels of the wrong length; rebuild the segment")
        if size:
            _check_links(np.frombuffer(links, "<u4", size // 4, position + 4).reshape(-1, 1 + wide), wide, n)
        greatest = max(greatest, size // (4 + 4 * wide))
        if slot == entry and size // (4 + 4 * wide) != top:
            raise AlbumError("HNSW segment: its entry is not at the top; rebuild the segment")
        position += 4 + size
    if n and (greatest != top or position != len(links)):
        raise AlbumError("HNSW segment: levels of the wrong length; rebuild the segment")


def _check_links(block: np.ndarray[Any, Any], wide: int, n: int) -> None:
    counts = block[:, :1] & 0xFFFF  # the upper 16 bits mark deleted elements
    used = np.arange(wide) < counts
    if int(counts.max(initial=0)) > wide or int(np.where(used, block[:, 1:], 0).max(initial=0)) >= n:
        raise AlbumError("HNSW segment: links that lead nowhere; rebuild the segment")
