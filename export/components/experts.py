"""The Dynamic Projection Experts as export modules: seeded random numbers, or a trained checkpoint.

A checkpoint is a directory with `config.json` (`model_type` "gamer-dpe", and the sizes below) and safetensors
files whose tensors are named by role and parameter, as in `dpe_expert_0.project_in.weight`. `gamer train`
writes such a directory. If its config.json has `head`, a query head belongs to it (QuerySide); if it has
`lora`, the rank of changes of the language model (networks/lora.py), named as in `llm_decoder.0.qkv.a`, or
"whole", with `changes`, eight hex digits that name them.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Literal

import torch
from torch import nn

from gamer.index.json_checked import Between
from gamer.runtime.bundle.manifest import TensorSpec

from ..checked import read_as
from ..checkpoints.checkpoint import Checkpoint
from ..checkpoints.weights import Weights
from ..errors import ExportError
from ..networks import lora
from ..networks.decoder import DecoderStep
from ..networks.dpe import Expert, QueryHead, Router
from ..networks.ranks import WHOLE
from .export_module import ExportModule

MODEL_TYPE = "gamer-dpe"
HEAD = "dpe_query"
MAX_SLOTS, MAX_WIDTH, MAX_RANK = 1 << 16, 1 << 16, 1 << 10
MAX_EXPERT = 400_000_000  # parameters of one expert's blocks; the paper's have 88 million
DECODER = "llm_decoder"
ALL = "whole"  # in place of a rank


@dataclass(frozen=True)
class Sizes:
    """What a checkpoint's config.json says beside `model_type`, and what a recipe needs.

    `features`: of a patch; `hidden`: the language model's width. `pooled`: as the checkpoint was trained;
    `bert`: whether its blocks began as layers of a sentence encoder, whose sizes they then have.
    """

    experts: int
    blocks: int
    width: int
    heads: int
    features: int
    hidden: int
    pooled: bool = field(default=False, repr=False)
    bert: bool = field(default=False, repr=False)

    def prompts(self, patches: int) -> int:
        """How many soft prompts an expert gives for a photo."""
        return 1 if self.pooled else patches


@dataclass(frozen=True)
class QuerySide:
    """What makes v_Q, from a checkpoint's config.json.

    `query`: whose state is taken, "llm" (the decoder's at [EOS]) or "text" (the text tower's vector).
    `width`: of the state, and `slots` of the query head; a width of 0 means that there is no head, and that
    the state itself is v_Q, as in the paper.
    """

    query: str = "llm"
    width: int = 0
    slots: int = 0


@dataclass(frozen=True)
class _Head:
    width: Annotated[int, Between(0, MAX_WIDTH)] = 0
    slots: Annotated[int, Between(0, MAX_SLOTS)] = 0


@dataclass(frozen=True)
class _Trained:
    """Of a checkpoint's config.json, what `gamer train` wrote beside the sizes."""

    query: Literal["text", "llm"] = "llm"
    pooled: bool = False
    bert: bool = False
    blocks: Annotated[int, Between(1, 64)] = 1
    width: Annotated[int, Between(1, 4096)] = 1
    heads: Annotated[int, Between(1, 64)] = 1
    head: _Head = _Head()
    lora: Literal["whole"] | Annotated[int, Between(0, MAX_RANK)] = 0


def _trained(opened: Checkpoint) -> _Trained:
    trained: _Trained = read_as(_Trained, opened.config, f"{opened.weights.source}: config.json")
    return trained


def trained_sizes(sizes: Sizes, opened: Checkpoint) -> Sizes:
    """A recipe's sizes with what a checkpoint chooses: pooled or not, blocks of a sentence encoder.

    Raises ExportError.
    """
    told = _trained(opened)
    sizes = replace(sizes, pooled=told.pooled)
    if not told.bert:
        return sizes
    if told.width % told.heads:
        raise ExportError(f"{opened.weights.source}: config.json.heads: must divide the width {told.width}")
    if 12 * told.blocks * told.width**2 > MAX_EXPERT:
        raise ExportError(
            f"{opened.weights.source}: config.json: an expert of {told.blocks} blocks of width {told.width} "
            "is too large"
        )
    return replace(sizes, bert=True, blocks=told.blocks, width=told.width, heads=told.heads)


def query_side(opened: Checkpoint) -> QuerySide:
    """The query side that a checkpoint was trained with. Raises ExportError for one that cannot be."""
    trained = _trained(opened)
    if trained.query == "text" and not trained.head.width:
        raise ExportError(
            f"{opened.weights.source}: config.json.head: must have a width for the query of text"
        )
    return QuerySide(trained.query, trained.head.width, trained.head.slots)


