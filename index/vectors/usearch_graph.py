"""A graph's links by usearch, stored without the vectors (usearch's serialised form, version 2).

usearch writes the matrix of vectors, then a 64-byte head, a 40-byte head of the graph, the level of each node
(int16), and the nodes: key (uint64), level (int16), and for each level a count and room for as many links
(uint32 each). The segment stores the heads, the levels, the keys if they are not in order, the lowest level
with one-byte counts and three-byte links, and the upper levels unchanged: 104 bytes a vector where usearch
takes 148 beside the vectors. Loading restores usearch's layout around the rows' codes in an order that suits
a processor's cache, and usearch reads that buffer without a copy. usearch does not validate its input, so
every link is checked here.

The int8 codes are added unchanged, not through usearch's cast of floats, which keeps five levels of a unit
vector's components at 768 dimensions and loses recall. Cosine does not depend on the scale.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import struct
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ..errors import AlbumError
from ..records import RowArray
from .quantize import Int8Array

Bytes = NDArray[np.uint8]
Links = NDArray[np.uint32]

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
_BLOCK = 4096  # vectors that stay in the processor's cache
_LINE = 64  # bytes of a line of it


@dataclass(frozen=True, eq=False)
class Nodes:
    """The nodes of a graph, node by node.

    `levels`, `keys`: int64 [n], the highest level and which vector it is. `counts`: int64 [n], how many of
    `lowest` (uint32 [n, 32]), the links on the lowest level, are used. `upper`: uint32 [sum of levels, 17],
    for each higher level of each node the number of its links, and these. Unused links are 0.
    """

    levels: RowArray
    keys: RowArray
    counts: RowArray
    lowest: Links
    upper: Links


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
    return _pack(np.frombuffer(bytes(index.save()), np.uint8)[8 + n * dim :], n)


def load(links: bytes, codes: Int8Array) -> UsearchWalk:
    """The graph over `codes` (int8 [n, d]). Raises AlbumError for bytes that are not one.

    What lies beside each other in memory is what a walk reads together: the nodes are renumbered in breadth-
    first order. The codes are brought to one length, so that a product tells what a cosine tells.
    """
    n, dim = codes.shape
    stored, entry = _parts(links, n), int(_GRAPH.unpack_from(links, 64)[4])
    _check(links, stored, n)
    order = by_breadth(stored.lowest, stored.counts, entry)
    nodes = renumbered(stored, order)
    starts, sizes = _places(nodes.levels)
    matrix, first = 8 + codes.size, 8 + codes.size + _HEADS + 2 * n
    buffer = _aligned(first + int(sizes.sum()), 8)
    buffer[:8] = np.frombuffer(struct.pack("<II", n, dim), np.uint8)
    _of_one_length(codes, nodes.keys, buffer[8:matrix].view(np.int8).reshape(n, dim))
    buffer[matrix : matrix + _HEADS] = np.frombuffer(links, np.uint8, _HEADS)
    if n:
        buffer[matrix + _HEADS - 8 : matrix + _HEADS].view("<u8")[0] = np.flatnonzero(order == entry)[0]
    buffer[matrix + _HEADS : first] = nodes.levels.astype("<i2").view(np.uint8)
    _unpack(buffer[first:], starts, nodes)
    index = _empty(dim, "ip")
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


def by_breadth(links: Links, counts: RowArray, entry: int) -> RowArray:
    """int64 [n]: the nodes as a breadth-first walk from the entry meets them, then those that it never does.

    `links`, `counts`: as of Nodes.
    """
    n = len(links)
    used, seen, turns = (
        np.arange(links.shape[1]) < counts[:, None],
        np.zeros(n, np.bool_),
        np.empty(n, np.int64),
    )
    front = np.arange(entry, min(entry + 1, n))
    order = [front]
    while front.size:
        seen[front] = True
        met = links[front][used[front]]
        met = met[~seen[met]]
        turn = np.arange(met.size)
        turns[met[::-1]] = turn[::-1]  # of a node that is met several times the first turn stays
        front = met[turns[met] == turn].astype(np.int64)
        order.append(front)
    return np.concatenate([*order, np.flatnonzero(~seen)])


def renumbered(nodes: Nodes, order: RowArray) -> Nodes:
    """The same graph with node order[i] as node i."""
    place = np.empty(len(order), np.uint32)
    place[order] = np.arange(len(order))
    levels = nodes.levels[order]
    begins = (np.cumsum(nodes.levels) - nodes.levels)[order]
    upper = nodes.upper[np.repeat(begins, levels) + _within(levels)]
    upper[:, 1:] = place[upper[:, 1:]]
    return Nodes(levels, nodes.keys[order], nodes.counts[order], place[nodes.lowest[order]], upper)


def _of_one_length(codes: Int8Array, keys: RowArray, out: Int8Array) -> None:
    """Writes into `out` codes[keys], each times what makes it as long as the shortest: but for one in a
    hundred, that a vector with one great component may not take the others' precision.
    """
    norms = np.empty(len(keys), np.float32)
    for begin in range(0, len(keys), _BLOCK):
        block = codes[begin : begin + _BLOCK].astype(np.float32)
        norms[begin : begin + _BLOCK] = np.sqrt(np.einsum("ij,ij->i", block, block))
    length = np.quantile(norms[norms > 0], 0.01) if norms.any() else np.float32(0)
    factors = (length / np.maximum(norms, 1)).astype(np.float32)
    for begin in range(0, len(keys), _BLOCK):
        part = keys[begin : begin + _BLOCK]
        block = codes[part] * factors[part, None]
        out[begin : begin + _BLOCK] = np.rint(block, out=block).clip(-127, 127)


def _aligned(size: int, at: int) -> Bytes:
    """Zeros, of which byte `at` begins a line of the processor's cache."""
    room = np.zeros(size + _LINE, np.uint8)
    begin = -(room.ctypes.data + at) % _LINE
    return room[begin : begin + size]


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


