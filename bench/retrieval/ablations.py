"""All ablations of a data set as one result: those of ablation.py, those of sweeps.py, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.runtime.models.models import Models

from .. import machine
from . import ablation, datasets, sweeps


@dataclass(frozen=True)
class Ablation:
    """The results of all ablations of one data set.

    `queries`: number over all users. `refined`, `prefix`: None if no query was given to the language model,
    and `prefix` also for a bundle without prefix caches. `bundles`: empty if only one bundle was measured.
    """

    machine: machine.Machine
    command: str
    dataset: str
    bundle: str
    users: int
    queries: int
    own_rho: float
    fused: tuple[ablation.Outcome, ...]
    paper: tuple[ablation.Outcome, ...]
    rho: tuple[sweeps.Routed, ...]
    refined: sweeps.Refined | None
    prefix: sweeps.PrefixEffect | None
    sizes: tuple[sweeps.Size, ...]
    bundles: tuple[sweeps.BundleQuality, ...]
    when: str


def measure(
    folder: Path,
    bundles: Sequence[Path],
    home: Path,
    most: int,
    llm_most: int,
    sizes: Sequence[int],
    threads: int,
    progress: Callable[[str], None],
) -> Ablation:
    """Runs all ablations. Raises DatasetError.

    `most`: queries a user; `llm_most`: queries a user that the language model refines. The first of `bundles`
    is measured everywhere; the others are compared with it.
    """
    models = Models.open(bundles[0], "onnx", threads)
    users = datasets.users(folder)
    asked = [
        query for user in users for query in ablation.evenly_spread(datasets.queries(folder, user), most)
    ]
    groups = ablation.measure(folder, models, home, most, progress)
    progress("routing photographs")
    routed = sweeps.rho(models)
    by_llm = sweeps.refined(folder, models, home, llm_most, progress) if llm_most else None
    prefixed = (
        sweeps.prefix(models, [query.text for query in asked[:: max(1, len(asked) // min(12, 2 * llm_most))]])
        if llm_most
        else None
    )
    grown = sweeps.sizes(folder, models, home, sizes, 2 * most, progress)
    compared = sweeps.bundles(folder, bundles, threads, home, most, progress) if len(bundles) > 1 else ()
    command = (
        f"gamer bench ablation {folder.name} {' '.join(f'-b {b.name}' for b in bundles)} --queries {most} "
        f"--llm-queries {llm_most}"
    )
    thresholds, when = models.manifest.thresholds, datetime.now().astimezone().isoformat(timespec="seconds")
    recipe = f"{models.manifest.recipe} {models.manifest.quant}"
    head = (
        machine.read(),
        command,
        folder.name,
        recipe,
        len(users),
        len(asked),
        thresholds.rho,
    )
    return Ablation(
        *head,
        groups["fused"],
        groups["paper"],
        routed,
        by_llm,
        prefixed,
        grown,
        compared,
        when,
    )
