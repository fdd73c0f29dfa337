"""A BERT sentence encoder (MiniLM): token ids → one unit vector, mean-pooled over the unpadded tokens.

`hf_name` maps each parameter to its name in Hugging Face's BertModel.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class BertShape:
    vocab: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    eps: float


class _Attention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads, self.head_dim = shape.heads, shape.hidden // shape.heads
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        q, k, v = (
            f(x).unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2)
            for f in (self.query, self.key, self.value)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.head_dim**-0.5 + bias, dim=-1)
        return (weights @ v).transpose(1, 2).flatten(2)


class _Layer(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.attention = _Attention(shape)
        self.attention_out = nn.Linear(shape.hidden, shape.hidden)
        self.attention_norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.up = nn.Linear(shape.hidden, shape.intermediate)
        self.down = nn.Linear(shape.intermediate, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.eps)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        x = self.attention_norm(x + self.attention_out(self.attention(x, bias)))
        return self.norm(x + self.down(F.gelu(self.up(x))))


class SentenceEncoder(nn.Module):
    """input_ids, attention_mask int64 [B, S] → embedding float32 [B, D], L2-normalised."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.vocab, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        self.types = nn.Embedding(2, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.layers = nn.ModuleList(_Layer(shape) for _ in range(shape.layers))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask = attention_mask.to(torch.float32)
        x = self.words(input_ids) + self.positions.weight[: input_ids.shape[1]] + self.types.weight[0]
        x = self.norm(x)
        # -1e4 rather than -inf: fp16 can represent it, and softmax gives the same zero.
        bias = (1.0 - mask)[:, None, None, :] * -1e4
        for layer in self.layers:
            x = layer(x, bias)
        weights = mask[:, :, None]
        return F.normalize((x * weights).sum(1) / weights.sum(1).clamp(min=1.0), dim=-1)


def hf_name(name: str) -> str:
    """The name in Hugging Face's BertModel of this module's tensor `name`."""
    outer, _, rest = name.partition(".")
    if outer != "layers":
        table = {
            "words": "word_embeddings",
            "positions": "position_embeddings",
            "types": "token_type_embeddings",
            "norm": "LayerNorm",
        }
        return f"embeddings.{table[outer]}.{rest}"
    layer, _, inner = rest.partition(".")
    part, _, leaf = inner.partition(".")
    table = {
        "attention": "attention.self",
        "attention_out": "attention.output.dense",
        "attention_norm": "attention.output.LayerNorm",
        "up": "intermediate.dense",
        "down": "output.dense",
        "norm": "output.LayerNorm",
    }
    return f"encoder.layer.{layer}.{table[part]}.{leaf}"
