"""`ExportModule`: an fp32 module with its inputs, outputs and description, which every target lowers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gamer.runtime.bundle.manifest import Component, TensorSpec


@dataclass(frozen=True)
class ExportModule:
    """A component ready to lower.

    `example`: inputs; their shapes are those of targets with fixed shapes. `dynamic`: input index → {axis:
    name}. `macs_per`: the unit that multiply-adds are counted for ("image", "token" ...).
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
        """The manifest's entry, with parameters and multiply-adds.

        Multiply-adds are half of the FLOPs that torch counts when the fp32 module runs on `example`.
        """
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(*self.example)
        parameters = sum(p.numel() for p in self.module.parameters())
        if self.role == "llm_embed":  # its table is a buffer, not a parameter
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
