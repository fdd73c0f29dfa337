"""Builds language models as modules ready to lower, filled one matrix at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from gamer.runtime.bundle.manifest import TensorSpec

from ..checkpoints.decoder_config import ENCODER_DECODERS, decoder_shape, language, t5_shape, text_config
from ..checkpoints.decoder_weights import fill_decoder, fill_encoder, token_table
from ..checkpoints.weights import Weights
from ..networks.decoder import DecoderShape, DecoderStep, Embedding, Int8Embedding, LearnedStep
from ..networks.t5 import T5Encoder, T5Shape, T5Step
from .export_module import ExportModule, Specs

Config = dict[str, Any]
__all__ = ["Size", "decoder", "embed", "encoder", "language", "shapes", "step_specs"]


@dataclass(frozen=True)
class Size:
    """A network's size, computed from its configuration. `largest`: parameters of its largest matrix."""

    role: str
    parameters: int
    largest: int
    macs: int
    macs_per: str


def decoder(config: Config, weights: Weights, max_seq: int) -> ExportModule:
    """The filled decoder of any supported model, with `max_seq` cache slots.

    Raises ExportError for an unsupported model, and for a tensor that is missing or of another shape.
    """
    step = _empty_decoder(config, max_seq)
    fill_decoder(step, config, weights)
    return _export_module(
        "llm_decoder",
        step.eval(),
        step_specs(step, max_seq),
        config,
        weights,
        f"token at {max_seq} cache slots",
    )


def encoder(config: Config, weights: Weights, max_seq: int) -> ExportModule:
    """The filled encoder of an encoder-decoder model. Raises ExportError.

    It includes the decoder's cross-attention projections, from the encoder's states to keys and values.
    """
    with torch.device("meta"):
        module = T5Encoder(t5_shape(config), max_seq)
    fill_encoder(module, weights)
    return _export_module(
        "llm_encoder", module.eval(), encoder_specs(module), config, weights, f"text of {max_seq} tokens"
    )


def embed(config: Config, weights: Weights, quant: str) -> ExportModule:
    """The token table with the rows that the decoder takes, so with Gemma's scale applied.

    It is in int8 unless `quant` is fp32 or fp16.
    """
    text = text_config(config)
    table = token_table(config, weights)
    if text["model_type"].startswith("gemma3"):
        table = table * table.shape[1] ** 0.5
    module = (
        Embedding(table.half() if quant == "fp16" else table)
        if quant in ("fp32", "fp16")
        else Int8Embedding(table)
    )
    inputs, outputs = (
        (TensorSpec("ids", ("tokens",), "int64"),),
        (TensorSpec("embeds", ("tokens", table.shape[1]), "float32"),),
    )
    example = (torch.zeros(1, dtype=torch.int64),)
    return ExportModule(
        role="llm_embed",
        module=module.eval(),
        example=example,
        inputs=inputs,
        outputs=outputs,
        dynamic={0: {0: "tokens"}},
        architecture="token table",
        source=weights.source,
        trained=weights.trained,
        macs_per="token",
    )


def shapes(config: Config, max_seq: int) -> tuple[Size, ...]:
    """The sizes of token table, encoder (if any) and decoder, without reading weights; for a dry run."""
    with torch.device("meta"):
        modules: list[tuple[str, nn.Module, Specs, str]] = []
        if (reader := _empty_encoder(config, max_seq)) is not None:
            reader.to("meta").compute_bias()
            modules.append(("llm_encoder", reader, encoder_specs(reader), f"text of {max_seq} tokens"))
        step = _empty_decoder(config, max_seq)
        modules.append(("llm_decoder", step, step_specs(step, max_seq), f"token at {max_seq} cache slots"))
    table = step.shape.vocab * step.shape.hidden
    return (Size("llm_embed", table, table, 0, "token"), *(_size(*entry) for entry in modules))


def networks(config: Config, max_seq: int) -> dict[str, nn.Module]:
    """The decoder, and the encoder if there is one, on the meta device: names and shapes, no weights."""
    networks: dict[str, nn.Module] = {"llm_decoder": _empty_decoder(config, max_seq)}
    if (reader := _empty_encoder(config, max_seq)) is not None:
        reader.to("meta").compute_bias()
        networks["llm_encoder"] = reader
    return networks


