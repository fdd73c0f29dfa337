"""MobileCLIP's image tower, FastViT, in its form for inference: prepared pixels → a unit vector and features.

Vasu et al. 2023 (arXiv 2303.14189), 2024 (2311.17049). The parallel branches and batch norms of training are
single convolutions here; checkpoints/fastvit_weights.py folds them. All matrix products with weights, also
those of attention and of the final projection, are convolutions, so that a target quantizes one kind of
layer.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HEAD = 32  # features of an attention head
STRIDE = 32  # pixels per position of the last features, in each direction
SQUEEZED = (2, 3)  # stages whose downsampling has squeeze-and-excitation
# Kernel sizes. LARGE: downsampling, position encoding and MLPs. SMALL: stem, mixers and final convolution.
LARGE, SMALL = 7, 3


@dataclass(frozen=True)
class FastVitShape:
    """Sizes. `image`: pixels of a side. `depths`, `widths`: blocks and features of the four stages.

    `ratio`: width of an MLP over that of its block. `embedding`: width of the tower's output.
    """

    image: int
    depths: tuple[int, ...]
    widths: tuple[int, ...]
    ratio: int
    embedding: int

    @property
    def patches(self) -> int:
        return (self.image // STRIDE) ** 2

    @property
    def features(self) -> int:
        return 2 * self.widths[-1]


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups)


class Squeeze(nn.Module):
    """Squeeze-and-excitation: each channel is multiplied by a gate computed from all channels' means."""

    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.down, self.up = _conv(width, inner, 1), _conv(inner, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.up(F.relu(self.down(x.mean((2, 3), keepdim=True)))))


class ConvMlp(nn.Module):
    """Depthwise 7 × 7, up, GELU, down; the block's layer scale is folded into `down`."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        self.conv = _conv(width, width, LARGE, groups=width)
        self.up, self.down = _conv(width, width * ratio, 1), _conv(width * ratio, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.up(self.conv(x))))


class MixerBlock(nn.Module):
    """A depthwise convolution with its skip connection folded into the kernel, then a residual MLP."""

    def __init__(self, width: int, ratio: int) -> None:
        super().__init__()
        self.mix, self.mlp = _conv(width, width, SMALL, groups=width), ConvMlp(width, ratio)

    def forward(self, x: Tensor) -> Tensor:
        x = self.mix(x)
        return x + self.mlp(x)


class AttentionBlock(nn.Module):
    """Attention over all positions; its norm is folded into `qkv`, its layer scale into `out`."""

    def __init__(self, width: int, ratio: int, side: int) -> None:
        super().__init__()
        self.width, self.side = width, side
        self.qkv, self.out, self.mlp = (
            _conv(width, 3 * width, 1),
            _conv(width, width, 1),
            ConvMlp(width, ratio),
        )

    def forward(self, x: Tensor) -> Tensor:
        # [B, heads, HEAD, positions]: channels stay before positions, as in the convolutions.
        q, k, v = (
            part.reshape(-1, self.width // HEAD, HEAD, self.side**2)
            for part in self.qkv(x).split(self.width, dim=1)
        )
        weights = torch.softmax(q.transpose(-1, -2) @ k * HEAD**-0.5, dim=-1)
        x = x + self.out((v @ weights.transpose(-1, -2)).reshape(-1, self.width, self.side, self.side))
        return x + self.mlp(x)


class Downsample(nn.Module):
    """Halves the side: depthwise 7 × 7 with stride 2, squeeze-and-excitation if `squeezed`, then 1 × 1."""

    def __init__(self, inputs: int, outputs: int, squeezed: bool) -> None:
        super().__init__()
        self.large, self.point = _conv(inputs, outputs, LARGE, 2, groups=inputs), _conv(outputs, outputs, 1)
        # A quarter of the channels, rounded to a multiple of 8.
        self.squeeze = Squeeze(outputs, max(8, (outputs // 4 + 4) // 8 * 8)) if squeezed else None

    def forward(self, x: Tensor) -> Tensor:
        x = self.large(x)
        x = x if self.squeeze is None else self.squeeze(x)
        return F.gelu(self.point(F.gelu(x)))


class FastVit(nn.Module):
    """pixels float32 [B, image, image, 3] in 0..255 → embedding [B, D] of unit length, patches [B, P, W].

    `patches` are the features before pooling.
    """

    def __init__(self, shape: FastVitShape) -> None:
        super().__init__()
        first, *_, last = shape.widths
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("std", torch.ones(3))
        self.stem = nn.ModuleList(
            (_conv(3, first, SMALL, 2), _conv(first, first, SMALL, 2, groups=first), _conv(first, first, 1))
        )
        inputs = (first, *shape.widths)
        self.downs = nn.ModuleList(
            Downsample(inputs[n], width, n in SQUEEZED) if n else nn.Identity()
            for n, width in enumerate(shape.widths)
        )
        self.position = _conv(last, last, LARGE, groups=last)  # before the attention stage
        mixer_stages = zip(shape.depths[:-1], shape.widths[:-1], strict=True)
        stages = [
            nn.ModuleList(MixerBlock(width, shape.ratio) for _ in range(depth))
            for depth, width in mixer_stages
        ]
        stages.append(
            nn.ModuleList(
                AttentionBlock(last, shape.ratio, shape.image // STRIDE) for _ in range(shape.depths[-1])
            )
        )
        self.stages = nn.ModuleList(stages)
        self.final = _conv(last, shape.features, SMALL, groups=last)
        self.squeeze = Squeeze(shape.features, shape.features // 16)
        self.head = _conv(shape.features, shape.embedding, 1)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        x = ((pixels - self.get_buffer("mean")) / self.get_buffer("std")).permute(0, 3, 1, 2)
        for conv in self.stem:
            x = F.gelu(conv(x))
        for n, (down, blocks) in enumerate(zip(self.downs, self.stages, strict=True)):
            x = down(x)
            if n == len(self.stages) - 1:
                x = self.position(x)
            for block in blocks:
                x = block(x)
        x = F.gelu(self.squeeze(self.final(x)))
        embedding = self.head(x.mean((2, 3), keepdim=True)).flatten(1)
        return F.normalize(embedding, dim=-1), x.flatten(2).transpose(1, 2)
