"""Whole sequences at once give the states of transformers' own model, for every family and any padding."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import decoders
from gamer.export.networks.decoder import DecoderStep
from gamer.export.networks.sequence import hidden_states
from tests.export.tiny_llms import FAMILIES, SLOTS, ids, tiny

DECODERS = [family for family in FAMILIES if "t5" not in family]


@pytest.mark.parametrize("family", DECODERS)
def test_a_batch_gives_the_states_of_each_text_alone(family: str) -> None:
    model, config, weights = tiny(family)
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    table = decoders.embed(config, weights, "fp32").module.get_buffer("rows")
    texts = [ids(20), ids(7), ids(1)]
    embeds = torch.zeros(3, 20, step.shape.hidden)
    for n, text in enumerate(texts):
        embeds[n, : len(text)] = table[text]
    with torch.no_grad():
        got = hidden_states(step, embeds, torch.tensor([len(text) for text in texts]))
        for n, text in enumerate(texts):
            want = model(torch.tensor([text]), output_hidden_states=True).hidden_states[-1][0]
            np.testing.assert_allclose(got[n, : len(text)], want, atol=2e-4)


def test_states_have_gradients_down_to_the_embeddings() -> None:
    _, config, weights = tiny("llama")
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    embeds = torch.zeros(2, 5, step.shape.hidden, requires_grad=True)
    hidden_states(step, embeds, torch.tensor([5, 3])).sum().backward()
    assert embeds.grad is not None
    assert bool(torch.isfinite(embeds.grad).all())
    assert float(embeds.grad[1, :3].abs().sum()) > 0
