"""The pre-norm transformer encoder that CLIP's and SigLIP's towers share, of image and of text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# What a masked place gets before the softmax. Not -inf: fp16 targets hold it, even twice, and softmax gives
# the same zero.
MASKED = -1e4
_tanh_gelu = partial(F.gelu, approximate="tanh")


def _quick_gelu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(1.702 * x)


# Hugging Face's names of activations → what computes them.
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
    """`width` features in `heads` heads, `layers` layers, `inner` features between the two halves
    of the MLP.
    """

    width: int
    heads: int
    layers: int
    inner: int
    activation: str
    eps: float


def attention(q: Tensor, k: Tensor, v: Tensor, heads: int, dim: int, bias: Tensor | None = None) -> Tensor:
    """q [B, S, heads · dim], k and v [B, T, heads · dim] → as q; `bias` is added to the products [B, heads,
    S, T].

    In operators that every target has. ONNX Runtime has one for the whole, which `onnx_fusion.py` puts in the
    place of these.
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

    Query, key and value are one product: int8 scales its input once, not three times.
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
