"""Filtered nearest neighbours: our album beside usearch, hnswlib, faiss and sqlite-vec, on the same vectors,
in one run, on one thread.

Figures are named as in ann-benchmarks (k-nn recall, qps, p95, build, indexsize), with selectivity as a
further dimension: for each query a fresh random set of rows passes the filter, and every engine is handed the
same ascending array of them. Turning that into whatever the engine wants is inside its time. Recall is
against exact float search among the rows that pass. No speed is reported without its recall.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, FloatArray, Photo, RowArray
from gamer.index.vectors import engines

from .. import machine
from ..retrieval.datasets import DatasetError, read_jsonl
from . import ann_peers
from .ann_peers import Found, Peer

SELECTIVITIES = (1.0, 0.1, 0.01, 0.001, 0.0001)
K = 10
RECALL = 0.99
# over all queries; the best of each counts, as in ann-benchmarks, so that another program's moment does not
_PASSES = 3
_SECONDS = 1.0  # a pass lasts about this long at most
_FEWEST = 40  # queries, however long they take


@dataclass(frozen=True)
class Run:
    """One setting of one engine at one selectivity. `knn`: recall@k."""

    algorithm: str
    parameters: str
    selectivity: float
    knn: float
    qps: float
    p50_ms: float
    p95_ms: float
    queries: int


@dataclass(frozen=True)
class Built:
    """`indexsize`: bytes that the engine keeps on disk for vectors and graph; ours are the album's rows and
    segment.
    """

    algorithm: str
    version: str
    how: str
    build_s: float
    indexsize: int
    bytes_per_vector: float


@dataclass(frozen=True)
class Ann:
    machine: machine.Machine
    data: str
    vectors: int
    dim: int
    k: int
    recall_wanted: float
    built: tuple[Built, ...]
    runs: tuple[Run, ...]
    fastest: tuple[Run, ...]
    file_bytes: int
    when: str


def clustered(n: int, dim: int, queries: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """√n centres, each point off its centre by 0.7 of a unit in a direction of its own; queries are more such
    points. The noise has no preferred direction: neighbours are nearly as far as one another, which is the
    hardest for quantisers and graphs alike."""
    rng = np.random.default_rng(seed)
    centres = _unit(rng.standard_normal((max(10, int(n**0.5)), dim), np.float32))

    def draw(count: int) -> FloatArray:
        return _unit(
            centres[rng.integers(0, len(centres), count)]
            + np.float32(0.7) * _unit(rng.standard_normal((count, dim), np.float32))
        )

    return draw(n), draw(queries)


def texts(
    folder: Path, bundle: Path, queries: int, cache: Path | None, progress: Callable[[str], None]
) -> tuple[FloatArray, FloatArray]:
    """Every memory of the data sets under `folder`, and their queries, through the bundle's text encoder."""
    kept = cache / "ann-texts.npz" if cache else None
    if kept and kept.is_file():
        found = np.load(kept, allow_pickle=False)
        return found["x"], found["q"][:queries]
    from gamer.runtime.models.models import Models

    encoder = Models.open(bundle).text
    sets = [_texts_of(folder, "corpus", "text"), _texts_of(folder, "queries", "query")]
    x, q = (_encode(encoder.encode, lines, progress) for lines in sets)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, x=x, q=q)
    return x, q[:queries]


def _texts_of(folder: Path, what: str, field: str) -> list[str]:
    files = sorted(folder.rglob(f"*.{what}.jsonl.gz"))
    lines = list(dict.fromkeys(str(row[field]) for file in files for row in read_jsonl(file, field)))
    if not lines:
        raise DatasetError(f"{folder}: no *.{what}.jsonl.gz below it")
    return [lines[at] for at in np.random.default_rng(0).permutation(len(lines))]


def _encode(
    encode: Callable[[Sequence[str]], FloatArray], lines: list[str], progress: Callable[[str], None]
) -> FloatArray:
    out = []
    for start in range(0, len(lines), 64):
        progress(f"encoding {start} of {len(lines)}")
        out.append(encode(lines[start : start + 64]))
    return np.concatenate(out)


def measure(
    name: str,
    x: FloatArray,
    q: FloatArray,
    peers: Sequence[str],
    folder: Path,
    progress: Callable[[str], None],
    threads: int = 1,
) -> Ann:
    """Builds ours and each peer in turn and runs all selectivities.

    `folder` takes the album and what the peers write.
    """
    runs: list[Run] = []
    built: list[Built] = []
    file_bytes = 0
    cases = [(share, *_case(x, q, share)) for share in SELECTIVITIES]
    for peer_name in ("gamer", *peers):
        progress(f"building {peer_name}")
        begin = time.perf_counter()
        peer: Peer = (
            OURS[peer_name](x, folder) if peer_name in OURS else ann_peers.PEERS[peer_name](x, folder)
        )
        seconds = time.perf_counter() - begin
        built.append(
            Built(
                peer.name,
                peer.version,
                peer.how,
                round(seconds, 1),
                peer.indexsize,
                round(peer.indexsize / len(x), 1),
            )
        )
        if isinstance(peer, Ours) and peer.name == "gamer":
            file_bytes = peer.file_bytes
        for share, filters, truth in cases:
            progress(f"{peer_name} at {share:.2%}")
            best = max((r.qps for r in runs if r.selectivity == share and r.knn >= RECALL), default=0.0)
            runs += _sweep(peer, q, share, filters, truth, best)
        peer.close()
    fastest = [
        max(
            (r for r in runs if r.algorithm == b.algorithm and r.selectivity == s and r.knn >= RECALL),
            key=lambda r: r.qps,
            default=None,
        )
        for s in SELECTIVITIES
        for b in built
    ]
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    kept = tuple(r for r in fastest if r is not None)
    return Ann(
        machine=machine.read(),
        data=name,
        vectors=len(x),
        dim=x.shape[1],
        k=K,
        recall_wanted=RECALL,
        built=tuple(built),
        runs=tuple(runs),
        fastest=kept,
        file_bytes=file_bytes,
        when=when,
    )


