"""The encoder of BERT, RoBERTa and MPNet: token ids → one unit vector.

The three differ in the vectors that are added to a token's: RoBERTa and MPNet leave the table's first
positions unused (whoever fills the module cuts them off), MPNet has no token types, and adds a bias of the
distance between two tokens to their attention, the same in every layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from .encoder import ACTIVATIONS, MASKED, attention
from .pooling import pooled


@dataclass(frozen=True)
class BertShape:
    """Sizes. `positions`: tokens that a text may have. `types`: rows of the token types' table, 0 for none.

    `relative`: tokens that the bias of distances reaches, 0 for no such bias. `pooling`: see pooling.py.
    """

    vocab: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    eps: float
    types: int = 2
    relative: int = 0
    activation: str = "gelu"
    pooling: str = "mean"


class _Attention(nn.Module):
    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.heads, self.head_dim = shape.heads, shape.hidden // shape.heads
        self.query = nn.Linear(shape.hidden, shape.hidden)
        self.key = nn.Linear(shape.hidden, shape.hidden)
        self.value = nn.Linear(shape.hidden, shape.hidden)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        return attention(self.query(x), self.key(x), self.value(x), self.heads, self.head_dim, bias)


class BertLayer(nn.Module):
    """A post-norm layer: norm(x + attention(x)), norm(x + mlp(x))."""

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.attention = _Attention(shape)
        self.attention_out = nn.Linear(shape.hidden, shape.hidden)
        self.attention_norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.up = nn.Linear(shape.hidden, shape.intermediate)
        self.down = nn.Linear(shape.intermediate, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x: Tensor, bias: Tensor, change: Tensor | None = None) -> Tensor:
        """`change`: float32 [2, R, H], what an adapter adds to this layer: x · change[0]ᵀ · change[1]."""
        x = self.attention_norm(x + self.attention_out(self.attention(x, bias)))
        out = self.down(self.activation(self.up(x)))
        if change is not None:
            out = out + (x @ change[0].transpose(0, 1)) @ change[1]
        return self.norm(x + out)


class SentenceEncoder(nn.Module):
    """input_ids, attention_mask int64 [B, S] → embedding float32 [B, D], L2-normalised.

    Padding stands at the right. The buffer `relative` [1, heads, R, R] is MPNet's bias. An adapter float32
    [layers, 2, rank, H] changes how a query is read (components/query_adapter.py); zeros change nothing.
    """

    def __init__(self, shape: BertShape) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocab, shape.hidden)
        self.positions = nn.Embedding(shape.positions, shape.hidden)
        if shape.types:
            self.types = nn.Embedding(shape.types, shape.hidden)
        if shape.relative:
            self.register_buffer("relative", torch.zeros(1, shape.heads, shape.relative, shape.relative))
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.eps)
        self.layers = nn.ModuleList(BertLayer(shape) for _ in range(shape.layers))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, adapter: Tensor | None = None) -> Tensor:
        mask, length = attention_mask.to(torch.float32), input_ids.shape[1]
        x = self.words(input_ids) + self.positions.weight[:length]
        if self.shape.types:
            x = x + self.types.weight[0]
        x = self.norm(x)
        bias = (1.0 - mask)[:, None, None, :] * MASKED
        if self.shape.relative:
            bias = bias + self.get_buffer("relative")[:, :, :length, :length]
        for n, layer in enumerate(self.layers):
            x = layer(x, bias, None if adapter is None else adapter[n])
        return pooled(x, mask, self.shape.pooling)
