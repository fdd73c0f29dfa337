"""Writes a decoder as an ONNX graph node by node, with ONNX Runtime's fused operators (GroupQueryAttention,
MatMulNBits).

The graph is not traced, because a traced decoder copies its cache for every token and contains none of these
operators. Torch's exporter also takes a minute where this takes seconds. Each matrix is quantized as it is
written, so that memory never holds a second copy of the weights. Parity compares the result with the torch
module token by token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gamer.runtime.bundle.manifest import Language, TensorSpec
from gamer.runtime.models.language.decoder import rotary

from ..networks.decoder import DecoderShape, DecoderStep, LayerNorm, LearnedStep
from .graph import MS, GraphWriter, Scheme


def specs(step: DecoderStep, max_seq: int) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs of the ONNX decoder.

    The number of tokens is dynamic; the caches have `max_seq` slots and are updated in place.
    """
    s = step.shape
    return cache_specs(s.hidden, s.vocab, s.layers, (1, s.kv_heads, max_seq, s.head_dim))


def cache_specs(
    hidden: int, vocab: int, layers: int, cache: tuple[int, ...]
) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs of a decoder whose caches have the shape `cache`.

    The input `last` holds the positions whose logits are computed. Generation asks for the last position
    only, because the head is the largest matrix.
    """
    inputs = [
        TensorSpec("embeds", (1, "tokens", hidden), "float32"),
        TensorSpec("seqlens_k", (1,), "int32"),
        TensorSpec("total_seq_len", (1,), "int32"),
        TensorSpec("last", ("wanted",), "int64"),
    ]
    outputs = [
        TensorSpec("logits", (1, "wanted", vocab), "float32"),
        TensorSpec("hidden", (1, "tokens", hidden), "float32"),
    ]
    for n in range(layers):
        inputs += [TensorSpec(f"past_{x}.{n}", cache, "float32") for x in ("key", "value")]
        outputs += [TensorSpec(f"present_{x}.{n}", cache, "float32") for x in ("key", "value")]
    return tuple(inputs), tuple(outputs)


def write(step: DecoderStep, language: Language, quant: str | Scheme, path: Path) -> None:
    """Writes the decoder to `path`: one file, or a directory if the weights are too large for one file.

    Raises ExportError.
    """
    s = step.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        for local in (False, True)[: 2 if s.window else 1]:
            if s.rope_theta:
                for name, table in zip(
                    ("cos", "sin"), rotary(language, np.arange(language.max_seq), local), strict=True
                ):
                    g.constant(f"{name}_cache{'_local' if local else ''}", table)
        _spare_query(g, language.max_seq)
        skip = _positions(g, step) if isinstance(step, LearnedStep) else "embeds"
        normed = norm(g, skip, step.layers[0].attention_norm, "layers.0.attention_normed")
        for n, layer in enumerate(step.layers):
            after = step.norm if n + 1 == s.layers else step.layers[n + 1].attention_norm
            skip, normed = _layer(g, s, n, layer, skip, normed, after)
        head(g, normed, step.head.weight)
        g.save(*specs(step, language.max_seq))


def head(g: GraphWriter, normed: str, weight: Tensor) -> None:
    """Writes "logits" of the positions in `last`.

    An int8 head gets two rows for each position: the activations rounded to 8 bits, and the rounding error.
    The sum of the two results is the position's logits. With the rounded row alone, rounding would decide
    near-ties (SmolLM2: top-1 agreement 0.959, against 0.974 with exact activations). Both rows are in one
    product, so that the weights are read once.
    """
    rows = g.node("Gather", [normed, "last"], ["last_hidden"], axis=1)
    if g.scheme.of("head") != "int8":
        g.node("Identity", [g.linear(rows, weight, "head")], ["logits"])
        return
    group = g.scheme.group_of("head")
    shape = g.constant(f"in_blocks.{group}", np.array([0, 0, -1, group], np.int64))
    blocks = g.node("Reshape", [rows, shape], ["last_blocks"])
    peak = g.node(
        "ReduceMax",
        [g.node("Abs", [blocks], ["last_sizes"]), g.constant("last_axis", np.array([3], np.int64))],
        ["last_peaks"],
    )
    floored = g.node("Max", [peak, g.constant("least", np.array(1e-12, np.float32))], ["last_floored"])
    step = g.node("Div", [floored, g.constant("levels", np.array(127, np.float32))], ["last_steps"])
    rounded = g.node(
        "Mul",
        [g.node("Round", [g.node("Div", [blocks, step], ["last_codes"])], ["last_rounded"]), step],
        ["last_held"],
    )
    residual = g.node("Sub", [blocks, rounded], ["last_missed"])
    stacked = g.node("Concat", [rounded, residual], ["last_both"], axis=1)
    flat = g.node("Reshape", [stacked, g.constant("flat", np.array([0, 0, -1], np.int64))], ["last_rows"])
    g.node("Split", [g.linear(flat, weight, "head")], ["logits_held", "logits_missed"], axis=1, num_outputs=2)
    g.node("Add", ["logits_held", "logits_missed"], ["logits"])


def _spare_query(g: GraphWriter, slots: int) -> None:
    """Writes "spare", 1 for a single token and 0 for several, and the lengths with it.

    ONNX Runtime's attention multiplies one query by another kernel than several, which adds up in another
    order; the 8-bit activations of the layers behind turn that into other likeliest tokens (SmolLM2: at 11 of
    300 positions). So a single token is attended to with a second, itself, whose result is dropped and whose
    key and value lie in the next free slot: a token's numbers do not depend on the others of its call. Only
    the last slot has no slot after it.
    """
    one, none = g.constant("one", np.ones(1, np.int64)), g.constant("first_axis", np.zeros(1, np.int64))
    g.node("Shape", ["embeds"], ["tokens"], start=1, end=2)
    g.node("Cast", ["total_seq_len"], ["end"], to=7)
    alone = g.node("Sub", [g.constant("two", np.full(1, 2, np.int64)), "tokens"], ["alone"])
    room = g.node("Sub", [g.constant("slots", np.full(1, slots, np.int64)), "end"], ["room"])
    g.node("Max", [g.node("Min", [alone, room, one], ["lacking"]), none], ["spare"])
    more = g.node("Cast", ["spare"], ["spare_length"], to=6)
    g.node("Add", ["seqlens_k", more], ["seqlens_spared"])
    g.node("Add", ["total_seq_len", more], ["total_spared"])


def _positions(g: GraphWriter, step: LearnedStep) -> str:
    """Adds to `embeds` the position table's rows of the S positions that follow the cache: [1, S, H]."""
    table = g.constant("positions", step.positions.T.detach().numpy())
    g.node("Sub", ["end", "tokens"], ["begin"])
    rows = g.node(
        "Slice", [table, "begin", "end", g.constant("first_axis", np.zeros(1, np.int64))], ["position_rows"]
    )
    return g.node("Add", ["embeds", rows], ["placed"])


