"""The losses of supervised fine-tuning (paper section 3.4): the router's part of Eq. 2, and Eq. 3-4."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from .options import TAU


def entropy(weights: Tensor) -> Tensor:
    """The router's entropy in nats, mean over photos, of weights [B, E] (the second term of Eq. 2).

    The smaller it is, the fewer experts reach ρ.
    """
    return -(weights * torch.log(weights.clamp_min(1e-12))).sum(-1).mean()


def contrastive(
    photos: Tensor,
    queries: Tensor,
    owners: Tensor,
    texts: Tensor,
    tau: float = TAU,
    leave_out_positive: bool = False,
) -> Tensor:
    """The symmetric contrastive loss between v_I and v_Q (Eq. 3 and 4), in nats.

    `photos`, `queries`: [B, H], normalised here; row n of both is a pair. `owners`, `texts`: int64 [B], the
    numbers of the pair's photo and of its text. A photo and a query are no negatives of each other if the
    batch has that text as a memory of that photo: "breakfast" of Monday is also true of Tuesday's.
    `leave_out_positive`: the denominator has the negatives only, as the paper prints it; the usual one (van
    den Oord et al. 2018, arXiv 1807.03748) holds the positive too. A batch without a negative has no loss.
    """
    scores = F.normalize(photos, dim=-1) @ F.normalize(queries, dim=-1).T / tau
    return paired(scores, owners, texts, leave_out_positive)


def paired(scores: Tensor, owners: Tensor, texts: Tensor, leave_out_positive: bool = False) -> Tensor:
    """The same for scores [B, B] of photos (rows) and queries: cosines divided by τ."""
    pair = torch.eye(len(scores), dtype=torch.bool, device=scores.device)
    own, same = (numbers[:, None] == numbers[None, :] for numbers in (owners, texts))
    hidden = (own.float() @ same.float()) > 0
    if not leave_out_positive:
        hidden = hidden & ~pair
    if bool(hidden.all(dim=1).any()):
        return scores.sum() * 0.0
    positive = scores.diagonal()
    masked = scores.masked_fill(hidden, float("-inf"))
    both = masked.logsumexp(dim=1) + masked.logsumexp(dim=0)
    return (both / 2 - positive).mean()
