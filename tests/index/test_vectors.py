"""Quantisation's error, the scan against float arithmetic, the planner, the graph's recall."""

from __future__ import annotations

import numpy as np
import pytest
from gamer.index import AlbumError, choose_plan, dequantize, quantize
from gamer.index import hnsw as hnsw_module
from gamer.index.vectors import EXACT_BELOW, VectorSet, top

from .conftest import unit

RNG = np.random.default_rng(1)


def test_quantize_keeps_direction() -> None:
    x = unit(RNG.standard_normal((200, 768)).astype(np.float32))
    back = dequantize(*quantize(x))
    cosine = (x * unit(back)).sum(axis=1)
    assert cosine.min() > 0.9999
    assert np.abs(back - x).max() <= np.abs(x).max() / 127 * 0.51


def test_quantize_zero_and_extremes() -> None:
    codes, scales = quantize(np.array([[0, 0], [1, -1], [1e-30, 0]], np.float32))
    assert codes.tolist() == [[0, 0], [127, -127], [127, 0]]
    assert scales[0] == 0 and scales[1] == np.float32(1 / 127)


@pytest.mark.parametrize("cached", [True, False])
def test_best_per_row_equals_float_arithmetic(cached: bool) -> None:
    owners = np.array([0, 0, 2, 3, 3, 3, 6], np.int64)
    codes, scales = quantize(RNG.standard_normal((7, 24)).astype(np.float32))
    floats = dequantize(codes, scales)
    vectors = VectorSet(codes, scales, owners, floats if cached else None)
    query = RNG.standard_normal(24).astype(np.float32)
    expected = np.full(8, -np.inf, np.float32)
    np.maximum.at(expected, owners, floats @ query)
    assert np.allclose(vectors.best_per_row(query, 8), expected, atol=1e-5)
    rows = np.array([3, 1, 0])
    some = vectors.best_per_row(query, 8, rows)
    assert np.allclose(some[[0, 1, 3]], expected[[0, 1, 3]], atol=1e-5)
    assert np.isneginf(some[[2, 4, 5, 6, 7]]).all()


def test_top_orders_ties_by_position_and_drops_missing() -> None:
    scores = np.array([1, 3, -np.inf, 3, 2], np.float32)
    assert top(scores, 2).tolist() == [1, 3]
    assert top(scores, 9).tolist() == [1, 3, 4, 0]
    assert top(scores, 0).tolist() == []


def test_planner() -> None:
    assert choose_plan(6_000, 6_000, True) == "exact"
    assert choose_plan(10**6, 10**6, False) == "exact"
    assert choose_plan(10**6, 10**6, True) == "hnsw"
    assert choose_plan(10**6, EXACT_BELOW - 1, True) == "exact"
    assert choose_plan(10**6, EXACT_BELOW + 1, True) == "exact"  # a small share starves the graph


def test_graph_finds_what_the_scan_finds() -> None:
    centres = RNG.standard_normal((20, 384))
    x = unit((centres[RNG.integers(0, 20, 1500)] + 0.5 * RNG.standard_normal((1500, 384))).astype(np.float32))
    codes, scales = quantize(x)
    walker = hnsw_module.Hnsw.from_bytes(hnsw_module.build(codes).to_bytes())
    hits = 0
    for query in x[:40]:
        exact = top(dequantize(codes, scales) @ query, 10)
        hits += np.intersect1d(exact, walker.candidates(query, 40)).size
    assert hits / 400 >= 0.99


def test_damaged_graph_is_refused() -> None:
    with pytest.raises(AlbumError, match="rebuild"):
        hnsw_module.Hnsw.from_bytes(b"nothing")
