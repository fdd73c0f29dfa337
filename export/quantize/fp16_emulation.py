"""Emulates an engine that computes in fp16: every operation's result is rounded to fp16, and may overflow."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only


def in_half(module: nn.Module) -> nn.Module:
    """Rounds the module's float32 parameters and buffers to fp16, in place, and returns it."""
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.dtype == torch.float32:
            tensor.data = _round(tensor.data)
    return module


class Rounded(nn.Module):
    """Wraps a module so that its inputs and the result of every operation are rounded to fp16."""

    def __init__(self, module: Any) -> None:
        super().__init__()
        self.module: Any = module

    def forward(self, *inputs: Tensor) -> Any:
        with _Rounding():
            return self.module(*(_round(x) for x in inputs))


class _Rounding(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return tree_map_only(Tensor, _round, func(*args, **(kwargs or {})))


def _round(x: Tensor) -> Tensor:
    return x.half().float() if x.dtype == torch.float32 else x
