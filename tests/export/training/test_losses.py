"""The losses beside plain numpy: Eq. 3-4 with both denominators, and the router's entropy of Eq. 2."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.training import losses
from gamer.index import FloatArray


def plain(
    photos: FloatArray,
    queries: FloatArray,
    owners: list[int],
    texts: list[int],
    tau: float,
    leave_out: bool,
) -> float:
    """Eq. 3 and 4, term by term."""

    def unit(rows: FloatArray) -> FloatArray:
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    scores = unit(photos).astype(np.float64) @ unit(queries).astype(np.float64).T / tau
    total, count = 0.0, len(scores)
    for n in range(count):
        told = {owner: {t for t, o in zip(texts, owners, strict=True) if o == owner} for owner in owners}
        for row, pairs in (
            (scores[n], [(n, m) for m in range(count)]),
            (scores[:, n], [(m, n) for m in range(count)]),
        ):
            others = [
                x
                for x, (photo, query) in zip(row, pairs, strict=True)
                if texts[query] not in told[owners[photo]]
            ]
            denominator = np.exp(others).sum() + (0.0 if leave_out else np.exp(scores[n, n]))
            total -= scores[n, n] - np.log(denominator)
    return total / (2 * count)


@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize(
    ("owners", "texts"),
    [
        ([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]),
        ([0, 0, 1, 2, 2, 2], [0, 1, 2, 3, 4, 5]),
        ([0, 1, 2, 3, 4, 5], [0, 1, 0, 2, 3, 0]),
        ([0, 0, 1, 2, 2, 3], [0, 1, 1, 2, 3, 4]),
    ],
)
def test_the_contrastive_loss_is_the_equation_s(owners: list[int], texts: list[int], leave_out: bool) -> None:
    numbers = np.random.default_rng(1).standard_normal((2, 6, 16)).astype(np.float32)
    got = losses.contrastive(
        torch.tensor(numbers[0]),
        torch.tensor(numbers[1]),
        torch.tensor(owners),
        torch.tensor(texts),
        0.07,
        leave_out,
    )
    wanted = plain(numbers[0], numbers[1], owners, texts, 0.07, leave_out)
    assert float(got) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("leave_out", [False, True])
def test_a_batch_of_one_photo_has_no_loss_and_no_gradient(leave_out: bool) -> None:
    photos = torch.ones(3, 4, requires_grad=True)
    loss = losses.contrastive(
        photos, torch.ones(3, 4), torch.tensor([7, 7, 7]), torch.arange(3), 0.07, leave_out
    )
    loss.backward()
    assert photos.grad is not None
    assert abs(loss.item()) < 1e-6
    assert float(photos.grad.abs().sum()) < 1e-6


def test_pairs_that_fit_cost_less_than_pairs_that_do_not() -> None:
    rows = torch.eye(4)
    owners = torch.arange(4)
    apart = losses.contrastive(rows, rows.flip(0), owners, owners)
    assert losses.contrastive(rows, rows, owners, owners) < 0.01 < apart


def test_the_entropy_is_greatest_for_equal_weights_and_zero_for_one() -> None:
    assert float(losses.entropy(torch.full((2, 3), 1 / 3))) == pytest.approx(np.log(3), abs=1e-6)
    assert float(losses.entropy(torch.tensor([[1.0, 0.0, 0.0]]))) == pytest.approx(0.0, abs=1e-6)
