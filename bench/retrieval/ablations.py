"""All ablations of a data set as one result: those of ablation.py, those of sweeps.py, and the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from . import ablation, datasets, sweeps
from .ablation import Outcome
from .quality import RECALL


@dataclass(frozen=True)
class Settings:
    queries: Annotated[int, About("queries a user, evenly spread", least=1, quick=5)] = 100
    llm_queries: Annotated[int, About("queries a user that the language model refines", least=0, quick=1)] = (
        10
    )
    sizes: Annotated[
        tuple[int, ...], About("sizes of the albums; cut at what there is", least=1, quick=(500,))
    ] = (500, 1000, 2000, 4000, 8000)


@dataclass(frozen=True)
class Ablation:
    """The results of all ablations of one data set.

    `queries`: number over all users. `refined`, `prefix`: None if no query was given to the language model,
    and `prefix` also for a bundle without prefix caches. `bundles`: empty if only one bundle was measured.
    """

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


def measure(run: Run[Settings]) -> Ablation:
    """Runs all ablations. Raises DatasetError.

    The first of the bundles is measured everywhere; the others are compared with it.
    """
    (folder,), models, most, llm_most = run.data, run.models, run.settings.queries, run.settings.llm_queries
    users = datasets.users(folder)
    asked = [query for user in users for query in datasets.queries(folder, user, most)]
    groups = ablation.measure(folder, models, run.home, most, run.tell)
    run.tell("routing photographs")
    routed = sweeps.rho(models)
    by_llm = sweeps.refined(folder, models, run.home, llm_most, run.tell) if llm_most else None
    prefixed = (
        sweeps.prefix(models, [query.text for query in asked[:: max(1, len(asked) // min(12, 2 * llm_most))]])
        if llm_most
        else None
    )
    several = len(run.bundles) > 1
    return Ablation(
        dataset=folder.name,
        bundle=run.recipe,
        users=len(users),
        queries=len(asked),
        own_rho=models.manifest.thresholds.rho,
        fused=groups["fused"],
        paper=groups["paper"],
        rho=routed,
        refined=by_llm,
        prefix=prefixed,
        sizes=sweeps.sizes(folder, models, run.home, run.settings.sizes, 2 * most, run.tell),
        bundles=sweeps.bundles(folder, run.bundles, run.threads, run.home, most, run.tell) if several else (),
    )


def tables(result: Ablation) -> list[Sheet | str]:
    title = f"{result.dataset}: {result.queries} queries"
    recalls = ", ".join(f"recall@{k} {value:.3f}" for k, value in result.fused[0].recall.items())
    experts = (
        f"ρ {routed.rho}: {routed.experts:.2f} of {routed.of} experts, {routed.macs_share:.0%} of their "
        "multiply-adds"
        for routed in result.rho
    )
    sizes = (
        f"{size.photos} photos: recall@5 {size.recall5:.3f}, mode paper {size.paper_recall5:.3f}, "
        f"{size.p50_ms:.1f} ms"
        for size in result.sizes
    )
    groups = (_outcomes(title, result.fused), _outcomes(f"{title}, mode paper", result.paper))
    bundles = (
        f"{one.bundle} ({one.quant}), {one.megabytes:.1f} MB: recall@5 "
        + ", ".join(f"{name} {recall:.3f}" for name, recall in one.recall5.items())
        for one in result.bundles
    )
    return [*groups, f"K: {recalls}", *experts, *sizes, *bundles]


def _outcomes(title: str, outcomes: Iterable[Outcome]) -> Sheet:
    columns: dict[str, Callable[[Outcome], str]] = {
        "variant": lambda row: row.name,
        **RECALL,
        "cube": lambda row: f"{row.left['cube']:.0f}",
        "graph": lambda row: f"{row.left['graph']:.0f}",
        "ms": lambda row: f"{sum(row.layer_ms.values()):.1f}",
    }
    return sheet(title, outcomes, columns)


WORK = Work(Settings, measure, tables)
