"""ModernBERT (Warner et al. 2024, arXiv 2412.13663): token ids → one unit vector.

Norms stand before each sublayer, positions are rotary, the feed-forward is gated, and most layers attend only
to tokens nearby.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .decoder import rotate
from .encoder import ACTIVATIONS, MASKED
from .pooling import pooled


@dataclass(frozen=True)
class ModernBertShape:
    """Sizes. `longest`: tokens that a text may have. `local`: for each layer whether it attends nearby only.

    `window`: tokens on either side that a local layer attends to. `theta`, `theta_local`: bases of the rotary
    angles. `attention_bias`, `mlp_bias`, `norm_bias`: whether these parts have biases. `pooling`: see
    pooling.py.
    """

    vocab: int
    hidden: int
    heads: int
    intermediate: int
    longest: int
    eps: float
    local: tuple[bool, ...]
    window: int
    theta: float
    theta_local: float
    activation: str
    attention_bias: bool
    mlp_bias: bool
    norm_bias: bool
    pooling: str

    @property
    def head_dim(self) -> int:
        return self.hidden // self.heads


class _Layer(nn.Module):
    def __init__(self, shape: ModernBertShape, first: bool) -> None:
        super().__init__()
        self.shape, self.activation = shape, ACTIVATIONS[shape.activation]
        # The first layer gets what the embeddings' norm has normalised already.
        self.attention_norm = nn.Identity() if first else _norm(shape)
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden, bias=shape.attention_bias)
        self.out = nn.Linear(shape.hidden, shape.hidden, bias=shape.attention_bias)
        self.norm = _norm(shape)
        self.gate_up = nn.Linear(shape.hidden, 2 * shape.intermediate, bias=shape.mlp_bias)
        self.down = nn.Linear(shape.intermediate, shape.hidden, bias=shape.mlp_bias)

    def forward(self, x: Tensor, bias: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        s = self.shape
        q, k, v = (
            part.unflatten(-1, (s.heads, s.head_dim)).transpose(1, 2)
            for part in self.qkv(self.attention_norm(x)).split(s.hidden, dim=-1)
        )
        q, k = (rotate(part, cos, sin, s.head_dim // 2) for part in (q, k))
        weights = torch.softmax(q @ k.transpose(-1, -2) * s.head_dim**-0.5 + bias, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        gate, up = self.gate_up(self.norm(x)).split(s.intermediate, dim=-1)
        return x + self.down(self.activation(gate) * up)


class ModernBert(nn.Module):
    """input_ids, attention_mask int64 [B, S] → embedding float32 [B, D], L2-normalised.

    Padding stands at the right.
    """

    def __init__(self, shape: ModernBertShape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocab, shape.hidden)
        self.embeddings_norm, self.norm = _norm(shape), _norm(shape)
        self.layers = nn.ModuleList(_Layer(shape, n == 0) for n in range(len(shape.local)))
        # Constants, not weights: on the CPU even if the module is created on the meta device.
        at = torch.arange(shape.longest, device="cpu")
        far = (at[:, None] - at[None, :]).abs() > shape.window
        self.register_buffer("far", far.to(torch.float32) * MASKED, persistent=False)
        for name, theta in (("wide", shape.theta), ("near", shape.theta_local)):
            turns = torch.arange(0, shape.head_dim, 2, dtype=torch.float64, device="cpu") / shape.head_dim
            angles = at.to(torch.float64)[:, None] / theta**turns
            self.register_buffer(f"{name}_cos", torch.cos(angles).to(torch.float32), persistent=False)
            self.register_buffer(f"{name}_sin", torch.sin(angles).to(torch.float32), persistent=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask, length = attention_mask.to(torch.float32), input_ids.shape[1]
        wide = (1.0 - mask)[:, None, None, :] * MASKED
        near = wide + self.get_buffer("far")[:length, :length]
        x = self.embeddings_norm(self.words(input_ids))
        for layer, local in zip(self.layers, self.shape.local, strict=True):
            name = "near" if local else "wide"
            cos, sin = (self.get_buffer(f"{name}_{part}")[:length] for part in ("cos", "sin"))
            x = layer(x, near if local else wide, cos, sin)
        return pooled(self.norm(x), mask, self.shape.pooling)


def _norm(shape: ModernBertShape) -> nn.LayerNorm:
    return nn.LayerNorm(shape.hidden, eps=shape.eps, bias=shape.norm_bias)
