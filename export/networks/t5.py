"""T5 and Flan-T5: an encoder over fixed slots, and a decoding step with the KV cache outside the graph.

Attention scores are not scaled, and positions are relative: a bias from a table of buckets. In the encoder
the bias is a constant; for the decoder the host chooses each slot's bucket (`buckets`). The keys and values
of cross-attention depend only on the encoder's states, so the encoder computes them once per prompt.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gamer.runtime.models.language.decoder import relative_buckets

from .decoder import RMSNorm, feed_forward


@dataclass(frozen=True)
class T5Shape:
    """Sizes. `activation`: relu | gelu_tanh | silu.

    `gated`: the activated half of the feed-forward is multiplied by a second half. `buckets`: of relative
    distance; the last one holds all distances from `distance` on.
    """

    vocab: int
    hidden: int
    encoder_layers: int
    layers: int
    heads: int
    head_dim: int
    intermediate: int
    eps: float
    activation: str
    gated: bool
    buckets: int
    distance: int

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim


class _Block(nn.Module):
    """The part common to both stacks: matrices of self-attention and feed-forward, and their norms."""

    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = nn.Linear(shape.hidden, 3 * shape.inner, bias=False)
        self.out = nn.Linear(shape.inner, shape.hidden, bias=False)
        self.gate_up = nn.Linear(shape.hidden, shape.intermediate * (2 if shape.gated else 1), bias=False)
        self.down = nn.Linear(shape.intermediate, shape.hidden, bias=False)
        self.attention_norm, self.norm = RMSNorm(shape.hidden, shape.eps), RMSNorm(shape.hidden, shape.eps)

    def feed(self, x: Tensor) -> Tensor:
        return x + feed_forward(
            self.norm(x), self.gate_up, self.down, self.shape.activation, self.shape.gated
        )


class EncoderLayer(_Block):
    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """x [1, S, H], bias [heads, S, S] → [1, S, H]."""
        s, size = self.shape, x.shape[1]
        heads = self.qkv(self.attention_norm(x)).view(size, 3 * s.heads, s.head_dim).permute(1, 0, 2)
        q, k, v = heads[: s.heads], heads[s.heads : 2 * s.heads], heads[2 * s.heads :]
        weights = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)) + bias, dim=-1)
        attended = torch.bmm(weights, v).permute(1, 0, 2).reshape(1, size, s.inner)
        return self.feed(x + self.out(attended))


class T5Encoder(nn.Module):
    """embeds [1, S, H], mask [1, 1, S] → states [1, S, H], then cross_k.N, cross_v.N [heads, S, Dh].

    `mask` is 0 at tokens and -1e4 at unused slots. There is a pair of cross_k and cross_v for each decoder
    layer. `relative` [heads, buckets]: the table of relative positions. `cross`: the decoder layers' key and
    value projections, stacked.
    """

    def __init__(self, shape: T5Shape, slots: int) -> None:
        super().__init__()
        self.shape, self.slots = shape, slots
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.encoder_layers))
        self.norm = RMSNorm(shape.hidden, shape.eps)
        self.cross = nn.ModuleList(
            nn.Linear(shape.hidden, 2 * shape.inner, bias=False) for _ in range(shape.layers)
        )
        self.relative = nn.Parameter(torch.zeros(shape.heads, shape.buckets))

    def compute_bias(self) -> None:
        """Computes the constant attention bias [heads, S, S]. Must be called after `relative` is filled."""
        positions = np.arange(self.slots)
        bucket_ids = relative_buckets(
            positions[None] - positions[:, None], self.shape.buckets, self.shape.distance, both_ways=True
        )
        self.register_buffer(
            "bias",
            self.relative.detach()[:, torch.from_numpy(bucket_ids).to(self.relative.device)].contiguous(),
            persistent=False,
        )

    def forward(self, embeds: Tensor, mask: Tensor) -> tuple[Tensor, ...]:
        x, bias, s = embeds, self.get_buffer("bias") + mask, self.shape
        for layer in self.layers:
            x = layer(x, bias)
        states, out = self.norm(x), []
        for cross in self.cross:
            keys_values = cross(states).view(embeds.shape[1], 2 * s.heads, s.head_dim).permute(1, 0, 2)
            out += [keys_values[: s.heads], keys_values[s.heads :]]
        return (states, *out)


class CrossLayer(_Block):
    """A decoder block: self-attention over the cache, cross-attention, feed-forward."""

    def __init__(self, shape: T5Shape) -> None:
        super().__init__(shape)
        self.cross_q = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.cross_out = nn.Linear(shape.inner, shape.hidden, bias=False)
        self.cross_norm = RMSNorm(shape.hidden, shape.eps)

    def forward(
        self, x: Tensor, place: Tensor, bias: Tensor, cross_mask: Tensor, caches: tuple[Tensor, ...]
    ) -> tuple[Tensor, Tensor, Tensor]:
        s, (past_k, past_v, cross_k, cross_v) = self.shape, caches
        heads = self.qkv(self.attention_norm(x)).view(3 * s.heads, 1, s.head_dim)
        q, k, v = heads[: s.heads], heads[s.heads : 2 * s.heads], heads[2 * s.heads :]
        x = x + self.out(_attend(q, past_k + place * k, past_v + place * v, bias))
        q = self.cross_q(self.cross_norm(x)).view(s.heads, 1, s.head_dim)
        x = x + self.cross_out(_attend(q, cross_k, cross_v, cross_mask))
        return self.feed(x), k, v


def _attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    """Attention of q [heads, 1, Dh] over k, v [heads, T, Dh] → [1, heads · Dh]."""
    weights = torch.softmax(torch.bmm(q, k.permute(0, 2, 1)) + bias, dim=-1)
    return torch.bmm(weights, v).view(1, q.shape[0] * q.shape[2])


class T5Step(nn.Module):
    """One decoding step with T cache slots and E encoder slots.

    Inputs: embeds [1, H]; place [T, 1] (1 at this position's slot); mask [1, 1, T]; buckets [T, B] (1 at the
    bucket of each slot's distance); cross_mask [1, 1, E]; past_k.N, past_v.N [heads, T, Dh] for each layer,
    then cross_k.N, cross_v.N [heads, E, Dh]. Returns logits [1, V], hidden [1, H], then
    k.N, v.N [heads, 1, Dh].
    """

    def __init__(self, shape: T5Shape) -> None:
        super().__init__()
        self.shape = shape
        self.layers = nn.ModuleList(CrossLayer(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.hidden, shape.eps)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)
        self.relative = nn.Parameter(torch.zeros(shape.heads, shape.buckets))

    def forward(
        self, embeds: Tensor, place: Tensor, mask: Tensor, buckets: Tensor, cross_mask: Tensor, *rest: Tensor
    ) -> tuple[Tensor, ...]:
        slots, split = place.shape[0], 2 * self.shape.layers
        bias = F.linear(buckets, self.relative).permute(1, 0).reshape(self.shape.heads, 1, slots) + mask
        x, new_cache = embeds, []
        for n, layer in enumerate(self.layers):
            caches = (*rest[2 * n : 2 * n + 2], *rest[split + 2 * n : split + 2 * n + 2])
            x, k, v = layer(x, place, bias, cross_mask, caches)
            new_cache += [k, v]
        hidden = self.norm(x)
        return (self.head(hidden), hidden, *new_cache)
