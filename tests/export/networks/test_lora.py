"""Changes of a decoder: nothing at first, the same attached and merged, and all that is trained."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
pytest.importorskip("transformers", reason="needs the export extra")
from gamer.export.components import decoders
from gamer.export.networks import lora
from gamer.export.networks.decoder import DecoderStep
from gamer.export.networks.ranks import WHOLE
from gamer.export.networks.sequence import hidden_states
from tests.export.tiny_llms import SLOTS, tiny


def step_of(family: str) -> DecoderStep:
    _, config, weights = tiny(family)
    step = decoders.decoder(config, weights, SLOTS).module
    assert isinstance(step, DecoderStep)
    return step


@pytest.mark.parametrize(("family", "rank"), [("llama", 4), ("gpt2", 4), ("llama", WHOLE)])
def test_changes_are_the_same_attached_and_merged(family: str, rank: int) -> None:
    plain, attached, merged = (step_of(family) for _ in range(3))
    torch.manual_seed(3)
    changes = lora.adapter(attached, rank)
    assert lora.rank_of(changes) == rank
    embeds, lengths = torch.randn(2, 6, plain.shape.hidden), torch.tensor([6, 4])
    lora.attach(attached, changes)
    with torch.no_grad():
        before = hidden_states(plain, embeds, lengths)
        torch.testing.assert_close(hidden_states(attached, embeds, lengths), before)
        for parameter in changes.parameters():
            parameter.normal_(std=0.1)
        lora.merge(merged, changes)
        changed = hidden_states(attached, embeds, lengths)
        assert float((changed - before).abs().max()) > 0.05
        torch.testing.assert_close(hidden_states(merged, embeds, lengths), changed, rtol=1e-4, atol=1e-4)


def test_only_the_changes_take_gradients_and_recomputing_gives_the_same() -> None:
    step = step_of("llama")
    torch.manual_seed(3)
    changes = lora.adapter(step, rank=2)
    lora.attach(step, changes)
    for change in changes.parameters():
        torch.nn.init.normal_(change, std=0.1)
    embeds, lengths = torch.randn(2, 5, step.shape.hidden), torch.tensor([5, 3])
    found = []
    for recompute in (False, True):
        changes.zero_grad()
        hidden_states(step, embeds, lengths, recompute).square().mean().backward()
        found.append([p.grad.clone() for p in changes.parameters() if p.grad is not None])
    assert len(found[0]) == len(list(changes.parameters()))
    for kept, again in zip(*found, strict=True):
        torch.testing.assert_close(kept, again)
    own = [p for name, p in step.named_parameters() if ".low." not in name]
    assert own
    assert not any(p.requires_grad for p in own)
