"""The Dynamic Projection Experts as export modules: seeded random numbers, or a trained checkpoint.

A checkpoint is a directory with `config.json` (`model_type` "gamer-dpe", and the sizes below) and safetensors
files whose tensors are named by role and parameter, as in `dpe_expert_0.project_in.weight`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import torch
from torch import nn

from gamer.runtime.bundle.manifest import TensorSpec

from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.weights import Weights
from ..errors import ExportError
from ..networks.dpe import Expert, Router
from .export_module import ExportModule

MODEL_TYPE = "gamer-dpe"


@dataclass(frozen=True)
class Sizes:
    """What a checkpoint's config.json says beside `model_type`, and what a recipe needs.

    `features`: of a patch; `hidden`: the language model's width.
    """

    experts: int
    blocks: int
    width: int
    heads: int
    features: int
    hidden: int


def module(role: str, sizes: Sizes) -> nn.Module:
    """The untrained network of `role`: "dpe_router" or "dpe_expert_N"."""
    if role == "dpe_router":
        return Router(sizes.features, sizes.width, sizes.experts)
    return Expert(sizes.features, sizes.width, sizes.heads, sizes.blocks, sizes.hidden)


def component(role: str, patches: int, sizes: Sizes, origin: int | Checkpoint) -> ExportModule:
    """The component `role`; `origin`: the seed of its random numbers, or a checkpoint.

    Raises ExportError for a checkpoint of something else, of other sizes, or not whole.
    """
    expert = -1 if role == "dpe_router" else int(role.rpartition("_")[2])
    torch.manual_seed((origin if isinstance(origin, int) else 0) + 1 + expert)
    network = module(role, sizes)
    if isinstance(origin, Checkpoint):
        _check(origin, sizes)
        _fill(network, role, origin.weights)
    return ExportModule(
        role=role,
        module=network.eval(),
        example=(torch.zeros(1, patches, sizes.features),),
        inputs=(TensorSpec("patches", (1, patches, sizes.features), "float32"),),
        outputs=(
            TensorSpec("weights", (1, sizes.experts), "float32")
            if expert < 0
            else TensorSpec("prompts", (1, patches, sizes.hidden), "float32"),
        ),
        dynamic={},
        architecture="MLP router" if expert < 0 else f"DPE expert, {sizes.blocks} blocks × {sizes.width}",
        source=f"random:{origin}" if isinstance(origin, int) else origin.weights.source,
        trained=isinstance(origin, Checkpoint),
        macs_per="image",
    )


def _check(opened: Checkpoint, sizes: Sizes) -> None:
    source, kind = opened.weights.source, opened.config.get("model_type")
    if kind != MODEL_TYPE:
        raise ExportError(f"{source}: a model of type {kind!r}, where {MODEL_TYPE!r} is needed for part dpe")
    for name, wanted in asdict(sizes).items():
        if opened.config.get(name) != wanted:
            raise ExportError(
                f"{source}: trained with {name} = {opened.config.get(name)}, this recipe needs {wanted}: it "
                "belongs to another image tower or language model"
            )


def _fill(network: nn.Module, role: str, weights: Weights) -> None:
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights.get(f"{role}.{name}", *parameter.shape))
            if not bool(torch.isfinite(parameter).all()):
                raise ExportError(f"{weights.source}: {role}.{name} is not finite: its training failed")