def query_head(side: QuerySide, hidden: int, origin: Checkpoint) -> ExportModule:
    """The query head as a component. Raises ExportError for a checkpoint that is not whole."""
    network = QueryHead(side.width, side.slots, hidden)
    _fill(network, HEAD, origin.weights)
    return ExportModule(
        role=HEAD,
        module=network.eval(),
        example=(torch.zeros(1, side.width),),
        inputs=(TensorSpec("state", (1, side.width), "float32"),),
        outputs=(TensorSpec("vector", (1, hidden), "float32"),),
        dynamic={},
        architecture=f"linear, and attention over {side.slots} keys" if side.slots else "linear",
        source=origin.weights.source,
        trained=True,
        macs_per="query",
    )


def rank(opened: Checkpoint) -> int:
    """The rank of the checkpoint's changes of the language model, or WHOLE; 0 if there are none.

    Raises ExportError.
    """
    rank = _trained(opened).lora
    return WHOLE if isinstance(rank, str) else rank


def adapt(step: nn.Module, opened: Checkpoint) -> None:
    """Adds the checkpoint's changes to the decoder `step`. Raises ExportError if they are of another one."""
    if not isinstance(step, DecoderStep):
        raise ExportError(f"{opened.weights.source}: its changes belong to a decoder without encoder")
    changes = lora.adapter(step, rank(opened))
    _fill(changes, DECODER, opened.weights)
    lora.merge(step, changes)


def identity(sizes: Sizes, opened: Checkpoint) -> str:
    """Eight hex digits over what makes v_I, and over the language model's changes where these make v_Q.

    They name a channel: vectors of one checkpoint are not compared with another's. Raises ExportError.
    """
    side = query_side(opened)
    sha = hashlib.sha256(repr((sizes, side)).encode() + b"pooled" * sizes.pooled + b"bert" * sizes.bert)
    for role in ("dpe_router", *(f"dpe_expert_{n}" for n in range(sizes.experts))):
        for name, parameter in module(role, sizes).named_parameters():
            sha.update(_bytes(opened.weights.get(f"{role}.{name}", *parameter.shape)))
    low, layer = rank(opened) if side.query == "llm" else 0, 0
    if low == WHOLE:
        sha.update(str(opened.config.get("changes")).encode())
    while low > 0 and opened.weights.has(f"{DECODER}.{layer}.qkv.a"):
        # Those whose sizes are known here; a step of training moves all.
        for name, shape in (("qkv.a", (low, sizes.hidden)), ("out.b", (sizes.hidden, low))):
            sha.update(_bytes(opened.weights.get(f"{DECODER}.{layer}.{name}", *shape)))
        layer += 1
    return sha.hexdigest()[:8]


def _bytes(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.detach().contiguous().float().numpy().tobytes())


def module(role: str, sizes: Sizes) -> nn.Module:
    """The untrained network of `role`: "dpe_router" or "dpe_expert_N"."""
    if role == "dpe_router":
        return Router(sizes.features, sizes.width, sizes.experts)
    shape = (sizes.features, sizes.width, sizes.heads, sizes.blocks, sizes.hidden)
    return Expert(*shape, sizes.pooled, sizes.bert)


def component(role: str, patches: int, sizes: Sizes, origin: int | Checkpoint) -> ExportModule:
    """The component `role`; `origin`: the seed of its random numbers, or a checkpoint.

    Raises ExportError for a checkpoint of something else, of other sizes, or not whole.
    """
    expert = -1 if role == "dpe_router" else int(role.rpartition("_")[2])
    torch.manual_seed((origin if isinstance(origin, int) else 0) + 1 + expert)
    network = module(role, sizes)
    if isinstance(origin, Checkpoint):
        check(origin, sizes)
        _fill(network, role, origin.weights)
    return ExportModule(
        role=role,
        module=network.eval(),
        example=(torch.zeros(1, patches, sizes.features),),
        inputs=(TensorSpec("patches", (1, patches, sizes.features), "float32"),),
        outputs=(
            TensorSpec("weights", (1, sizes.experts), "float32")
            if expert < 0
            else TensorSpec("prompts", (1, sizes.prompts(patches), sizes.hidden), "float32"),
        ),
        dynamic={},
        architecture="MLP router" if expert < 0 else f"DPE expert, {sizes.blocks} blocks × {sizes.width}",
        source=f"random:{origin}" if isinstance(origin, int) else origin.weights.source,
        trained=isinstance(origin, Checkpoint),
        macs_per="image",
    )


def check(opened: Checkpoint, sizes: Sizes) -> None:
    """Raises ExportError for a checkpoint of something else, or of other sizes."""
    source, kind = opened.weights.source, opened.config.get("model_type")
    if kind != MODEL_TYPE:
        raise ExportError(f"{source}: a model of type {kind!r}, where {MODEL_TYPE!r} is needed for part dpe")
    for name, wanted in asdict(sizes).items():
        if name not in ("pooled", "bert") and opened.config.get(name) != wanted:
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
