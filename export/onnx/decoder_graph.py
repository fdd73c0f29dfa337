"""A decoder as an ONNX graph, written node by node in the fused operators of ONNX Runtime
(GroupQueryAttention, MatMulNBits).

Why not traced: a traced decoder copies its cache every token and knows none of these operators, and torch's
exporter takes a minute where this takes seconds and quantizes each matrix as it is written, so that no second
copy of the weights is ever held. That it is the same model is proven, not assumed: parity compares it with
the torch module token by token.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gamer.runtime.bundle.manifest import Language, TensorSpec
from gamer.runtime.models.decoder import rotary

from ..networks.decoder import DecoderShape, DecoderStep, LayerNorm, LearnedStep
from .graph import MS, GraphWriter, Scheme


def specs(step: DecoderStep, max_seq: int) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Tensor specs of the ONNX decoder: tokens are dynamic, the caches have `max_seq` slots and are updated
    in place.
    """
    s = step.shape
    return cache_specs(s.hidden, s.vocab, s.layers, (1, s.kv_heads, max_seq, s.head_dim))


def cache_specs(
    hidden: int, vocab: int, layers: int, cache: tuple[int, ...]
) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """Inputs and outputs of a decoder over caches of that shape.

    `last`: the positions whose logits are wanted, in generation the last one only: the head is the largest
    matrix.
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
    """Writes the decoder to `path`: one file, or a directory where the weights are more than one file can
    hold. Raises ExportError.
    """
    s = step.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        for local in (False, True)[: 2 if s.window else 1]:
            if s.rope_theta:
                for name, table in zip(
                    ("cos", "sin"), rotary(language, np.arange(language.max_seq), local), strict=True
                ):
                    g.constant(f"{name}_cache{'_local' if local else ''}", table)
        skip = _positions(g, step) if isinstance(step, LearnedStep) else "embeds"
        normed = norm(g, skip, step.layers[0].attention_norm, "layers.0.attention_normed")
        for n, layer in enumerate(step.layers):
            after = step.norm if n + 1 == s.layers else step.layers[n + 1].attention_norm
            skip, normed = _layer(g, s, n, layer, skip, normed, after)
        head(g, normed, step.head.weight)
        g.save(*specs(step, language.max_seq))


def head(g: GraphWriter, normed: str, weight: Tensor) -> None:
    """Logits of the wanted positions. An int8 head gets each position as two rows, what 8 bits hold of it and
    what they miss: its activations' rounding would decide near-ties (SmolLM2: top-1 agreement 0.959 without,
    0.974 with exact ones), and the weights are read once for both."""
    rows = g.node("Gather", [normed, "last"], ["last_hidden"], axis=1)
    if g.scheme.of("head") != "int8":
        g.node("Identity", [g.linear(rows, weight, "head")], ["logits"])
        return
    blocks = g.node(
        "Reshape",
        [rows, g.constant("in_blocks", np.array([0, 0, -1, g.scheme.group], np.int64))],
        ["last_blocks"],
    )
    peak = g.node(
        "ReduceMax",
        [g.node("Abs", [blocks], ["last_sizes"]), g.constant("last_axis", np.array([3], np.int64))],
        ["last_peaks"],
    )
    floored = g.node("Max", [peak, g.constant("least", np.array(1e-12, np.float32))], ["last_floored"])
    step = g.node("Div", [floored, g.constant("levels", np.array(127, np.float32))], ["last_steps"])
    held = g.node(
        "Mul",
        [g.node("Round", [g.node("Div", [blocks, step], ["last_codes"])], ["last_rounded"]), step],
        ["last_held"],
    )
    missed = g.node("Sub", [blocks, held], ["last_missed"])
    both = g.node("Concat", [held, missed], ["last_both"], axis=1)
    flat = g.node("Reshape", [both, g.constant("flat", np.array([0, 0, -1], np.int64))], ["last_rows"])
    g.node("Split", [g.linear(flat, weight, "head")], ["logits_held", "logits_missed"], axis=1, num_outputs=2)
    g.node("Add", ["logits_held", "logits_missed"], ["logits"])


def _positions(g: GraphWriter, step: LearnedStep) -> str:
    """The embeddings plus the table's rows of the positions past… → [1, S, H]."""
    table = g.constant("positions", step.positions.T.detach().numpy())
    g.node("Cast", ["total_seq_len"], ["end"], to=7)
    g.node("Shape", ["embeds"], ["count"], start=1, end=2)
    g.node("Sub", ["end", "count"], ["begin"])
    rows = g.node(
        "Slice", [table, "begin", "end", g.constant("first_axis", np.zeros(1, np.int64))], ["position_rows"]
    )
    return g.node("Add", ["embeds", rows], ["placed"])


