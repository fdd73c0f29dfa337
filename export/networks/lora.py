"""Changes of a decoder's linear maps: of low rank (LoRA, Hu et al. 2021, arXiv 2106.09685), or whole.

The language model's own weights stay as they are while it is trained; for an export the changes are added to
them, so that the phone runs a decoder of the same size. Changes of low rank may also stay apart from an ONNX
decoder, as adapters (components/peft.py, onnx/adapters.py); these may leave out maps.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .decoder import DecoderStep
from .ranks import WHOLE

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

    @classmethod
    def of(cls, a: Tensor, b: Tensor) -> Low:
        """The change b · a, of float32 [rank, I] and [O, rank]."""
        low = cls(a.shape[1], len(b), len(a))
        low.requires_grad_(False)
        low.a.copy_(a)
        low.b.copy_(b / SCALE)
        return low

    def matrix(self) -> Tensor:
        """The change as a matrix, float32 [O, I]."""
        return SCALE * (self.b @ self.a)


class Whole(nn.Module):
    """As Low, of any rank: as many numbers as the map itself has."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.zeros(outputs, inputs))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.w)

    def matrix(self) -> Tensor:
        """The change, float32 [O, I]."""
        return self.w


class _Adapted(nn.Module):
    def __init__(self, base: nn.Linear, low: Low | Whole) -> None:
        super().__init__()
        self.base, self.low = base, low

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.base(x) + self.low(x))


def adapter(step: DecoderStep, rank: int) -> nn.ModuleList:
    """A change for each map of each layer of `step`, of a rank or WHOLE.

    Its parameters are named as in "0.qkv.a", those of whole changes as in "0.qkv.w".
    """
    return nn.ModuleList(
        nn.ModuleDict({name: _change(getattr(layer, name), rank) for name in MAPS}) for layer in step.layers
    )


def rank_of(changes: nn.ModuleList) -> int:
    """The rank that `changes` were made with, or WHOLE."""
    first = next(iter(changes[0].children()))
    return len(first.a) if isinstance(first, Low) else WHOLE


def _change(linear: nn.Linear, rank: int) -> Low | Whole:
    return Whole(*_sizes(linear)) if rank == WHOLE else Low(*_sizes(linear), rank)


def _sizes(linear: nn.Linear) -> tuple[int, int]:
    return linear.in_features, linear.out_features


def attach(step: DecoderStep, changes: nn.ModuleList) -> None:
    """Makes `step` compute with `changes`; its own parameters take no gradient from now on."""
    step.requires_grad_(False)
    for layer, change in zip(step.layers, changes, strict=True):
        for name, low in change.items():
            setattr(layer, name, _Adapted(getattr(layer, name), low))


@contextlib.contextmanager
def attached(step: DecoderStep, changes: nn.ModuleList) -> Iterator[None]:
    """As `attach`, while the block runs."""
    own = [dict(layer.named_children()) for layer in step.layers]
    attach(step, changes)
    try:
        yield
    finally:
        for layer, children in zip(step.layers, own, strict=True):
            for name in MAPS:
                setattr(layer, name, children[name])


def merge(step: DecoderStep, changes: nn.ModuleList) -> None:
    """Adds `changes` to the weights of `step`, which then computes the same without them."""
    with torch.no_grad():
        for layer, change in zip(step.layers, changes, strict=True):
            for name, low in change.items():
                getattr(layer, name).weight.add_(low.matrix())
