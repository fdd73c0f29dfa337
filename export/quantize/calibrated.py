"""Codes of a language model's 4-bit matrices that its writer takes as they are given.

Of a checkpoint that stores them in 4-bit groups, those (checkpoints/packed_weights.py): nothing is quantized
a second time. With --quant gptq, codes by what their inputs are on a text, which is the documentation that
Python itself carries, so that nothing is downloaded and none is copied; layers are taken in their order, and
the inputs of each are those that the quantized layers before it give.

The codes go to the target's writer (`given` of its options); the module gets the values that they stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..checkpoints.decoder_weights import stored_groups
from ..checkpoints.packed_weights import PackedWeights
from ..components import components
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..networks.decoder import DecoderStep
from ..networks.sequence import layer_runs
from ..recipe import CALIBRATED, QUANTS
from ..settings import Settings
from .block_codes import Blocks4
from .gptq import Grid, quantize
from .quantization_policy import QuantizationPolicy

IN_BLOCKS = ("int4", "8da4w")
SEQUENCES, LENGTH = 8, 512


def codes(settings: Settings, item: ExportModule, target: str, quant: str) -> dict[str, Blocks4]:
    """The codes of the matrices of `item`, by the paths of their weights; its module gets their values.

    {} for what is no decoder in 4 bits. A head has none: its writer rounds it. Raises ExportError for blocks
    that do not divide a matrix.
    """
    step = item.module
    if quant not in IN_BLOCKS or not isinstance(step, DecoderStep):
        return {}
    if settings.quant != CALIBRATED:
        return _stored(settings, item, step, target, quant)
    out = dict[str, Blocks4]()
    read = pieces(settings, min(LENGTH, step.shape.positions or LENGTH))
    begun = [layer_runs(step, x, torch.tensor([x.shape[1]])) for x in read]
    states, runs = [x for x, _ in begun], [layers for _, layers in begun]
    sizes = _in_blocks(settings, item, target, quant)
    with torch.no_grad():
        for n in range(len(step.layers)):
            names = [name for name in sizes if name.startswith(f"layers.{n}.")]
            feeds = [partial(run[n], x) for run, x in zip(runs, states, strict=True)]
            sums = moments(step, names, feeds) if names else {}
            for name in names:
                linear: Any = step.get_submodule(name)
                blocks = quantize(linear.weight.detach(), sums[name], grid(target), sizes[name])
                linear.weight = nn.Parameter(torch.from_numpy(blocks.dequantize()), requires_grad=False)
                out[f"{name}.weight"] = blocks
            states = [feed() for feed in feeds]
    return out


def _stored(
    settings: Settings, item: ExportModule, step: DecoderStep, target: str, quant: str
) -> dict[str, Blocks4]:
    """The codes that the checkpoint stores, where the target has a zero point for each block.

    Not of a matrix to which an adapter was added: the module has other values by then.
    """
    checkpoint = components.checkpoint(settings, "llm")
    if not isinstance(checkpoint.weights, PackedWeights) or grid(target).kind == "symmetric":
        return {}
    sizes = {f"{name}.weight": size for name, size in _in_blocks(settings, item, target, quant).items()}
    found = stored_groups(step, checkpoint.config, checkpoint.weights, sizes)
    blocks = {name: Blocks4(*groups, np.zeros_like(groups.scales)) for name, groups in found.items()}
    return {n: b for n, b in blocks.items() if np.array_equal(b.dequantize(), step.get_parameter(n).numpy())}


def grid(target: str) -> Grid:
    """The grids that a target's writer has for a language model's blocks of 4 bits."""
    if target == "executorch":
        return Grid("symmetric", torch.bfloat16)
    return Grid("integer", torch.float16) if target == "coreml" else Grid("affine")


def _in_blocks(settings: Settings, item: ExportModule, target: str, quant: str) -> dict[str, int]:
    """The matrices of the layers in 4 bits, with the size of their blocks."""
    keep = settings.overrides_of(item.role, target)
    policy = QuantizationPolicy(target, (*QUANTS, "8da4w"), quant, keep, settings.group_size)
    sizes = dict[str, int]()
    for name, part in item.module.named_modules():
        if isinstance(part, nn.Linear) and name != "head" and policy.of(f"{name}.weight") in IN_BLOCKS:
            sizes[name] = size = policy.group_of(f"{name}.weight")
            if part.in_features % size:
                raise ExportError(
                    f"{name}: {part.in_features} columns must be a multiple of group size {size}: choose a "
                    "smaller --group-size, or --keep it in int8"
                )
    return sizes


def moments(
    module: nn.Module, names: Iterable[str], feeds: Sequence[Callable[[], object]]
) -> dict[str, Tensor]:
    """name → float32 [K, K], the sum of x xᵀ over the inputs x of that matrix while `feeds` run."""
    sums: dict[str, Tensor] = {}

    def add(name: str, inputs: tuple[Tensor, ...]) -> None:
        rows = inputs[0].reshape(-1, inputs[0].shape[-1])
        sums[name] = sums.get(name, torch.zeros(())) + rows.T @ rows

    hooks = [
        module.get_submodule(name).register_forward_pre_hook(lambda _, x, name=name: add(name, x))
        for name in names
    ]
    try:
        for feed in feeds:
            feed()
    finally:
        for hook in hooks:
            hook.remove()
    return sums


def pieces(settings: Settings, length: int) -> list[Tensor]:
    """float32 [1, length, H] each: evenly spaced pieces of the text as the decoder's embeddings."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(components.llm_tokenizer(settings)[0])
    ids = np.array(tokenizer.encode(text()).ids)
    table = components.build(settings, "llm_embed", "fp32").module.get_buffer("rows")
    begins = np.linspace(0, max(0, len(ids) - length), SEQUENCES).astype(int)
    return [table[torch.from_numpy(ids[at : at + length])][None].float() for at in begins]


@lru_cache(maxsize=1)
def text() -> str:
    """The documentation of Python's language that `help()` shows, without line breaks."""
    from pydoc_data import topics

    return " ".join(" ".join(topics.topics[name].split()) for name in sorted(topics.topics))
