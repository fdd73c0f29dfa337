"""Fills the layers of a module by a table of names; also weights on the meta device, for sizes only."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .weights import Weights


def fill(module: nn.Module, weights: Weights, root: str, names: dict[str, tuple[str, ...]]) -> None:
    """Sets weight and bias (if any) of each submodule; expected shapes are those of the module.

    `names`: submodule → names in the checkpoint, whose tensors are concatenated along the first axis.
    """
    for ours, theirs in names.items():
        part = module.get_submodule(ours)
        for kind, parameter in list(part.named_parameters(recurse=False)):
            part_shape = (parameter.shape[0] // len(theirs), *parameter.shape[1:])
            tensors = [weights.get(f"{root}.{name}.{kind}".lstrip("."), *part_shape) for name in theirs]
            setattr(part, kind, constant(tensors[0] if len(tensors) == 1 else torch.cat(tensors)))


def constant(tensor: Tensor) -> nn.Parameter:
    """A parameter without gradients."""
    return nn.Parameter(tensor, requires_grad=False)


class NoWeights:
    """Weights that give tensors on the meta device: a shape, without memory."""

    source, trained = "", False

    def has(self, name: str) -> bool:
        return True

    def get(self, name: str, *shape: int) -> Tensor:
        return torch.empty(shape, device="meta")
