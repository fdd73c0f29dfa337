"""`Weights`: tensors by Hugging Face's names, from safetensors, GGUF or seeded random numbers.

A module is filled one tensor at a time, so that a checkpoint is never held in memory twice.
"""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from ..errors import ExportError

# The last matrix of attention and of the feed-forward, which write into the residual stream; the names of
# CLIP and SigLIP, of Llama, Qwen and Gemma, of GPT-2, and of T5.
_RESIDUAL = re.compile(r"\.(out_proj|fc2|o_proj|down_proj|c_proj|(Self|EncDec)Attention\.o|wo)\.weight$")
_POST_NORM = re.compile(r"\.post_(attention|feedforward)_layernorm\.weight$")
_TOKENS = ("embed_tokens.weight", "wte.weight", "shared.weight")
# T5's attention does not scale its scores by the head's width: the initial query weights are smaller instead.
_T5_QUERY = re.compile(r"\.(Self|EncDec)Attention\.q\.weight$")


class Weights(Protocol):
    """A checkpoint's tensors. `source`: its name in the manifest. `trained`: False for random weights."""

    source: str
    trained: bool

    def has(self, name: str) -> bool:
        """Whether the tensor exists; random weights have every tensor except lm_head.weight (untied head)."""
        ...

    def get(self, name: str, *shape: int) -> Tensor:
        """The tensor as float32. Raises ExportError if it is missing or not of `shape`."""
        ...


class RandomWeights:
    """Random weights from a seed and the tensor's name, for measuring latency, size and FLOPs.

    They do not depend on the machine or on the order of calls. Their scales keep the size of activations
    constant through any depth:

    - Matrices are normal with variance 1/fan-in; norm scales are 1.
    - Matrices that write into the residual stream, and layer scales ("gamma"), are divided by
      sqrt(2 · `depth`), as GPT-2 and CLIP are initialised (Radford et al. 2019, section 2.3; 2021).
    - Vectors and embedding tables are normal with standard deviation 0.02; a language model's token table has
      standard deviation `table`, so that the residual stream starts as large as the blocks' sum.
    - T5's query matrices are divided by sqrt(`head`), `head` being the width of a head, because its attention
      does not scale its scores (Raffel et al. 2020).
    - `sandwich`, for Gemma: norm scales are stored minus one, and a norm at the end of a sublayer has the
      factor 1 / sqrt(2 · `depth`).
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
            return torch.full(shape, 1 / math.sqrt(2 * self.depth) - 1 if _POST_NORM.search(name) else 0.0)
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
        reduction = 2 * self.depth if _RESIDUAL.search(name) else self.head if _T5_QUERY.search(name) else 1
        return 1.0 / math.sqrt(math.prod(shape[1:]) * reduction)


class SafetensorsWeights:
    """The tensors of one or more safetensors files, each read from disk by `get`.

    Names are also looked up with the prefixes that some wrapper models add.
    """

    trained = True

    def __init__(self, files: list[Path], source: str) -> None:
        from safetensors import SafetensorError, safe_open

        self.source, self._where = source, dict[str, Any]()
        for file in files:
            try:
                opened = safe_open(str(file), framework="pt")
            except (SafetensorError, OSError) as error:
                raise ExportError(
                    f"{file}: not a whole safetensors file ({str(error)[:120]}): fetch it again"
                ) from None
            self._where |= dict.fromkeys(opened.keys(), opened)  # type: ignore[no-untyped-call]

    def has(self, name: str) -> bool:
        return self._stored(name) is not None

    def get(self, name: str, *shape: int) -> Tensor:
        stored_name = self._stored(name)
        if stored_name is None:
            raise ExportError(
                f"{self.source}: no tensor {name}: the checkpoint is of another architecture, or not whole"
            )
        return fit(self._where[stored_name].get_tensor(stored_name), name, shape, self.source)

    def _stored(self, name: str) -> str | None:
        # GPT-2's first checkpoints omit "transformer."; multimodal Gemma has "language_model." as a prefix or
        # after "model.", SmolVLM "text_model." there.
        forms = (
            name,
            name.removeprefix("transformer."),
            *(f"{wrapper}.{name}" for wrapper in ("bert", "roberta", "mpnet", "model")),
            f"language_model.{name}",
            *(name.replace("model.", f"model.{inner}.", 1) for inner in ("language_model", "text_model")),
        )
        return next((form for form in forms if form in self._where), None)


class PickledWeights(SafetensorsWeights):
    """The tensors of pickled files, all loaded at once.

    Unpickling runs code from the file: callers create this only if the user trusts the source.
    """

    def __init__(self, files: list[Path], source: str) -> None:
        self.source, self._tensors = source, dict[str, Tensor]()
        for file in files:
            self._tensors |= torch.load(file, map_location="cpu", weights_only=False)
        self._where = dict.fromkeys(self._tensors, self)

    def get_tensor(self, name: str) -> Tensor:
        return self._tensors[name]


class NoWeights:
    """Weights that give tensors on the meta device: a shape, without memory."""

    source, trained = "", False

    def has(self, name: str) -> bool:
        return True

    def get(self, name: str, *shape: int) -> Tensor:
        return torch.empty(shape, device="meta")


def fit(tensor: Tensor, name: str, shape: tuple[int, ...], source: str) -> Tensor:
    """`tensor` as float32. Raises ExportError, with both shapes, if its shape is not `shape`."""
    if tuple(tensor.shape) != shape:
        raise ExportError(
            f"{source}: {name} has shape {list(tensor.shape)}, the architecture wants {list(shape)}: config "
            "and weights disagree"
        )
    return tensor.to(torch.float32)


def fill(module: nn.Module, weights: Weights, root: str, names: dict[str, tuple[str, ...]]) -> None:
    """Sets weight and bias (if any) of each submodule; expected shapes are those of the module.

    `names`: submodule → names in the checkpoint, whose tensors are concatenated along the first axis.
    """
    for ours, theirs in names.items():
        part = module.get_submodule(ours)
        for kind, parameter in list(part.named_parameters(recurse=False)):
            part_shape = (parameter.shape[0] // len(theirs), *parameter.shape[1:])
            tensors = [weights.get(f"{root}.{name}.{kind}".lstrip("."), *part_shape) for name in theirs]
            setattr(part, kind, constant(tensors[0] if len(tensors) == 1 else torch.cat(tensors)))


def constant(tensor: Tensor) -> nn.Parameter:
    """A parameter without gradients."""
    return nn.Parameter(tensor, requires_grad=False)
