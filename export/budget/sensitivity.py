"""What each quantization of each matrix alone costs, measured in worker processes and kept in gamer's cache.

A search that was interrupted, or another budget for the same weights, measures only what is not there yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from torch import nn

from gamer.index.json_checked import JsonError, read, read_as
from gamer.runtime import cache

from ..bundle.fingerprint import fingerprint, meaning
from ..components import components
from ..recipe import Threshold
from ..settings import Settings
from .choices import Tensor
from .measuring import Loss, Losses
from .simulation import simulated

FOLDER = "sensitivity"
CODE = tuple(Path(__file__).with_name(name) for name in ("measuring.py", "simulation.py"))
AT_ONCE = 16  # matrices of a task
Keep = tuple[tuple[str, str], ...]  # (matrix, quantization) pairs


@dataclass(frozen=True)
class Task:
    """Some matrices of a component, each to be quantized alone in every way that it has."""

    settings: Settings
    role: str
    target: str
    tensors: tuple[Tensor, ...]


@dataclass(frozen=True)
class Trial:
    """Choices for all matrices of a component, from few bytes to many: what the first that is enough costs.

    `least`: the parity that is enough; None takes the first. The last is taken if none is enough.
    """

    settings: Settings
    role: str
    target: str
    keeps: tuple[Keep, ...]
    least: Threshold | None = None


def tasks(
    settings: Settings, role: str, target: str, tensors: Sequence[Tensor], have: Mapping[str, float]
) -> list[Task]:
    """The tasks of a component whose figures are not all in `have`, which the cache has of it."""
    missing = [t for t in tensors if any(f"{t.name}={q}" not in have for q in t.quants)]
    parts = (tuple(missing[at : at + AT_ONCE]) for at in range(0, len(missing), AT_ONCE))
    return [Task(settings, role, target, part) for part in parts]


def measured(settings: Settings, role: str, target: str) -> dict[str, float]:
    """ "NAME=QUANT" → cost, of all that the cache has of this component for `target`."""
    return _kept(_folder(settings, role, target))


def _kept(folder: Path) -> dict[str, float]:
    out = dict[str, float]()
    for file in sorted(folder.glob("*.json")):
        try:
            out |= read_as(dict[str, float], read(file))
        except (OSError, JsonError):
            continue
    return out


def _folder(settings: Settings, role: str, target: str) -> Path:
    """Its name holds all that a figure depends on; not how codes are found in the end."""
    code = [meaning(file.read_text(encoding="utf-8")) for file in CODE]
    key = repr((code, fingerprint(replace(settings, keep=(), quant="int8")), role, target)).encode()
    return cache.folder() / FOLDER / hashlib.sha256(key).hexdigest()[:16]


def measure(task: Task) -> dict[str, float]:
    """The figures of a task, in a worker; each matrix's are kept as soon as they are there."""
    losses, out = _losses(task.settings, task.role), dict[str, float]()
    folder = _folder(task.settings, task.role, task.target)
    have = _kept(folder)
    for tensor in task.tensors:
        for quant in tensor.quants:
            key = f"{tensor.name}={quant}"
            if key not in have:
                parts = _parts(task, losses.module, ((tensor.name, quant),))
                have[key] = losses.of(parts, alone=True).cost
        own = {f"{tensor.name}={quant}": have[f"{tensor.name}={quant}"] for quant in tensor.quants}
        cache.keep(folder / f"{tensor.name}.json", own)
        out |= own
    return out


def attempt(trial: Trial) -> tuple[int, Loss]:
    """(the number of the first choice that is enough, what it costs), in a worker.

    Losses fall with bytes but for the noise of rounding: the first is found by halving, and then looked
    after.
    """
    losses = _losses(trial.settings, trial.role)
    low, high = 0, len(trial.keeps) - 1 if trial.least else 0
    while low < high:
        middle = (low + high) // 2
        enough = is_enough(_loss(trial, losses, middle), trial.least)
        low, high = (low, middle) if enough else (middle + 1, high)
    loss = _loss(trial, losses, low)
    while not is_enough(loss, trial.least) and low + 1 < len(trial.keeps):
        low += 1
        loss = _loss(trial, losses, low)
    return low, loss


def is_enough(loss: Loss, least: Threshold | None) -> bool:
    """Whether a choice with this loss has the parity `least`."""
    if least is None:
        return True
    return loss.worst >= least.cosine and (least.top1 is None or loss.top1 is None or loss.top1 >= least.top1)


def _loss(trial: Trial, losses: Losses, number: int) -> Loss:
    return losses.of(_parts(trial, losses.module, trial.keeps[number]))


def _parts(task: Task | Trial, module: nn.Module, keep: Keep) -> dict[str, nn.Module]:
    out = dict[str, nn.Module]()
    for name, quant in keep:
        part: Any = module.get_submodule(name)
        out[name] = simulated(part, name, task.role, task.target, quant, task.settings.group_size)
    return out


@lru_cache(maxsize=1)
def _losses(settings: Settings, role: str) -> Losses:
    """Kept by a worker for its further tasks. One thread, because workers stand side by side."""
    import torch

    torch.set_num_threads(1)
    return Losses(settings, components.build(settings, role, "fp32"))
