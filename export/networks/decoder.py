"""Decoder-only language models (Llama, Qwen, Gemma 3, GPT-2): one token a step, KV cache outside the graph.

Only operators are used that every target can delegate completely: the mean of squares is a matrix product
with 1/D, and rotation and cache placement are products with inputs that the host computes (`cos`, `sin`,
`place`, `mask`), so that the graph has no integer arithmetic and no angles in fp16. The cache is read, never
copied: a step returns only its key and value, and the host writes them into the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class DecoderShape:
    """Sizes, and how a family differs from Llama.

    `norm`: rms | layer. `activation`: silu | gelu_tanh | relu. `gated`: the activated half of the
    feed-forward is multiplied by a second half. Biases: `qkv_bias` on the projections into attention,
    `out_bias` on the one out of it, `bias` in the feed-forward. `head_norm`: queries and keys are normalised
    per head. `post_norms`: a sublayer's output is normalised before it is added. `scale`: of attention
    scores; None for head_dim^-0.5. `positions`: rows of a learned position table, which replaces rotation; 0
    for rotation. `local[n]`: layer n attends to the last `window` tokens only, with base `rope_theta_local`.
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
        # Buffers are on the CPU even under torch.device("meta"), because only parameters are filled later.
        self.register_buffer(
            "eps", torch.tensor([eps], device="cpu"), persistent=False
        )  # a tensor, because Core ML's bias fusion fails on a scalar
        self.register_buffer("share", torch.full((1, size), 1.0 / size, device="cpu"), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        return (
            x * torch.rsqrt(F.linear(x * x, self.get_buffer("share")) + self.get_buffer("eps")) * self.weight
        )


class LayerNorm(RMSNorm):
    """Layer norm (mean subtracted, bias added), in the same operators as RMSNorm."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__(size, eps)
        self.bias = nn.Parameter(torch.zeros(size))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - F.linear(x, self.get_buffer("share"))) + self.bias


def make_norm(shape: DecoderShape) -> RMSNorm:
    return LayerNorm(shape.hidden, shape.eps) if shape.norm == "layer" else RMSNorm(shape.hidden, shape.eps)


def activate(x: Tensor, activation: str) -> Tensor:
    """silu, relu, or GELU by its tanh approximation.

    The latter is computed as x · sigmoid(2u), which equals x / 2 · (1 + tanh u), because XNNPACK has only the
    GELU by erf.
    """
    if activation == "silu":
        return F.silu(x)
    if activation == "relu":
        return F.relu(x)
    return x * torch.sigmoid(x * (x * x * 0.0713548162726 + 1.59576912161))


def feed_forward(x: Tensor, up: nn.Linear, down: nn.Linear, activation: str, gated: bool) -> Tensor:
    projected = up(x)
    if not gated:
        return torch.as_tensor(down(activate(projected, activation)))
    half = projected.shape[-1] // 2
    return torch.as_tensor(down(activate(projected[..., :half], activation) * projected[..., half:]))


class DecoderLayer(nn.Module):
    """One block. `qkv` stacks the query, key and value projections, `gate_up` the halves of a gated MLP."""

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
        output = feed_forward(self.norm(x), self.gate_up, self.down, s.activation, s.gated)
        return x + (self.post_norm(output) if s.post_norms else output), k, v

    def _heads(self, x: Tensor, cos: Tensor | None, sin: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [heads, 1, Dh] and keys [KV, 1, Dh], normalised and rotated, and values [KV, 1, Dh]."""
        s = self.shape
        heads = self.qkv(x).view(s.heads + 2 * s.kv_heads, 1, s.head_dim)
        queries_keys, v = heads[: s.heads + s.kv_heads], heads[s.heads + s.kv_heads :]
        if s.head_norm:
            queries_keys = torch.cat(
                [self.q_norm(queries_keys[: s.heads]), self.k_norm(queries_keys[s.heads :])]
            )
        if cos is not None and sin is not None:
            queries_keys = rotate(queries_keys, cos, sin, s.head_dim // 2)
        return queries_keys[: s.heads], queries_keys[s.heads :], v


def rotate(x: Tensor, cos: Tensor, sin: Tensor, half: int) -> Tensor:
    """Rotates the pairs (x[n], x[n + half]) of the last axis, as in Su et al. 2021, arXiv 2104.09864."""
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class DecoderStep(nn.Module):
    """One decoding step with T cache slots.

    Inputs: embeds [1, H]; cos, sin [1, 1, Dh/2]; place [T, 1] (1 at this position's slot, else 0); mask
    [1, 1, T] (0 at slots to attend to, else -1e4); with local layers, their cos, sin and mask; then past_k.N,
    past_v.N [KV, T, Dh] for each layer, zero at this position. Returns logits [1, V], hidden [1, H] (v_Q
    where the token is [EOS], paper section 3.4), then k.N, v.N [KV, 1, Dh].
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
        full = (cos, sin, place, mask)
        if not self.shape.window:
            return self._run(embeds, full, full, rest)
        return self._run(embeds, full, (rest[0], rest[1], place, rest[2]), rest[3:])

    def _run(
        self,
        x: Tensor,
        full: tuple[Tensor | None, Tensor | None, Tensor, Tensor],
        local: tuple[Tensor | None, Tensor | None, Tensor, Tensor],
        past: tuple[Tensor, ...],
    ) -> tuple[Tensor, ...]:
        new_cache = []
        for n, layer in enumerate(self.layers):
            x, k, v = layer(x, *(local if self.shape.is_local(n) else full), past[2 * n], past[2 * n + 1])
            new_cache += [k, v]
        hidden = self.norm(x)
        return (self.head(hidden), hidden, *new_cache)


class LearnedStep(DecoderStep):
    """DecoderStep for learned positions, without the inputs cos and sin.

    `positions` [H, T]: the position table; its product with `place` is this position's row.
    """

    def __init__(self, shape: DecoderShape) -> None:
        super().__init__(shape)
        self.positions = nn.Parameter(torch.zeros(shape.hidden, shape.positions))

    def forward(self, embeds: Tensor, place: Tensor, mask: Tensor, *past: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        position = F.linear(place.permute(1, 0), self.positions)
        inputs = (None, None, place, mask)
        return self._run(embeds + position, inputs, inputs, past)


class Int8Embedding(nn.Module):
    """The token table in int8 with `groups` scales per row: ids int64 [S] → embeds float32 [S, H].

    One scale per row is enough for most tables. But if a row has an outlier (in Gemma 3 270M, 22 times the
    row's root mean square), the outlier alone determines the scale, and the other values are rounded by a
    fifth of their size. So a table with a value beyond OUTLIER times its row's root mean square gets a scale
    for each GROUP values.
    """

    OUTLIER, GROUP = 15.0, 32

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        width = weight.shape[1]
        has_outlier = weight.abs().amax(dim=1) > self.OUTLIER * width**-0.5 * torch.linalg.vector_norm(
            weight, dim=1
        )
        self.groups = width // self.GROUP if bool(has_outlier.any()) and width % self.GROUP == 0 else 1
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
    """The token table in fp32 or fp16: ids int64 [S] → embeds float32 [S, H]."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("rows", weight)

    def forward(self, ids: Tensor) -> Tensor:
        return torch.index_select(self.get_buffer("rows"), 0, ids).to(torch.float32)
