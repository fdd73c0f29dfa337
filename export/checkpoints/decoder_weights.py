"""Fills a language model's module from a checkpoint: which tensors make up which parameter.

Each source is a function that is called when its parameter is filled, so that only one parameter's tensors
are held beside the module at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..networks.decoder import DecoderShape, DecoderStep
from ..networks.t5 import T5Encoder, T5Shape, T5Step
from .decoder_config import ENCODER_DECODERS, decoder_shape, t5_shape, text_config
from .packed_weights import Groups, PackedWeights
from .weights import NoWeights, Weights

Config = dict[str, Any]
Source = Callable[[], Tensor]
Sources = dict[str, Source]


@dataclass(frozen=True)
class _Stack:
    """The rows of several tensors, one after the other.

    `parts`: their names and numbers of rows; `width`: columns, none for vectors.
    """

    weights: Weights
    parts: tuple[tuple[str, int], ...]
    width: tuple[int, ...]

    def __call__(self) -> Tensor:
        return torch.cat([self.weights.get(name, rows, *self.width) for name, rows in self.parts])

    def groups(self, weights: PackedWeights, size: int) -> Groups | None:
        """As `weights` store them in 4-bit groups of `size` columns; None where one is not so stored."""
        found = [weights.groups(name, size) for name, _ in self.parts]
        whole = [groups for groups in found if groups is not None]
        if len(whole) < len(found):
            return None
        return Groups(*(np.concatenate(column) for column in zip(*whole, strict=True)))


def stored_groups(
    module: DecoderStep, config: Config, weights: PackedWeights, sizes: Mapping[str, int]
) -> dict[str, Groups]:
    """The matrices of a decoder that its checkpoint stores in 4-bit groups, by the paths of their parameters.

    `sizes`: columns of a group, by path; a matrix whose stored groups are not made of such is left out.
    """
    text = text_config(config)
    if text["model_type"] == "gpt2":  # whose matrices are stored the other way round
        return {}
    sources = _llama_like(text, module.shape, weights)
    found = {
        path: source.groups(weights, sizes[path])
        for path, source in sources.items()
        if path in sizes and isinstance(source, _Stack)
    }
    return {path: groups for path, groups in found.items() if groups is not None}


def stacked(config: Config, shape: DecoderShape) -> dict[str, tuple[tuple[str, int], ...]]:
    """The matrices of a decoder's layers → the checkpoint's tensors that they are stacks of, and their rows.

    Empty for GPT-2, whose matrices are stored the other way round.
    """
    text = text_config(config)
    if text["model_type"] == "gpt2":
        return {}
    return {
        path: source.parts
        for path, source in _llama_like(text, shape, NoWeights()).items()
        if isinstance(source, _Stack) and source.width
    }


def fill_decoder(module: DecoderStep | T5Step, config: Config, weights: Weights) -> None:
    """Fills all parameters. Raises ExportError for a tensor that is missing or of another shape."""
    text = text_config(config)
    if isinstance(module, T5Step):
        _fill(module, _t5_decoder(text, module.shape, weights))
    elif text["model_type"] == "gpt2":
        _fill(module, _gpt2(text, module.shape, weights))
    else:
        _fill(module, _llama_like(text, module.shape, weights))


def fill_encoder(module: T5Encoder, weights: Weights) -> None:
    """Fills all parameters. Raises ExportError for a tensor that is missing or of another shape."""
    _fill(module, _t5_encoder(module.shape, weights))
    module.compute_bias()


def token_table(config: Config, weights: Weights) -> Tensor:
    """The token table [V, H] as stored, without Gemma's scale."""
    text = text_config(config)
    if text["model_type"] in ENCODER_DECODERS:
        t5 = t5_shape(text)
        return weights.get("shared.weight", t5.vocab, t5.hidden)
    shape = decoder_shape(text, 1)
    name = "transformer.wte.weight" if text["model_type"] == "gpt2" else "model.embed_tokens.weight"
    return weights.get(name, shape.vocab, shape.hidden)


def _fill(module: nn.Module, sources: Sources) -> None:
    names = [name for name, _ in module.named_parameters()]
    assert set(names) == set(sources), set(names) ^ set(sources)
    for name in names:
        path, _, leaf = name.rpartition(".")
        setattr(
            module.get_submodule(path), leaf, nn.Parameter(sources[name]().contiguous(), requires_grad=False)
        )


