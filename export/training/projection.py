"""What is trained: router, experts and query head, as one module that gives v_I and v_Q."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..components import experts
from ..components.experts import QuerySide, Sizes
from ..networks.dpe import Expert, QueryHead, Router


class Projection(nn.Module):
    """Router, experts and query head; parameters are named as in a checkpoint."""

    def __init__(self, sizes: Sizes, side: QuerySide, rho: float) -> None:
        super().__init__()
        self.sizes, self.side, self.rho = sizes, side, rho
        self.dpe_router = Router(sizes.features, sizes.width, sizes.experts)
        for n in range(sizes.experts):
            self.add_module(f"dpe_expert_{n}", experts.module(f"dpe_expert_{n}", sizes))
        self.dpe_query = QueryHead(side.width, side.slots, sizes.hidden) if side.width else None

    @property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(x for x in self.children() if isinstance(x, Expert))

    def forward(self, patches: Tensor) -> tuple[Tensor, Tensor]:
        """patches float32 [B, P, F] → (v_I float32 [B, H] before normalisation, router weights [B, E])."""
        weights = self.dpe_router(patches)
        shares = gate(weights, self.rho)
        pooled = torch.stack([expert(patches).mean(1) for expert in self.experts], dim=1)
        return (shares[:, :, None] * pooled).sum(1), weights

    def query(self, states: Tensor) -> Tensor:
        """A query encoder's states float32 [B, W] → v_Q float32 [B, H] before normalisation."""
        return states if self.dpe_query is None else torch.as_tensor(self.dpe_query(states))


def gate(weights: Tensor, rho: float) -> Tensor:
    """Eq. 1 in a batch: the shares [B, E] of the fewest experts whose weights sum to ρ, 0 for the others.

    The choice has no gradient, the shares have one. Equal to runtime/models/router.py, photo by photo.
    """
    ordered, order = torch.sort(weights, dim=-1, descending=True, stable=True)
    before = torch.cumsum(ordered, dim=-1) - ordered
    chosen = torch.zeros_like(weights).scatter(-1, order, (before < rho - 1e-7).to(weights.dtype))
    kept = weights * chosen
    return kept / kept.sum(-1, keepdim=True)
