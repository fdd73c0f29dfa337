"""Filtered nearest neighbours: our album beside usearch, hnswlib, faiss and sqlite-vec.

All engines get the same vectors, in one run, and search on one thread. Figures have the names of
ann-benchmarks (k-nn recall, qps, p95, build, indexsize), with selectivity as a further dimension: for each
query another random set of rows passes the filter, and every engine gets the same ascending array of them.
Converting that array to the engine's own form of filter counts as search time. Recall is against exact float
search among the rows that pass. No speed is reported without its recall.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import click
import numpy as np

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, FloatArray, Photo, RowArray

from .. import machine
from ..retrieval.datasets import DatasetError, read_jsonl
from ..study.declaration import About, Run, Work
from ..study.settings import SettingError
from ..tables import Sheet
from . import ann_peers
from .ann_peers import Found, LeftOut, Peer

SELECTIVITIES = (1.0, 0.1, 0.01, 0.001, 0.0001)
K = 10
RECALL = 0.99
# Passes over the queries. A query's best time counts, as in ann-benchmarks, so that a short load by another
# program does not.
_PASSES = 3
_SECONDS = 1.0  # after this time the first pass ends; the others repeat its queries
_FEWEST = 40  # queries in a pass, however long they take


PEERS = tuple(ann_peers.NEEDS)


@dataclass(frozen=True)
class Settings:
    vectors: Annotated[
        int, About("clustered vectors to make without data", least=100, most=5_000_000, quick=2_000)
    ] = 100_000
    dim: Annotated[int, About("their dimensions", least=8, most=4096)] = 768
    queries: Annotated[int, About("queries", least=10, most=10_000)] = 200
    peer: Annotated[tuple[str, ...], About("engines beside ours; none: all installed", choices=PEERS)] = ()


@dataclass(frozen=True)
class AnnRun:
    """One setting of one engine at one selectivity.

    `knn`: recall@k. `qps`, `p50_ms`, `p95_ms`: from the best time of each query; `cpu_qps`: from the best
    processor time of the searching thread, which other programs lengthen least.
    """

    algorithm: str
    parameters: str
    selectivity: float
    knn: float
    qps: float
    cpu_qps: float
    p50_ms: float
    p95_ms: float
    queries: int


@dataclass(frozen=True)
class Built:
    """One engine after building its index.

    `indexsize`: bytes that it stores for vectors and graph; for ours, the album's rows and segment.
    """

    algorithm: str
    version: str
    how: str
    build_s: float
    indexsize: int
    bytes_per_vector: float


@dataclass(frozen=True)
class Ann:
    """`load`: the machine's before the first index was built (machine.load)."""

    data: str
    vectors: int
    dim: int
    k: int
    load: float | None
    recall_wanted: float
    built: tuple[Built, ...]
    left_out: tuple[LeftOut, ...]
    runs: tuple[AnnRun, ...]
    fastest: tuple[AnnRun, ...]
    file_bytes: int


