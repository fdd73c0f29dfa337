"""T5's encoder and decoder as ONNX graphs of any number of tokens, in the fused operators of ONNX Runtime.

Relative positions are a bias that the graph gathers from a table spread over all distances that the cache
holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from gamer.runtime.bundle.manifest import Language, TensorSpec
from gamer.runtime.models.decoder import relative_buckets

from ..networks.t5 import T5Encoder, T5Shape, T5Step
from .decoder_graph import cache_specs, feed_forward, head, norm, skip_norm
from .graph import MS, GraphWriter, Scheme

Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def decoder_specs(step: T5Step, max_seq: int) -> Specs:
    """The decoder's: as any decoder's, and each layer's keys and values of the encoder's states."""
    s = step.shape
    inputs, outputs = cache_specs(s.hidden, s.vocab, s.layers, (1, s.heads, max_seq, s.head_dim))
    return (*inputs, *_crosses(s)), outputs


def encoder_specs(module: T5Encoder) -> Specs:
    """The encoder's: tokens are dynamic."""
    h = module.shape.hidden
    inputs = (TensorSpec("embeds", (1, "source", h), "float32"),)
    return inputs, (TensorSpec("states", (1, "source", h), "float32"), *_crosses(module.shape))


def _crosses(s: T5Shape) -> tuple[TensorSpec, ...]:
    shape = (1, s.heads, "source", s.head_dim)
    return tuple(TensorSpec(f"cross_{x}.{n}", shape, "float32") for n in range(s.layers) for x in "kv")


def write_encoder(module: T5Encoder, quant: str | Scheme, path: Path) -> None:
    """Writes the encoder to `path`: one file, or a directory. Raises ExportError."""
    s = module.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        # Key minus query, from -(slots - 1) on: a row of the table a head.
        offsets = np.arange(1 - module.slots, module.slots)
        table = _spread(g, module, relative_buckets(offsets, s.buckets, s.distance, both_ways=True))
        _range(g, "source")
        key = g.node("Add", [_axis(g, "source", 0), _one(g, "zero_offset", module.slots - 1)], ["keys"])
        bias = _bias(g, table, g.node("Sub", [key, _axis(g, "source", 1)], ["offsets"]))
        skip, normed = (
            "embeds",
            norm(g, "embeds", module.layers[0].attention_norm, "layers.0.attention_normed"),
        )
        for n, layer in enumerate(module.layers):
            attended = g.linear(
                _encode(g, s, layer, normed, bias, f"layers.{n}"), layer.out.weight, f"layers.{n}.out"
            )
            last = n + 1 == s.encoder_layers
            after = module.norm if last else module.layers[n + 1].attention_norm
            skip, normed = _feed(
                g,
                s,
                layer,
                skip,
                attended,
                after,
                f"layers.{n}",
                "states" if last else f"layers.{n + 1}.attention_normed",
            )
        for n, cross in enumerate(module.cross):
            _cross(g, s, n, g.linear("states", cross.weight, f"cross.{n}"))
        g.save(*encoder_specs(module))


def write_decoder(step: T5Step, language: Language, quant: str | Scheme, path: Path) -> None:
    """Writes the decoder to `path`: one file, or a directory. Raises ExportError."""
    s = step.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        bias = _causal_bias(g, step, language.max_seq)
        skip, normed = "embeds", norm(g, "embeds", step.layers[0].attention_norm, "layers.0.attention_normed")
        for n, layer in enumerate(step.layers):
            at, last = f"layers.{n}", n + 1 == s.layers
            qkv = g.linear(normed, layer.qkv.weight, f"{at}.qkv")
            attended = g.linear(_decode(g, s, n, qkv, bias), layer.out.weight, f"{at}.out")
            middle, skip = skip_norm(g, skip, attended, layer.cross_norm, f"{at}.cross_norm")
            q = g.linear(middle, layer.cross_q.weight, f"{at}.cross_q")
            # Keys and values of four dimensions are taken as they are: the encoder's.
            inputs = [q, f"cross_k.{n}", f"cross_v.{n}"]
            seen = g.node("MultiHeadAttention", inputs, [f"{at}.cross"], MS, num_heads=s.heads, scale=1.0)
            crossed = g.linear(seen, layer.cross_out.weight, f"{at}.cross_out")
            after = step.norm if last else step.layers[n + 1].attention_norm
            skip, normed = _feed(
                g,
                s,
                layer,
                skip,
                crossed,
                after,
                at,
                "hidden" if last else f"layers.{n + 1}.attention_normed",
            )
        head(g, normed, step.head.weight)
        g.save(*decoder_specs(step, language.max_seq))


