"""A decoder-only language model over whole, batched sequences, differentiable: for training.

`hidden_states` runs the layers of a DecoderStep, which computes one token at a time for the phones, on all
positions at once. Both give the same states; tests/export/networks/test_sequence.py compares them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from .decoder import DecoderLayer, DecoderShape, DecoderStep, LearnedStep, feed_forward, rotate


class Cache:
    """Keys and values [B, KV, S, Dh] of the positions so far, layer by layer, for sequences of one length.

    Gradients flow through them.
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}

    @property
    def length(self) -> int:
        return self._kept[0][0].shape[2] if self._kept else 0

    def extended(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Appends a layer's new keys and values, and returns all of them."""
        if layer in self._kept:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self._kept[layer], (k, v), strict=True))
        self._kept[layer] = (k, v)
        return k, v

    def of(self, layer: int) -> tuple[Tensor, Tensor]:
        return self._kept[layer]

    def shared(self, count: int) -> None:
        """Makes `count` sequences of the one that is kept, as if each had the same beginning."""
        self._kept = {
            layer: (k.expand(count, -1, -1, -1), v.expand(count, -1, -1, -1))
            for layer, (k, v) in self._kept.items()
        }


_FAR = -1e4  # added to the score of a position that must not be attended to, as the step's mask does


def hidden_states(
    step: DecoderStep, embeds: Tensor, lengths: Tensor, recompute: bool = False, cache: Cache | None = None
) -> Tensor:
    """float32 [B, S, H]: the normalised states of `embeds` float32 [B, S, H], padded at the right.

    `lengths`: int64 [B], the positions of each sequence; states beyond them mean nothing. The logits are
    `step.head` of the states. `recompute`: a layer's inner values are computed again for the gradient instead
    of kept, which takes a third more time and a tenth of the memory; not with a cache. `cache`: holds the
    positions before `embeds`, and afterwards these too; padded sequences may only be its last.
    """
    x, layers = layer_runs(step, embeds, lengths, cache)
    for run in layers:
        if recompute and torch.is_grad_enabled():
            x = torch.as_tensor(checkpoint(run, x, use_reentrant=False))
        else:
            x = run(x)
    return torch.as_tensor(step.norm(x))


def layer_runs(
    step: DecoderStep, embeds: Tensor, lengths: Tensor, cache: Cache | None = None
) -> tuple[Tensor, list[Callable[[Tensor], Tensor]]]:
    """What the first layer takes, and of each layer what computes its output [B, S, H] from its input.

    Arguments as for `hidden_states`.
    """
    shape, before = step.shape, 0 if cache is None else cache.length
    span = range(before, before + embeds.shape[1])
    x = embeds
    if isinstance(step, LearnedStep):
        x = x + step.positions[:, span.start : span.stop].T
    wide = (_angles(shape, span, shape.rope_theta, x), _mask(lengths, span, 0, x))
    local = wide
    if shape.window:
        local = (_angles(shape, span, shape.rope_theta_local, x), _mask(lengths, span, shape.window, x))
    runs = list[Callable[[Tensor], Tensor]]()
    for n, layer in enumerate(step.layers):
        if not isinstance(layer, DecoderLayer):
            raise TypeError(f"layer {n} is a {type(layer).__name__}: only decoders without encoder are run")
        angles, mask = local if shape.is_local(n) else wide
        extended = None if cache is None else partial(cache.extended, n)
        runs.append(partial(run_layer, layer, angles=angles, mask=mask, extended=extended))
    return x, runs


def run_layer(
    layer: DecoderLayer,
    x: Tensor,
    angles: tuple[Tensor, Tensor] | None,
    mask: Tensor,
    extended: Callable[[Tensor, Tensor], tuple[Tensor, ...]] | None = None,
) -> Tensor:
    """A layer over x [B, S, H]. `angles`: cos, sin [S, Dh/2]; `mask` [B or 1, 1, S, all] is added to scores;
    `extended`: keys and values of all positions, given the new ones [B, KV, S, Dh]."""
    s = layer.shape
    heads = layer.qkv(layer.attention_norm(x)).unflatten(-1, (-1, s.head_dim)).transpose(1, 2)
    q, k, v = heads.split((s.heads, s.kv_heads, s.kv_heads), dim=1)
    if s.head_norm:
        q, k = layer.q_norm(q), layer.k_norm(k)
    if angles is not None:
        q, k = (rotate(each, *angles, s.head_dim // 2) for each in (q, k))
    if extended is not None:
        k, v = extended(k, v)
    shared = s.heads // s.kv_heads
    k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=s.attention_scale)
    attended = layer.out(attended.transpose(1, 2).flatten(2))
    x = x + (layer.attention_post_norm(attended) if s.post_norms else attended)
    output = feed_forward(layer.norm(x), layer.gate_up, layer.down, s.activation, s.gated)
    return x + (layer.post_norm(output) if s.post_norms else output)


def _angles(shape: DecoderShape, span: range, theta: float, like: Tensor) -> tuple[Tensor, Tensor] | None:
    """cos, sin [S, Dh/2] of the rotary angles, computed in float64; None for learned positions."""
    if shape.positions:
        return None
    half = shape.head_dim // 2
    positions = torch.arange(span.start, span.stop, dtype=torch.float64)
    angles = positions[:, None] / theta ** (torch.arange(half, dtype=torch.float64) / half)
    return torch.cos(angles).to(like), torch.sin(angles).to(like)


def _mask(lengths: Tensor, span: range, window: int, like: Tensor) -> Tensor:
    """[B, 1, S, all S]: 0 where a position of `span` attends to another, else a large negative number."""
    at = torch.arange(span.stop, device=like.device)
    back = at[span.start :, None] - at[None, :]
    seen = (back >= 0) & ((back < window) if window else torch.ones_like(back, dtype=torch.bool))
    inside = at[None, :] < lengths[:, None].to(like.device) + span.start
    # A padded position attends to itself, so that its softmax stays finite.
    seen = (seen[None] & inside[:, None, :]) | (back == 0)[None]
    return torch.where(seen, 0.0, _FAR).to(like)[:, None]
