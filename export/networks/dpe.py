"""Dynamic Projection Experts (paper section 3.3): transformer experts and an MLP router.

The experts project patch features to soft prompts for the language model, one for each patch or, pooled, one
for the mean of all: the FLOPs of the paper's Table 7 are those of one vector. The mean of the soft prompts is
the photo's vector v_I (the paper does not say how it pools). The query head makes v_Q of a query encoder's
state; the paper trains the language model instead and needs none. All are separate modules, so that the
runtime computes only the experts that Eq. 1 chooses, and for a query none of them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class _Block(nn.Module):
    """A pre-norm transformer block: x + attention(norm(x)), x + mlp(norm(x)).

    `bert`: a post-norm one, as BERT's layers are: norm(x + attention(x)), norm(x + mlp(x)).
    """

    def __init__(self, width: int, heads: int, bert: bool = False) -> None:
        super().__init__()
        self.bert = bert
        self.heads, self.head_dim = heads, width // heads
        self.attention_norm, self.norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        h = x if self.bert else self.attention_norm(x)
        q, k, v = (
            y.unflatten(-1, (self.heads, self.head_dim)).transpose(1, 2) for y in self.qkv(h).chunk(3, dim=-1)
        )
        weights = torch.softmax(q @ k.transpose(-1, -2) * self.head_dim**-0.5, dim=-1)
        x = x + self.out((weights @ v).transpose(1, 2).flatten(2))
        if self.bert:
            x = self.attention_norm(x)
            return torch.as_tensor(self.norm(x + self.down(F.gelu(self.up(x)))))
        return torch.as_tensor(x + self.down(F.gelu(self.up(self.norm(x)))))


class Expert(nn.Module):
    """patches float32 [1, P, F] → soft prompts float32 [1, P, H] in the LLM's embedding space.

    `pooled`: of the patches' mean, [1, 1, H], which costs a P-th. `bert`: with blocks as BERT's layers.
    """

    def __init__(
        self,
        features: int,
        width: int,
        heads: int,
        blocks: int,
        hidden: int,
        pooled: bool = False,
        bert: bool = False,
    ) -> None:
        super().__init__()
        self.pooled = pooled
        self.project_in = nn.Linear(features, width)
        self.blocks = nn.ModuleList(_Block(width, heads, bert) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.project_out = nn.Linear(width, hidden)

    def forward(self, patches: Tensor) -> Tensor:
        return self.project_out(self.inner(patches))

    def inner(self, patches: Tensor) -> Tensor:
        """float32 [1, P or 1, width]: what the last layer gets."""
        x = self.project_in(patches.mean(1, keepdim=True) if self.pooled else patches)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


class Router(nn.Module):
    """patches float32 [1, P, F] → weights float32 [1, E], softmax-normalised.

    The runtime sorts them and cuts them at ρ (Eq. 1).
    """

    def __init__(self, features: int, width: int, experts: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, width)
        self.out = nn.Linear(width, experts)

    def forward(self, patches: Tensor) -> Tensor:
        return torch.softmax(self.out(F.gelu(self.hidden(patches.mean(1)))), dim=-1)


class QueryHead(nn.Module):
    """A query encoder's state float32 [1, W] → v_Q float32 [1, H], not normalised.

    A linear map, and beside it attention over `slots` learned keys, each with a value in the space of v_I
    (Sukhbaatar et al. 2019, arXiv 1907.01470): the keys are names of things, the values how these look.
    """

    def __init__(self, inputs: int, slots: int, hidden: int) -> None:
        super().__init__()
        self.direct = nn.Linear(inputs, hidden)
        self.keys = nn.Linear(inputs, slots) if slots else None
        self.values = nn.Linear(slots, hidden, bias=False) if slots else None

    def forward(self, state: Tensor) -> Tensor:
        vector = self.direct(state)
        if self.keys is None or self.values is None:
            return torch.as_tensor(vector)
        return torch.as_tensor(vector + self.values(torch.softmax(self.keys(state), dim=-1)))
