"""A decoder step that keeps its cache itself: past keys and values become buffers, which Core ML turns into
states of the program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.kv_cache import PAST, state_name

from ..components.export_module import ExportModule


def inputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """What a step that keeps its cache still takes."""
    return tuple(spec for spec in item.inputs if not spec.name.startswith(PAST))


def outputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """What such a step still gives: not the keys and values that it has written."""
    caches = {spec.name for spec in item.inputs}
    return tuple(spec for spec in item.outputs if f"{PAST}{spec.name}" not in caches)


def stateful(item: ExportModule) -> ExportModule:
    """`item`, a step, with its cache inside. The module shares the step's tensors."""
    example = tuple(
        x for spec, x in zip(item.inputs, item.example, strict=True) if not spec.name.startswith(PAST)
    )
    return replace(
        item,
        module=StatefulStep(item).eval(),
        example=example,
        inputs=inputs_of(item),
        outputs=outputs_of(item),
    )


class StatefulStep(nn.Module):
    """The step over buffers that are zero at every position not yet written: each call adds its key and value
    where `place` is one.
    """

    def __init__(self, item: ExportModule) -> None:
        super().__init__()
        self.step: Any = item.module
        self.names = tuple(spec.name for spec in item.inputs)
        self.fresh = tuple(f"{PAST}{spec.name}" for spec in item.outputs)
        for spec, value in zip(item.inputs, item.example, strict=True):
            if spec.name.startswith(PAST):
                self.register_buffer(state_name(spec.name), torch.zeros_like(value), persistent=False)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        rest = iter(given)
        whole = {
            name: self.get_buffer(state_name(name)) if name.startswith(PAST) else next(rest)
            for name in self.names
        }
        out = self.step(*whole.values())
        for name, fresh in zip(self.fresh, out, strict=True):
            if name in whole:
                whole[name].add_(whole["place"] * fresh)
        return tuple(x for name, x in zip(self.fresh, out, strict=True) if name not in whole)
