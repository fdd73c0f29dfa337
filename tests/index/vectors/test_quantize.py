"""The error of quantisation and the scan compared with float arithmetic; positions compared with a loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import dequantize, quantize
from gamer.index.vectors.quantize import NO_FINE, Query, VectorSet, parts_of, residue, top
from tests.index.conftest import unit

RNG = np.random.default_rng(1)


def vector_set(owners: list[int], dim: int = 24, seed: int = 0) -> VectorSet:
    x = np.random.default_rng(seed).standard_normal((len(owners), dim)).astype(np.float32)
    codes, scales = quantize(x)
    return VectorSet(codes, scales, np.array(owners, np.int64), residue(x, codes, scales))


def test_quantized_vectors_keep_their_direction() -> None:
    x = unit(RNG.standard_normal((200, 768)).astype(np.float32))
    back = dequantize(*quantize(x))
    cosine = (x * unit(back)).sum(axis=1)
    assert cosine.min() > 0.9999
    assert np.abs(back - x).max() <= np.abs(x).max() / 127 * 0.51


@pytest.mark.parametrize("dim", [1, 4, 5, 6, 768])
def test_the_finer_digit_leaves_a_quarter_of_the_error(dim: int) -> None:
    x = unit(RNG.standard_normal((50, dim)).astype(np.float32))
    codes, scales = quantize(x)
    fine = residue(x, codes, scales)
    assert fine.shape == (50, -(-dim // 4))
    assert fine.dtype == np.uint8
    assert (np.abs(dequantize(codes, scales, fine) - x) <= scales[:, None] * (1 / 8 + 1e-4)).all()


def test_missing_finer_digits_move_a_component_by_an_eighth_and_their_sum_by_zero() -> None:
    assert np.abs(parts_of(np.frombuffer(NO_FINE * 12, np.uint8)[None], 48)).max() == 0.125
    assert parts_of(np.frombuffer(NO_FINE * 12, np.uint8)[None], 48).sum() == 0


def test_zero_and_extreme_vectors_have_the_expected_codes_and_scales() -> None:
    codes, scales = quantize(np.array([[0, 0], [1, -1], [1e-30, 0]], np.float32))
    assert codes.tolist() == [[0, 0], [127, -127], [127, 0]]
    assert scales[0] == 0
    assert scales[1] == np.float32(1 / 127)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 12), max_size=40).map(sorted),
    st.lists(st.integers(0, 15), max_size=20),
    st.integers(0, 9),
)
def test_scores_equal_float_arithmetic(owners: list[int], rows: list[int], seed: int) -> None:
    vectors = vector_set(owners, seed=seed)
    query = np.random.default_rng(seed + 1).standard_normal(24).astype(np.float32)
    floats = dequantize(vectors.codes, vectors.scales)
    expected = np.full(16, -np.inf, np.float32)
    np.maximum.at(expected, vectors.owners, floats @ query)
    asked = np.array(rows, np.int64)
    assert np.allclose(vectors.best_of(query, asked), expected[asked], atol=2e-3)
    assert np.allclose(vectors.best_per_row(query, 16), expected, atol=2e-3)
    only = vectors.best_per_row(query, 16, asked)
    assert np.allclose(only[asked], expected[asked], atol=2e-3)
    assert np.isneginf(np.delete(only, asked)).all()
    assert vectors.positions_of(asked).tolist() == [
        at for row in rows for at, owner in enumerate(owners) if owner == row
    ]
    fine = dequantize(vectors.codes, vectors.scales, vectors.fine)
    at = np.arange(len(vectors))
    assert np.allclose(vectors.fine_dot(Query(query), at), fine @ query, atol=5e-3)


def test_a_query_adds_no_error_to_that_of_the_stored_vectors() -> None:
    """A query has two bytes per component: the only error left is the rounding of the stored vectors."""
    x = unit(RNG.standard_normal((500, 768)).astype(np.float32))
    codes, scales = quantize(x)
    vectors = VectorSet(codes, scales, np.arange(500))
    for query in x[:5]:
        assert np.abs(vectors.dot(query) - dequantize(codes, scales) @ query).max() < 2e-5


def test_a_zero_query_scores_zero() -> None:
    assert vector_set([0, 1]).dot(np.zeros(24, np.float32)).tolist() == [0, 0]


def test_top_orders_ties_by_position_and_drops_missing() -> None:
    scores = np.array([1, 3, -np.inf, 3, 2], np.float32)
    assert top(scores, 2).tolist() == [1, 3]
    assert top(scores, 9).tolist() == [1, 3, 4, 0]
    assert top(scores, 0).tolist() == []
