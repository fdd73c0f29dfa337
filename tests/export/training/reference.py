"""The losses of a training by the paper's equations: photo by photo, text by text, nothing in batches."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gamer.export.components.language import ASKED, Language
from gamer.export.networks.sequence import hidden_states
from gamer.export.training.options import Options
from gamer.export.training.projection import Projection
from gamer.runtime.models.router import choose


def losses(
    model: Projection,
    language: Language,
    patches: Tensor,
    texts: Sequence[str],
    options: Options,
    asked: Sequence[str],
) -> Tensor:
    """Eq. 3-4 + λ · Eq. 2's entropy + μ · Eq. 2's likelihood, of photos [B, P, F], one memory each.

    `asked`: the query of each, "" for none.
    """
    rows, photos, queries, entropies = language.ids(texts), [], [], []
    told = torch.zeros(())
    for patch, row, query in zip(patches, rows, asked, strict=True):
        weights = model.dpe_router(patch[None])[0]
        chosen, _ = choose(weights.detach().numpy(), model.rho)
        share = {n: weights[n] / sum(weights[list(chosen)]) for n in chosen}
        prompts = sum(share[n] * model.experts[n](patch[None])[0] for n in chosen)
        assert isinstance(prompts, Tensor)
        photos.append(unit(prompts.mean(0)))
        entropies.append(-sum(w * torch.log(w) for w in weights))
        queries.append(unit(model.query(alone(language, words(language, row))[-1][None])[0]))
        before = torch.cat([prompts, words(language, language.ids([query or ASKED])[0][:-1])])
        states = alone(language, torch.cat([before, words(language, row)]))
        likely = torch.log_softmax(language.step.head(states), dim=-1)
        for n, token in enumerate(row):
            told = told - likely[len(before) - 1 + n, token]
    near = torch.zeros(())
    for n, (photo, query) in enumerate(zip(photos, queries, strict=True)):
        both = [torch.stack([photo @ q for q in queries]), torch.stack([p @ query for p in photos])]
        for scores in both:
            near = near - torch.log_softmax(scores / options.tau, dim=0)[n] / 2
    count = len(texts)
    return (near + options.entropy * sum(entropies) + options.likelihood * told) / count


def steps(
    model: Projection,
    language: Language,
    patches: Tensor,
    texts: Sequence[str],
    options: Options,
    count: int,
    asked: Sequence[str] = (),
) -> list[float]:
    """The losses of `count` steps of AdamW over all pairs, at a constant rate."""
    trained = nn.ModuleList([model])
    optimiser = torch.optim.AdamW(trained.parameters(), lr=options.rate, weight_decay=options.decay)
    found = []
    for _ in range(count):
        optimiser.zero_grad()
        loss = losses(model, language, patches, texts, options, asked or ("",) * len(texts))
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


def words(language: Language, row: Sequence[int]) -> Tensor:
    return torch.as_tensor(language.table(torch.tensor(row)))


def alone(language: Language, embeds: Tensor) -> Tensor:
    """float32 [S, H]: the decoder's states of one text."""
    return hidden_states(language.step, embeds[None], torch.tensor([len(embeds)]))[0]


def unit(vector: Tensor) -> Tensor:
    return vector / vector.norm()
