"""Weights into the layers of a module, by a table of names; and weights that are shapes alone."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .weights import Weights


def fill(module: nn.Module, weights: Weights, root: str, names: dict[str, tuple[str, ...]]) -> None:
    """Weight and, where there is one, bias of each part; the shape that is asked for is the module's own."""
    for ours, theirs in names.items():
        part = module.get_submodule(ours)
        for kind, old in list(part.named_parameters(recurse=False)):
            each = (old.shape[0] // len(theirs), *old.shape[1:])
            found = [weights.get(f"{root}.{name}.{kind}".lstrip("."), *each) for name in theirs]
            setattr(part, kind, constant(found[0] if len(found) == 1 else torch.cat(found)))


def constant(tensor: Tensor) -> nn.Parameter:
    """A parameter that nothing trains."""
    return nn.Parameter(tensor, requires_grad=False)


class NoWeights:
    """Tensors that have a shape and no memory."""

    source, trained = "", False

    def has(self, name: str) -> bool:
        return True

    def get(self, name: str, *shape: int) -> Tensor:
        return torch.empty(shape, device="meta")
