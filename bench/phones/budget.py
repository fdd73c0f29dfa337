"""Which bundle fits which phone within seconds and bytes, the smallest loss of quality first."""

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

    `loss`: see `losses`. `fits`: time, memory, and what an app may take there.
    """

    device: str
    bundle: str
    task: str
    loss: float
    cpu_ms: float
    memory_mb: float
    fits: bool
    why: str


def parse(text: str) -> Budget:
    """ "3s,1.5GB" (or ms, MB). Raises ValueError."""
    found = re.fullmatch(
        r"\s*(\d{1,6}(?:\.\d{1,6})?)\s*(m?s)\s*,\s*(\d{1,6}(?:\.\d{1,6})?)\s*([MG]B)\s*", text
    )
    if not found:
        raise ValueError(f"{text!r}: a time and a size such as 3s,1.5GB are wanted")
    return Budget(
        float(found[1]) / (1000 if found[2] == "ms" else 1),
        float(found[3]) * (1000 if found[4] == "GB" else 1),
    )


def losses(bundles: Sequence[Path], given: Mapping[str, float]) -> dict[tuple[str, str], float]:
    """(bundle, task) → what is lost: what the user gives for a bundle (recall lost against the best one,
    say), else what quantization takes: 1 - the worst cosine with fp32 of any artifact that the task runs.
    Parity says nothing of one recipe against another."""
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
    """For each phone every way to search: what fits first, of these the smallest loss, then the richer
    refinement.
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
        memory_mb=t.memory_mb,
        fits=not why,
        why=", ".join(why),
    )