def _layer(
    g: GraphWriter, s: DecoderShape, n: int, layer: Any, skip: str, normed: str, after: nn.Module
) -> tuple[str, str]:
    """Writes one block: the names of the residual stream and of the residual stream normed by `after`.

    `skip`, `normed`: the same two of the block before.
    """
    prefix = f"layers.{n}"
    attended = g.linear(_attention(g, s, n, layer, normed), layer.out.weight, f"{prefix}.out", layer.out.bias)
    if s.post_norms:
        attended = norm(g, attended, layer.attention_post_norm, f"{prefix}.attention_post_normed")
    middle, total = skip_norm(g, skip, attended, layer.norm, f"{prefix}.norm")
    ffn = feed_forward(g, middle, layer, prefix, s.activation, s.gated)
    if s.post_norms:
        ffn = norm(g, ffn, layer.post_norm, f"{prefix}.post_normed")
    after_name = "hidden" if n + 1 == s.layers else f"layers.{n + 1}.attention_normed"
    normed, total = skip_norm(g, total, ffn, after, after_name)
    return total, normed


def _attention(g: GraphWriter, s: DecoderShape, n: int, layer: Any, normed: str) -> str:
    prefix, local = f"layers.{n}", s.is_local(n)
    qkv = g.linear(normed, layer.qkv.weight, f"{prefix}.qkv", layer.qkv.bias)
    queries = _normed_heads(g, s, layer, qkv, prefix) if s.head_norm else [qkv, "", ""]
    queries = [_with_spare(g, name) if name else "" for name in queries]
    tables = [f"{x}_cache{'_local' if local else ''}" for x in ("cos", "sin")] if s.rope_theta else []
    g.node(
        "GroupQueryAttention",
        [*queries, f"past_key.{n}", f"past_value.{n}", "seqlens_spared", "total_spared", *tables],
        [f"{prefix}.attention_spared", f"present_key.{n}", f"present_value.{n}"],
        MS,
        num_heads=s.heads,
        kv_num_heads=s.kv_heads,
        do_rotary=int(bool(tables)),
        rotary_interleaved=0,
        scale=s.attention_scale,
        local_window_size=s.window if local else -1,
    )
    return _first_of(g, f"{prefix}.attention_spared", "tokens", f"{prefix}.attention")