def _size(role: str, module: nn.Module, specs: Specs, macs_per: str) -> Size:
    module = module.to("meta")
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(*(torch.zeros([int(d) for d in spec.shape], device="meta") for spec in specs[0]))
    counts = [p.numel() for p in module.parameters()]
    return Size(role, sum(counts), max(counts), counter.get_total_flops() // 2, macs_per)


def step_specs(step: DecoderStep | T5Step, slots: int) -> Specs:
    """(input specs, output specs) of a step with `slots` cache slots, in the order of `forward`."""
    s = step.shape
    kv_heads, half, layers = (
        (s.heads if isinstance(s, T5Shape) else s.kv_heads),
        s.head_dim // 2,
        range(s.layers),
    )

    def floats(name: str, *shape: int) -> TensorSpec:
        return TensorSpec(name, shape, "float32")

    inputs = [floats("embeds", 1, s.hidden)]
    if isinstance(s, DecoderShape) and not s.positions:
        inputs += [floats("cos", 1, 1, half), floats("sin", 1, 1, half)]
    inputs += [floats("place", slots, 1), floats("mask", 1, 1, slots)]
    if isinstance(s, T5Shape):
        inputs += [floats("buckets", slots, s.buckets), floats("cross_mask", 1, 1, slots)]
    elif s.window:
        inputs += [
            floats("cos_local", 1, 1, half),
            floats("sin_local", 1, 1, half),
            floats("mask_local", 1, 1, slots),
        ]
    inputs += [floats(f"past_{x}.{n}", kv_heads, slots, s.head_dim) for n in layers for x in "kv"]
    if isinstance(s, T5Shape):
        inputs += [floats(f"cross_{x}.{n}", kv_heads, slots, s.head_dim) for n in layers for x in "kv"]
    outputs = [floats("logits", 1, s.vocab), floats("hidden", 1, s.hidden)]
    outputs += [floats(f"{x}.{n}", kv_heads, 1, s.head_dim) for n in layers for x in "kv"]
    return tuple(inputs), tuple(outputs)


def encoder_specs(module: T5Encoder) -> Specs:
    """(input specs, output specs) of the encoder over its fixed slots."""
    s, slots = module.shape, module.slots
    inputs = (
        TensorSpec("embeds", (1, slots, s.hidden), "float32"),
        TensorSpec("mask", (1, 1, slots), "float32"),
    )
    crosses = (
        TensorSpec(f"cross_{x}.{n}", (s.heads, slots, s.head_dim), "float32")
        for n in range(s.layers)
        for x in "kv"
    )
    return inputs, (TensorSpec("states", (1, slots, s.hidden), "float32"), *crosses)


def _export_module(
    role: str, module: nn.Module, specs: Specs, config: Config, weights: Weights, macs_per: str
) -> ExportModule:
    example = [torch.zeros([int(d) for d in spec.shape]) for spec in specs[0]]
    for spec, value in zip(specs[0], example, strict=True):
        if spec.name == "place":
            value[0] = 1.0
        if spec.name in ("mask", "mask_local") and role == "llm_decoder":
            value[..., 1:] = -1e4
    architecture = f"{text_config(config)['model_type']} {role.removeprefix('llm_')}"
    return ExportModule(
        role, module, tuple(example), *specs, {}, architecture, weights.source, weights.trained, macs_per
    )


def _empty_encoder(config: Config, max_seq: int) -> T5Encoder | None:
    if text_config(config)["model_type"] not in ENCODER_DECODERS:
        return None
    with torch.device("meta"):
        return T5Encoder(t5_shape(config), max_seq)


def _empty_decoder(config: Config, max_seq: int) -> DecoderStep | T5Step:
    """The module on the meta device, which takes no memory; its matrices are to be filled one by one."""
    with torch.device("meta"):
        if text_config(config)["model_type"] in ENCODER_DECODERS:
            return T5Step(t5_shape(config))
        shape = decoder_shape(config, max_seq)
        return LearnedStep(shape) if shape.positions else DecoderStep(shape)
