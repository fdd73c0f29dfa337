"""A decoder step with its cache inside: past keys and values become buffers of the module, which Core ML
converts to states of the program. Its layers over several tokens at once, and with adapters, have the same
states, and become further functions of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gamer.runtime.backends.coreml_backend import MAIN, function_of
from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.language.kv_cache import PAST, PREFILL, PREFILL_TOKENS, state_name

from ..components.export_module import ExportModule
from ..networks.decoder import DecoderStep, LearnedStep
from ..networks.lora import attached
from ..networks.sequence import run_layer


def inputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """The inputs of a step with its cache inside: those of `item` but the past keys and values."""
    return tuple(spec for spec in item.inputs if not spec.name.startswith(PAST))


def outputs_of(item: ExportModule) -> tuple[TensorSpec, ...]:
    """The outputs of a step with its cache inside: those of `item` but the new keys and values."""
    caches = {spec.name for spec in item.inputs}
    return tuple(spec for spec in item.outputs if f"{PAST}{spec.name}" not in caches)


def stateful(item: ExportModule) -> ExportModule:
    """The step `item` with its cache inside. The new module shares the step's tensors."""
    example = tuple(
        x for spec, x in zip(item.inputs, item.example, strict=True) if not spec.name.startswith(PAST)
    )
    return replace(
        item,
        module=StatefulStep(item).eval(),
        example=example,
        inputs=inputs_of(item),
        outputs=outputs_of(item),
    )


def functions(
    item: ExportModule, adapters: Mapping[str, nn.ModuleList]
) -> Iterator[tuple[str, ExportModule]]:
    """The functions of the step `item` by name, one after the other: while one is used, its step has the
    changes of its adapter. An encoder-decoder's has one function."""
    yield MAIN, stateful(item)
    step = item.module
    if not isinstance(step, DecoderStep):
        return
    yield PREFILL, prefill(item)
    for name, changes in adapters.items():
        with attached(step, changes):
            yield function_of(MAIN, name), stateful(item)
            yield function_of(PREFILL, name), prefill(item)


def prefill(item: ExportModule) -> ExportModule:
    """The layers of the step `item` over PREFILL_TOKENS tokens: their states alone, without logits."""
    one = stateful(item)
    count = {"embeds": 0, "place": 1}  # the axes of tokens; it is the second last of all others
    example = tuple(
        x.repeat_interleave(PREFILL_TOKENS, count.get(spec.name, x.dim() - 2))
        for spec, x in zip(one.inputs, one.example, strict=True)
    )
    hidden = TensorSpec("hidden", (PREFILL_TOKENS, item.module.shape.hidden), "float32")
    return replace(one, module=StatefulPrefill(item).eval(), example=example, outputs=(hidden,))


class _Stateful(nn.Module):
    """`step`: a step; its cache is in buffers, which are zero at every position not yet written."""

    def __init__(self, item: ExportModule) -> None:
        super().__init__()
        self.step: Any = item.module
        self.names = tuple(spec.name for spec in item.inputs)
        self.output_names = tuple(f"{PAST}{spec.name}" for spec in item.outputs)
        for spec, value in zip(item.inputs, item.example, strict=True):
            if spec.name.startswith(PAST):
                self.register_buffer(state_name(spec.name), torch.zeros_like(value), persistent=False)


class StatefulPrefill(_Stateful):
    """The layers of a step over several tokens [S, H], whose keys and values are added at their places.

    Inputs as the step's, with S columns of `place` [T, S] and rows of `mask` [1, S, T]; a token without a
    place leaves nothing. Returns the normalised states [S, H].
    """

    def forward(self, *given: Tensor) -> Tensor:
        step, free = self.step, [name for name in self.names if not name.startswith(PAST)]
        values, shape = dict(zip(free, given, strict=True)), step.shape
        place, x = values["place"], values["embeds"]
        if isinstance(step, LearnedStep):
            x = x + F.linear(place.permute(1, 0), step.positions)
        x = x[None]
        for n, layer in enumerate(step.layers):
            end = "_local" if shape.is_local(n) else ""
            angles = None if shape.positions else (values[f"cos{end}"], values[f"sin{end}"])
            x = run_layer(layer, x, angles, values[f"mask{end}"][None], partial(self._placed, place, n))
        return torch.as_tensor(step.norm(x)[0])

    def _placed(self, place: Tensor, layer: int, *new: Tensor) -> tuple[Tensor, ...]:
        """Keys and values [1, KV, T, Dh] of a layer, with new ones [1, KV, S, Dh]."""
        caches = [self.get_buffer(state_name(f"{PAST}{x}.{layer}")) for x in "kv"]
        for cache, rows in zip(caches, new, strict=True):
            cache.add_(torch.matmul(place, rows[0]))
        return tuple(cache[None] for cache in caches)


class StatefulStep(_Stateful):
    """A step that adds, at each call, its key and value at the position where `place` is one."""

    def forward(self, *given: Tensor) -> tuple[Tensor, ...]:
        remaining = iter(given)
        values = {
            name: self.get_buffer(state_name(name)) if name.startswith(PAST) else next(remaining)
            for name in self.names
        }
        out = self.step(*values.values())
        for name, cache in zip(self.output_names, out, strict=True):
            if name in values:
                values[name].add_(values["place"] * cache)
        return tuple(x for name, x in zip(self.output_names, out, strict=True) if name not in values)
