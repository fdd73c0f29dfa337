"""Graph and scan compared with float arithmetic over the same vectors: filters, chunks, changed photos,
engines, damage.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gamer.index import (
    AlbumError,
    FloatArray,
    RowArray,
    dequantize,
    quantize,
)
from gamer.index.vectors import hnsw, usearch_graph
from gamer.index.vectors.nearest import nearest
from gamer.index.vectors.planner import Estimate
from gamer.index.vectors.quantize import Query, VectorSet, residue
from tests.index.conftest import unit

NONE = np.empty(0, np.int64)


def clustered(
    n: int, dim: int = 96, seed: int = 0, owners: RowArray | None = None
) -> tuple[VectorSet, FloatArray]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((12, dim))
    x = unit((centres[rng.integers(0, 12, n)] + 0.6 * rng.standard_normal((n, dim))).astype(np.float32))
    codes, scales = quantize(x)
    return VectorSet(codes, scales, np.arange(n) if owners is None else owners, residue(x, codes, scales)), x


def exact(vectors: VectorSet, query: FloatArray, k: int, rows: RowArray | None = None) -> list[int]:
    scores = dequantize(vectors.codes, vectors.scales, vectors.fine) @ query
    best = np.full(int(vectors.owners.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, vectors.owners, scores)
    asked = np.unique(vectors.owners) if rows is None else rows[np.isin(rows, vectors.owners)]
    return [int(asked[at]) for at in np.argsort(-best[asked], kind="stable")[:k]]


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_hnsw_finds_99_of_100_nearest_neighbours_with_and_without_a_filter(share: float) -> None:
    vectors, x = clustered(4000)
    graph = hnsw.load(hnsw.build(vectors, 4000), vectors, NONE)
    rng, hits = np.random.default_rng(1), 0
    for query in x[:40]:
        rows = None if share == 1 else np.flatnonzero(rng.random(4000) < share)
        got = nearest(vectors, graph, NONE, query, 10, rows, "hnsw")
        assert rows is None or np.isin(got.rows, rows).all()
        hits += np.intersect1d(got.rows, exact(vectors, query, 10, rows)).size
    assert hits >= 0.99 * 400


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 400), max_size=60),
    st.integers(0, 30),
    st.integers(0, 5),
    st.sampled_from(["auto", "hnsw", "exact"]),
)
def test_a_filtered_search_fills_its_result_from_inside_the_filter_alone(
    rows: list[int], k: int, seed: int, plan: str
) -> None:
    owners = np.sort(np.random.default_rng(3).integers(0, 400, 900))
    vectors, x = CHUNKED
    assert np.array_equal(vectors.owners, owners)
    asked = np.unique(np.array(rows, np.int64))
    got = nearest(vectors, CHUNKED_GRAPH, NONE, x[seed], k, asked, plan)  # type: ignore[arg-type]
    wanted = exact(vectors, x[seed], k, asked)
    assert set(got.rows.tolist()) <= set(rows)
    if got.plan == "exact":
        assert got.rows.tolist() == wanted
    assert (np.diff(got.scores) <= 0).all()
    assert len(set(got.rows.tolist())) == len(got.rows) == len(wanted)


CHUNKED = clustered(900, 32, owners=np.sort(np.random.default_rng(3).integers(0, 400, 900)))
CHUNKED_GRAPH = hnsw.load(hnsw.build(CHUNKED[0], 401), CHUNKED[0], NONE)


def test_photos_that_changed_or_came_later_are_scanned_beside_the_graph() -> None:
    vectors, x = clustered(1500)
    blob = hnsw.build(replace(vectors, codes=vectors.codes[:1400], owners=vectors.owners[:1400]), 1400)
    other, y = clustered(1500, seed=5)
    assert vectors.fine is not None
    assert other.fine is not None

    def mixed(new: NDArray[Any], old: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate([new[:50], old[50:]])

    floats = mixed(y, x)
    now = VectorSet(
        mixed(other.codes, vectors.codes),
        mixed(other.scales, vectors.scales),
        vectors.owners,
        mixed(other.fine, vectors.fine),
    )
    behind = np.concatenate([np.arange(50), np.arange(1400, 1500)])
    graph = hnsw.load(blob, now, behind)
    for row in (3, 49, 1400, 1499, 700):
        assert nearest(now, graph, behind, floats[row], 1, None, "hnsw").rows.tolist() == [row]
    assert nearest(now, graph, behind, x[3], 10, np.arange(4, 1500), "hnsw").rows.tolist() == exact(
        now, x[3], 10, np.arange(4, 1500)
    )
    assert not np.isin(graph.candidates(Query(x[3]), 300), np.arange(50)).any()


def test_a_graph_and_its_vectors_take_at_most_1100_bytes_per_vector() -> None:
    vectors, _ = clustered(3000, 768)
    blob = hnsw.build(vectors, 3000)
    assert vectors.fine is not None
    assert (len(blob) + vectors.codes.nbytes + vectors.fine.nbytes) / 3000 + 8 <= 1100


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_damaged_links_are_refused_or_harmless(data: st.DataObject) -> None:
    """usearch does not check what it reads, so no byte of a blob may make it read outside it."""
    vectors, x = SMALL
    blob = bytearray(SMALL_BLOB)
    for at in data.draw(st.lists(st.integers(0, len(blob) - 1), min_size=1, max_size=8)):
        blob[at] = data.draw(st.integers(0, 255))
    cut = data.draw(st.one_of(st.just(len(blob)), st.integers(0, len(blob))))
    try:
        graph = hnsw.load(bytes(blob[:cut]), vectors, NONE)
    except AlbumError:
        return
    got = graph.candidates(Query(x[0]), 20)
    assert ((got >= 0) & (got < 300)).all()


SMALL = clustered(300, 16)
SMALL_BLOB = hnsw.build(SMALL[0], 300)


def test_a_graph_whose_nodes_lie_by_breadth_is_walked_as_before() -> None:
    vectors, x = SMALL
    links = usearch_graph.build(vectors.codes)
    ordered = usearch_graph.by_breadth(links, 300)
    assert ordered != links
    assert len(ordered) == len(links) + 4 * 300
    plain, moved = (usearch_graph.load(each, vectors.codes) for each in (links, ordered))
    for query in x[:40]:
        first = Query(query).first
        assert np.array_equal(plain.nearest(first, 60), moved.nearest(first, 60))
    assert usearch_graph.by_breadth(ordered, 300) == ordered


def test_a_graph_of_another_library_is_refused() -> None:
    blob = SMALL_BLOB.replace(b"usearch", b"hnswlib", 1)
    with pytest.raises(AlbumError, match="by a library that this program does not read; rebuild"):
        hnsw.load(blob, SMALL[0], NONE)


def test_the_planner_scans_small_selections_and_walks_the_graph_for_large_ones() -> None:
    assert Estimate(6_000, 60, 768, 10).plan == "exact"
    assert Estimate(10**6, 10**6, 384, 10).plan == "hnsw"
    assert Estimate(10**6, 100, 384, 10).plan == "exact"
    few, many = Estimate(10**6, 10**3, 384, 10), Estimate(10**6, 10**5, 384, 10)
    assert few.exact_us < many.exact_us
    assert few.graph_us > many.graph_us
    assert Estimate(100, 1, 384, 10).width == 100


def test_the_planner_scans_where_that_takes_little_though_a_walk_took_less() -> None:
    album = Estimate(10_000, 10_000, 384, 10)
    assert album.graph_us < album.exact_us < 500
    assert album.plan == "exact"
    larger = Estimate(20_000, 20_000, 384, 10)
    assert larger.exact_us > 500
    assert larger.plan == "hnsw"


def test_a_graph_with_unreachable_parts_gives_the_vectors_that_it_reaches() -> None:
    """Hundreds of equal vectors link among themselves only: fewer can be reached than are asked for."""
    codes = np.repeat(np.random.default_rng(0).integers(-127, 127, (3, 16)).astype(np.int8), 400, axis=0)
    rows = usearch_graph.load(usearch_graph.build(codes), codes).nearest(codes[0], 1000)
    assert len(rows)
    assert len(set(rows.tolist())) == len(rows)
    assert (codes[rows[0]] == codes[0]).all()


def test_a_runtime_that_is_loaded_after_the_graph_engine_does_not_crash() -> None:
    code = """
from gamer.index.vectors import usearch_graph
usearch_graph.library()
import onnxruntime
print(onnxruntime.get_available_providers())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "CPUExecutionProvider" in done.stdout, done.stderr
