"""Text transformers of CLIP and SigLIP.

CLIP's is causal and pooled at the end of text; SigLIP's is bidirectional and pooled at the last position.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .encoder import MASKED, Encoder, EncoderShape

LEGACY_EOS = 2  # stands for the highest id of a text, in checkpoints whose config has a wrong eos_token_id


@dataclass(frozen=True)
class TextShape:
    """Sizes. `embedding`: width of the output. `eos`: the id at which CLIP pools, or LEGACY_EOS.

    `pad`: the id that SigLIP reads after the end of a text.
    """

    encoder: EncoderShape
    vocab: int
    positions: int
    embedding: int
    eos: int
    pad: int


def pool_at(hit: Tensor, x: Tensor) -> Tensor:
    """[B, W]: the row of x [B, S, W] at the first position where `hit` [B, S] is true, else at position 0.

    Computed as a product with a mask, because not every target can look up by a computed index.
    """
    rank = torch.arange(hit.shape[1], device=hit.device).to(x.dtype) + torch.where(hit, 0.0, -MASKED)
    # Half a step, because activations may have 16 bits, and the two sides grids of their own.
    first = (rank <= rank.amin(dim=1, keepdim=True) + 0.5).to(x.dtype)
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

    The model was trained on texts padded to the full length, without an attention mask. So `attention_mask`
    only marks where a text ends: the ids after it are replaced by the padding id, and are attended to.
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
