"""Weights by name: one small interface over safetensors, GGUF and seeded random numbers. Names are Hugging
Face's.

An architecture asks for each tensor by name and shape when it fills the layer that wants it, so that a
checkpoint is never held twice.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import Protocol

import torch
from torch import Tensor

from ..errors import ExportError

# The last matrix of attention and of the feed-forward, by the names of CLIP and SigLIP, Llama, Qwen and
# Gemma, GPT-2, T5.
_RESIDUAL = re.compile(r"\.(out_proj|fc2|o_proj|down_proj|c_proj|(Self|EncDec)Attention\.o|wo)\.weight$")
_AFTER = re.compile(r"\.post_(attention|feedforward)_layernorm\.weight$")
_TOKENS = ("embed_tokens.weight", "wte.weight", "shared.weight")
# T5's attention divides no product by the width of a head: its queries are smaller from the start.
_UNDIVIDED = re.compile(r"\.(Self|EncDec)Attention\.q\.weight$")


class Weights(Protocol):
    """A checkpoint's tensors. `source`: what the manifest calls it. `trained`: False for random numbers."""

    source: str
    trained: bool

    def has(self, name: str) -> bool:
        """Whether the checkpoint holds `name`; a random one holds whatever is asked for, except an untied
        head ("lm_head.weight").
        """
        ...

    def get(self, name: str, *shape: int) -> Tensor:
        """The tensor as float32 of `shape`.

        Raises ExportError that names source, tensor and shapes when it is missing or another shape.
        """
        ...


class RandomWeights:
    """Numbers from a seed and the tensor's name: the same on every machine, whatever the order of asking. For
    latency, size and FLOPs.

    Matrices are normal with variance 1/fan-in and norm scales are one, so that activations keep their size
    through a block. Those that write into the residual stream are smaller by sqrt(2 · depth), as GPT-2 and
    CLIP are initialised (Radford et al. 2019, section 2.3; 2021), so that they keep it through any depth; so
    is what scales a block's output ("gamma"). Vectors and tables of embeddings are normal with deviation
    0.02, a language model's table of tokens with deviation `table`: the stream that it starts should be as
    wide as what the blocks add up to. T5's queries are smaller by sqrt(`head`), the width of a head (Raffel
    et al. 2020; its attention divides by nothing). Gemma's norms are stored less one, and where a block ends
    in one (`sandwich`), that is what makes it write less.
    """

    trained = False

    def __init__(
        self, seed: int, depth: int = 1, head: int = 1, table: float = 1.0, sandwich: bool = False
    ) -> None:
        self.seed, self.depth, self.head, self.table, self.sandwich, self.source = (
            seed,
            depth,
            head,
            table,
            sandwich,
            f"random:{seed}",
        )

    def has(self, name: str) -> bool:
        return name != "lm_head.weight"

    def get(self, name: str, *shape: int) -> Tensor:
        if self.sandwich and name.endswith("norm.weight"):
            return torch.full(shape, 1 / math.sqrt(2 * self.depth) - 1 if _AFTER.search(name) else 0.0)
        if "norm" in name.lower() or "ln_" in name or "layrnorm" in name or ".bn." in name:
            return torch.zeros(shape) if name.endswith(("bias", "running_mean")) else torch.ones(shape)
        if name.endswith(".gamma"):
            return torch.full(shape, 1 / math.sqrt(2 * self.depth))
        digest = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "little") >> 1)
        return torch.randn(shape, generator=generator).mul_(self._spread(name, shape))

    def _spread(self, name: str, shape: tuple[int, ...]) -> float:
        if name.endswith(_TOKENS):
            return self.table
        if len(shape) < 2 or (len(shape) == 2 and ("embed" in name or name.endswith("wpe.weight"))):
            return 0.02
        least = 2 * self.depth if _RESIDUAL.search(name) else self.head if _UNDIVIDED.search(name) else 1
        return 1.0 / math.sqrt(math.prod(shape[1:]) * least)


def fit(tensor: Tensor, name: str, shape: tuple[int, ...], source: str) -> Tensor:
    """`tensor` as float32 if its shape is `shape`. Raises ExportError."""
    if tuple(tensor.shape) != shape:
        raise ExportError(
            f"{source}: {name} has shape {list(tensor.shape)}, the architecture wants {list(shape)}: config "
            "and weights disagree"
        )
    return tensor.to(torch.float32)
