"""The engines that the study `ann` compares with ours, each in the form that serves filtered search best.

NEEDS says what each is imported from; one that is not installed is left out. A search returns ids. Whatever
it has to build from the array of allowed rows counts as its time. `ways` gives the search forms at a
selectivity, each with rising efforts; the fastest setting that reaches the recall is reported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gamer.index import FloatArray, RowArray
from gamer.index.installing import install
from gamer.index.vectors import usearch_graph

Found = Iterable[Any]
# The module that an engine is imported from, and the extra that installs it ("": installed with the project).
NEEDS = {
    "usearch": ("usearch", ""),
    "hnswlib": ("hnswlib", "hnswlib"),
    "faiss": ("faiss", "bench"),
    "sqlite-vec": ("sqlite_vec", "bench"),
}
M, EF_CONSTRUCTION = 16, 96
EFFORTS = (16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
_K = 10


@dataclass(frozen=True)
class LeftOut:
    """An engine that is not measured, and why."""

    algorithm: str
    why: str


def available(names: Sequence[str]) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """The engines of `names` that can be imported, and the others; nothing is imported."""
    missing = [name for name in names if find_spec(NEEDS[name][0]) is None]
    return tuple(name for name in names if name not in missing), tuple(
        LeftOut(name, _install(*NEEDS[name])) for name in missing
    )


def _install(module: str, extra: str) -> str:
    return f"{module} is not installed: {install(extra)}"


class Peer(Protocol):
    name: str
    version: str
    how: str
    indexsize: int

    def ways(self, share: float) -> dict[str, Sequence[int]]: ...

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found: ...

    def close(self) -> None: ...


class Usearch:
    """usearch takes no filter in Python, so filtered search has two forms here.

    One asks for more neighbours and filters them; the other scans the rows that pass with usearch's exact
    search.

    Vectors are half floats: with usearch's default of brain floats it does not reach recall 0.99 here, and
    with its own int8 still less.
    """

    name, how = (
        "usearch",
        "f16; more neighbours asked for and filtered after; exact search over the rows that pass",
    )

    def __init__(self, x: FloatArray, folder: Path) -> None:
        self.version, self._x = version("usearch"), x.astype(np.float16)
        self._index = usearch_graph.library().Index(
            ndim=x.shape[1], metric="ip", dtype="f16", connectivity=M, expansion_add=EF_CONSTRUCTION
        )
        self._index.add(np.arange(len(x)), x, threads=0)
        self.indexsize = int(self._index.serialized_length)

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        if share == 1:
            return {"ef": EFFORTS}
        return {"ask for": [e for e in EFFORTS if e * share >= _K], "exact": (0,)}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found:
        if way == "exact":
            assert rows is not None
            matches = usearch_graph.library().search(
                self._x[rows], query.astype(np.float16), min(_K, rows.size), "ip", exact=True, threads=1
            )
            return list(rows[matches.keys.astype(np.int64)])
        if rows is None:
            self._index.expansion_search = value
            return np.asarray(self._index.search(query, _K, threads=1).keys)
        keys = self._index.search(query, value, threads=1).keys.astype(np.int64)
        at = np.minimum(np.searchsorted(rows, keys), rows.size - 1)
        return list(keys[rows[at] == keys][:_K])

    def close(self) -> None:
        self._index.reset()


class Hnswlib:
    """Its filter is a Python callback for each vector that the search visits."""

    name, how = "hnswlib", "float; filter callback over a mask"

    def __init__(self, x: FloatArray, folder: Path) -> None:
        import hnswlib

        self.version, self._n = version("hnswlib"), len(x)
        self._index = hnswlib.Index("ip", x.shape[1])
        self._index.init_index(len(x), M=M, ef_construction=EF_CONSTRUCTION)
        self._index.add_items(x)
        self._index.set_num_threads(1)
        self._index.save_index(str(folder / "ann.hnswlib"))
        self.indexsize = (folder / "ann.hnswlib").stat().st_size

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        return {"ef": EFFORTS if share == 1 else [e for e in EFFORTS if e >= 64]}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found:
        self._index.set_ef(value)
        if rows is None:
            return np.asarray(self._index.knn_query(query, _K)[0][0])
        mask = np.zeros(self._n, np.bool_)
        mask[rows] = True
        allowed = mask.tobytes()
        try:
            return np.asarray(
                self._index.knn_query(query, min(_K, rows.size), filter=lambda at: allowed[at])[0][0]
            )
        except RuntimeError:  # fewer than k found
            return []

    def close(self) -> None:
        del self._index


class Faiss:
    """Its HNSW visits only ids that a selector allows; its flat index computes only the ids listed."""

    name, how = "faiss", "IndexHNSWFlat with IDSelectorBitmap; IndexFlatIP with IDSelectorArray"

    def __init__(self, x: FloatArray, folder: Path) -> None:
        faiss = self._faiss = importlib.import_module("faiss")
        self.version, self._n = version("faiss-cpu"), len(x)
        self._flat = faiss.IndexFlatIP(x.shape[1])
        self._flat.add(x)
        self._index = faiss.IndexHNSWFlat(x.shape[1], M, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = EF_CONSTRUCTION
        self._index.add(x)
        faiss.omp_set_num_threads(1)
        faiss.write_index(self._index, str(folder / "ann.faiss"))
        self.indexsize = (folder / "ann.faiss").stat().st_size

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        if share == 1:
            return {"efSearch": EFFORTS, "flat": (0,)}
        return {"efSearch": [e for e in EFFORTS if e >= 32], "flat": (0,)}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found:
        faiss = self._faiss
        if way == "flat":
            chosen = None if rows is None else faiss.SearchParameters(sel=faiss.IDSelectorArray(rows))
            return np.asarray(self._flat.search(query[None], _K, params=chosen)[1][0])
        if rows is None:
            return np.asarray(
                self._index.search(query[None], _K, params=faiss.SearchParametersHNSW(efSearch=value))[1][0]
            )
        mask = np.zeros(self._n, np.bool_)
        mask[rows] = True
        selector = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
        return np.asarray(
            self._index.search(
                query[None], _K, params=faiss.SearchParametersHNSW(efSearch=value, sel=selector)
            )[1][0]
        )

    def close(self) -> None:
        self._index.reset()
        self._flat.reset()


class SqliteVec:
    """A scan in SQL, with the allowed rows given by rowid."""

    name, how = "sqlite-vec", "vec0 float, scan; rowid in (...)"

    def __init__(self, x: FloatArray, folder: Path) -> None:
        import apsw

        extension = importlib.import_module("sqlite_vec")
        self.version, path = version("sqlite-vec"), folder / "ann.sqlite"
        path.unlink(missing_ok=True)
        self._db = apsw.Connection(str(path))
        self._db.enable_load_extension(True)
        self._db.load_extension(extension.loadable_path())
        self._db.execute(f"CREATE VIRTUAL TABLE v USING vec0(e float[{x.shape[1]}])")
        with self._db:
            self._db.executemany(
                "INSERT INTO v(rowid, e) VALUES(?,?)", ((at, x[at].tobytes()) for at in range(len(x)))
            )
        self.indexsize = path.stat().st_size

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        return {"scan": (0,)}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found:
        among = "" if rows is None else f" AND rowid IN ({','.join(map(str, rows.tolist()))})"
        records = self._db.execute(
            f"SELECT rowid FROM v WHERE e MATCH ? AND k = {_K}{among}", (query.tobytes(),)
        )
        return [row[0] for row in records]

    def close(self) -> None:
        self._db.close()


PEERS: dict[str, Callable[[FloatArray, Path], Peer]] = {
    "usearch": Usearch,
    "hnswlib": Hnswlib,
    "faiss": Faiss,
    "sqlite-vec": SqliteVec,
}
