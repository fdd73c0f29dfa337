"""Supervised fine-tuning of the experts on an album's ⟨photo, memory⟩ pairs (paper section 3.3).

The image tower and the query encoder stay as they are. The loss is Eq. 3-4 over v_I and v_Q, plus the entropy
of the router's distribution (the second term of Eq. 2), so that few experts are used. Its first term, the
likelihood of the memory after the soft prompts, needs the language model's gradients and is not computed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from ..checkpoints import pocket
from ..components import components, states
from ..components.experts import QuerySide
from ..errors import ExportError
from ..settings import Settings
from . import features, losses, pairs, start
from .options import Options
from .pairs import Pairs
from .projection import Projection, gate
from .run_folder import RunFolder

LABELS = "a photo of a {}"


@dataclass(frozen=True)
class Epoch:
    """Means over an epoch. `experts`: how many Eq. 1 chose; `seconds_left`: for the epochs to come."""

    epoch: int
    of: int
    loss: float
    contrastive: float
    entropy: float
    experts: float
    seconds_left: float


@dataclass(frozen=True)
class Trained:
    """What a training did. `resumed`: epochs that an earlier run had finished."""

    path: Path
    photos: int
    memories: int
    missing: int
    parameters: int
    resumed: int
    epochs: tuple[Epoch, ...]


Stage = Callable[[str, int, int], None]  # what is done, done, total
Report = Callable[[Epoch], None]


def train(
    settings: Settings, album: Path, out: Path, options: Options, stage: Stage, report: Report
) -> Trained:
    """Trains the experts of a recipe on an album; the checkpoint is the directory `out`.

    A killed training goes on after its last epoch. Raises AlbumError for the album, ExportError for a recipe
    without experts, an album without pairs, a folder in use or with another training, a full disk, and a loss
    that is not a number, after which the last state is kept.
    """
    sizes, data = components.dpe_sizes(settings), pairs.read(album, options.until)
    key = data.digest()
    told = {"recipe": settings.recipe, "sources": dict(settings.sources), "data": key, **asdict(options)}
    run = RunFolder(out, told)
    with run.held():
        run.check()
        seen = features.encode(settings, data.paths, run.inner, key, lambda a, b: stage("photos", a, b))
        known = _known(settings, data, options, seen, stage)
        slots = 0 if known.names is None else len(known.names)
        side = QuerySide(options.query, known.states.shape[1], slots)
        torch.manual_seed(options.seed)
        model = Projection(sizes, side, settings.chosen.rho)
        done, epochs = fit(model, seen, known, options, run, report)
    count = sum(p.numel() for p in model.parameters())
    return Trained(out, len(data.paths), len(data.texts), data.missing, count, done, epochs)


def fit(
    model: Projection,
    seen: features.Features,
    known: start.Known,
    options: Options,
    run: RunFolder,
    report: Report,
) -> tuple[int, tuple[Epoch, ...]]:
    """Trains `model` in place and publishes it; the caller holds the folder.

    Returns how many epochs an earlier run had finished, and what those of this one were. Raises ExportError.
    """
    optimiser = torch.optim.AdamW(
        model.to(device()).parameters(), lr=options.rate, weight_decay=options.decay, foreach=False
    )
    done = run.resume(model, optimiser)
    if not done and options.start == "closed":
        start.initialise(model.cpu(), seen, known)
        model.to(device())
    loop, epochs = _Loop(model, optimiser, seen, known, options), list[Epoch]()
    for epoch in range(done, options.epochs):
        epochs.append(loop.epoch(epoch, done))
        run.keep(model, optimiser, epoch + 1)
        run.log({name: value for name, value in asdict(epochs[-1]).items() if name != "of"})
        report(epochs[-1])
    run.publish(model)
    return done, tuple(epochs)


def _known(
    settings: Settings, data: Pairs, options: Options, seen: features.Features, stage: Stage
) -> start.Known:
    """The states of the memories, and of the labels' names where the tower has labels.

    Memories of photos that cannot be read are left out.
    """
    kept = [n for n, owner in enumerate(data.owners) if seen.readable[owner]]
    texts = [data.texts[n] for n in kept]
    if len({data.owners[n] for n in kept}) < 2:
        raise ExportError("fewer than two photos with a memory can be read: nothing to contrast")
    told = states.of_queries(settings, options.query, texts, lambda a, b: stage("memories", a, b))
    names = None
    if seen.labels is not None:
        named = [LABELS.format(name.split(",")[0].strip()) for name in pocket.class_names()]
        names = states.of_queries(settings, options.query, named, lambda a, b: stage("labels", a, b))
    return start.Known(told, [data.owners[n] for n in kept], names)


class _Loop:
    def __init__(
        self,
        model: Projection,
        optimiser: torch.optim.Optimizer,
        seen: features.Features,
        known: start.Known,
        options: Options,
    ) -> None:
        self.model, self.optimiser, self.options = model, optimiser, options
        self.device = device()
        self._patches, self._states = seen.patches, known.states
        self._owners = np.asarray(known.owners)
        self._begun = time.monotonic()

    def epoch(self, epoch: int, first: int) -> Epoch:
        """One pass over all memories in a new order, which depends on the seed and the epoch alone."""
        options = self.options
        order = np.random.default_rng((options.seed, epoch)).permutation(len(self._owners))
        batches = list(_batches(order, options.batch))
        sums, weight = np.zeros(4), 0
        for n, batch in enumerate(batches):
            self._set_rate((epoch + n / len(batches)) / options.epochs)
            figures = self._step(batch)
            sums, weight = sums + len(batch) * figures, weight + len(batch)
            if (n + 1) % options.accumulate == 0 or n + 1 == len(batches):
                self.optimiser.step()
                self.optimiser.zero_grad()
        loss, near, spread, used = (float(x) for x in sums / weight)
        each = (time.monotonic() - self._begun) / (epoch + 1 - first)
        left = each * (options.epochs - epoch - 1)
        return Epoch(epoch + 1, options.epochs, loss, near, spread, used, round(left, 1))

    def _set_rate(self, share: float) -> None:
        warmup = max(self.options.warmup, 1e-9)
        factor = min((share + 1e-3) / warmup, (1 - share) / max(1 - warmup, 1e-9), 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = self.options.rate * factor

    def _step(self, batch: NDArray[np.intp]) -> NDArray[np.float64]:
        """Adds a batch's gradients. Returns loss, contrastive loss, entropy and experts used."""
        options, owners = self.options, self._owners[batch]
        patches = torch.from_numpy(self._patches[owners].astype(np.float32)).to(self.device)
        states_ = torch.from_numpy(self._states[batch]).to(self.device)
        photos, weights = self.model(patches)
        near = losses.contrastive(
            photos,
            self.model.query(states_),
            torch.from_numpy(owners).to(self.device),
            options.tau,
            options.leave_out_positive,
        )
        spread = losses.entropy(weights)
        loss = near + options.entropy * spread
        if not math.isfinite(loss.item()):
            raise ExportError(
                "the loss is not a number: the last state is kept; go on with a smaller --rate and another -o"
            )
        (loss / options.accumulate).backward()
        used = (gate(weights.detach(), self.model.rho) > 0).sum(-1).float().mean()
        return np.array([loss.item(), near.item(), spread.item(), used.item()])


def _batches(order: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    """Batches of nearly equal length, so that none has too few negatives."""
    count = max(1, math.ceil(len(order) / size))
    yield from np.array_split(order, count)


def device() -> torch.device:
    """CUDA or Apple's GPU where there is one, else the processor."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
