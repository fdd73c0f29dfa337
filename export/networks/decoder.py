"""Decoder-only language models (Llama, Qwen, Gemma 3, GPT-2), one token a step, KV cache outside the graph.

Written in the operators that every target delegates whole: the mean of a square is a matrix product with
1/D, rotation and cache placement are products with inputs that the host computes (`cos`, `sin`, `place`,
`mask`), so that no integer arithmetic or 16-bit angle stands in the graph. The cache is read, never
copied: the step returns only the new key and value, and the host writes them.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class DecoderShape:
    """Sizes, and what a family does otherwise than Llama does.

    `norm`: rms | layer. `activation`: silu | gelu_tanh | relu, `gated` by a second half. Biases: `qkv_bias`
    on the projections into attention, `out_bias` out of it, `bias` in the feed-forward. `head_norm`: queries
    and keys are normed per head. `post_norms`: what a sublayer adds is normed too. `scale`: of attention
    scores, else head_dim^-0.5. `positions`: rows of a learned table, added to the embeddings; then nothing
    rotates. `local[n]`: layer n sees the last `window` tokens only, rotated with `rope_theta_local`.
    """

    vocab: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    eps: float
    rope_theta: float
    norm: str = "rms"
    activation: str = "silu"
    gated: bool = True
    qkv_bias: bool = False
    out_bias: bool = False
    bias: bool = False
    head_norm: bool = False
    post_norms: bool = False
    scale: float | None = None
    positions: int = 0
    window: int = 0
    rope_theta_local: float = 0.0
    local: tuple[bool, ...] = ()

    @property
    def attention_scale(self) -> float:
        return self.head_dim**-0.5 if self.scale is None else self.scale

    def is_local(self, layer: int) -> bool:
        return bool(self.window) and self.local[layer]


class RMSNorm(nn.Module):
    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        # Buffers are made on the CPU whatever the default device: a module is filled while its matrices are
        # still "meta".
        self.register_buffer(
            "eps", torch.tensor([eps], device="cpu"), persistent=False
        )  # a tensor: Core ML's bias fusion trips over a scalar
        self.register_buffer("share", torch.full((1, size), 1.0 / size, device="cpu"), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return (
            x * torch.rsqrt(F.linear(x * x, self.get_buffer("share")) + self.get_buffer("eps")) * self.weight
        )


class LayerNorm(RMSNorm):
    """The norm with mean and bias, in the same operators."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__(size, eps)
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - F.linear(x, self.get_buffer("share"))) + self.bias


def make_norm(shape: DecoderShape) -> RMSNorm:
    return LayerNorm(shape.hidden, shape.eps) if shape.norm == "layer" else RMSNorm(shape.hidden, shape.eps)


def activate(x: Tensor, activation: str) -> Tensor:
    """silu, relu, or GELU by tanh, which equals x · sigmoid(2u): XNNPACK's own GELU knows only the one by
    erf.
    """
    if activation == "silu":
        return F.silu(x)
    if activation == "relu":
        return F.relu(x)
    return x * torch.sigmoid(x * (x * x * 0.0713548162726 + 1.59576912161))


def feed_forward(x: Tensor, up: nn.Linear, down: nn.Linear, activation: str, gated: bool) -> Tensor:
    both = up(x)
    if not gated:
        return torch.as_tensor(down(activate(both, activation)))
    half = both.shape[-1] // 2
    return torch.as_tensor(down(activate(both[..., :half], activation) * both[..., half:]))


