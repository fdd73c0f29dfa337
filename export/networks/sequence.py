"""A decoder-only language model over whole, batched sequences, differentiable: for training.

`hidden_states` runs the layers of a DecoderStep, which computes one token at a time for the phones, on all
positions at once. Both give the same states; tests/export/networks/test_sequence.py compares them.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .decoder import DecoderLayer, DecoderShape, DecoderStep, LearnedStep, feed_forward, rotate

_FAR = -1e4  # added to the score of a position that must not be attended to, as the step's mask does


def hidden_states(step: DecoderStep, embeds: Tensor, lengths: Tensor) -> Tensor:
    """float32 [B, S, H]: the normalised states of `embeds` float32 [B, S, H], padded at the right.

    `lengths`: int64 [B], the positions of each sequence; states beyond them mean nothing. The logits are
    `step.head` of the states.
    """
    shape, count = step.shape, embeds.shape[1]
    x = embeds
    if isinstance(step, LearnedStep):
        x = x + step.positions[:, :count].T
    wide = (_angles(shape, count, shape.rope_theta, x), _mask(lengths, count, 0, x))
    local = wide
    if shape.window:
        local = (_angles(shape, count, shape.rope_theta_local, x), _mask(lengths, count, shape.window, x))
    for n, layer in enumerate(step.layers):
        if not isinstance(layer, DecoderLayer):
            raise TypeError(f"layer {n} is a {type(layer).__name__}: only decoders without encoder are run")
        x = _layer(layer, x, *(local if shape.is_local(n) else wide))
    return torch.as_tensor(step.norm(x))


def _layer(layer: DecoderLayer, x: Tensor, angles: tuple[Tensor, Tensor] | None, mask: Tensor) -> Tensor:
    s = layer.shape
    heads = layer.qkv(layer.attention_norm(x)).unflatten(-1, (-1, s.head_dim)).transpose(1, 2)
    q, k, v = heads.split((s.heads, s.kv_heads, s.kv_heads), dim=1)
    if s.head_norm:
        q, k = layer.q_norm(q), layer.k_norm(k)
    if angles is not None:
        q, k = (rotate(each, *angles, s.head_dim // 2) for each in (q, k))
    shared = s.heads // s.kv_heads
    k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=s.attention_scale)
    attended = layer.out(attended.transpose(1, 2).flatten(2))
    x = x + (layer.attention_post_norm(attended) if s.post_norms else attended)
    output = feed_forward(layer.norm(x), layer.gate_up, layer.down, s.activation, s.gated)
    return x + (layer.post_norm(output) if s.post_norms else output)


def _angles(shape: DecoderShape, count: int, theta: float, like: Tensor) -> tuple[Tensor, Tensor] | None:
    """cos, sin [S, Dh/2] of the rotary angles, computed in float64; None for learned positions."""
    if shape.positions:
        return None
    half = shape.head_dim // 2
    positions = torch.arange(count, dtype=torch.float64)
    angles = positions[:, None] / theta ** (torch.arange(half, dtype=torch.float64) / half)
    return torch.cos(angles).to(like), torch.sin(angles).to(like)


def _mask(lengths: Tensor, count: int, window: int, like: Tensor) -> Tensor:
    """[B, 1, S, S]: 0 where a position attends to another, else a large negative number."""
    at = torch.arange(count, device=like.device)
    back = at[:, None] - at[None, :]
    seen = (back >= 0) & ((back < window) if window else torch.ones_like(back, dtype=torch.bool))
    inside = at[None, :] < lengths[:, None].to(like.device)
    # A padded position attends to itself, so that its softmax stays finite.
    seen = (seen[None] & inside[:, None, :]) | torch.eye(count, dtype=torch.bool, device=like.device)[None]
    return torch.where(seen, 0.0, _FAR).to(like)[:, None]
