"""The HNSW graph engines (usearch, hnswlib) behind one small interface.

Each engine module has two functions. `build(codes) -> bytes` serialises the links of a graph over int8 [n, d]
codes, without the codes, which the album's rows already hold. `load(links, codes) -> Walk` opens the graph
over the same codes, or over the same number of codes if some changed since; it raises AlbumError for links
that are not a graph over n vectors.

usearch is the default: it searches bytes, a quarter of the memory traffic of hnswlib's floats, has wheels for
every system, and its links can be separated from its vectors. `gamer bench study ann` measures both.
"""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from ...errors import AlbumError
from ...records import RowArray
from ..quantize import Int8Array

_MODULES = {"usearch": "usearch_graph", "hnswlib": "hnswlib_graph"}
NAMES = tuple(_MODULES)
DEFAULT = "usearch"


class Walk(Protocol):
    def nearest(self, query: Int8Array, count: int) -> RowArray:
        """int64: the indices of at most `count` near codes, nearest first, by the engine's distances."""


class Engine(Protocol):
    def build(self, codes: Int8Array) -> bytes: ...

    def load(self, links: bytes, codes: Int8Array) -> Walk: ...


def engine(name: str) -> Engine:
    if name not in _MODULES:
        raise AlbumError(f"unknown graph engine {name!r}; choose one of: {', '.join(NAMES)}")
    return cast(Engine, import_module(f".{_MODULES[name]}", __name__))
