"""Low-rank changes of a decoder's linear maps (LoRA, Hu et al. 2021, arXiv 2106.09685).

The language model's own weights stay as they are while it is trained; for an export the changes are added to
them, so that the phone runs a decoder of the same size.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .decoder import DecoderStep

MAPS = ("qkv", "out", "gate_up", "down")
SCALE = 2.0  # α / r of the publication


class Low(nn.Module):
    """x float32 [..., I] → the change of a linear map [..., O], of rank r; zero until it is trained."""

    def __init__(self, inputs: int, outputs: int, rank: int) -> None:
        super().__init__()
        self.a, self.b = nn.Parameter(torch.empty(rank, inputs)), nn.Parameter(torch.zeros(outputs, rank))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))

    def forward(self, x: Tensor) -> Tensor:
        return SCALE * F.linear(F.linear(x, self.a), self.b)


class _Adapted(nn.Module):
    def __init__(self, base: nn.Linear, low: Low) -> None:
        super().__init__()
        self.base, self.low = base, low

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.base(x) + self.low(x))


def adapter(step: DecoderStep, rank: int) -> nn.ModuleList:
    """A change for each map of each layer of `step`; its parameters are named as in "0.qkv.a"."""
    return nn.ModuleList(
        nn.ModuleDict({name: Low(*_sizes(getattr(layer, name)), rank) for name in MAPS})
        for layer in step.layers
    )


def _sizes(linear: nn.Linear) -> tuple[int, int]:
    return linear.in_features, linear.out_features


def attach(step: DecoderStep, changes: nn.ModuleList) -> None:
    """Makes `step` compute with `changes`; its own parameters take no gradient from now on."""
    step.requires_grad_(False)
    for layer, change in zip(step.layers, changes, strict=True):
        for name, low in change.items():
            setattr(layer, name, _Adapted(getattr(layer, name), low))


def merge(step: DecoderStep, changes: nn.ModuleList) -> None:
    """Adds `changes` to the weights of `step`, which then computes the same without them."""
    with torch.no_grad():
        for layer, change in zip(step.layers, changes, strict=True):
            for name, low in change.items():
                getattr(layer, name).weight.add_(SCALE * (low.b @ low.a))
