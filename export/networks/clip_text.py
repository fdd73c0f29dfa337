"""Text transformers of CLIP (causal, pooled at the end of text) and SigLIP (both ways, pooled at the
last place).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .encoder import MASKED, Encoder, EncoderShape

LEGACY_EOS = 2


@dataclass(frozen=True)
class TextShape:
    """`eos`: the id at which CLIP pools; 2 stands for the highest id of a text, as in checkpoints whose
    config has it wrong.

    `pad`: the id that SigLIP reads where a text has ended.
    """

    encoder: EncoderShape
    vocab: int
    positions: int
    embedding: int
    eos: int
    pad: int


def pool_at(hit: Tensor, x: Tensor) -> Tensor:
    """The row of x [B, S, W] at the first place where `hit` [B, S] is true; at the first place of all where
    it is nowhere, as argmax has it.

    As a product with a mask: every target has comparisons, not every target looks up by index.
    """
    place = torch.arange(hit.shape[1], device=hit.device).to(x.dtype) + torch.where(hit, 0.0, -MASKED)
    first = (place <= place.amin(dim=1, keepdim=True)).to(x.dtype)
    return (x * first[:, :, None]).sum(dim=1)


class ClipText(nn.Module):
    """input_ids, attention_mask int64 [B, S] → embedding float32 [B, D] of unit length."""

    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        width = shape.encoder.width
        self.eos = shape.eos
        self.embed = nn.Embedding(shape.vocab, width)
        self.positions = nn.Parameter(torch.zeros(shape.positions, width))
        self.encoder = Encoder(shape.encoder)
        self.norm = nn.LayerNorm(width, eps=shape.encoder.eps)
        self.project = nn.Linear(width, shape.embedding, bias=False)
        self.register_buffer(
            "future",
            torch.full((shape.positions, shape.positions), MASKED, device="cpu").triu(1),
            persistent=False,
        )

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        length = input_ids.shape[1]
        padding = (1.0 - attention_mask.to(torch.float32))[:, None, None, :] * MASKED
        bias = self.get_buffer("future")[:length, :length] + padding
        x = self.encoder(self.embed(input_ids) + self.positions[:length], bias)
        ends = input_ids == (input_ids.amax(dim=1, keepdim=True) if self.eos == LEGACY_EOS else self.eos)
        return F.normalize(self.project(self.norm(pool_at(ends, x))), dim=-1)


class SiglipText(nn.Module):
    """input_ids, attention_mask int64 [B, positions] → embedding float32 [B, D] of unit length.

    The reference pads each text to the full length and masks nothing: the model was trained so.
    `attention_mask` here says only where a text ends; from there on the padding's id is read, whatever the
    caller put there, and attended to.
    """

    def __init__(self, shape: TextShape) -> None:
        super().__init__()
        width = shape.encoder.width
        self.pad = shape.pad
        self.embed = nn.Embedding(shape.vocab, width)
        self.positions = nn.Parameter(torch.zeros(shape.positions, width))
        self.encoder = Encoder(shape.encoder)
        self.norm = nn.LayerNorm(width, eps=shape.encoder.eps)
        self.project = nn.Linear(width, shape.embedding)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        ids = input_ids * attention_mask + self.pad * (1 - attention_mask)
        x = self.encoder(self.embed(ids) + self.positions)
        return F.normalize(self.project(self.norm(x[:, -1])), dim=-1)
