"""Our torch modules compared at tiny size with the libraries that they stand for, and the shapes of their
outputs.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.checkpoints.pocket import folded
from gamer.export.networks.dpe import Expert, Router
from gamer.export.networks.efficientnet_lite import FEATURES, ConseTower, EfficientNetLite0


def test_folding_batch_norms_does_not_change_the_outputs() -> None:
    torch.manual_seed(1)
    network = EfficientNetLite0().eval()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    x = torch.randn(1, 3, 224, 224)
    with torch.no_grad():
        want = network(x)
        got = folded(network)(x)
    assert not any(isinstance(m, torch.nn.BatchNorm2d) for m in network.modules())
    for a, b in zip(got, want, strict=True):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max().clamp(min=1)


def test_conse_is_the_weighted_mean_of_the_ten_likeliest_labels() -> None:
    torch.manual_seed(2)
    vectors = torch.nn.functional.normalize(torch.randn(1000, 8), dim=-1)
    tower = ConseTower(EfficientNetLite0(), vectors, 127.0, 128.0).eval()
    with torch.no_grad():
        embedding, patches, probs = tower(torch.rand(2, 224, 224, 3) * 255)
    assert patches.shape == (2, 49, FEATURES)
    assert probs.shape == (2, 1000)
    for row in range(2):
        best = probs[row].topk(10)
        want = torch.nn.functional.normalize((best.values[:, None] * vectors[best.indices]).sum(0), dim=0)
        assert (embedding[row] - want).abs().max() < 1e-5


def test_experts_and_router_have_their_shapes_and_the_routers_weights_sum_to_1() -> None:
    patches = torch.randn(1, 49, 32)
    with torch.no_grad():
        weights = Router(32, 16, 3)(patches)
        prompts = Expert(32, 16, 4, 2, 24)(patches)
    assert weights.shape == (1, 3)
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-6)
    assert prompts.shape == (1, 49, 24)
    assert not torch.allclose(prompts[:, 0], prompts[:, 1])


def test_a_pooled_expert_sees_the_mean_of_the_patches() -> None:
    torch.manual_seed(2)
    one, patches = Expert(32, 16, 4, 2, 24, pooled=True), torch.randn(2, 49, 32)
    whole = Expert(32, 16, 4, 2, 24)
    whole.load_state_dict(one.state_dict())
    with torch.no_grad():
        prompts = one(patches)
        assert prompts.shape == (2, 1, 24)
        torch.testing.assert_close(prompts, whole(patches.mean(1, keepdim=True)))
