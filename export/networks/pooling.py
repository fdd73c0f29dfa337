"""How a sentence encoder makes one unit vector of its tokens' states."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

POOLINGS = ("mean", "cls", "lasttoken")


def pooled(x: Tensor, mask: Tensor, how: str) -> Tensor:
    """float32 [B, D] of unit length: the mean of the tokens' states, or the first or the last token's.

    `x`: states, float32 [B, S, D]. `mask`: float32 [B, S], 1 at tokens, 0 at padding. `how`: of POOLINGS.
    """
    if how == "cls":
        return F.normalize(x[:, 0], dim=-1)
    weights = (mask if how == "mean" else _last(mask))[:, :, None]
    return F.normalize((x * weights).sum(1) / weights.sum(1).clamp(min=1.0), dim=-1)


def _last(mask: Tensor) -> Tensor:
    # A mask to multiply with, because not every target can look up by a computed index.
    rank = torch.arange(1, mask.shape[1] + 1, device=mask.device).to(mask.dtype) * mask
    return (rank >= rank.amax(dim=1, keepdim=True) - 0.5).to(mask.dtype) * mask  # why half: clip_text.pool_at
