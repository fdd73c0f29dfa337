"""A Llama-style decoder (RMSNorm, rotary positions, grouped-query attention, SwiGLU), one token a step, KV cache outside the graph.

Knows tensors only. Written in the operators that every target delegates whole: the mean of a square is a matrix product with 1/D, rotation
and cache placement are products with inputs that the host computes (`cos`, `sin`, `place`, `mask`), so that no integer arithmetic or
16-bit angle stands in the graph. The cache is read, never copied: the step returns only the new key and value, and the host writes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class DecoderShape:
    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    eps: float
    rope_theta: float


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.register_buffer("eps", torch.tensor([eps]), persistent=False)  # a tensor: Core ML's bias fusion trips over a scalar
        self.register_buffer("share", torch.full((1, size), 1.0 / size), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(F.linear(x * x, self.get_buffer("share")) + self.get_buffer("eps")) * self.weight


class DecoderLayer(nn.Module):
    """One block. `qkv` stacks the query, key and value projections, `gate_up` the two halves of the SwiGLU."""

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = nn.Linear(shape.hidden, (shape.heads + 2 * shape.kv_heads) * shape.head_dim, bias=False)
        self.out = nn.Linear(shape.heads * shape.head_dim, shape.hidden, bias=False)
        self.gate_up = nn.Linear(shape.hidden, 2 * shape.intermediate, bias=False)
        self.down = nn.Linear(shape.intermediate, shape.hidden, bias=False)
        self.attention_norm = RMSNorm(shape.hidden, shape.eps)
        self.norm = RMSNorm(shape.hidden, shape.eps)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, place: Tensor, mask: Tensor, past_k: Tensor, past_v: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        s = self.shape
        heads = self.qkv(self.attention_norm(x)).view(s.heads + 2 * s.kv_heads, 1, s.head_dim)
        turned = _rotate(heads[: s.heads + s.kv_heads], cos, sin, s.head_dim // 2)
        q = turned[: s.heads].view(s.kv_heads, s.heads // s.kv_heads, s.head_dim) * s.head_dim**-0.5
        k, v = turned[s.heads :], heads[s.heads + s.kv_heads :]
        weights = torch.softmax(torch.bmm(q, (past_k + place * k).permute(0, 2, 1)) + mask, dim=-1)
        x = x + self.out(torch.bmm(weights, past_v + place * v).view(1, s.heads * s.head_dim))
        both = self.gate_up(self.norm(x))
        return x + self.down(F.silu(both[:, : s.intermediate]) * both[:, s.intermediate :]), k, v


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, half: int) -> Tensor:
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class DecoderStep(nn.Module):
    """One decoding step at T cache slots.

    embeds [1, H]; cos, sin [1, 1, Dh/2]; place [T, 1] (one at this position's slot, else zero); mask [1, 1, T] (0 seen, -1e4 not);
    then past_k.N, past_v.N [KV, T, Dh] for each layer, zero at this position. Returns logits [1, V], hidden [1, H] (v_Q where the token is
    [EOS], paper section 3.3.2), then k.N, v.N [KV, 1, Dh].
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = RMSNorm(shape.hidden, shape.eps)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(self, embeds: Tensor, cos: Tensor, sin: Tensor, place: Tensor, mask: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        x, fresh = embeds, []
        for index, layer in enumerate(self.layers):
            x, k, v = layer(x, cos, sin, place, mask, past[2 * index], past[2 * index + 1])
            fresh += [k, v]
        hidden = self.norm(x)
        return (self.head(hidden), hidden, *fresh)


class Int8Embedding(nn.Module):
    """The token table as int8 rows with one scale each: ids int64 [S] → embeds float32 [S, H]."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        scale = weight.abs().amax(dim=1, keepdim=True).clamp(min=1e-8) / 127.0
        self.register_buffer("scale", scale)
        self.register_buffer("rows", torch.round(weight / scale).clamp(-127, 127).to(torch.int8))

    def forward(self, ids: Tensor) -> Tensor:
        rows = torch.index_select(self.get_buffer("rows"), 0, ids)
        return rows.to(torch.float32) * torch.index_select(self.get_buffer("scale"), 0, ids)


class Embedding(nn.Module):
    """The token table as it is: ids int64 [S] → embeds float32 [S, H]."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("rows", weight)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.index_select(self.get_buffer("rows"), 0, ids)
