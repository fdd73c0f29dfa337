"""Equation 1 of the paper compared with a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.runtime.models.router import choose


@given(st.lists(st.floats(0.0009765625, 1.0, width=32), min_size=1, max_size=8), st.floats(0.01, 1.0))
def test_the_fewest_experts_whose_shares_reach_rho_are_chosen(weights: list[float], rho: float) -> None:
    experts, shares = choose(np.array(weights, np.float32), rho)
    share = np.array(weights, np.float32) / np.float32(np.sum(np.array(weights, np.float32)))
    picked = [float(share[e]) for e in experts]
    assert picked == sorted(share.tolist(), reverse=True)[: len(experts)]
    assert sum(picked) >= rho - 1e-5
    assert len(experts) == 1 or sum(picked[:-1]) < rho + 1e-5
    assert float(shares.sum()) == pytest.approx(1.0, abs=1e-5)


def test_a_higher_rho_chooses_more_experts() -> None:
    weights = np.array([0.2, 0.5, 0.3], np.float32)
    assert choose(weights, 0.4)[0] == (1,)
    assert choose(weights, 0.7)[0] == (1, 2)
    assert choose(weights, 0.8)[0] == (1, 2)
    assert choose(weights, 0.9)[0] == (1, 2, 0)
    assert choose(weights, 1.0)[0] == (1, 2, 0)


@pytest.mark.parametrize("rho", [0.0, -1.0, 1.01, float("nan")])
def test_rho_outside_its_range_is_refused(rho: float) -> None:
    with pytest.raises(ValueError, match="ρ"):
        choose(np.ones(3, np.float32), rho)
