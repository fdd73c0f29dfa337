"""Fits the fused ranking's weights (gamer.runtime.bundle.manifest.Ranking) to data sets, and says what each
summand adds. Prints; changes no bundle.

For each query the features of the best candidates and of what was meant become one choice: the loss is the
negative log-likelihood of softmax(w · features), every data set weighing the same and every user within it.
Cross-validated over users, as the weights are for users that nobody has seen. Whether the album holds what is
meant at all is a logistic on the best hit, fitted to users' own queries against the same queries put to the
next user's album.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray, RowArray
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import Observer

from .. import machine
from . import datasets
from .albums import album_of

FITTED = ("text", "words", "coverage", "context_words", "context_coverage", "entity", "cue")
HERE = ("here", "here_cosine", "here_coverage", "here_cue")
KEPT = 120  # candidates a query, beside those that were meant
FOREIGN = 60  # queries of another user, put to each album
ODDS = 4.0  # for each query about something that is not in the album, so many about something that is
FOLDS = 4
_STEADY = np.array([1, 10, 1, 10, 1, 1, 1]) * 1e-3  # ridge, by the size of each feature


@dataclass(frozen=True, eq=False)
class Choice:
    """One query's candidates.

    `features`: float32 [C, len(FITTED)]; `meant`: bool [C]; `relevant`: how many there are to find.
    """

    dataset: str
    user: str
    features: FloatArray
    meant: NDArray[np.bool_]
    relevant: int


@dataclass(frozen=True)
class Step:
    """Macro recall@5 by data set with one summand's weight at zero."""

    without: str
    recall5: dict[str, float]


@dataclass(frozen=True)
class Fit:
    machine: machine.Machine
    ranking: Ranking
    queries: dict[str, int]
    trained: dict[str, float]
    cross_validated: dict[str, float]
    steps: tuple[Step, ...]
    doubted: dict[str, float]
    when: str


