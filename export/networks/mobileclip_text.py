"""MobileCLIP's text transformer: bidirectional and pooled at the end of text.

In S0, a convolutional block stands before and after the attention layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .clip_text import TextShape, pool_at
from .encoder import Encoder, EncoderShape, Mlp

KERNEL = 11  # tokens


@dataclass(frozen=True)
class MobileClipTextShape:
    """`mixers`: whether there is a convolutional block before and after the attention layers.

    S0 has them; the larger models do not.
    """

    text: TextShape
    mixers: bool


class TokenMixer(nn.Module):
    """A depthwise convolution over tokens, then x + mlp(conv(x)) with a second depthwise convolution.

    The first convolution's skip connection is folded into its kernel. Both are two-dimensional over a first
    axis of size 1, because every target has two-dimensional convolutions.
    """

    def __init__(self, shape: EncoderShape) -> None:
        super().__init__()
        width = shape.width
        self.mix, self.conv = (
            nn.Conv2d(width, width, (1, KERNEL), padding=(0, KERNEL // 2), groups=width) for _ in range(2)
        )
        self.mlp = Mlp(shape)

    def forward(self, x: Tensor) -> Tensor:
        x = self.mix(x.transpose(1, 2).unsqueeze(2))
        return _tokens(x) + self.mlp(_tokens(self.conv(x)))


def _tokens(x: Tensor) -> Tensor:
    """[B, W, 1, S] → [B, S, W]."""
    return x.squeeze(2).transpose(1, 2)


class MobileClipText(nn.Module):
    """input_ids, attention_mask int64 [B, positions] → embedding float32 [B, D] of unit length.

    The model was trained on texts padded to the full length, without an attention mask. So `attention_mask`
    only marks where a text ends: the ids after it are replaced by the padding id, and are attended to.
    """

    def __init__(self, shape: MobileClipTextShape) -> None:
        super().__init__()
        text = shape.text
        width = text.encoder.width
        self.pad, self.eos = text.pad, text.eos
        self.embed = nn.Embedding(text.vocab, width)
        self.positions = nn.Parameter(torch.zeros(text.positions, width))
        self.mixers = nn.ModuleList(TokenMixer(text.encoder) for _ in range(2 if shape.mixers else 0))
        self.encoder = Encoder(text.encoder)
        self.norm = nn.LayerNorm(width, eps=text.encoder.eps)
        self.project = nn.Linear(width, text.embedding, bias=False)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        ids = input_ids * attention_mask + self.pad * (1 - attention_mask)
        x = self.embed(ids) + self.positions
        for mixer in self.mixers[:1]:
            x = mixer(x)
        x = self.encoder(x)
        for mixer in self.mixers[1:]:
            x = mixer(x)
        return F.normalize(self.project(self.norm(pool_at(ids == self.eos, x))), dim=-1)
