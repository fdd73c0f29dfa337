"""What is trained: router, experts, query head and the language model's changes, as one module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..components import experts
from ..components.experts import QuerySide, Sizes
from ..networks.dpe import Expert, QueryHead, Router


class Projection(nn.Module):
    """Gives v_I and v_Q; parameters are named as in a checkpoint.

    `changes`: of the language model (networks/lora.py), trained with it; None if it stays as it is.
    """

    def __init__(
        self, sizes: Sizes, side: QuerySide, rho: float, changes: nn.ModuleList | None = None
    ) -> None:
        super().__init__()
        self.sizes, self.side, self.rho = sizes, side, rho
        self.dpe_router = Router(sizes.features, sizes.width, sizes.experts)
        for n in range(sizes.experts):
            self.add_module(f"dpe_expert_{n}", experts.module(f"dpe_expert_{n}", sizes))
        self.dpe_query = QueryHead(side.width, side.slots, sizes.hidden) if side.width else None
        self.llm_decoder = changes

    @property
    def experts(self) -> tuple[Expert, ...]:
        return tuple(x for x in self.children() if isinstance(x, Expert))

    def forward(self, patches: Tensor) -> tuple[Tensor, Tensor]:
        """patches float32 [B, P, F] → (v_I float32 [B, H] before normalisation, router weights [B, E])."""
        prompts, weights = self.prompts(patches)
        return prompts.mean(1), weights

    def prompts(self, patches: Tensor) -> tuple[Tensor, Tensor]:
        """patches float32 [B, P, F] → (soft prompts float32 [B, P, H] by Eq. 1, router weights [B, E]).

        Of pooled experts there is one soft prompt.
        """
        weights = self.dpe_router(patches)
        shares = gate(weights, self.rho)
        each = (
            share[:, None, None] * expert(patches)
            for share, expert in zip(shares.T, self.experts, strict=True)
        )
        return torch.as_tensor(sum(each)), weights

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