def fit(
    bundle: Path, folders: Sequence[Path], threads: int, cache: Path, progress: Callable[[str], None]
) -> Fit:
    """`doubted`: the share of each data set's own and foreign ("… elsewhere") queries that the fitted ranking
    calls not in the album.
    """
    models, start = Models.open(bundle, "onnx", threads), Ranking()
    own: list[Choice] = []
    first: dict[str, list[tuple[float, float, float]]] = {}
    for folder in folders:
        names = datasets.users(folder)
        asked = {user: datasets.queries(folder, user) for user in names}
        for at, user in enumerate(names):
            progress(f"{folder.name} {user}")
            engine = Engine.open(bundle, album_of(folder, user, models, cache, progress), threads=threads)
            watch = _Watch(engine)
            rows = {engine.album.photo(row).id: row for row in range(len(engine.album))}
            for query in asked[user]:
                features, ranked = watch.ask(query.text)
                # One user's data is cross-validated by parts of its queries.
                part = user if len(names) > 1 else f"{user} {len(own) % FOLDS}"
                own.append(
                    _choice(
                        folder.name,
                        part,
                        features,
                        ranked,
                        [rows[i] for i in query.relevant if i in rows],
                        len(query.relevant),
                        start,
                    )
                )
                first.setdefault(folder.name, []).append(_best(features, start))
            if len(names) > 1:
                others = asked[names[(at + 1) % len(names)]]
                for query in others[:: max(1, len(others) // FOREIGN)]:
                    first.setdefault(f"{folder.name} elsewhere", []).append(
                        _best(watch.ask(query.text)[0], start)
                    )
            engine.close()
    weights = _weights(own)
    steps = tuple(Step(name, _recall(own, np.where(np.array(FITTED) == name, 0, weights))) for name in FITTED)
    fitted = replace(
        start, **dict(zip(FITTED, np.round(weights, 3).tolist(), strict=True)), **_here(first), fitted=""
    )
    doubted = {
        name: round(float(np.mean([_doubts(fitted, *of) for of in values])), 3)
        for name, values in first.items()
    }
    counts = {folder.name: sum(c.dataset == folder.name for c in own) for folder in folders}
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return Fit(
        machine=machine.read(),
        ranking=fitted,
        queries=counts,
        trained=_recall(own, weights),
        cross_validated=_cross_validated(own),
        steps=steps,
        doubted=doubted,
        when=when,
    )


class _Watch(Observer):
    """Asks the engine and keeps the features that its layers gave."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._last: tuple[RowArray, Mapping[str, FloatArray]] = np.zeros(0, np.int64), {}

    def ranked(self, rows: RowArray, features: Mapping[str, FloatArray]) -> None:
        self._last = rows, features

    def ask(self, text: str) -> tuple[FloatArray, RowArray]:
        """float32 [rows, len(FITTED)], and the rows."""
        self._engine.search(text, observer=self)
        rows, features = self._last
        return np.stack(
            [features.get(name, np.zeros(len(rows), np.float32)) for name in FITTED], axis=1
        ), rows


def _choice(
    dataset: str,
    user: str,
    features: FloatArray,
    rows: RowArray,
    meant: list[int],
    relevant: int,
    start: Ranking,
) -> Choice:
    scores = features @ np.array([getattr(start, name) for name in FITTED], np.float32)
    wanted = np.isin(rows, meant)
    kept = np.union1d(np.argsort(-scores, kind="stable")[:KEPT], np.flatnonzero(wanted))
    return Choice(dataset, user, features[kept], wanted[kept], relevant)


def _best(features: FloatArray, start: Ranking) -> tuple[float, float, float]:
    """Text cosine, coverage and cue evidence of the first hit, as Engine gives them to `ranking.presence`."""
    top = features[int(np.argmax(features @ np.array([getattr(start, name) for name in FITTED], np.float32)))]
    own = dict(zip(FITTED, top.tolist(), strict=True))
    return own["text"], max(own["coverage"], own["context_coverage"]), own["cue"]


def _weights(choices: Sequence[Choice]) -> NDArray[np.float64]:
    from scipy.optimize import minimize

    known = [c for c in choices if c.meant.any()]
    users = {(c.dataset, c.user): 0 for c in known}
    for c in known:
        users[c.dataset, c.user] += 1
    share = [1 / users[c.dataset, c.user] / sum(name == c.dataset for name, _ in users) for c in known]

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        value, slope = float(_STEADY / 100 @ w**2), _STEADY / 50 * w
        for c, weight in zip(known, share, strict=True):
            scores = c.features @ w
            likely = np.exp(scores - scores.max())
            likely /= likely.sum()
            wanted = c.meant / c.meant.sum()
            value -= weight * float(wanted @ np.log(likely + 1e-30))
            slope = slope + weight * c.features.T @ (likely - wanted)
        return value, slope

    begin = np.array([getattr(Ranking(), name) for name in FITTED])
    found: Any = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"maxiter": 150})
    return np.asarray(found.x, np.float64)


def _recall(choices: Sequence[Choice], weights: NDArray[np.float64]) -> dict[str, float]:
    """Macro recall@5 by data set."""
    by_user: dict[tuple[str, str], list[float]] = {}
    for c in choices:
        top = np.argsort(-(c.features @ weights), kind="stable")[:5]
        by_user.setdefault((c.dataset, c.user), []).append(float(c.meant[top].sum()) / c.relevant)
    names = dict.fromkeys(name for name, _ in by_user)
    return {
        name: round(float(np.mean([np.mean(v) for (d, _), v in by_user.items() if d == name])), 4)
        for name in names
    }


def _cross_validated(choices: Sequence[Choice]) -> dict[str, float]:
    users = sorted({(c.dataset, c.user) for c in choices})
    found: dict[str, list[tuple[float, int]]] = {}
    for fold in range(FOLDS):
        held = set(users[fold::FOLDS])
        weights = _weights([c for c in choices if (c.dataset, c.user) not in held])
        tested = [c for c in choices if (c.dataset, c.user) in held]
        for name, value in _recall(tested, weights).items():
            found.setdefault(name, []).append((value, len({c.user for c in tested if c.dataset == name})))
    return {
        name: round(sum(v * n for v, n in parts) / sum(n for _, n in parts), 4)
        for name, parts in sorted(found.items())
    }


def _here(first: dict[str, list[tuple[float, float, float]]]) -> dict[str, float]:
    """The logistic's weights: both kinds of query weigh the same, each data set the same within a kind; then
    the odds are set to ODDS.
    """
    from sklearn.linear_model import LogisticRegression

    kinds = [name.endswith(" elsewhere") for name in first]
    if not any(kinds):
        return {}
    x = np.concatenate([np.array(values) for values in first.values()])
    y = np.concatenate(
        [np.full(len(values), not kind) for values, kind in zip(first.values(), kinds, strict=True)]
    )
    share = np.concatenate(
        [
            np.full(len(v), 1 / len(v) / kinds.count(kind))
            for v, kind in zip(first.values(), kinds, strict=True)
        ]
    )
    model: Any = LogisticRegression(C=10).fit(x, y, sample_weight=share * len(y) / 2)
    found = [float(model.intercept_[0]) + np.log(ODDS), *(float(w) for w in model.coef_[0])]
    return {name: round(float(value), 2) for name, value in zip(HERE, found, strict=True)}


def _doubts(fitted: Ranking, cosine: float, coverage: float, cue: float) -> bool:
    from gamer.runtime.search.ranking import presence

    return presence(fitted, cosine, coverage, cue) < 0.5
