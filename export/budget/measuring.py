"""What quantized matrices cost a component: its outputs on calibration inputs beside those of fp32 torch."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gamer.index.records import FloatArray

from ..components import fixtures
from ..components.export_module import ExportModule
from ..networks.decoder import DecoderStep
from ..networks.sequence import hidden_states, layer_runs
from ..parity import reference
from ..recipe import VISION
from ..settings import Settings

# Of an image tower of more than LARGE parameters, FEW pictures tell one matrix from another.
LARGE, FEW = 100_000_000, 4
OF_WORST = 0.1


@dataclass(frozen=True)
class Loss:
    """`mean`: 1 - cosine of the outputs (of a decoder: of its centred logits), averaged over the inputs.

    Small losses of several matrices add up. `worst`: the least cosine, as parity has it; `top1`: a decoder's
    share of equal likeliest tokens.
    """

    mean: float
    worst: float
    top1: float | None = None

    @property
    def cost(self) -> float:
        """What bits are chosen by.

        The worst input counts, too, because parity is judged by it: of a decoder it is mostly the first
        position, which all others attend to, and which the mean hardly sees.
        """
        return self.mean + OF_WORST * (1 - self.worst)


class Losses:
    """Losses of a component's module with some of its parts replaced."""

    def __init__(self, settings: Settings, item: ExportModule) -> None:
        self.module, self._decodes = item.module, isinstance(item.module, DecoderStep)
        if self._decodes:
            self._inputs: list[Any] = [reference.prose(settings, reference.PROSE_TOKENS)]
            self._reached = list[Tensor]()  # what each layer, and then the last norm, takes in fp32
        else:
            self._inputs = fixtures.samples(settings, item, False)
        large = sum(p.numel() for p in item.module.parameters()) > LARGE
        self._few = FEW if large and item.role in ("image_tower", VISION) else None
        self._want = [self._outputs(x, ()) for x in self._inputs]

    def of(self, parts: Mapping[str, nn.Module], *, alone: bool = False) -> Loss:
        """The loss with each module of `parts` in the place of the one that has its name.

        `alone`: to be compared with others of one part each, for which a large image tower gets FEW pictures.
        """
        before = {name: self.module.get_submodule(name) for name in parts}
        try:
            self._place(parts)
            got = [self._outputs(x, parts) for x in self._inputs[: self._few if alone else None]]
        finally:
            self._place(before)
        pairs = list(zip(got, self._want[: len(got)], strict=True))
        mean = float(np.mean([1 - cosine for a, b in pairs for cosine in reference.cosines(a[-1], b[-1])]))
        worst = float(np.min([cosine for a, b in pairs for cosine in reference.cosines(a[0], b[0])]))
        if not self._decodes:
            return Loss(mean, worst)
        return Loss(mean, worst, float((got[0][1].argmax(1) == self._want[0][1].argmax(1)).mean()))

    def _place(self, parts: Mapping[str, nn.Module]) -> None:
        for name, part in parts.items():
            parent, _, last = name.rpartition(".")
            setattr(self.module.get_submodule(parent), last, part)

    def _outputs(self, x: Any, parts: Iterable[str]) -> tuple[FloatArray, ...]:
        """The embedding [n, D]; of a decoder the states [S, H] and the centred logits [S, V]."""
        with torch.no_grad():
            if self._decodes:
                states, logits = self._decoded(x, parts)
                return states, logits - logits.mean(-1, keepdims=True)
            out = self.module(*(torch.from_numpy(np.ascontiguousarray(part)) for part in x))
            return (_rows(out[0] if isinstance(out, tuple) else out),)

    def _decoded(self, embeds: FloatArray, parts: Iterable[str]) -> tuple[FloatArray, FloatArray]:
        """States and logits, computed from the first layer that has one of `parts` on."""
        step: Any = self.module
        x, layers = layer_runs(step, torch.from_numpy(embeds)[None], torch.tensor([len(embeds)]))
        if not self._reached:
            self._reached = list(accumulate(layers, lambda x, run: run(x), initial=x))
        first = min((_layer(name, len(layers)) for name in parts), default=len(layers))
        x = self._reached[first]
        for run in layers[first:]:
            x = run(x)
        states = step.norm(x)[0]
        return _rows(states), _rows(step.head(states))


def _layer(name: str, layers: int) -> int:
    """The layer of a decoder's matrix; for what comes after all of them, `layers`."""
    found = re.match(r"layers\.(\d+)\.", name)
    return int(found[1]) if found else layers if name == "head" else 0


def states_and_logits(step: DecoderStep, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The decoder's states [S, H] and logits [S, V] after each of `embeds` float32 [S, H]."""
    with torch.no_grad():
        states = hidden_states(step, torch.from_numpy(embeds)[None], torch.tensor([len(embeds)]))[0]
        return _rows(states), _rows(step.head(states))


def _rows(x: Tensor) -> FloatArray:
    return np.array(x.reshape(-1, x.shape[-1]).numpy())
