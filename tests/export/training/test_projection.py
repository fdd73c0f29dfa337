"""Training chooses and weighs the experts as a phone does, and starts from what the photos show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.components.experts import QuerySide, Sizes
from gamer.export.networks.bert import BertShape, SentenceEncoder
from gamer.export.training import start
from gamer.export.training.features import Features
from gamer.export.training.projection import Projection, gate
from gamer.index import FloatArray
from gamer.runtime.models.router import choose

SIZES = Sizes(experts=3, blocks=2, width=8, heads=2, features=24, hidden=30)
PHOTOS, CLASSES, WIDTH, KINDS = 60, 12, 16, 6


@given(
    st.lists(st.integers(1, 100), min_size=1, max_size=6),
    st.sampled_from([0.1, 0.5, 0.7, 0.99, 1.0]),
)
def test_the_gate_is_equation_1(raw: list[int], rho: float) -> None:
    weights = np.array(raw, np.float32) / np.float32(sum(raw))
    # A sum that is ρ but for rounding may be cut on either side of it.
    sums = np.cumsum(np.sort(weights)[::-1], dtype=np.float64)
    assume(rho == 1.0 or float(np.abs(sums - rho).min()) > 1e-5)
    experts, shares = choose(weights, rho)
    wanted = np.zeros(len(weights), np.float32)
    wanted[list(experts)] = shares
    np.testing.assert_allclose(gate(torch.tensor(weights[None]), rho)[0], wanted, atol=1e-5)


def test_the_router_learns_through_the_gate() -> None:
    torch.manual_seed(1)
    model = Projection(SIZES, QuerySide(), rho=0.7)
    vectors, _ = model(torch.randn(4, 5, SIZES.features))
    vectors.square().sum().backward()
    gradient = model.dpe_router.out.weight.grad
    assert gradient is not None
    assert float(gradient.abs().sum()) > 0


def made_up() -> tuple[Features, FloatArray, FloatArray, list[int]]:
    """Photos of KINDS kinds, whose patches, labels and memories depend on the kind.

    (features, states of the memories [PHOTOS, W], states of the labels' names, kind of each photo).
    """
    rng = np.random.default_rng(2)
    kinds = [n % KINDS for n in range(PHOTOS)]
    looks = rng.standard_normal((KINDS, SIZES.features))
    means = rng.standard_normal((KINDS, WIDTH))
    patches = np.stack([looks[k] + rng.standard_normal((5, SIZES.features)) for k in kinds])
    labels = np.full((PHOTOS, CLASSES), 0.01, np.float32)
    for n, kind in enumerate(kinds):
        labels[n, kind] = 1 - 0.01 * (CLASSES - 1)
    names = rng.standard_normal((CLASSES, WIDTH)).astype(np.float32)
    names[:KINDS] = means
    names /= np.linalg.norm(names, axis=1, keepdims=True)
    states = np.stack([means[k] + 0.5 * rng.standard_normal(WIDTH) for k in kinds]).astype(np.float32)
    states /= np.linalg.norm(states, axis=1, keepdims=True)
    features = Features(patches.astype(np.float16), labels, np.ones(PHOTOS, np.bool_))
    return features, states, names, kinds


def found(model: Projection, features: Features, states: FloatArray, kinds: list[int]) -> float:
    """The share of the last 30 photos' memories whose best photo is of their kind."""
    with torch.no_grad():
        photos = torch.nn.functional.normalize(model(torch.tensor(features.patches, dtype=torch.float32))[0])
        scores = model.query(torch.tensor(states)) @ photos.T
    best = scores.argmax(dim=1).tolist()
    return float(np.mean([kinds[best[n]] == kinds[n] for n in range(30, PHOTOS)]))


@pytest.mark.parametrize(("slots", "pooled"), [(0, False), (CLASSES, False), (CLASSES, True)])
def test_the_start_finds_photos_that_it_was_not_shown_a_memory_of(slots: int, pooled: bool) -> None:
    features, states, names, kinds = made_up()
    torch.manual_seed(3)
    model = Projection(replace(SIZES, pooled=pooled), QuerySide("text", WIDTH, slots), rho=0.7)
    before = found(model, features, states, kinds)
    known = start.StartData(states[:30], list(range(30)), names if slots else None)
    start.initialise(model, features, known)
    after = found(model, features, states, kinds)
    assert before < 0.5, (before, after)
    assert after > 0.9, (before, after)
    with torch.no_grad():
        weights = model(torch.tensor(features.patches[:1], dtype=torch.float32))[1]
    assert float(gate(weights, 0.7).min()) > 0


def test_experts_begin_as_layers_of_a_sentence_encoder() -> None:
    """Their blocks compute what the encoder's layers do, and the start finds photos through them."""
    features, states, _, kinds = made_up()
    torch.manual_seed(6)
    encoder = SentenceEncoder(BertShape(9, 8, 2, 2, 32, 7, 1e-5))
    layers = start.Layers(2, [start.as_block(layer) for layer in encoder.layers])
    model = Projection(replace(SIZES, bert=True), QuerySide("text", WIDTH, 0), rho=0.7)
    start.initialise(model, features, start.StartData(states[:30], list(range(30)), None), layers)
    x = torch.randn(3, 5, layers.width)
    with torch.no_grad():
        for block, layer in zip(model.experts[1].blocks, encoder.layers, strict=True):
            torch.testing.assert_close(block(x), layer(x, torch.zeros(())))
    assert found(model, features, states, kinds) > 0.8


def test_photos_that_cannot_be_read_change_nothing() -> None:
    features, states, names, _ = made_up()
    known = start.StartData(states[:30], list(range(30)), names)
    readable = features.readable.copy()
    readable[40:] = False
    assert features.labels is not None
    spoilt = Features(features.patches.copy(), features.labels.copy(), readable)
    spoilt.patches[40:], spoilt.labels[40:] = 0, 0  # type: ignore[index]
    kept = Features(features.patches[:40], features.labels[:40], readable[:40])
    models = []
    for seen in (spoilt, kept):
        torch.manual_seed(4)
        model = Projection(SIZES, QuerySide("text", WIDTH, CLASSES), rho=0.7)
        start.initialise(model, seen, known)
        models.append(model)
    for (name, a), b in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        np.testing.assert_allclose(a.detach(), b.detach(), atol=1e-5, err_msg=name)
