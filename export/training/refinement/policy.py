"""A language model that answers once, a bandit, learns from rewards, in one of two forms.

`grpo`: group relative policy optimisation (Shao et al. 2024, arXiv 2402.03300). For each prompt several
answers are drawn; a token's advantage is its answer's reward above the mean of the prompt's answers, and the
divergence from the policy of supervised fine-tuning is penalised by β. `printed`: the paper's Eq. 6. An
answer's loss -r + β log(π / π_SFT) is taken as it is, with nothing to compare it with, and lowered by PPO,
whose ratio is that of the whole answer. Both raise the clipped objective of Schulman et al. 2017 (arXiv
1707.06347). Knows no photos and no search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ...components.language import Language
from ...errors import ExportError
from ..options import FORMS

Rewards = Callable[[int, Sequence[str]], Sequence[float]]  # prompt's number, its answers → their rewards


@dataclass(frozen=True)
class Rules:
    """`answers`: drawn for each prompt. `most`: tokens of an answer. `passes`: over the answers drawn.

    `clip`: ε of the clipped ratio. `beta`: weight of the divergence from the policy before, in nats a token;
    of an answer, if `form` is "printed".
    """

    answers: int = 4
    most: int = 32
    temperature: float = 1.0
    passes: int = 2
    clip: float = 0.2
    beta: float = 0.1
    form: str = FORMS[0]


@dataclass(frozen=True, eq=False)
class Prompt:
    """What is answered: tokens, and before them soft prompts float32 [P, H], if the policy sees a photo."""

    ids: Sequence[int]
    seen: Tensor | None = None


@dataclass(frozen=True)
class Round:
    """Means over all prompts: reward, divergence in nats a token, distinct answers of a prompt.

    `taught`: the share of the prompts whose answers did not all earn the same.
    """

    reward: float
    divergence: float
    distinct: float
    taught: float


class Policy:
    """Trains `language`'s adapter; what it was when this was made is the policy that it must stay near.

    `rounds`: passes that are done.
    """

    def __init__(self, language: Language, rate: float, rules: Rules, seed: int) -> None:
        if language.adapter is None:
            raise ExportError("a policy without changes cannot be trained: give --lora or --whole")
        self.language, self.rules = language, rules
        self._parameters = list(language.adapter.parameters())
        self._before = [p.detach().clone() for p in self._parameters]
        self.optimiser = torch.optim.AdamW(self._parameters, lr=rate, weight_decay=0.0)
        self.rounds, self._seed, self._generator = 0, seed, torch.Generator()

    def round(self, prompts: Sequence[Prompt], rewards: Rewards) -> Round:
        """One pass over all prompts. Raises ExportError for a loss that is not a number.

        What is drawn depends on the seed and on `rounds` alone, so that a killed training goes on alike.
        """
        own = np.random.SeedSequence((self._seed, self.rounds)).generate_state(1)[0]
        self._generator.manual_seed(int(own))
        self.rounds += 1
        figures = [self._step(prompt, partial(rewards, n)) for n, prompt in enumerate(prompts)]
        return Round(*(float(x) for x in np.mean(figures, axis=0)))

    def _step(
        self, prompt: Prompt, reward: Callable[[Sequence[str]], Sequence[float]]
    ) -> tuple[float, float, float, float]:
        rules = self.rules
        answers = self.language.sample(
            prompt.ids, rules.answers, rules.most, rules.temperature, self._generator, prompt.seen
        )
        texts = [self.language.text(answer) for answer in answers]
        given = torch.tensor(reward(texts), dtype=torch.float32)
        with torch.no_grad():
            drawn, first = self._likelihood(prompt, answers), self._first(prompt, answers)
        lengths = torch.tensor([len(answer) for answer in answers], device=drawn.device)
        inside = (torch.arange(drawn.shape[1], device=drawn.device)[None] < lengths[:, None]).float()
        # Where all answers earned the same none is better than its group, and passes would only cost time.
        taught = bool(given.max() > given.min())
        for _ in range(rules.passes if taught or rules.form == "printed" else 0):
            now = self._likelihood(prompt, answers)
            loss = objective(now, drawn, first, given, inside, rules)
            if not bool(torch.isfinite(loss)):
                raise ExportError("the loss is not a number: nothing was written; give a smaller --rate")
            self.optimiser.zero_grad()
            loss.backward()
            self.optimiser.step()
        apart = float((divergence(drawn, first) * inside).sum() / inside.sum().clamp_min(1))
        return float(given.mean()), apart, float(len(set(texts))), float(taught)

    def _likelihood(self, prompt: Prompt, answers: Sequence[Sequence[int]]) -> Tensor:
        return self.language.likelihood(prompt.ids, answers, prompt.seen)

    def _first(self, prompt: Prompt, answers: Sequence[Sequence[int]]) -> Tensor:
        """The likelihood by the policy before."""
        kept = [p.detach().clone() for p in self._parameters]
        self._set(self._before)
        found = self._likelihood(prompt, answers)
        self._set(kept)
        return found

    def _set(self, values: Sequence[Tensor]) -> None:
        with torch.no_grad():
            for parameter, value in zip(self._parameters, values, strict=True):
                parameter.copy_(value)


def objective(
    now: Tensor, drawn: Tensor, first: Tensor, given: Tensor, inside: Tensor, rules: Rules
) -> Tensor:
    """The loss of one prompt's answers: log-likelihoods [B, S] now, when drawn and by the policy before.

    `given`: rewards [B]. `inside`: 1 where an answer has a token.
    """
    if rules.form == "printed":
        advantage = given - rules.beta * ((drawn - first) * inside).sum(1)
        return -_clipped(((now - drawn) * inside).sum(1), advantage, rules.clip).mean()
    advantage = ((given - given.mean()) / (given.std(unbiased=False) + 1e-6))[:, None]
    loss = (rules.beta * divergence(now, first) - _clipped(now - drawn, advantage, rules.clip)) * inside
    return loss.sum() / inside.sum().clamp_min(1)


def _clipped(apart: Tensor, advantage: Tensor, clip: float) -> Tensor:
    ratio = torch.exp(apart)
    return torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage)


def divergence(now: Tensor, first: Tensor) -> Tensor:
    """An estimate of KL(now ‖ first) a token that is never negative (Schulman 2020)."""
    apart = first - now
    return torch.exp(apart) - apart - 1
