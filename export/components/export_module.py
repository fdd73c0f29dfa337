"""`ExportModule`: an fp32 module with its inputs, outputs and description, which every target lowers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from gamer.runtime.bundle.manifest import ADAPTER, Component, Preprocessing, TensorSpec

from ..checkpoints.weights import Weights

Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]  # of inputs, of outputs
Samples = list[tuple[NDArray[Any], ...]]


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

    def fixed_specs(self) -> Specs:
        """Its tensor specs with the shapes of `example`, so that no dimension is left open."""
        with torch.no_grad():
            found = self.module(*self.example)
        outputs = found if isinstance(found, tuple) else (found,)
        return _shaped(self.inputs, self.example), _shaped(self.outputs, outputs)

    def describe(self) -> Component:
        """The manifest's entry, with parameters and multiply-adds.

        Multiply-adds are half of the FLOPs that torch counts when the fp32 module runs on `example`.
        """
        device = next((p.device for p in self.module.parameters()), torch.device("cpu"))
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            self.module(*(x.to(device) for x in self.example))
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


def _shaped(specs: tuple[TensorSpec, ...], values: tuple[Tensor, ...]) -> tuple[TensorSpec, ...]:
    return tuple(replace(spec, shape=tuple(x.shape)) for spec, x in zip(specs, values, strict=True))


def image_tower(
    module: nn.Module, side: int, outputs: dict[str, tuple[int, ...]], architecture: str, weights: Weights
) -> ExportModule:
    """The tower that takes a batch of `side` × `side` pixels. `outputs`: name → shape without the batch."""
    return ExportModule(
        role="image_tower",
        module=module.eval(),
        example=(torch.zeros(1, side, side, 3),),
        inputs=(TensorSpec("pixels", ("batch", side, side, 3), "float32"),),
        outputs=tuple(TensorSpec(name, ("batch", *shape), "float32") for name, shape in outputs.items()),
        dynamic={0: {0: "batch"}},
        architecture=architecture,
        source=weights.source,
        trained=weights.trained,
        macs_per="image",
    )


def text_tower(
    module: nn.Module,
    most: int,
    fixed: bool,
    dim: int,
    architecture: str,
    weights: Weights,
    adapter: tuple[int, ...] = (),
) -> ExportModule:
    """The tower that takes a batch of texts of up to `most` tokens, if `fixed` always as many.

    `adapter`: the shape of its third input, an adapter of queries; empty for a tower that takes none.
    """
    ids = torch.zeros(1, most, dtype=torch.int64)
    axes = {0: "batch"} if fixed else {0: "batch", 1: "tokens"}
    shape = ("batch", most if fixed else "tokens")
    texts = tuple(TensorSpec(name, shape, "int64") for name in ("input_ids", "attention_mask"))
    return ExportModule(
        role="text_tower",
        module=module.eval(),
        example=(ids, torch.ones_like(ids), *((torch.zeros(adapter),) if adapter else ())),
        inputs=(*texts, *((TensorSpec(ADAPTER, adapter, "float32"),) if adapter else ())),
        outputs=(TensorSpec("embedding", ("batch", dim), "float32"),),
        dynamic={0: axes, 1: axes},
        architecture=architecture,
        source=weights.source,
        trained=weights.trained,
        macs_per=f"text of {most} tokens",
    )


def normalises(module: nn.Module, spec: Preprocessing) -> None:
    """Gives a module the buffers `mean` and `std`, per channel, which its forward takes from the pixels."""
    for name, values in (("mean", spec.channel_mean), ("std", spec.channel_std)):
        module.register_buffer(name, torch.tensor(values))
