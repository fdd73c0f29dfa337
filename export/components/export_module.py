"""The noun that every target lowers: a module in fp32 with its inputs, outputs and what is known of
its cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gamer.runtime.bundle.manifest import Component, TensorSpec


@dataclass(frozen=True)
class ExportModule:
    """A component ready to lower.

    `example`: inputs of the shapes that fixed-shape targets keep. `dynamic`: input index → {axis: name}.
    """

    role: str
    module: nn.Module
    example: tuple[Tensor, ...]
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    dynamic: dict[int, dict[int, str]]
    architecture: str
    source: str
    trained: bool
    macs_per: str

    def describe(self) -> Component:
        """Parameters and multiply-adds (torch's counter on the fp32 module; a fused multiply-add is one) for
        the manifest.
        """
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(*self.example)
        parameters = sum(p.numel() for p in self.module.parameters())
        if self.role == "llm_embed":  # its table is no parameter: nothing trains it
            parameters = self.module.get_buffer("rows").numel()
        return Component(
            role=self.role,
            architecture=self.architecture,
            source=self.source,
            trained=self.trained,
            parameters=parameters,
            macs=counter.get_total_flops() // 2,
            macs_per=self.macs_per,
        )
