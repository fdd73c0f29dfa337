"""A graph as the reference of a component: a torch module whose forward ONNX Runtime computes, in fp32."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from gamer.runtime.backends.onnx_backend import session_options
from gamer.runtime.telemetry import load_onnxruntime


class OnnxGraph(nn.Module):
    """`network`: the architecture on the meta device, for its sizes. `model`: the graph behind its interface.

    `variants`: quantization → the same graph as the directory has it quantized.
    """

    def __init__(self, network: nn.Module, model: Any, variants: dict[str, Any]) -> None:
        super().__init__()
        self.network, self.model, self.variants = network.to("meta"), model, variants

    @cached_property
    def _session(self) -> Any:
        return load_onnxruntime().InferenceSession(
            self.model.SerializeToString(), session_options(threads=1), providers=["CPUExecutionProvider"]
        )

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        if inputs[0].is_meta:
            out = self.network(*inputs)
            return out if isinstance(out, tuple) else (out,)
        names = [value.name for value in self.model.graph.input]
        given = {name: x.numpy() for name, x in zip(names, inputs, strict=True)}
        return tuple(torch.from_numpy(value) for value in self._session.run(None, given))
