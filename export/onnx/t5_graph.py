"""T5's encoder and decoder as ONNX graphs for any number of tokens, with ONNX Runtime's fused operators.

Relative positions are a bias on the attention scores. The graph gathers it from a table that has a column for
every distance that the cache can hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from gamer.runtime.bundle.manifest import Language, TensorSpec
from gamer.runtime.models.language.decoder import relative_buckets

from ..networks.t5 import T5Encoder, T5Shape, T5Step
from .decoder_graph import cache_specs, feed_forward, head, norm, skip_norm
from .graph import MS, GraphWriter, Scheme

Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def decoder_specs(step: T5Step, max_seq: int) -> Specs:
    """The decoder's inputs and outputs: `cache_specs`, and each layer's keys and values of the encoder."""
    s = step.shape
    inputs, outputs = cache_specs(s.hidden, s.vocab, s.layers, (1, s.heads, max_seq, s.head_dim))
    return (*inputs, *_cross_specs(s)), outputs


def encoder_specs(module: T5Encoder) -> Specs:
    """The encoder's inputs and outputs; the number of tokens is dynamic."""
    h = module.shape.hidden
    inputs = (TensorSpec("embeds", (1, "source", h), "float32"),)
    return inputs, (TensorSpec("states", (1, "source", h), "float32"), *_cross_specs(module.shape))


def _cross_specs(s: T5Shape) -> tuple[TensorSpec, ...]:
    shape = (1, s.heads, "source", s.head_dim)
    return tuple(TensorSpec(f"cross_{x}.{n}", shape, "float32") for n in range(s.layers) for x in "kv")


