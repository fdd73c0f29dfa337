"""The pre-norm transformer encoder of CLIP's and SigLIP's image and text towers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# Added to the score of a masked position before the softmax. Not -inf: fp16 can represent it, even added
# twice, and softmax gives the same zero.
MASKED = -1e4
_tanh_gelu = partial(F.gelu, approximate="tanh")


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


# Hugging Face's name of an activation → its function.
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "quick_gelu": _quick_gelu,
    "gelu": F.gelu,
    "gelu_pytorch_tanh": _tanh_gelu,
    "gelu_new": _tanh_gelu,
    "relu": F.relu,
    "silu": F.silu,
}


@dataclass(frozen=True)
class EncoderShape:
    """Sizes. `width`: features of a token. `inner`: features between the two products of the MLP."""

    width: int
    heads: int
    layers: int
    inner: int
    activation: str
    eps: float


def attention(q: Tensor, k: Tensor, v: Tensor, heads: int, dim: int, bias: Tensor | None = None) -> Tensor:
    """Attention of q [B, S, heads · dim] over k and v [B, T, heads · dim] → [B, S, heads · dim].

    `bias` is added to the scores [B, heads, S, T]. Every target has the operators used; for ONNX Runtime,
    onnx/fusion.py replaces them by its single attention operator.
    """
    batch = q.shape[0]
    q, k, v = (x.reshape(batch, -1, heads, dim).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.transpose(-1, -2) * dim**-0.5
    weights = torch.softmax(scores if bias is None else scores + bias, dim=-1)
    return (weights @ v).transpose(1, 2).reshape(batch, -1, heads * dim)


class Mlp(nn.Module):
    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(shape.width, shape.inner), nn.Linear(shape.inner, shape.width)
        self.activation = ACTIVATIONS[shape.activation]

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.activation(self.up(x)))


class EncoderLayer(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    Query, key and value are one product, so that int8 quantizes their input once instead of three times.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.heads, self.dim = shape.heads, shape.width // shape.heads
        self.attention_norm = nn.LayerNorm(shape.width, eps=shape.eps)
        self.qkv, self.out = nn.Linear(shape.width, 3 * shape.width), nn.Linear(shape.width, shape.width)
        self.norm = nn.LayerNorm(shape.width, eps=shape.eps)
        self.mlp = Mlp(shape)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(self.attention_norm(x)).split(self.heads * self.dim, dim=-1)
        x = x + self.out(attention(q, k, v, self.heads, self.dim, bias))
        return x + self.mlp(self.norm(x))


class Encoder(nn.Module):
    """[B, S, W] → [B, S, W]."""

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(shape.layers))

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        for layer in self.layers:
            x = layer(x, bias)
        return x
