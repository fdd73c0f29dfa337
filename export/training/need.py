"""What a training needs, said before it starts: memory and hours on the device that it would use."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

import torch
from torch import nn

from ..components.language import Language
from .loop import CHUNK
from .options import Options
from .projection import Projection

_KEPT = 18  # values that a block keeps for its gradient, for each of its inputs (norms, qkv, attention, MLP)
_EFFICIENCY = 0.5  # of a whole step against one large matrix product


@dataclass(frozen=True)
class Need:
    """`memory`: bytes at the most; `has`: bytes of the device, 0 if not known; `hours`: of all steps.

    `trained` and `frozen`: parameters.
    """

    device: str
    memory: int
    has: int
    hours: float
    trained: int
    frozen: int

    def text(self) -> str:
        """One line for people."""
        more = f" of {self.has / 1e9:.0f} GB" if self.has else ""
        warning = ": more than there is" if 0 < self.has < self.memory else ""
        return (
            f"{self.trained / 1e6:.1f} M parameters trained, {self.frozen / 1e6:.0f} M frozen: about "
            f"{self.memory / 1e9:.1f} GB{more}{warning} and {_time(self.hours)} on {self.device}"
        )


def of(
    model: Projection, language: Language | None, patches: int, tokens: float, pairs: int, options: Options
) -> Need:
    """The need of training `model` on `pairs` memories of `tokens` tokens, with `patches` soft prompts."""
    trained, frozen = _count(model), 0
    if language is not None:
        frozen = _count(language.step) - (_count(language.adapter) if language.adapter else 0)
        frozen += language.table.get_buffer("rows").numel()
    device = next(model.parameters()).device
    batch = min(options.batch, pairs)
    memory = 16 * trained + 4 * frozen + 4 * _activations(model, language, patches, tokens, batch, options)
    steps = pairs * options.epochs
    if options.steps:
        steps = min(steps, options.steps * options.accumulate * batch)
    macs = _macs(model, language, patches, tokens, options)
    hours = steps * macs / (_speed(device) * _EFFICIENCY) / 3600
    return Need(str(device), memory, _has(device), hours, trained, frozen)


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def _macs(
    model: Projection, language: Language | None, patches: int, tokens: float, options: Options
) -> float:
    """Multiply-adds of one pair, forward and backward."""
    experts = sum(_count(expert) for expert in model.experts) * patches
    macs = 3.0 * experts
    if language is None:
        return macs
    changes = _count(language.adapter) if language.adapter is not None else 0
    layers, head = _count(language.step.layers) - changes, _count(language.step.head)
    # A layer is computed twice (recompute); the frozen weights take no gradient of their own, changes do.
    passes = 3.0 * layers + 4.0 * changes
    if options.likelihood > 0:
        macs += 3.0 * experts + passes * (patches + tokens) + 2.0 * head * tokens
    if language.adapter is not None and options.query == "llm":
        macs += passes * tokens
    return macs


def _activations(
    model: Projection,
    language: Language | None,
    patches: int,
    tokens: float,
    batch: int,
    options: Options,
) -> int:
    """Values kept for the gradients at the most."""
    s = model.sizes
    block = _KEPT * s.width + s.heads * patches
    kept = batch * patches * s.experts * (s.blocks * block + 2 * s.hidden)
    if language is None:
        return kept
    shape, positions = language.step.shape, 0.0
    if options.likelihood > 0:
        positions = min(batch, CHUNK) * (patches + tokens)
    if language.adapter is not None and options.query == "llm":
        positions = max(positions, batch * tokens)
    inner = 4 * shape.intermediate + 6 * shape.hidden
    told = min(batch, CHUNK) * tokens * shape.vocab * 2 if options.likelihood > 0 else 0.0
    return int(kept + positions * (shape.layers * shape.hidden + inner) + told)


def _speed(device: torch.device) -> float:
    """Multiply-adds a second of a large matrix product, the best of three."""
    a = torch.randn(1024, 1024, device=device)
    best = 0.0
    for _ in range(3):
        begun = time.perf_counter()
        (a @ a).sum().item()
        best = max(best, 1024**3 / (time.perf_counter() - begun))
    return best


def _has(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 0


def _time(hours: float) -> str:
    if hours >= 1:
        return f"{hours:.1f} hours"
    return f"{hours * 60:.0f} minutes" if hours * 60 >= 1 else f"{hours * 3600:.0f} s"
