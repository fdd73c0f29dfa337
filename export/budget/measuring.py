"""What quantized matrices cost a component: its outputs on calibration inputs beside those of fp32 torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gamer.index.records import FloatArray

from ..components import fixtures
from ..components.export_module import ExportModule
from ..networks.decoder import DecoderStep
from ..networks.sequence import hidden_states
from ..parity import reference
from ..settings import Settings


@dataclass(frozen=True)
class Loss:
    """`mean`: 1 - cosine of the outputs (of a decoder: of its centred logits), averaged over the inputs.

    Small losses of several matrices add up. `worst`: the least cosine, as parity has it; `top1`: a decoder's
    share of equal likeliest tokens.
    """

    mean: float
    worst: float
    top1: float | None = None


class Losses:
    """Losses of a component's module with some of its parts replaced."""

    def __init__(self, settings: Settings, item: ExportModule) -> None:
        self.module, self._decodes = item.module, isinstance(item.module, DecoderStep)
        if self._decodes:
            self._inputs: list[Any] = [reference.prose(settings, reference.PROSE_TOKENS)]
        else:
            self._inputs = fixtures.samples(settings, item, False)
        self._want = [self._outputs(x) for x in self._inputs]

    def of(self, parts: Mapping[str, nn.Module]) -> Loss:
        """The loss with each module of `parts` in the place of the one that has its name."""
        before = {name: self.module.get_submodule(name) for name in parts}
        try:
            self._place(parts)
            got = [self._outputs(x) for x in self._inputs]
        finally:
            self._place(before)
        pairs = list(zip(got, self._want, strict=True))
        mean = float(np.mean([1 - cosine for a, b in pairs for cosine in reference.cosines(a[-1], b[-1])]))
        worst = float(np.min([cosine for a, b in pairs for cosine in reference.cosines(a[0], b[0])]))
        if not self._decodes:
            return Loss(mean, worst)
        return Loss(mean, worst, float((got[0][1].argmax(1) == self._want[0][1].argmax(1)).mean()))

    def _place(self, parts: Mapping[str, nn.Module]) -> None:
        for name, part in parts.items():
            parent, _, last = name.rpartition(".")
            setattr(self.module.get_submodule(parent), last, part)

    def _outputs(self, x: Any) -> tuple[FloatArray, ...]:
        """The embedding [n, D]; of a decoder the states [S, H] and the centred logits [S, V]."""
        if self._decodes:
            step: Any = self.module
            states, logits = states_and_logits(step, x)
            return states, logits - logits.mean(-1, keepdims=True)
        with torch.no_grad():
            out = self.module(*(torch.from_numpy(np.ascontiguousarray(part)) for part in x))
            return (_rows(out[0] if isinstance(out, tuple) else out),)


def states_and_logits(step: DecoderStep, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The decoder's states [S, H] and logits [S, V] after each of `embeds` float32 [S, H]."""
    with torch.no_grad():
        states = hidden_states(step, torch.from_numpy(embeds)[None], torch.tensor([len(embeds)]))[0]
        return _rows(states), _rows(step.head(states))


def _rows(x: Tensor) -> FloatArray:
    return np.array(x.reshape(-1, x.shape[-1]).numpy())
