"""Vision transformers of CLIP and SigLIP: pixels → a unit vector and patch features, or soft prompts.

The patch embedding, a convolution with its kernel size as stride, is written as the equivalent matrix product
over each patch's pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .encoder import Encoder, EncoderShape, Mlp, attention


@dataclass(frozen=True)
class VitShape:
    """Sizes. `image`, `patch`: pixels of a side. `embedding`: width of the tower's first output."""

    encoder: EncoderShape
    image: int
    patch: int
    embedding: int

    @property
    def grid(self) -> int:
        return self.image // self.patch

    @property
    def patches(self) -> int:
        return self.grid**2


@dataclass(frozen=True)
class PictureShape:
    """`scale`: patches of a side that become one soft prompt; `hidden`: the width of these."""

    vit: VitShape
    scale: int
    hidden: int

    @property
    def prompts(self) -> int:
        return self.vit.patches // self.scale**2


class Patches(nn.Module):
    """pixels float32 [B, image, image, 3] in 0..255 → patch embeddings [B, patches, W].

    Pixels are normalised to (x - mean) / std by channel first.
    """

    def __init__(self, shape: VitShape, bias: bool) -> None:
        super().__init__()
        self.shape = shape
        # Inputs are ordered by row, column and channel of a patch, as pixels are in memory.
        self.linear = nn.Linear(shape.patch**2 * 3, shape.encoder.width, bias=bias)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("std", torch.ones(3))

    def forward(self, pixels: Tensor) -> Tensor:
        grid, side = self.shape.grid, self.shape.patch
        x = (pixels - self.get_buffer("mean")) / self.get_buffer("std")
        if grid * side < self.shape.image:  # drops incomplete patches, as the convolution does
            x = x[:, : grid * side, : grid * side]
        # At most five dimensions, which is Core ML's limit.
        x = x.reshape(-1, grid, side, grid, side * 3).transpose(2, 3)
        return self.linear(x.reshape(-1, grid * grid, side * side * 3))


class ClipImage(nn.Module):
    """pixels [B, image, image, 3] in 0..255 → embedding [B, D] of unit length, patches [B, P, W].

    `patches` are the last layer's outputs, without the final norm.
    """

    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        width, eps = shape.encoder.width, shape.encoder.eps
        self.patch = Patches(shape, bias=False)
        # The class token with its position added, and the positions of the patches: two constants instead of
        # a table lookup.
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, shape.patches, width))
        self.pre_norm, self.post_norm = nn.LayerNorm(width, eps=eps), nn.LayerNorm(width, eps=eps)
        self.encoder = Encoder(shape.encoder)
        self.project = nn.Linear(width, shape.embedding, bias=False)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.patch(pixels) + self.positions
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], dim=1)
        x = self.encoder(self.pre_norm(x))
        return F.normalize(self.project(self.post_norm(x[:, 0])), dim=-1), x[:, 1:]


class SiglipPatches(nn.Module):
    """pixels [B, image, image, 3] in 0..255 → the outputs of SigLIP's final norm [B, P, W]."""

    def __init__(self, shape: VitShape) -> None:
        super().__init__()
        self.patch = Patches(shape, bias=True)
        self.positions = nn.Parameter(torch.zeros(1, shape.patches, shape.encoder.width))
        self.encoder = Encoder(shape.encoder)
        self.post_norm = nn.LayerNorm(shape.encoder.width, eps=shape.encoder.eps)

    def patches(self, pixels: Tensor) -> Tensor:
        return torch.as_tensor(self.post_norm(self.encoder(self.patch(pixels) + self.positions)))


class SiglipImage(SiglipPatches):
    """pixels [B, image, image, 3] in 0..255 → embedding [B, W] of unit length, patches [B, P, W].

    `patches` are the outputs of the final norm. In SigLIP's pooling head, a learned probe attends to them. It
    is the same for every photo, so `query`, its product with the query matrix, is a constant.
    """

    def __init__(self, shape: VitShape) -> None:
        super().__init__(shape)
        encoder = shape.encoder
        self.heads, self.dim = encoder.heads, encoder.width // encoder.heads
        self.query = nn.Parameter(torch.zeros(1, 1, encoder.width))
        self.kv, self.out = (
            nn.Linear(encoder.width, 2 * encoder.width),
            nn.Linear(encoder.width, encoder.width),
        )
        self.head_norm = nn.LayerNorm(encoder.width, eps=encoder.eps)
        self.mlp = Mlp(encoder)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.patches(pixels)
        k, v = self.kv(x).split(self.heads * self.dim, dim=-1)
        pooled = self.out(attention(self.query.expand(x.shape[0], -1, -1), k, v, self.heads, self.dim))[:, 0]
        return F.normalize(pooled + self.mlp(self.head_norm(pooled)), dim=-1), x


class PicturePrompts(SiglipPatches):
    """pixels [B, image, image, 3] in 0..255 → soft prompts [B, P / scale², H] of a vision-language model.

    Each square of `scale` × `scale` patches becomes one row, row by row, and a matrix projects it into the
    decoder's width H (Idefics3, arXiv 2408.12637, section 3.1).
    """

    def __init__(self, shape: PictureShape) -> None:
        super().__init__(shape.vit)
        self.scale, self.grid = shape.scale, shape.vit.grid
        self.project = nn.Linear(shape.vit.encoder.width * shape.scale**2, shape.hidden, bias=False)

    def forward(self, pixels: Tensor) -> Tensor:
        x, side = self.patches(pixels), self.grid // self.scale
        width = x.shape[-1] * self.scale
        # At most four dimensions: columns together first, then rows.
        x = x.reshape(-1, self.grid, side, width).transpose(1, 2)
        x = x.reshape(-1, side, side, width * self.scale).transpose(1, 2)
        return torch.as_tensor(self.project(x.reshape(-1, side * side, width * self.scale)))
