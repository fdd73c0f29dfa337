"""The encoder of CLIP's and SigLIP's towers in the layout that Apple's Neural Engine likes.

Values are [B, width, 1, S], products are 1 × 1 convolutions, and attention is computed head by head, so that
no value is reshaped (Apple, "Deploying Transformers on the Apple Neural Engine", 2022). Parameters have the
names that they had, so that --keep and the search for bits find them.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .encoder import Encoder, EncoderLayer, Mlp


def encoders(module: nn.Module) -> list[str]:
    """The paths of the encoders that `channels_first` turns."""
    return [name for name, part in module.named_modules() if type(part) is Encoder]


def channels_first(module: nn.Module) -> nn.Module:
    """A copy of `module` whose encoders compute so, with its weights."""
    module = copy.deepcopy(module)
    for name in encoders(module):
        parent, _, last = name.rpartition(".")
        setattr(module.get_submodule(parent), last, _Encoder(module.get_submodule(name)))
    return module.eval()


class _Pointwise(nn.Module):
    """A linear map of the channels: [B, K, 1, S] → [B, N, 1, S]."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = nn.Parameter(linear.weight[:, :, None, None], requires_grad=False)
        self.bias = linear.bias

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight, self.bias)


class _Norm(nn.Module):
    """A layer norm over the channels, written as Core ML's converter knows one."""

    def __init__(self, norm: nn.LayerNorm) -> None:
        super().__init__()
        self.eps = norm.eps
        self.weight, self.bias = (
            nn.Parameter(p[None, :, None, None], requires_grad=False) for p in (norm.weight, norm.bias)
        )

    def forward(self, x: Tensor) -> Tensor:
        centred = x - x.mean(dim=1, keepdim=True)
        spread = (centred * centred).mean(dim=1, keepdim=True)
        return centred * torch.rsqrt(spread + self.eps) * self.weight + self.bias


class _Mlp(nn.Module):
    def __init__(self, mlp: Mlp) -> None:
        super().__init__()
        self.up, self.down, self.activation = _Pointwise(mlp.up), _Pointwise(mlp.down), mlp.activation

    def forward(self, x: Tensor) -> Tensor:
        return torch.as_tensor(self.down(self.activation(self.up(x))))


class _Layer(nn.Module):
    """An EncoderLayer: x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, layer: EncoderLayer) -> None:
        super().__init__()
        self.heads, self.dim = layer.heads, layer.dim
        self.attention_norm, self.norm = _Norm(layer.attention_norm), _Norm(layer.norm)
        self.qkv, self.out, self.mlp = _Pointwise(layer.qkv), _Pointwise(layer.out), _Mlp(layer.mlp)

    def forward(self, x: Tensor, bias: Tensor | None) -> Tensor:
        """`bias`: [B, T, 1, S], the scores' of keys T for queries S."""
        q, k, v = self.qkv(self.attention_norm(x)).split(self.heads * self.dim, dim=1)
        # The keys are turned once for all heads, which is the only change of layout.
        parts = (q.split(self.dim, dim=1), k.transpose(1, 3).split(self.dim, dim=3), v.split(self.dim, dim=1))
        heads = []
        for query, key, value in zip(*parts, strict=True):
            scores = torch.einsum("bchq,bkhc->bkhq", query * self.dim**-0.5, key)
            weights = torch.softmax(scores if bias is None else scores + bias, dim=1)
            heads.append(torch.einsum("bkhq,bchk->bchq", weights, value))
        x = x + self.out(torch.cat(heads, dim=1))
        return torch.as_tensor(x + self.mlp(self.norm(x)))


class _Encoder(nn.Module):
    """[B, S, W] → [B, S, W], turned once before the layers and once after them."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.layers = nn.ModuleList(_Layer(layer) for layer in encoder.layers)

    def forward(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        x = x.transpose(1, 2)[:, :, None]
        if bias is not None:
            bias = bias.permute(0, 3, 1, 2)  # [B, 1, S, T]
        for layer in self.layers:
            x = layer(x, bias)
        return x[:, :, 0].transpose(1, 2)
