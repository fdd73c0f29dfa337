"""A graph's links by usearch, stored without the vectors (usearch's serialised form, version 2).

usearch writes the matrix of vectors, then a 64-byte head, a 40-byte head of the graph, the level of each node
(int16), and the nodes: key (uint64), level (int16), and for each level a count and room for as many links
(uint32 each). The segment stores the heads, the levels, the keys if they are not in order, the lowest level
with one-byte counts and three-byte links, and the upper levels unchanged: 104 bytes a vector where usearch
takes 148 beside the vectors. Loading restores usearch's layout around the rows' codes, and usearch reads that
buffer without a copy. usearch does not validate its input, so every link is checked here.

The int8 codes are added unchanged, not through usearch's cast of floats, which keeps five levels of a unit
vector's components at 768 dimensions and loses recall. Cosine does not depend on the scale.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import struct
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..errors import AlbumError
from ..records import RowArray
from .quantize import Int8Array

Bytes = NDArray[np.uint8]

CONNECTIVITY, EXPANSION_ADD = 16, 96
# The first vectors are inserted on one thread: parallel insertion into a small graph lost neighbours, and its
# result differs from run to run.
_ALONE = 50_000
_HEADS = 64 + 40
_GRAPH = struct.Struct("<5Q")  # nodes, connectivity, connectivity of level 0, greatest level, entry
# Bytes of a node: its key and level, its links on the lowest level, its links on each upper level.
_HEAD, _LOWEST, _UPPER = 10, 4 * (1 + 2 * CONNECTIVITY), 4 * (1 + CONNECTIVITY)
_PACKED = 1 + 3 * 2 * CONNECTIVITY
_AT_ONCE = 1 << 15  # nodes converted at a time


class UsearchWalk:
    def __init__(self, index: Any, buffer: Bytes) -> None:
        self._index, self._held = index, buffer  # referenced, because usearch reads it without a copy

    def nearest(self, query: Int8Array, count: int) -> RowArray:
        # The compiled function is called directly: its Python wrapper costs as much as a small walk.
        keys, _, counts, *_ = self._index._compiled.search_many(
            query[None], count=min(count, len(self._index)), exact=False, threads=1
        )
        return np.asarray(keys[0][: int(counts[0])], np.int64)


def build(codes: Int8Array) -> bytes:
    n, dim = codes.shape
    if n >= 1 << 24:
        raise AlbumError(f"HNSW segment: {n} vectors in one channel; at most {(1 << 24) - 1} have room in it")
    index = _empty(dim)
    if n:
        keys = np.arange(n, dtype=np.uint64)
        index.add(keys[:_ALONE], codes[:_ALONE], threads=1)
        if n > _ALONE:
            index.add(keys[_ALONE:], codes[_ALONE:], threads=os.cpu_count() or 1)
    links = _pack(np.frombuffer(bytes(index.save()), np.uint8)[8 + n * dim :], n)
    # Fewer nodes stay in a processor's cache however they lie, and would need keys that are not stored now.
    return by_breadth(links, n) if n > _ALONE else links


def by_breadth(links: bytes, n: int) -> bytes:
    """The same graph with its nodes numbered as a breadth-first walk from the entry meets them.

    What a search reads together then lies together: a walk among 100,000 vectors of 768 dimensions takes a
    tenth to a fifth less. It is the same walk, because a node's links keep their order. `links`: what `_pack`
    gives, of n nodes.
    """
    levels, keys, lowest, upper = _parts(links, n)
    entry = int(_GRAPH.unpack_from(links, 64)[4])
    counts, near = lowest[:, :1], _wide(lowest)
    used = np.arange(near.shape[1]) < counts
    seen, turns = np.zeros(n, np.bool_), np.empty(n, np.int64)
    front = np.array([entry])
    met_in = [front]
    while front.size:
        seen[front] = True
        met = near[front][used[front]]
        met = met[~seen[met]]
        turn = np.arange(met.size)
        turns[met[::-1]] = turn[::-1]  # of a node that is met several times the first turn stays
        front = met[turns[met] == turn].astype(np.int64)
        met_in.append(front)
    order = np.concatenate([*met_in, np.flatnonzero(~seen)])
    place = np.empty(n, "<u4")
    place[order] = np.arange(n)

    high, begins = levels[order], (np.cumsum(levels) - levels)[order]
    above = np.ascontiguousarray(upper).view("<u4")[np.repeat(begins, high) + _within(high)]
    for to, filled in ((near, used), (above[:, 1:], np.arange(CONNECTIVITY) < above[:, :1])):
        to[:] = np.where(filled, place[np.where(filled, to, 0)], 0)
    packed = np.empty((n, _PACKED), np.uint8)
    packed[:, :1] = counts[order]
    packed[:, 1:] = near[order].view(np.uint8).reshape(n, -1, 4)[:, :, :3].reshape(n, -1)
    return b"".join(
        (
            links[: _HEADS - 8] + struct.pack("<Q", place[entry]) + b"\0" + high.astype("u1").tobytes(),
            (order if keys is None else keys[order]).astype("<u4").tobytes(),
            packed.tobytes(),
            above.tobytes(),
        )
    )


def load(links: bytes, codes: Int8Array) -> UsearchWalk:
    n, dim = codes.shape
    levels, keys, lowest, upper = _parts(links, n)
    _check(links, levels, keys, lowest, upper, n)
    starts, sizes = _places(levels)
    matrix, nodes = 8 + codes.size, 8 + codes.size + _HEADS + 2 * n
    buffer = np.zeros(nodes + int(sizes.sum()), np.uint8)
    buffer[:8] = np.frombuffer(struct.pack("<II", n, dim), np.uint8)
    buffer[8:matrix] = (codes if keys is None else codes[keys]).reshape(-1).view(np.uint8)
    buffer[matrix : matrix + _HEADS] = np.frombuffer(links, np.uint8, _HEADS)
    buffer[matrix + _HEADS : nodes] = levels.astype("<i2").view(np.uint8)
    _unpack(buffer[nodes:], starts, levels, np.arange(n) if keys is None else keys, lowest, upper)
    index = _empty(dim)
    try:
        index.view(buffer)
    except Exception as error:  # usearch raises whatever its C++ throws
        raise AlbumError(f"HNSW segment: usearch refuses it ({error}); rebuild the segment") from None
    if len(index) != n or index.ndim != dim:
        raise AlbumError(
            f"HNSW segment: {len(index)} vectors of {index.ndim} dimensions "
            f"where {n} of {dim} were promised; rebuild the segment"
        )
    return UsearchWalk(index, buffer)


@lru_cache(maxsize=1)
def library() -> Any:
    """The module usearch.index.

    usearch loads its kernels with global symbols, among them parts of a bundled C++ library. ONNX Runtime,
    loaded later, would resolve its own symbols to those and crash; loading the system's C++ library first
    gives its symbols precedence.
    """
    with contextlib.suppress(OSError):  # systems without this library
        ctypes.CDLL("libstdc++.so.6", mode=ctypes.RTLD_GLOBAL)
    return importlib.import_module("usearch.index")


def _empty(dim: int) -> Any:
    return library().Index(
        ndim=dim,
        metric="cos",
        dtype="i8",
        connectivity=CONNECTIVITY,
        expansion_add=EXPANSION_ADD,
        expansion_search=1,
    )


def _places(levels: RowArray) -> tuple[RowArray, RowArray]:
    sizes = _HEAD + _LOWEST + levels * _UPPER
    return np.cumsum(sizes) - sizes, sizes


def _pack(saved: Bytes, n: int) -> bytes:
    levels = saved[_HEADS : _HEADS + 2 * n].view("<i2").astype(np.int64)
    starts, sizes = _places(levels)
    nodes = saved[_HEADS + 2 * n :]
    if int(sizes.sum()) != nodes.size:
        raise AlbumError(
            "HNSW segment: this usearch writes another format; install the version that the program names"
        )
    lowest, keys = np.empty((n, _PACKED), np.uint8), np.empty(n, np.int64)
    for begin in range(0, n, _AT_ONCE):
        block = sliding(nodes, _HEAD + _LOWEST)[starts[begin : begin + _AT_ONCE]]
        keys[begin : begin + _AT_ONCE] = np.ascontiguousarray(block[:, :8]).view("<u8")[:, 0]
        lowest[begin : begin + _AT_ONCE, 0] = block[:, _HEAD]
        links = block[:, _HEAD + 4 :].reshape(len(block), 2 * CONNECTIVITY, 4)
        lowest[begin : begin + _AT_ONCE, 1:] = links[:, :, :3].reshape(len(block), _PACKED - 1)
    high = np.flatnonzero(levels)
    upper = b"".join(
        nodes[starts[at] + _HEAD + _LOWEST : starts[at] + sizes[at]].tobytes() for at in high.tolist()
    )
    in_order = bool(np.array_equal(keys, np.arange(n)))
    order = b"" if in_order else keys.astype("<u4").tobytes()
    return (
        saved[:_HEADS].tobytes()
        + bytes([in_order])
        + levels.astype("u1").tobytes()
        + order
        + lowest.tobytes()
        + upper
    )


def _parts(links: bytes, n: int) -> tuple[RowArray, RowArray | None, Bytes, Bytes]:
    """Parses the stored links.

    Returns levels [n], keys [n] (None if in order), the lowest level uint8 [n, _PACKED], and the upper levels
    uint8 [sum of levels, _UPPER]. Raises AlbumError for a wrong length.
    """
    at = _HEADS + 1
    if len(links) < at + n or links[:7] != b"usearch" or links[_HEADS] > 1:
        raise AlbumError("HNSW segment: not a graph of usearch; rebuild the segment")
    in_order = bool(links[_HEADS])
    levels = np.frombuffer(links, np.uint8, n, at).astype(np.int64)
    expected = at + n + (0 if in_order else 4 * n) + n * _PACKED + int(levels.sum()) * _UPPER
    if len(links) != expected:
        raise AlbumError(
            f"HNSW segment: {len(links)} bytes where {expected} were promised; rebuild the segment"
        )
    at += n
    keys = None if in_order else np.frombuffer(links, "<u4", n, at).astype(np.int64)
    at += 0 if in_order else 4 * n
    lowest = np.frombuffer(links, np.uint8, n * _PACKED, at).reshape(n, _PACKED)
    return levels, keys, lowest, np.frombuffer(links, np.uint8, offset=at + n * _PACKED).reshape(-1, _UPPER)


def _unpack(
    nodes: Bytes, starts: RowArray, levels: RowArray, keys: RowArray, lowest: Bytes, upper: Bytes
) -> None:
    windows = sliding(nodes, _HEAD + _LOWEST)
    for begin in range(0, starts.size, _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        block = np.zeros((starts[part].size, _HEAD + _LOWEST), np.uint8)
        block[:, :8] = keys[part].astype("<u8")[:, None].view(np.uint8)
        block[:, 8] = levels[part]
        block[:, _HEAD] = lowest[part, 0]
        block[:, _HEAD + 4 :].reshape(len(block), 2 * CONNECTIVITY, 4)[:, :, :3] = lowest[part, 1:].reshape(
            len(block), 2 * CONNECTIVITY, 3
        )
        windows[starts[part]] = block
    if len(upper):
        high = np.repeat(np.arange(starts.size), levels)
        sliding(nodes, _UPPER)[starts[high] + _HEAD + _LOWEST + _within(levels) * _UPPER] = upper


def _within(levels: RowArray) -> RowArray:
    """int64 [sum of levels]: for each upper level of each node, which of the node's it is, from 0."""
    return np.arange(int(levels.sum())) - np.repeat(np.cumsum(levels) - levels, levels)