def _case(x: FloatArray, q: FloatArray, share: float) -> tuple[list[RowArray | None], list[set[int]]]:
    rng, n = np.random.default_rng(7), len(x)
    count = max(1, round(n * share))
    filters: list[RowArray | None] = [
        None if share == 1 else np.sort(rng.choice(n, count, replace=False)) for _ in q
    ]
    truth = []
    for query, rows in zip(q, filters, strict=True):
        scores = (x if rows is None else x[rows]) @ query
        best = np.argsort(-scores, kind="stable")[:K]
        truth.append(set((best if rows is None else rows[best]).tolist()))
    return filters, truth


def _sweep(
    peer: Peer,
    q: FloatArray,
    share: float,
    filters: list[RowArray | None],
    truth: list[set[int]],
    best: float,
) -> Iterator[Run]:
    """Every way the peer has, each with rising effort until it reaches the recall, or is ten times slower
    than `best`, which did.
    """
    for way, settings in peer.ways(share).items():
        for value in settings:
            run = _time(peer, way, value, q, share, filters, truth)
            yield run
            if run.knn >= RECALL or run.qps < best / 10:
                break


def _time(
    peer: Peer,
    way: str,
    value: int,
    q: FloatArray,
    share: float,
    filters: list[RowArray | None],
    truth: list[set[int]],
) -> Run:
    for at in range(min(5, len(q))):
        peer.search(way, value, q[at], filters[at])
    best: list[float] = []
    found: list[Found] = []
    for turn in range(_PASSES):
        spent = 0.0
        for at in range(len(q) if turn == 0 else len(best)):
            begin = time.perf_counter()
            result = peer.search(way, value, q[at], filters[at])
            took = time.perf_counter() - begin
            spent += took
            if turn == 0:
                best.append(took)
                found.append(result)
                if at + 1 >= _FEWEST and spent > _SECONDS:
                    break
            best[at] = min(best[at], took)
    recall = float(
        np.mean(
            [
                len({int(i) for i in ids} & wanted) / len(wanted)
                for ids, wanted in zip(found, truth, strict=False)
            ]
        )
    )
    p50, p95 = np.percentile(best, (50, 95)) * 1e3
    parameters = f"{way} {value}" if value else way
    return Run(
        algorithm=peer.name,
        parameters=parameters,
        selectivity=share,
        knn=round(recall, 4),
        qps=round(len(best) / sum(best), 1),
        p50_ms=round(float(p50), 4),
        p95_ms=round(float(p95), 4),
        queries=len(best),
    )


class Ours:
    """An album file, written by the writer, opened by the reader, searched by the call that a
    search makes.
    """

    how = "Album.search_vectors; the planner chooses scan or graph"

    def __init__(self, x: FloatArray, folder: Path, engine: str = engines.DEFAULT) -> None:
        self.name = "gamer" if engine == engines.DEFAULT else f"gamer-{engine}"
        self.version = f"int8 + quarters, {engine} links"
        path = folder / f"{self.name}.gamer"
        with AlbumWriter.create(path, AlbumMeta("ann", "ann", x.shape[1], 1.0), engine=engine) as writer:
            for start in range(0, len(x), 5000):
                writer.add(
                    [
                        Encoded(Photo(f"{at}"), {"text": x[at : at + 1]})
                        for at in range(start, min(start + 5000, len(x)))
                    ]
                )
            writer.finish(lambda names: np.zeros((len(names), x.shape[1]), np.float32))
        self._album = Album.open(path)
        self.indexsize = (
            sum(c.bytes for c in self._album.stats().channels) + 8 * len(x) + -(-x.shape[1] // 4) * len(x)
        )
        self.indexsize += sum(s.bytes for s in self._album.stats().segments if s.name.startswith("hnsw"))
        self.file_bytes = path.stat().st_size

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        return {"auto": (0,), "exact": (0,), "hnsw": (0,)}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> Found:
        return self._album.search_vectors("text", query, K, rows, way).rows  # type: ignore[arg-type]

    def close(self) -> None:
        self._album.close()


OURS: dict[str, Callable[[FloatArray, Path], Ours]] = {
    "gamer": Ours,
    "gamer-hnswlib": lambda x, folder: Ours(x, folder, "hnswlib"),
}


def _unit(x: FloatArray) -> FloatArray:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)