def clustered(n: int, dim: int, queries: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """Synthetic unit vectors: n around √n centres, and queries of the same distribution, float32 [n, dim].

    Each point is 0.7 from its centre, in a random direction, before it is scaled to unit length. The noise
    has no preferred direction, so that neighbours are nearly as far as one another; this is the hardest case
    for quantisers and graphs alike.
    """
    rng = np.random.default_rng(seed)
    centres = unit(rng.standard_normal((max(10, int(n**0.5)), dim), np.float32))

    def draw(count: int) -> FloatArray:
        return unit(
            centres[rng.integers(0, len(centres), count)]
            + np.float32(0.7) * unit(rng.standard_normal((count, dim), np.float32))
        )

    return draw(n), draw(queries)


def texts(run: Run[Settings]) -> tuple[FloatArray, FloatArray]:
    """Vectors of every memory of the data sets under the run's folder, and of so many of their queries.

    They come from the bundle's text encoder, and are stored in the run's home.
    """
    (folder,), queries = run.data, run.settings.queries
    sets = [_texts_of(folder, "corpus", "text"), _texts_of(folder, "queries", "query")]
    # Another bundle or other texts give other vectors.
    texts_and_tower = json.dumps([run.models.manifest.artifact("text_tower", "onnx").sha256, sets]).encode()
    stored = run.home / f"ann-texts-{sha256(texts_and_tower).hexdigest()[:12]}.npz"
    if stored.is_file():
        arrays = np.load(stored, allow_pickle=False)
        return arrays["x"], arrays["q"][:queries]
    x, q = (_encode(run.models.text.encode, lines, run.tell) for lines in sets)
    np.savez(stored, x=x, q=q)
    return x, q[:queries]


def _texts_of(folder: Path, kind: str, field: str) -> list[str]:
    files = sorted(folder.rglob(f"*.{kind}.jsonl.gz"))
    lines = list(dict.fromkeys(str(row[field]) for file in files for row in read_jsonl(file, field)))
    if not lines:
        raise DatasetError(f"{folder}: no *.{kind}.jsonl.gz below it")
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
    left_out: Sequence[LeftOut],
    folder: Path,
    progress: Callable[[str], None],
) -> Ann:
    """Builds our index and each peer's in turn and measures all selectivities.

    `left_out`: what the result names as not measured. `folder`: where the album and the peers' files are
    written.
    """
    runs: list[AnnRun] = []
    built: list[Built] = []
    file_bytes, load = 0, machine.load()
    cases = [(share, *_case(x, q, share)) for share in SELECTIVITIES]
    for peer_name in ("gamer", *peers):
        progress(f"building {peer_name}")
        begin = time.perf_counter()
        peer: Peer = Ours(x, folder) if peer_name == Ours.name else ann_peers.PEERS[peer_name](x, folder)
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
    reached = tuple(r for r in fastest if r is not None)
    return Ann(
        data=name,
        vectors=len(x),
        dim=x.shape[1],
        k=K,
        load=load,
        recall_wanted=RECALL,
        built=tuple(built),
        left_out=tuple(left_out),
        runs=tuple(runs),
        fastest=reached,
        file_bytes=file_bytes,
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
) -> Iterator[AnnRun]:
    """Runs every search form of the peer with rising effort.

    A form is stopped when it reaches the recall, or is ten times slower than `best`: the queries a second of
    the fastest setting so far that reached the recall.
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
) -> AnnRun:
    for at in range(min(5, len(q))):
        peer.search(way, value, q[at], filters[at])
    best: list[float] = []
    least: list[int] = []
    answers: list[Found] = []
    for turn in range(_PASSES):
        spent = 0.0
        for at in range(len(q) if turn == 0 else len(best)):
            begin, begin_cpu = time.perf_counter(), time.thread_time_ns()
            result = peer.search(way, value, q[at], filters[at])
            nanoseconds, seconds = time.thread_time_ns() - begin_cpu, time.perf_counter() - begin
            spent += seconds
            if turn == 0:
                best.append(seconds)
                least.append(nanoseconds)
                answers.append(result)
                if at + 1 >= _FEWEST and spent > _SECONDS:
                    break
            best[at], least[at] = min(best[at], seconds), min(least[at], nanoseconds)
    recall = float(
        np.mean(
            [
                len({int(i) for i in ids} & wanted) / len(wanted)
                for ids, wanted in zip(answers, truth, strict=False)
            ]
        )
    )
    p50, p95 = np.percentile(best, (50, 95)) * 1e3
    parameters = f"{way} {value}" if value else way
    return AnnRun(
        algorithm=peer.name,
        parameters=parameters,
        selectivity=share,
        knn=round(recall, 4),
        qps=round(len(best) / sum(best), 1),
        cpu_qps=round(1e9 * len(least) / sum(least), 1),
        p50_ms=round(float(p50), 4),
        p95_ms=round(float(p95), 4),
        queries=len(best),
    )


class Ours:
    """An album, written by AlbumWriter and searched by Album.search_vectors, as in a search of the engine."""

    name, version = "gamer", "int8 + quarters, usearch links"
    how = "Album.search_vectors; the planner chooses scan or graph"

    def __init__(self, x: FloatArray, folder: Path) -> None:
        path = folder / f"{self.name}.gamer"
        with AlbumWriter.create(path, AlbumMeta("ann", "ann", x.shape[1], 1.0)) as writer:
            for start in range(0, len(x), 5000):
                writer.add(
                    [
                        Encoded(Photo(f"{at}"), {"text": x[at : at + 1]})
                        for at in range(start, min(start + 5000, len(x)))
                    ]
                )
            writer.finish(lambda names: np.zeros((len(names), x.shape[1]), np.float32))
        self._album = Album.open(path)
        self._album.search_vectors("text", x[0], K)
        self._album.load_graphs(wait=True)
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


def unit(x: FloatArray) -> FloatArray:
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), np.float32)


def study(run: Run[Settings]) -> Ann:
    """Raises DatasetError for data without a bundle, and for an engine that was asked for and is missing."""
    what = run.settings
    if run.data and not run.bundles:
        raise SettingError("DATA needs --bundle, whose text encoder encodes it")
    chosen, left_out = ann_peers.available(what.peer or PEERS)
    if what.peer and left_out:
        raise DatasetError(f"{left_out[0].algorithm}: {left_out[0].why}")
    for one in left_out:
        click.echo(f"{one.algorithm} is left out: {one.why}", err=True)
    x, q = texts(run) if run.data else clustered(what.vectors, what.dim, what.queries)
    with tempfile.TemporaryDirectory() as aside:
        name = "texts" if run.data else "clustered"
        return measure(name, x, q, chosen, left_out, Path(aside), run.tell)


def tables(result: Ann) -> list[Sheet | str]:
    def cell(share: float, algorithm: str) -> str:
        runs = (run for run in result.fastest if (run.selectivity, run.algorithm) == (share, algorithm))
        return next((f"{run.qps:.0f} ({run.parameters}, {run.knn:.3f})" for run in runs), "–")

    title = (
        f"{result.data}: {result.vectors} vectors of {result.dim}, the fastest setting with "
        f"recall@{result.k} ≥ {result.recall_wanted} (load {result.load})"
    )
    rows = [(f"{share:.2%}", *(cell(share, b.algorithm) for b in result.built)) for share in SELECTIVITIES]
    rows.append(("bytes", *(f"{b.bytes_per_vector:.0f}" for b in result.built)))
    sheet = Sheet(title, ("selectivity", *(f"{b.algorithm} qps" for b in result.built)), tuple(rows))
    return [sheet, *(f"{one.algorithm}: left out, {one.why}" for one in result.left_out)]


WORK = Work(Settings, study, tables)
