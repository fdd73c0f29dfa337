"""Intervals cover the true value as often as they say, the permutation test agrees with scipy's, and Holm's
correction with its definition.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench import stats


def table(seed: int, sizes: tuple[int, ...] = (40, 15, 90), shift: float = 0.0) -> list[stats.Floats]:
    """Three methods on users with different numbers of queries: noise, the same noise shifted by `shift`, and
    independent noise.
    """
    random = np.random.default_rng(seed)
    out = []
    for n in sizes:
        first = random.random(n)
        out.append(np.stack([first, first + shift + 0.05 * random.standard_normal(n), random.random(n)]))
    return out


def test_macro_gives_each_user_the_same_weight() -> None:
    values = [np.array([[1.0] * 99]), np.array([[0.0]])]
    assert stats.macro(values)[0] == 0.5


def test_an_interval_of_one_user_is_the_plain_bootstrap_over_queries() -> None:
    values = table(0, (200,))
    plain = np.random.default_rng(9).choice(values[0][0], size=(20_000, 200)).mean(axis=1)
    low, high = stats.intervals(values, draws=4000)[0]
    assert (low, high) == pytest.approx(np.percentile(plain, [2.5, 97.5]), abs=0.006)


def test_an_interval_of_several_users_is_the_plain_bootstrap_of_both_levels() -> None:
    values, random = table(7, (30, 8, 60)), np.random.default_rng(1)
    plain = []
    for _ in range(6000):
        drawn = [values[user][2] for user in random.integers(3, size=3)]
        plain.append(np.mean([random.choice(scores, len(scores)).mean() for scores in drawn]))
    assert stats.intervals(values, draws=6000)[2] == pytest.approx(
        np.percentile(plain, [2.5, 97.5]), abs=0.012
    )


def test_users_that_differ_widen_the_interval() -> None:
    alike, differing = (
        [np.full((1, 50), 0.5)] * 4,
        [np.full((1, 50), value) for value in (0.1, 0.4, 0.6, 0.9)],
    )
    assert np.ptp(stats.intervals(alike)[0]) == pytest.approx(0)
    low, high = stats.intervals(differing)[0]
    assert low < 0.3
    assert high > 0.7


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    inside = 0
    for seed in range(120):
        sample = [np.random.default_rng(seed).random((1, 60))]
        low, high = stats.intervals(sample, draws=400)[0]
        inside += low <= 0.5 <= high
    assert inside >= 0.87 * 120


def test_permutation_agrees_with_scipy_on_one_user() -> None:
    scipy_stats = pytest.importorskip("scipy.stats", reason="needs the bench extra")
    values = table(3, (60,), shift=0.01)
    p_values = stats.permutation(values, 0, permutations=8000)
    for method in (1, 2):
        plain = scipy_stats.permutation_test(
            (values[0][method], values[0][0]),
            lambda a, b: np.mean(a - b),
            permutation_type="samples",
            n_resamples=8000,
        )
        assert p_values[method] == pytest.approx(plain.pvalue, abs=0.03)


def test_permutation_distinguishes_a_real_difference_from_none() -> None:
    p_values = stats.permutation(table(1, shift=0.05), 0)
    assert p_values[0] == 1.0
    assert p_values[1] < 0.001
    assert stats.permutation([np.stack([v[0], v[0]]) for v in table(2)], 0)[1] == 1.0


def test_each_row_of_a_permutation_test_may_have_its_own_reference() -> None:
    values = table(4, shift=0.05)
    doubled = [np.concatenate([v, 1 - v]) for v in values]
    p_values = stats.permutation(doubled, [0, 0, 0, 3, 3, 3])
    assert p_values[:3].tolist() == p_values[3:].tolist() == stats.permutation(values, 0).tolist()


def test_no_p_is_zero_and_chance_alone_is_rarely_called_a_difference() -> None:
    assert stats.permutation([np.stack([np.zeros(80), np.ones(80)])], 0, permutations=999)[
        1
    ] == pytest.approx(1 / 1000)
    called = sum(
        stats.permutation(table(seed, (50, 50)), 0, permutations=300)[2] < 0.05 for seed in range(100)
    )
    assert called <= 12  # 5 are expected


def test_holms_correction_gives_the_values_computed_by_hand() -> None:
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert stats.holm([]) == ()
    assert stats.holm([0.2]) == (0.2,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_shrinks_never_reorders_and_lies_within_bonferroni(p: list[float]) -> None:
    corrected = stats.holm(p)
    for a, b in zip(p, corrected, strict=True):
        assert a <= b <= min(1.0, a * len(p)) + 1e-12
    order = np.argsort(p, kind="stable")
    assert list(np.array(corrected)[order]) == sorted(corrected)


def test_all_methods_share_the_same_bootstrap_draws() -> None:
    """A method that equals another plus a constant has that method's interval, shifted by the constant: with
    separate draws their noise would hide small differences.
    """
    values = [np.stack([v[0], v[0] + 0.25]) for v in table(5)]
    first, second = stats.intervals(values, draws=500)
    assert second - first == pytest.approx([0.25, 0.25])