def _empty(dim: int, metric: str = "cos") -> Any:
    return library().Index(
        ndim=dim,
        metric=metric,
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


def _parts(links: bytes, n: int) -> Nodes:
    """Parses the stored links. Raises AlbumError for a wrong length."""
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
    keys = np.arange(n) if in_order else np.frombuffer(links, "<u4", n, at).astype(np.int64)
    at += 0 if in_order else 4 * n
    packed = np.frombuffer(links, np.uint8, n * _PACKED, at).reshape(n, _PACKED)
    wide = np.zeros((n, 2 * CONNECTIVITY, 4), np.uint8)
    wide[:, :, :3] = packed[:, 1:].reshape(n, 2 * CONNECTIVITY, 3)
    lowest = wide.view("<u4")[:, :, 0]
    upper = np.frombuffer(links, "<u4", offset=at + n * _PACKED).reshape(-1, 1 + CONNECTIVITY).copy()
    for counts, near in ((packed[:, :1], lowest), (upper[:, :1], upper[:, 1:])):
        near[np.arange(near.shape[1]) >= counts] = 0  # what stands in unused places means nothing
    return Nodes(levels, keys, packed[:, 0].astype(np.int64), lowest, upper)


def _unpack(out: Bytes, starts: RowArray, nodes: Nodes) -> None:
    windows = sliding(out, _HEAD + _LOWEST)
    for begin in range(0, starts.size, _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        block = np.zeros((starts[part].size, _HEAD + _LOWEST), np.uint8)
        block[:, :8] = nodes.keys[part].astype("<u8")[:, None].view(np.uint8)
        block[:, 8] = nodes.levels[part]
        block[:, _HEAD] = nodes.counts[part]
        block[:, _HEAD + 4 :] = np.ascontiguousarray(nodes.lowest[part], "<u4").view(np.uint8)
        windows[starts[part]] = block
    if len(nodes.upper):
        high = np.repeat(np.arange(starts.size), nodes.levels)
        at = starts[high] + _HEAD + _LOWEST + _within(nodes.levels) * _UPPER
        sliding(out, _UPPER)[at] = np.ascontiguousarray(nodes.upper, "<u4").view(np.uint8)


def _within(levels: RowArray) -> RowArray:
    """int64 [sum of levels]: for each upper level of each node, which of the node's it is, from 0."""
    return np.arange(int(levels.sum())) - np.repeat(np.cumsum(levels) - levels, levels)


def _check(links: bytes, nodes: Nodes, n: int) -> None:
    """Raises AlbumError unless every link points to one of the n nodes, and to one on the link's level."""
    stored, wide, wide0, top, entry = _GRAPH.unpack_from(links, 64)
    sane = (stored, wide, wide0) == (n, CONNECTIVITY, 2 * CONNECTIVITY)
    if not sane or (n and not (entry < n and int(nodes.levels.max()) == top == int(nodes.levels[entry]))):
        raise AlbumError("HNSW segment: its head does not fit its nodes; rebuild the segment")
    if not np.array_equal(np.sort(nodes.keys), np.arange(n)):
        raise AlbumError("HNSW segment: keys that are not 0..n-1; rebuild the segment")
    counts, near = nodes.upper[:, 0], nodes.upper[:, 1:]
    for used, to in ((nodes.counts, nodes.lowest), (counts, near)):
        if int(used.max(initial=0)) > to.shape[1] or int(to.max(initial=0)) >= max(n, 1):
            raise AlbumError("HNSW segment: links that lead nowhere; rebuild the segment")
    low = nodes.levels[near] <= _within(nodes.levels)[:, None]
    if (low & (np.arange(CONNECTIVITY) < counts[:, None])).any():
        raise AlbumError("HNSW segment: links to nodes that are not that high; rebuild the segment")


def sliding(values: Bytes, size: int) -> Bytes:
    """All windows of `size` bytes: uint8 [len(values) - size + 1, size], a view."""
    return (
        sliding_window_view(values, size, writeable=values.flags.writeable)
        if values.size >= size
        else np.empty((0, size), np.uint8)
    )
