"""A decoder step with its cache inside: past keys and values become buffers of the module, which Core ML
converts to states of the program.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.language.kv_cache import PAST, state_name

from ..components.export_module import ExportModule


def inputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """The inputs of a step with its cache inside: those of `item` but the past keys and values."""
    return tuple(spec for spec in item.inputs if not spec.name.startswith(PAST))


def outputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """The outputs of a step with its cache inside: those of `item` but the new keys and values."""
    caches = {spec.name for spec in item.inputs}
    return tuple(spec for spec in item.outputs if f"{PAST}{spec.name}" not in caches)


def stateful(item: ExportModule) -> ExportModule:
    """The step `item` with its cache inside. The new module shares the step's tensors."""
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
    """A step whose cache is in buffers, which are zero at every position not yet written.

    Each call adds its key and value at the position where `place` is one.
    """

    def __init__(self, item: ExportModule) -> None:
        super().__init__()
        self.step: Any = item.module
        self.names = tuple(spec.name for spec in item.inputs)
        self.output_names = tuple(f"{PAST}{spec.name}" for spec in item.outputs)
        for spec, value in zip(item.inputs, item.example, strict=True):
            if spec.name.startswith(PAST):
                self.register_buffer(state_name(spec.name), torch.zeros_like(value), persistent=False)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        remaining = iter(given)
        values = {
            name: self.get_buffer(state_name(name)) if name.startswith(PAST) else next(remaining)
            for name in self.names
        }
        out = self.step(*values.values())
        for name, cache in zip(self.output_names, out, strict=True):
            if name in values:
                values[name].add_(values["place"] * cache)
        return tuple(x for name, x in zip(self.output_names, out, strict=True) if name not in values)
