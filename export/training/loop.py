"""The loop of supervised fine-tuning: batches, losses, gradients. Knows no files and no models' sources."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..components.language import Language
from ..errors import ExportError
from . import losses
from .features import Features
from .options import Options
from .projection import Projection, gate
from .start import StartData

_NOT_FINITE = "the loss is not a number: the last state is kept"
CHUNK = 16  # memories whose likelihood is computed at once; their gradients are summed


@dataclass(frozen=True)
class Epoch:
    """Means over an epoch. `likelihood`: nats a memory, over all its tokens (0 where it is not trained).

    `of`: epochs of the whole training. `experts`: how many Eq. 1 chose; `seconds_left`: for those to come.
    """

    epoch: int
    of: int
    loss: float
    contrastive: float
    entropy: float
    likelihood: float
    experts: float
    seconds_left: float


class NotFinite(ExportError):
    """A loss or a parameter is not a number; the state of the epoch before is whole."""


class Loop:
    """Trains `model`, and through it `language` where one is given.

    `texts`: the memories, one for each row of `known.states`. The states of a language model that is trained
    are computed anew for each batch.
    """

    def __init__(
        self,
        model: Projection,
        optimiser: torch.optim.Optimizer,
        seen: Features,
        known: StartData,
        options: Options,
        language: Language | None = None,
    ) -> None:
        self.model, self.optimiser, self.options, self.language = model, optimiser, options, language
        self.device = next(model.parameters()).device
        self._patches, self._states = seen.patches, known.states
        self._owners = np.asarray(known.owners)
        numbers = {text: n for n, text in enumerate(dict.fromkeys(known.texts))}
        # Without texts, each memory has one of its own.
        self._texts = np.array([numbers[t] for t in known.texts] or range(len(self._owners)), np.int64)
        self._ids = [] if language is None else language.ids(known.texts)
        self._told_ids, self._asked_ids = list[list[int]](), list[list[int]]()
        if language is not None and options.likelihood > 0:
            self._asked_ids = language.asked(known.queries or ("",) * len(known.texts))
            longest = max(map(len, self._asked_ids), default=0)
            prompts = model.sizes.prompts(seen.patches.shape[1])
            self._told_ids = language.ids(known.texts, prompts + longest)
        self._begun = time.monotonic()

    @property
    def steps(self) -> int:
        """Optimiser steps of an epoch."""
        return math.ceil(self._count(len(self._owners)) / self.options.accumulate)

    @property
    def epochs(self) -> int:
        """Epochs of the whole training, the last of which may end early at `options.steps`."""
        options = self.options
        return min(options.epochs, math.ceil(options.steps / self.steps)) if options.steps else options.epochs

    def epoch(self, epoch: int, first: int) -> Epoch:
        """One pass over all memories in a new order, which depends on the seed and the epoch alone.

        It ends early at `options.steps`. Raises NotFinite for a loss or a parameter that is not a number.
        """
        options = self.options
        order = np.random.default_rng((options.seed, epoch)).permutation(len(self._owners))
        batches = np.array_split(order, self._count(len(order)))
        whole, taken = options.epochs * self.steps, epoch * self.steps
        whole = min(whole, options.steps) if options.steps else whole
        groups = [batches[n : n + options.accumulate] for n in range(0, len(batches), options.accumulate)]
        sums, weight = np.zeros(5), 0
        for step, group in enumerate(groups[: whole - taken]):
            self._set_rate((taken + step) / whole)
            for batch in group:
                figures = self._batch(batch, 1 / len(group))
                sums, weight = sums + len(batch) * figures, weight + len(batch)
            self.optimiser.step()
            self.optimiser.zero_grad()
        if not all(bool(torch.isfinite(p).all()) for p in self.model.parameters()):
            raise NotFinite(_NOT_FINITE)
        loss, near, spread, told, used = (float(x) for x in sums / weight)
        each = (time.monotonic() - self._begun) / (epoch + 1 - first)
        left = each * (self.epochs - epoch - 1)
        return Epoch(epoch + 1, self.epochs, loss, near, spread, told, used, round(left, 1))

    def _count(self, pairs: int) -> int:
        """Batches of an epoch, of nearly equal length, so that none has too few negatives."""
        return max(1, math.ceil(pairs / self.options.batch))

    def _set_rate(self, share: float) -> None:
        warmup = max(self.options.warmup, 1e-9)
        factor = min((share + 1e-3) / warmup, (1 - share) / max(1 - warmup, 1e-9), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * factor

    def _batch(self, batch: NDArray[np.intp], share: float) -> NDArray[np.float64]:
        """Adds `share` of a batch's gradients.

        Returns loss, contrastive loss, entropy, likelihood and experts used.
        """
        options = self.options
        owners, texts = (torch.from_numpy(n[batch]).to(self.device) for n in (self._owners, self._texts))
        with self._precision():
            photos, weights = self.model(self._seen(batch))
            near = losses.contrastive(
                photos,
                self.model.query(self._asked(batch)),
                owners,
                texts,
                options.tau,
                options.leave_out_positive,
            )
        spread = losses.entropy(weights.float())
        loss = near + options.entropy * spread
        self._add(loss * share)
        told = sum(self._told(part, len(batch), share) for part in self._chunks(batch))
        used = (gate(weights.detach(), self.model.rho) > 0).sum(-1).float().mean()
        whole = loss.item() + options.likelihood * told
        return np.array([whole, near.item(), spread.item(), told, used.item()])

    def _told(self, part: NDArray[np.intp], count: int, share: float) -> float:
        """Adds `share` of the gradients of some memories' likelihood (Eq. 2), summed over their tokens.

        Returns their part of the mean over a batch of `count` memories.
        """
        assert self.language is not None
        asked, told_ids = ([ids[n] for n in part] for ids in (self._asked_ids, self._told_ids))
        with self._precision():
            prompts, _ = self.model.prompts(self._seen(part))
            told = self.language.nll(asked, told_ids, prompts).sum() / count
        self._add(self.options.likelihood * told * share)
        return float(told.item())

    def _chunks(self, batch: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        return np.array_split(batch, math.ceil(len(batch) / CHUNK)) if self._told_ids else []

    def _add(self, loss: Tensor) -> None:
        if not math.isfinite(loss.item()):
            raise NotFinite(_NOT_FINITE)
        loss.backward()

    def _seen(self, pairs: NDArray[np.intp]) -> Tensor:
        return torch.from_numpy(self._patches[self._owners[pairs]].astype(np.float32)).to(self.device)

    def _asked(self, pairs: NDArray[np.intp]) -> Tensor:
        if self.language is not None and self.options.query == "llm" and self.language.adapter is not None:
            return self.language.states([self._ids[n] for n in pairs])
        return torch.from_numpy(self._states[pairs]).to(self.device)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.options.precision == "bf16")
