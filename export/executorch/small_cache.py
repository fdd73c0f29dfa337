"""A decoder step whose keys and values are codes of 8 bits, a quarter of the memory that the host keeps.

XNNPACK reads codes by scales of whole tensors alone, so that those of channels (quantize/cache_scales.py) are
products behind it; it takes no half floats beside fp32, so that there is no such cache of 16 bits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from gamer.index.records import FloatArray
from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.language.kv_cache import PAST

from ..components.export_module import ExportModule

_CODES = (1.0, 0, -128, 127, torch.int8)  # scale, zero point, bounds, type


def with_codes(item: ExportModule, module: nn.Module, scales: FloatArray) -> ExportModule:
    """The step `item`, whose module is `module` now, with a cache of codes by scales [layers, 2, KV, Dh]."""
    inputs = tuple(_small(spec, spec.name.startswith(PAST)) for spec in item.inputs)
    caches = {spec.name for spec in item.inputs}
    outputs = tuple(_small(spec, f"{PAST}{spec.name}" in caches) for spec in item.outputs)
    example = tuple(
        x.to(torch.int8) if spec.dtype == "int8" else x for spec, x in zip(inputs, item.example, strict=True)
    )
    step = CodedStep(module, [spec.dtype == "int8" for spec in inputs], scales).eval()
    return replace(item, module=step, example=example, inputs=inputs, outputs=outputs)


def _small(spec: TensorSpec, cache: bool) -> TensorSpec:
    return replace(spec, dtype="int8") if cache else spec


class CodedStep(nn.Module):
    """`step`, with int8 codes as its inputs where `coded`, and as its last outputs."""

    def __init__(self, step: nn.Module, coded: list[bool], scales: FloatArray) -> None:
        super().__init__()
        # Registers the operators of codes.
        from torch.ao.quantization.fx import _decomposed  # noqa: F401

        self.step, self.coded = step, coded
        rows = torch.from_numpy(scales).flatten(0, 1).unsqueeze(2)  # [2 · layers, KV, 1, Dh]
        for n, row in enumerate(rows):
            self.register_buffer(f"scale_{n}", row.clone(), persistent=False)
            self.register_buffer(f"inverse_{n}", 1.0 / row, persistent=False)

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        codes: Any = torch.ops.quantized_decomposed
        values, count = list[Tensor](), 0
        for x, coded in zip(given, self.coded, strict=True):
            if coded:
                x = codes.dequantize_per_tensor(x, *_CODES) * self.get_buffer(f"scale_{count}")
                count += 1
            values.append(x)
        logits, hidden, *new = self.step(*values)
        rounded = [
            codes.quantize_per_tensor(x * self.get_buffer(f"inverse_{n}"), *_CODES) for n, x in enumerate(new)
        ]
        return (logits, hidden, *rounded)
