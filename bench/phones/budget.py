"""Which bundle fits which phone within a budget of time and memory, the smallest loss of quality first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gamer.runtime.bundle import manifest as mf

from ..cost.component_runs import TASK_ROLES
from .device import TASKS, Task

QUERIES = tuple(task for task in TASKS if task.startswith("query"))


@dataclass(frozen=True)
class Budget:
    seconds: float
    megabytes: float


@dataclass(frozen=True)
class Choice:
    """A bundle and a way to search with it, on a phone.

    `loss`: see `losses`. `fits`: within the budget's time (by `cpu_ms`, not by its interval) and memory, and
    within an app's memory on the phone; `why`: what it exceeds.
    """

    device: str
    bundle: str
    task: str
    loss: float
    cpu_ms: float
    cpu_low_ms: float | None
    cpu_high_ms: float | None
    memory_mb: float
    fits: bool
    why: str


def parse(text: str) -> Budget:
    """ "3s,1.5GB" (or ms, MB) as a Budget. Raises ValueError for other text."""
    match = re.fullmatch(
        r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(m?s)\s*,\s*(\d{1,6}(?:\.\d{1,6})?)\s*([MG]B)\s*", text
    )
    if not match:
        raise ValueError(f"{text!r}: a time and a size such as 3s,1.5GB are wanted")
    return Budget(
        float(match[1]) / (1000 if match[2] == "ms" else 1),
        float(match[3]) * (1000 if match[4] == "GB" else 1),
    )


def losses(bundles: Sequence[Path], given: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """(bundle, task) → the loss of quality.

    It is what the user gives for a bundle (the recall lost against the best bundle, say), otherwise the loss
    by quantization: 1 - the worst cosine with fp32 of any artifact that the task runs. Parity does not
    compare one recipe with another.
    """
    out = {}
    for bundle in bundles:
        manifest = mf.read(bundle)
        for task in QUERIES:
            cosines = [
                a.parity.minimum
                for a in manifest.artifacts
                if a.target == "onnx" and a.role in TASK_ROLES[task] and a.parity.minimum is not None
            ]
            out[bundle.name, task] = given.get(bundle.name, 1 - min(cosines, default=1.0))
    return out


def choices(
    tasks: Sequence[Task], budget: Budget, lost: Mapping[tuple[str, str], float]
) -> tuple[Choice, ...]:
    """Every way to search on each phone: first those that fit, of these the smallest loss first.

    Among equal losses, refinement by the language model comes first.
    """
    out = [_choice(t, budget, lost[t.bundle, t.task]) for t in tasks if t.task in QUERIES]
    devices = list(dict.fromkeys(t.device for t in tasks))
    return tuple(
        sorted(out, key=lambda c: (devices.index(c.device), not c.fits, c.loss, -QUERIES.index(c.task)))
    )


def _choice(t: Task, budget: Budget, loss: float) -> Choice:
    why = [
        *([f"{t.cpu_ms / 1e3:.1f} s"] if t.cpu_ms > budget.seconds * 1e3 else []),
        *([f"{t.memory_mb:.0f} MB"] if t.memory_mb > budget.megabytes else []),
        *([] if t.fits else ["more than an app may take"]),
    ]
    return Choice(
        device=t.device,
        bundle=t.bundle,
        task=t.task,
        loss=loss,
        cpu_ms=t.cpu_ms,
        cpu_low_ms=t.cpu_low_ms,
        cpu_high_ms=t.cpu_high_ms,
        memory_mb=t.memory_mb,
        fits=not why,
        why=", ".join(why),
    )