def write_encoder(module: T5Encoder, quant: str | Scheme, path: Path) -> None:
    """Writes the encoder to `path`: one file, or a directory. Raises ExportError."""
    s = module.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        # Key position minus query position, from -(slots - 1) on; the table has a row for each head.
        offsets = np.arange(1 - module.slots, module.slots)
        table = _bias_table(g, module, relative_buckets(offsets, s.buckets, s.distance, both_ways=True))
        _range(g, "source")
        key = g.node(
            "Add", [_unsqueezed_range(g, "source", 0), _scalar(g, "zero_offset", module.slots - 1)], ["keys"]
        )
        bias = _bias(g, table, g.node("Sub", [key, _unsqueezed_range(g, "source", 1)], ["offsets"]))
        skip, normed = (
            "embeds",
            norm(g, "embeds", module.layers[0].attention_norm, "layers.0.attention_normed"),
        )
        for n, layer in enumerate(module.layers):
            attended = g.linear(
                _encoder_attention(g, s, layer, normed, bias, f"layers.{n}"),
                layer.out.weight,
                f"layers.{n}.out",
            )
            last = n + 1 == s.encoder_layers
            after = module.norm if last else module.layers[n + 1].attention_norm
            skip, normed = _feed_forward(
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
            _split_cross(g, s, n, g.linear("states", cross.weight, f"cross.{n}"))
        g.save(*encoder_specs(module))


def write_decoder(step: T5Step, language: Language, quant: str | Scheme, path: Path) -> None:
    """Writes the decoder to `path`: one file, or a directory. Raises ExportError."""
    s = step.shape
    with GraphWriter(Scheme(quant) if isinstance(quant, str) else quant, path) as g, torch.no_grad():
        bias = _causal_bias(g, step, language.max_seq)
        skip, normed = "embeds", norm(g, "embeds", step.layers[0].attention_norm, "layers.0.attention_normed")
        for n, layer in enumerate(step.layers):
            prefix, last = f"layers.{n}", n + 1 == s.layers
            qkv = g.linear(normed, layer.qkv.weight, f"{prefix}.qkv")
            attended = g.linear(_decoder_attention(g, s, n, qkv, bias), layer.out.weight, f"{prefix}.out")
            middle, skip = skip_norm(g, skip, attended, layer.cross_norm, f"{prefix}.cross_norm")
            q = g.linear(middle, layer.cross_q.weight, f"{prefix}.cross_q")
            # Keys and values with four dimensions are taken as they are; these are the encoder's.
            inputs = [q, f"cross_k.{n}", f"cross_v.{n}"]
            cross_attention = g.node(
                "MultiHeadAttention", inputs, [f"{prefix}.cross"], MS, num_heads=s.heads, scale=1.0
            )
            crossed = g.linear(cross_attention, layer.cross_out.weight, f"{prefix}.cross_out")
            after = step.norm if last else step.layers[n + 1].attention_norm
            skip, normed = _feed_forward(
                g,
                s,
                layer,
                skip,
                crossed,
                after,
                prefix,
                "hidden" if last else f"layers.{n + 1}.attention_normed",
            )
        head(g, normed, step.head.weight)
        g.save(*decoder_specs(step, language.max_seq))


def _feed_forward(
    g: GraphWriter, s: T5Shape, layer: Any, skip: str, x: str, after: Any, prefix: str, name: str
) -> tuple[str, str]:
    """Adds x to the residual stream `skip`, then the feed-forward's output.

    Returns the names of the residual stream and of the residual stream normed by `after`, which is `name`.
    """
    middle, total = skip_norm(g, skip, x, layer.norm, f"{prefix}.norm")
    normed, total = skip_norm(
        g, total, feed_forward(g, middle, layer, prefix, s.activation, s.gated), after, name
    )
    return total, normed


def _encoder_attention(g: GraphWriter, s: T5Shape, layer: Any, normed: str, bias: str, prefix: str) -> str:
    qkv, parts = g.linear(normed, layer.qkv.weight, f"{prefix}.qkv"), [f"{prefix}.{x}" for x in "qkv"]
    g.node("Split", [qkv], parts, axis=-1, num_outputs=3)
    return g.node(
        "MultiHeadAttention",
        [*parts, "", "", bias],
        [f"{prefix}.attention"],
        MS,
        num_heads=s.heads,
        scale=1.0,
    )


def _decoder_attention(g: GraphWriter, s: T5Shape, n: int, qkv: str, bias: str) -> str:
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


def _split_cross(g: GraphWriter, s: T5Shape, n: int, keys_values: str) -> None:
    """Splits [1, S, 2 · heads · Dh] into cross_k.N and cross_v.N [1, heads, S, Dh]."""
    by_head = g.constant("by_head", np.array([0, 0, -1, s.head_dim], np.int64))
    heads = g.node(
        "Transpose",
        [g.node("Reshape", [keys_values, by_head], [f"{keys_values}.heads"])],
        [f"{keys_values}.turned"],
        perm=[0, 2, 1, 3],
    )
    g.node("Split", [heads], [f"cross_k.{n}", f"cross_v.{n}"], axis=1, num_outputs=2)


def _causal_bias(g: GraphWriter, step: T5Step, slots: int) -> str:
    """The bias [1, heads, S, total].

    Keys after a query get the bias of distance 0, which has no effect: causal attention masks them.
    """
    s = step.shape
    table = _bias_table(g, step, relative_buckets(-np.arange(slots), s.buckets, s.distance, both_ways=False))
    g.node("Cast", ["total_seq_len"], ["end"], to=7)
    g.node("Squeeze", ["end"], ["end_scalar"])
    g.node("Range", [_scalar(g, "zero", 0), "end_scalar", _scalar(g, "one", 1)], ["places"])
    _range(g, "tokens")
    g.node("Sub", ["end", "tokens.count"], ["begin"])
    g.node("Add", ["tokens.range", "begin"], ["queries"])
    query = g.node(
        "Unsqueeze", ["queries", g.constant("axis_1", np.array([1], np.int64))], ["queries.column"]
    )
    distance = g.node("Sub", [query, "places"], ["away"])
    return _bias(g, table, g.node("Max", [distance, _scalar(g, "zero", 0)], ["distances"]))


def _bias_table(g: GraphWriter, module: Any, buckets: Any) -> str:
    return g.constant("relative", module.relative.detach().numpy()[:, buckets])


def _bias(g: GraphWriter, table: str, index: str) -> str:
    rows = g.node("Gather", [table, index], ["bias.heads"], axis=1)
    return g.node("Unsqueeze", [rows, g.constant("axis_0", np.array([0], np.int64))], ["bias"])


def _range(g: GraphWriter, name: str) -> None:
    """Writes "NAME.count" [1], the number of tokens in `embeds`, and "NAME.range", 0..count - 1 (int64)."""
    g.node("Shape", ["embeds"], [f"{name}.count"], start=1, end=2)
    g.node("Squeeze", [f"{name}.count"], [f"{name}.scalar"])
    g.node("Range", [_scalar(g, "zero", 0), f"{name}.scalar", _scalar(g, "one", 1)], [f"{name}.range"])


def _unsqueezed_range(g: GraphWriter, name: str, axis: int) -> str:
    at = g.constant(f"axis_{axis}", np.array([axis], np.int64))
    return g.node("Unsqueeze", [f"{name}.range", at], [f"{name}.axis_{axis}"])


def _scalar(g: GraphWriter, name: str, value: int) -> str:
    return g.constant(name, np.array(value, np.int64))
