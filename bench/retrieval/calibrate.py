"""Calibrates a bundle for its text encoder on a person's data sets: δ of layer 2, and the ranking's weights.

Another encoder has another distribution of cosines, so that the δ and the weights of the recipes' encoders
serve it badly. δ is chosen by what mode paper finds (delta.py), the weights by the listwise fit
(fit_ranking.py), with the bundle's δ. Both are written into the bundle's manifest, where every program reads
them, and only if users who took no part in the fit are served at least as well as before. Albums keep the δ
with which they were built.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gamer.index.replacing import replacing
from gamer.runtime.bundle import manifest as mf

from ..study.declaration import Run, Work
from . import delta as deltas
from . import fit_ranking

BY_EYE = {"image": ("text", 0.6)}  # weights that no data set tells, as a share of another weight


@dataclass(frozen=True)
class Calibration:
    """What was found for a bundle, and whether it was written.

    `own_…`: with the δ and the weights that the bundle had. `recall5`, `own_recall5`: the mean over data sets
    of macro recall@5, the former cross-validated over users.
    """

    delta: float
    own_delta: float
    ranking: mf.Ranking
    recall5: float
    own_recall5: float
    written: bool


def calibrate(run: Run[deltas.Settings]) -> Calibration:
    """Calibrates the bundle on the data sets of the run; the settings are of δ.

    Raises DatasetError, BundleError, and OSError if the manifest cannot be written.
    """
    chosen = deltas.measure(run).for_new_user
    fit = fit_ranking.fit(run)
    manifest = mf.read(run.bundle)
    names = ", ".join(folder.name for folder in run.data)
    found = Calibration(
        delta=chosen,
        own_delta=manifest.thresholds.delta,
        ranking=usable(fit.ranking, f"`gamer bench study calibrate` on {names}"),
        recall5=_mean(fit.cross_validated),
        own_recall5=_mean(fit.own),
        written=False,
    )
    if found.recall5 < found.own_recall5:
        return found
    write(run.bundle, calibrated(manifest, found, names))
    return replace(found, written=True)


def usable(fitted: mf.Ranking, how: str) -> mf.Ranking:
    """The fitted weights without negative ones, with the weights that no data set tells."""
    weights = {name: max(0.0, getattr(fitted, name)) for name in fit_ranking.FITTED}
    shares = {name: round(weights[of] * share, 3) for name, (of, share) in BY_EYE.items()}
    return replace(fitted, **weights, **shares, fitted=how)


def calibrated(manifest: mf.Manifest, found: Calibration, names: str) -> mf.Manifest:
    """The manifest with the δ and the weights that were found."""
    thresholds = replace(
        manifest.thresholds,
        delta=found.delta,
        delta_from=f"greatest recall@5 of mode paper on {names}",
        paper_delta=None,
    )
    return replace(manifest, thresholds=thresholds, ranking=found.ranking)


def write(bundle: Path, manifest: mf.Manifest) -> None:
    """Replaces the bundle's manifest. Raises OSError."""
    with replacing(bundle / mf.MANIFEST_NAME) as aside:
        aside.write_text(mf.to_json(manifest), encoding="utf-8")


def _mean(by_set: dict[str, float]) -> float:
    return round(float(np.mean(list(by_set.values()))), 4)


def tables(result: Calibration) -> list[str]:
    outcome = "written to" if result.written else "not better than before: not written to"
    return [
        f"δ {result.own_delta} → {result.delta}; recall@5 {result.own_recall5} → {result.recall5}",
        f"{outcome} the bundle's {mf.MANIFEST_NAME}; albums keep the δ that they were built with",
    ]


WORK = Work(deltas.Settings, calibrate, tables)