def _layer(
    g: GraphWriter, s: DecoderShape, n: int, layer: Any, skip: str, normed: str, after: nn.Module
) -> tuple[str, str]:
    """One block → (the residual stream, `after` of it)."""
    at = f"layers.{n}"
    attended = g.linear(_attention(g, s, n, layer, normed), layer.out.weight, f"{at}.out", layer.out.bias)
    if s.post_norms:
        attended = norm(g, attended, layer.attention_post_norm, f"{at}.attention_post_normed")
    middle, total = skip_norm(g, skip, attended, layer.norm, f"{at}.norm")
    made = feed_forward(g, middle, layer, at, s.activation, s.gated)
    if s.post_norms:
        made = norm(g, made, layer.post_norm, f"{at}.post_normed")
    after_name = "hidden" if n + 1 == s.layers else f"layers.{n + 1}.attention_normed"
    normed, total = skip_norm(g, total, made, after, after_name)
    return total, normed


def _attention(g: GraphWriter, s: DecoderShape, n: int, layer: Any, normed: str) -> str:
    at, local = f"layers.{n}", s.is_local(n)
    qkv = g.linear(normed, layer.qkv.weight, f"{at}.qkv", layer.qkv.bias)
    queries = _normed_heads(g, s, layer, qkv, at) if s.head_norm else [qkv, "", ""]
    tables = [f"{x}_cache{'_local' if local else ''}" for x in ("cos", "sin")] if s.rope_theta else []
    return g.node(
        "GroupQueryAttention",
        [*queries, f"past_key.{n}", f"past_value.{n}", "seqlens_k", "total_seq_len", *tables],
        [f"{at}.attention", f"present_key.{n}", f"present_value.{n}"],
        MS,
        num_heads=s.heads,
        kv_num_heads=s.kv_heads,
        do_rotary=int(bool(tables)),
        rotary_interleaved=0,
        scale=s.attention_scale,
        local_window_size=s.window if local else -1,
    )


def _normed_heads(g: GraphWriter, s: DecoderShape, layer: Any, qkv: str, at: str) -> list[str]:
    """Queries, keys, values apart, the first two normed per head."""
    sizes = g.constant("qkv_sizes", np.array([s.heads, s.kv_heads, s.kv_heads], np.int64) * s.head_dim)
    parts = [f"{at}.{x}" for x in "qkv"]
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
    """The feed-forward of `layer` (gate_up, down) → the name of what it adds."""
    both = g.linear(x, layer.gate_up.weight, f"{at}.gate_up", layer.gate_up.bias)
    if gated:
        g.node("Split", [both], [f"{at}.gate", f"{at}.up"], axis=-1, num_outputs=2)
        active = _activate(g, f"{at}.gate", f"{at}.active", activation)
        both = g.node("Mul", [active, f"{at}.up"], [f"{at}.gated"])
    else:
        both = _activate(g, both, f"{at}.active", activation)
    return g.linear(both, layer.down.weight, f"{at}.down", layer.down.bias)


def _activate(g: GraphWriter, x: str, name: str, activation: str) -> str:
    if activation == "silu":
        return g.node("QuickGelu", [x], [name], MS, alpha=1.0)  # x · sigmoid(x) in one operator
    return g.node("Relu", [x], [name]) if activation == "relu" else g.node("FastGelu", [x], [name], MS)


def norm(g: GraphWriter, x: str, module: nn.Module, name: str) -> str:
    """norm(x) · scale (+ bias) over the last axis."""
    ends = _ends(g, module, name)
    kind = "LayerNormalization" if len(ends) > 1 else "SimplifiedLayerNormalization"
    return g.node(kind, [x, *ends], [name], epsilon=_epsilon(module), axis=-1)


def skip_norm(g: GraphWriter, skip: str, x: str, module: nn.Module, name: str) -> tuple[str, str]:
    """(norm(skip + x) · scale (+ bias), skip + x) in one fused operator."""
    ends = _ends(g, module, name)
    kind = "SkipLayerNormalization" if len(ends) > 1 else "SkipSimplifiedLayerNormalization"
    g.node(kind, [x, skip, *ends], [name, "", "", f"{name}.sum"], MS, epsilon=_epsilon(module))
    return name, f"{name}.sum"


def _ends(g: GraphWriter, module: Any, name: str) -> list[str]:
    ends = [g.constant(f"{name}.gamma", module.weight.detach().numpy())]
    return (
        [*ends, g.constant(f"{name}.beta", module.bias.detach().numpy())]
        if isinstance(module, LayerNorm)
        else ends
    )


def _epsilon(module: nn.Module) -> float:
    return float(module.get_buffer("eps"))