def _head(text: Config, s: DecoderShape, weights: Weights, tied: bool) -> Source:
    """The output matrix [V, H]: the token table if the two are tied.

    It is used as stored, because Gemma's scale applies to the embeddings only. `tied`: the default where the
    configuration does not say.
    """
    if text.get("tie_word_embeddings", tied):
        return lambda: token_table(text, weights)
    return lambda: weights.get("lm_head.weight", s.vocab, s.hidden)


def _llama_like(text: Config, s: DecoderShape, weights: Weights) -> Sources:
    norm_offset = (
        1.0 if text["model_type"].startswith("gemma3") else 0.0
    )  # Gemma's norms multiply by 1 + the stored scale
    names = {"attention_norm": "input_layernorm", "norm": "post_attention_layernorm"}
    if s.post_norms:
        names |= {
            "norm": "pre_feedforward_layernorm",
            "attention_post_norm": "post_attention_layernorm",
            "post_norm": "post_feedforward_layernorm",
        }

    def scale(name: str, size: int) -> Callable[[], Tensor]:
        return lambda: weights.get(name, size) + norm_offset

    def stack(names: list[tuple[str, int]], *width: int) -> Source:
        return _Stack(weights, tuple(names), width)

    q, kv = s.heads * s.head_dim, s.kv_heads * s.head_dim
    out: Sources = {
        "norm.weight": scale("model.norm.weight", s.hidden),
        "head.weight": _head(text, s, weights, bool(norm_offset)),
    }
    for n in range(s.layers):
        ours, at = f"layers.{n}", f"model.layers.{n}"
        rows = [(f"{at}.self_attn.{x}_proj", size) for x, size in (("q", q), ("k", kv), ("v", kv))]
        out[f"{ours}.qkv.weight"] = stack([(f"{name}.weight", size) for name, size in rows], s.hidden)
        if s.qkv_bias:
            out[f"{ours}.qkv.bias"] = stack([(f"{name}.bias", size) for name, size in rows])
        out[f"{ours}.out.weight"] = stack([(f"{at}.self_attn.o_proj.weight", s.hidden)], q)
        if s.out_bias:
            out[f"{ours}.out.bias"] = stack([(f"{at}.self_attn.o_proj.bias", s.hidden)])
        out[f"{ours}.gate_up.weight"] = stack(
            [(f"{at}.mlp.{x}_proj.weight", s.intermediate) for x in ("gate", "up")], s.hidden
        )
        out[f"{ours}.down.weight"] = stack([(f"{at}.mlp.down_proj.weight", s.hidden)], s.intermediate)
        out |= {
            f"{ours}.{mine}.weight": scale(f"{at}.{theirs}.weight", s.hidden)
            for mine, theirs in names.items()
        }
        if s.head_norm:
            out |= {
                f"{ours}.{x}_norm.weight": scale(f"{at}.self_attn.{x}_norm.weight", s.head_dim) for x in "qk"
            }
    return out


def _gpt2(text: Config, s: DecoderShape, weights: Weights) -> Sources:
    """GPT-2's parameters; its checkpoints store matrices as [in, out], so that they are transposed."""

    def get(name: str, *shape: int) -> Callable[[], Tensor]:
        return lambda: weights.get(f"transformer.{name}", *shape)

    def turned(name: str, *shape: int) -> Callable[[], Tensor]:
        return lambda: weights.get(f"transformer.{name}", *shape).T

    positions, h = int(text["n_positions"]), s.hidden
    out: Sources = {
        "head.weight": _head(text, s, weights, True),
        "norm.weight": get("ln_f.weight", h),
        "norm.bias": get("ln_f.bias", h),
        "positions": lambda: weights.get("transformer.wpe.weight", positions, h)[: s.positions].T,
    }
    for n in range(s.layers):
        matrices = {"qkv": ("attn.c_attn", h, 3 * h), "out": ("attn.c_proj", h, h)}
        matrices |= {"gate_up": ("mlp.c_fc", h, s.intermediate), "down": ("mlp.c_proj", s.intermediate, h)}
        for ours, (theirs, rows, columns) in matrices.items():
            out[f"layers.{n}.{ours}.weight"] = turned(f"h.{n}.{theirs}.weight", rows, columns)
            out[f"layers.{n}.{ours}.bias"] = get(f"h.{n}.{theirs}.bias", columns)
        for ours, theirs in (("attention_norm", "ln_1"), ("norm", "ln_2")):
            out |= {f"layers.{n}.{ours}.{x}": get(f"h.{n}.{theirs}.{x}", h) for x in ("weight", "bias")}
    return out