def _feed(
    g: GraphWriter, s: T5Shape, layer: Any, skip: str, x: str, after: Any, at: str, name: str
) -> tuple[str, str]:
    """Residual, feed-forward, residual → (the residual stream, `after` of it called `name`)."""
    middle, total = skip_norm(g, skip, x, layer.norm, f"{at}.norm")
    normed, total = skip_norm(
        g, total, feed_forward(g, middle, layer, at, s.activation, s.gated), after, name
    )
    return total, normed


def _encode(g: GraphWriter, s: T5Shape, layer: Any, normed: str, bias: str, at: str) -> str:
    qkv, parts = g.linear(normed, layer.qkv.weight, f"{at}.qkv"), [f"{at}.{x}" for x in "qkv"]
    g.node("Split", [qkv], parts, axis=-1, num_outputs=3)
    return g.node(
        "MultiHeadAttention", [*parts, "", "", bias], [f"{at}.attention"], MS, num_heads=s.heads, scale=1.0
    )


def _decode(g: GraphWriter, s: T5Shape, n: int, qkv: str, bias: str) -> str:
    return g.node(
        "GroupQueryAttention",
        [qkv, "", "", f"past_key.{n}", f"past_value.{n}", "seqlens_k", "total_seq_len", "", "", "", bias],
        [f"layers.{n}.attention", f"present_key.{n}", f"present_value.{n}"],
        MS,
        num_heads=s.heads,
        kv_num_heads=s.heads,
        do_rotary=0,
        scale=1.0,
    )


def _cross(g: GraphWriter, s: T5Shape, n: int, both: str) -> None:
    """[1, S, 2 · heads · Dh] → cross_k.N, cross_v.N [1, heads, S, Dh]."""
    by_head = g.constant("by_head", np.array([0, 0, -1, s.head_dim], np.int64))
    heads = g.node(
        "Transpose",
        [g.node("Reshape", [both, by_head], [f"{both}.heads"])],
        [f"{both}.turned"],
        perm=[0, 2, 1, 3],
    )
    g.node("Split", [heads], [f"cross_k.{n}", f"cross_v.{n}"], axis=1, num_outputs=2)


def _causal_bias(g: GraphWriter, step: T5Step, slots: int) -> str:
    """[1, heads, S, total]: what lies ahead of a query gets the bias of its own place, and is not attended to
    anyway.
    """
    s = step.shape
    table = _spread(g, step, relative_buckets(-np.arange(slots), s.buckets, s.distance, both_ways=False))
    g.node("Cast", ["total_seq_len"], ["end"], to=7)
    g.node("Squeeze", ["end"], ["end_scalar"])
    g.node("Range", [_one(g, "zero", 0), "end_scalar", _one(g, "one", 1)], ["places"])
    _range(g, "tokens")
    g.node("Sub", ["end", "tokens.count"], ["begin"])
    g.node("Add", ["tokens.range", "begin"], ["queries"])
    query = g.node(
        "Unsqueeze", ["queries", g.constant("axis_1", np.array([1], np.int64))], ["queries.column"]
    )
    away = g.node("Sub", [query, "places"], ["away"])
    return _bias(g, table, g.node("Max", [away, _one(g, "zero", 0)], ["distances"]))


def _spread(g: GraphWriter, module: Any, chosen: Any) -> str:
    return g.constant("relative", module.relative.detach().numpy()[:, chosen])


def _bias(g: GraphWriter, table: str, index: str) -> str:
    rows = g.node("Gather", [table, index], ["bias.heads"], axis=1)
    return g.node("Unsqueeze", [rows, g.constant("axis_0", np.array([0], np.int64))], ["bias"])


def _range(g: GraphWriter, name: str) -> None:
    """0 … number of embeds."""
    g.node("Shape", ["embeds"], [f"{name}.count"], start=1, end=2)
    g.node("Squeeze", [f"{name}.count"], [f"{name}.scalar"])
    g.node("Range", [_one(g, "zero", 0), f"{name}.scalar", _one(g, "one", 1)], [f"{name}.range"])


def _axis(g: GraphWriter, name: str, axis: int) -> str:
    at = g.constant(f"axis_{axis}", np.array([axis], np.int64))
    return g.node("Unsqueeze", [f"{name}.range", at], [f"{name}.axis_{axis}"])


def _one(g: GraphWriter, name: str, value: int) -> str:
    return g.constant(name, np.array(value, np.int64))