def _wide(lowest: Bytes) -> NDArray[np.uint32]:
    """uint32 [n, 2 * CONNECTIVITY]: the links of the lowest level, which are stored in three bytes each."""
    wide = np.zeros((len(lowest), 2 * CONNECTIVITY, 4), np.uint8)
    wide[:, :, :3] = lowest[:, 1:].reshape(len(lowest), 2 * CONNECTIVITY, 3)
    return wide.view("<u4")[:, :, 0]


def _check(
    links: bytes, levels: RowArray, keys: RowArray | None, lowest: Bytes, upper: Bytes, n: int
) -> None:
    """Raises AlbumError unless every link points to one of the n nodes, and to one on the link's level."""
    nodes, wide, wide0, top, entry = _GRAPH.unpack_from(links, 64)
    sane = (nodes, wide, wide0) == (n, CONNECTIVITY, 2 * CONNECTIVITY)
    if not sane or (n and not (entry < n and int(levels.max()) == top == int(levels[entry]))):
        raise AlbumError("HNSW segment: its head does not fit its nodes; rebuild the segment")
    if keys is not None and not np.array_equal(np.sort(keys), np.arange(n)):
        raise AlbumError("HNSW segment: keys that are not 0..n-1; rebuild the segment")
    for begin in range(0, n, _AT_ONCE):
        block = lowest[begin : begin + _AT_ONCE]
        _check_links(block[:, :1].astype(np.int64), _wide(block), levels, np.zeros(len(block), np.int64), n)
    if len(upper):
        height = _within(levels) + 1
        numbers = np.ascontiguousarray(upper).view("<u4")
        _check_links(numbers[:, :1].astype(np.int64), numbers[:, 1:], levels, height, n)


def _check_links(
    counts: RowArray, links: np.ndarray[Any, Any], levels: RowArray, height: RowArray, n: int
) -> None:
    used = np.where(np.arange(links.shape[1]) < counts, links, links.dtype.type(0))
    if int(counts.max(initial=0)) > links.shape[1] or int(used.max(initial=0)) >= n:
        raise AlbumError("HNSW segment: links that lead nowhere; rebuild the segment")
    low = (
        (levels[used] < height[:, None]) & (np.arange(links.shape[1]) < counts)
        if height.any()
        else np.zeros(1, np.bool_)
    )
    if low.any():
        raise AlbumError("HNSW segment: links to nodes that are not that high; rebuild the segment")


def sliding(values: Bytes, size: int) -> Bytes:
    """All windows of `size` bytes: uint8 [len(values) - size + 1, size], a view."""
    return (
        sliding_window_view(values, size, writeable=values.flags.writeable)
        if values.size >= size
        else np.empty((0, size), np.uint8)
    )