def _t5_stack(theirs: str, ours: str, s: T5Shape, weights: Weights, feed_index: str) -> Sources:
    """The parameters that a block of either stack has: self-attention, and the feed-forward.

    `theirs`: the block's name in the checkpoint. `ours`: its name in the module. `feed_index`: the index of
    the feed-forward among the sublayers of the checkpoint's block.
    """
    ins = ("wi_0", "wi_1") if s.gated else ("wi",)
    attention, feed_forward = f"{theirs}.layer.0", f"{theirs}.layer.{feed_index}"
    return {
        f"{ours}.qkv.weight": lambda: torch.cat(
            [weights.get(f"{attention}.SelfAttention.{x}.weight", s.inner, s.hidden) for x in "qkv"]
        ),
        f"{ours}.out.weight": lambda: weights.get(f"{attention}.SelfAttention.o.weight", s.hidden, s.inner),
        f"{ours}.attention_norm.weight": lambda: weights.get(f"{attention}.layer_norm.weight", s.hidden),
        f"{ours}.gate_up.weight": lambda: torch.cat(
            [weights.get(f"{feed_forward}.DenseReluDense.{x}.weight", s.intermediate, s.hidden) for x in ins]
        ),
        f"{ours}.down.weight": lambda: weights.get(
            f"{feed_forward}.DenseReluDense.wo.weight", s.hidden, s.intermediate
        ),
        f"{ours}.norm.weight": lambda: weights.get(f"{feed_forward}.layer_norm.weight", s.hidden),
    }


def _t5_ends(stack: str, s: T5Shape, weights: Weights) -> Sources:
    table = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    return {
        "norm.weight": lambda: weights.get(f"{stack}.final_layer_norm.weight", s.hidden),
        "relative": lambda: weights.get(table, s.buckets, s.heads).T,
    }


def _t5_encoder(s: T5Shape, weights: Weights) -> Sources:
    def cross(n: int) -> Source:
        at = f"decoder.block.{n}.layer.1.EncDecAttention"
        return lambda: torch.cat([weights.get(f"{at}.{x}.weight", s.inner, s.hidden) for x in "kv"])

    out = _t5_ends("encoder", s, weights)
    for n in range(s.encoder_layers):
        out |= _t5_stack(f"encoder.block.{n}", f"layers.{n}", s, weights, "1")
    return out | {f"cross.{n}.weight": cross(n) for n in range(s.layers)}


def _t5_decoder(text: Config, s: T5Shape, weights: Weights) -> Sources:
    def get(name: str, *shape: int) -> Source:
        return lambda: weights.get(name, *shape)

    tied = bool(text.get("tie_word_embeddings", True))
    shared = tied and not weights.has("lm_head.weight")
    head = get("shared.weight" if shared else "lm_head.weight", s.vocab, s.hidden)
    scaled = bool(text.get("scale_decoder_outputs", tied))  # a tied head multiplies its input by d_model^-0.5
    out = _t5_ends("decoder", s, weights) | {
        "head.weight": (lambda: head() * s.hidden**-0.5) if scaled else head
    }
    for n in range(s.layers):
        at, ours = f"decoder.block.{n}", f"layers.{n}"
        out |= _t5_stack(at, ours, s, weights, "2")
        out[f"{ours}.cross_q.weight"] = get(f"{at}.layer.1.EncDecAttention.q.weight", s.inner, s.hidden)
        out[f"{ours}.cross_out.weight"] = get(f"{at}.layer.1.EncDecAttention.o.weight", s.hidden, s.inner)
        out[f"{ours}.cross_norm.weight"] = get(f"{at}.layer.1.layer_norm.weight", s.hidden)
    return out