def _with_spare(g: GraphWriter, name: str) -> str:
    spare = _first_of(g, name, "spare", f"{name}.spare")
    return g.node("Concat", [name, spare], [f"{name}.spared"], axis=1)


def _first_of(g: GraphWriter, name: str, count: str, out: str) -> str:
    """The first `count` positions of `name`."""
    begin, axis = g.constant("first_axis", np.zeros(1, np.int64)), g.constant("one", np.ones(1, np.int64))
    return g.node("Slice", [name, begin, count, axis], [out])


def _normed_heads(g: GraphWriter, s: DecoderShape, layer: Any, qkv: str, prefix: str) -> list[str]:
    """Splits `qkv` into queries, keys and values; queries and keys are normed per head."""
    sizes = g.constant("qkv_sizes", np.array([s.heads, s.kv_heads, s.kv_heads], np.int64) * s.head_dim)
    parts = [f"{prefix}.{x}" for x in "qkv"]
    g.node("Split", [qkv, sizes], parts, axis=-1)
    by_head, flat = (
        g.constant("by_head", np.array([0, 0, -1, s.head_dim], np.int64)),
        g.constant("flat", np.array([0, 0, -1], np.int64)),
    )
    for i, module in enumerate((layer.q_norm, layer.k_norm)):
        heads = g.node("Reshape", [parts[i], by_head], [f"{parts[i]}.heads"])
        parts[i] = g.node(
            "Reshape", [norm(g, heads, module, f"{parts[i]}.normed"), flat], [f"{parts[i]}.flat"]
        )
    return parts


def feed_forward(g: GraphWriter, x: str, layer: Any, at: str, activation: str, gated: bool) -> str:
    """Writes the feed-forward of `layer` (gate_up, down): the name of its output, without the residual.

    `at`: the prefix of the nodes' names.
    """
    inner = g.linear(x, layer.gate_up.weight, f"{at}.gate_up", layer.gate_up.bias)
    if gated:
        g.node("Split", [inner], [f"{at}.gate", f"{at}.up"], axis=-1, num_outputs=2)
        active = _activate(g, f"{at}.gate", f"{at}.active", activation)
        inner = g.node("Mul", [active, f"{at}.up"], [f"{at}.gated"])
    else:
        inner = _activate(g, inner, f"{at}.active", activation)
    return g.linear(inner, layer.down.weight, f"{at}.down", layer.down.bias)


def _activate(g: GraphWriter, x: str, name: str, activation: str) -> str:
    if activation == "silu":
        return g.node("QuickGelu", [x], [name], MS, alpha=1.0)  # alpha 1: x · sigmoid(x)
    return g.node("Relu", [x], [name]) if activation == "relu" else g.node("FastGelu", [x], [name], MS)


def norm(g: GraphWriter, x: str, module: nn.Module, name: str) -> str:
    """norm(x) · scale (+ bias) over the last axis."""
    parameters = _norm_parameters(g, module, name)
    kind = "LayerNormalization" if len(parameters) > 1 else "SimplifiedLayerNormalization"
    return g.node(kind, [x, *parameters], [name], epsilon=_epsilon(module), axis=-1)


def skip_norm(g: GraphWriter, skip: str, x: str, module: nn.Module, name: str) -> tuple[str, str]:
    """(norm(skip + x) · scale (+ bias), skip + x), computed by one fused operator."""
    parameters = _norm_parameters(g, module, name)
    kind = "SkipLayerNormalization" if len(parameters) > 1 else "SkipSimplifiedLayerNormalization"
    g.node(kind, [x, skip, *parameters], [name, "", "", f"{name}.sum"], MS, epsilon=_epsilon(module))
    return name, f"{name}.sum"


def _norm_parameters(g: GraphWriter, module: Any, name: str) -> list[str]:
    parameters = [g.constant(f"{name}.gamma", module.weight.detach().numpy())]
    return (
        [*parameters, g.constant(f"{name}.beta", module.bias.detach().numpy())]
        if isinstance(module, LayerNorm)
        else parameters
    )


def _epsilon(module: nn.Module) -> float:
    return float(module.get_buffer("eps"))