class DecoderLayer(nn.Module):
    """One block. `qkv` stacks the query, key and value projections, `gate_up` the two halves of a gated
    feed-forward.
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = nn.Linear(
            shape.hidden, (shape.heads + 2 * shape.kv_heads) * shape.head_dim, bias=shape.qkv_bias
        )
        self.out = nn.Linear(shape.heads * shape.head_dim, shape.hidden, bias=shape.out_bias)
        self.gate_up = nn.Linear(
            shape.hidden, shape.intermediate * (2 if shape.gated else 1), bias=shape.bias
        )
        self.down = nn.Linear(shape.intermediate, shape.hidden, bias=shape.bias)
        self.attention_norm, self.norm = make_norm(shape), make_norm(shape)
        if shape.head_norm:
            self.q_norm, self.k_norm = RMSNorm(shape.head_dim, shape.eps), RMSNorm(shape.head_dim, shape.eps)
        if shape.post_norms:
            self.attention_post_norm, self.post_norm = make_norm(shape), make_norm(shape)

    def forward(
        self,
        x: Tensor,
        cos: Tensor | None,
        sin: Tensor | None,
        place: Tensor,
        mask: Tensor,
        past_k: Tensor,
        past_v: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        s = self.shape
        q, k, v = self._heads(self.attention_norm(x), cos, sin)
        q = q.reshape(s.kv_heads, s.heads // s.kv_heads, s.head_dim) * s.attention_scale
        weights = torch.softmax(torch.bmm(q, (past_k + place * k).permute(0, 2, 1)) + mask, dim=-1)
        attended = self.out(torch.bmm(weights, past_v + place * v).view(1, s.heads * s.head_dim))
        x = x + (self.attention_post_norm(attended) if s.post_norms else attended)
        made = feed_forward(self.norm(x), self.gate_up, self.down, s.activation, s.gated)
        return x + (self.post_norm(made) if s.post_norms else made), k, v

    def _heads(self, x: Tensor, cos: Tensor | None, sin: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [heads, 1, Dh], keys and values [KV, 1, Dh], normed and rotated."""
        s = self.shape
        heads = self.qkv(x).view(s.heads + 2 * s.kv_heads, 1, s.head_dim)
        both, v = heads[: s.heads + s.kv_heads], heads[s.heads + s.kv_heads :]
        if s.head_norm:
            both = torch.cat([self.q_norm(both[: s.heads]), self.k_norm(both[s.heads :])])
        if cos is not None and sin is not None:
            both = _rotate(both, cos, sin, s.head_dim // 2)
        return both[: s.heads], both[s.heads :], v


def _rotate(x: Tensor, cos: Tensor, sin: Tensor, half: int) -> Tensor:
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class DecoderStep(nn.Module):
    """One decoding step at T cache slots.

    embeds [1, H]; cos, sin [1, 1, Dh/2]; place [T, 1] (one at this position's slot, else zero); mask [1, 1,
    T] (0 seen, -1e4 not); with local layers, cos, sin and mask again as these see them; then past_k.N,
    past_v.N [KV, T, Dh] for each layer, zero at this position. Returns logits [1, V], hidden [1, H] (v_Q
    where the token is [EOS], paper section 3.3.2), then k.N, v.N [KV, 1, Dh].
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.shape = shape
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(shape.layers))
        self.norm = make_norm(shape)
        self.head = nn.Linear(shape.hidden, shape.vocab, bias=False)

    def forward(
        self, embeds: Tensor, cos: Tensor, sin: Tensor, place: Tensor, mask: Tensor, *rest: Tensor
    ) -> tuple[Tensor, ...]:
        whole = (cos, sin, place, mask)
        if not self.shape.window:
            return self._run(embeds, whole, whole, rest)
        return self._run(embeds, whole, (rest[0], rest[1], place, rest[2]), rest[3:])

    def _run(
        self,
        x: Tensor,
        whole: tuple[Tensor | None, Tensor | None, Tensor, Tensor],
        local: tuple[Tensor | None, Tensor | None, Tensor, Tensor],
        past: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        fresh = []
        for n, layer in enumerate(self.layers):
            x, k, v = layer(x, *(local if self.shape.is_local(n) else whole), past[2 * n], past[2 * n + 1])
            fresh += [k, v]
        hidden = self.norm(x)
        return (self.head(hidden), hidden, *fresh)


class LearnedStep(DecoderStep):
    """DecoderStep for learned positions: no cos and sin. `positions` [H, T]: this position's is the table's
    product with `place`.
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__(shape)
        self.positions = nn.Parameter(torch.zeros(shape.hidden, shape.positions))

    def forward(self, embeds: Tensor, place: Tensor, mask: Tensor, *past: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        row = F.linear(place.permute(1, 0), self.positions)
        whole = (None, None, place, mask)
        return self._run(embeds + row, whole, whole, past)


class Int8Embedding(nn.Module):
    """The token table in int8 with a scale for each of a row's `groups`: ids int64 [S] → embeds float32 [S,
    H].

    One scale a row is enough for most tables. Not where one number of a row stands far out of the rest (Gemma
    3 270M's: 22 times their root mean square): it alone would set the scale, and the others would be rounded
    by a fifth of their size.
    """

    OUTLIER, GROUP = 15.0, 32

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        width = weight.shape[1]
        far = weight.abs().amax(dim=1) > self.OUTLIER * width**-0.5 * torch.linalg.vector_norm(weight, dim=1)
        self.groups = width // self.GROUP if bool(far.any()) and width % self.GROUP == 0 else 1
        blocks = weight.view(len(weight), self.groups, -1)
        scale = blocks.abs().amax(dim=2, keepdim=True).clamp(min=1e-8) / 127.0
        self.register_buffer("scale", scale[:, :, 0])
        self.register_buffer(
            "rows", torch.round(blocks / scale).clamp_(-127, 127).to(torch.int8).view(weight.shape)
        )

    def forward(self, ids: Tensor) -> Tensor:
        rows = torch.index_select(self.get_buffer("rows"), 0, ids).to(torch.float32)
        scale = torch.index_select(self.get_buffer("scale"), 0, ids)
        if self.groups == 1:
            return rows * scale
        blocks = rows.reshape(-1, self.groups, rows.shape[1] // self.groups) * scale.unsqueeze(2)
        return blocks.reshape(-1, rows.shape[1])


class Embedding(nn.Module):
    """The token table as it is, fp32 or fp16: ids int64 [S] → embeds float32 [S, H]."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("rows", weight)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.index_select(self.get_buffer("rows"), 0, ids).to(torch.float32)
