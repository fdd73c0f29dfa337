"""Fits the weights of the fused ranking (gamer.runtime.bundle.manifest.Ranking) to data sets.

Also measured is what each summand of the score adds. No bundle is changed.

Each query gives one choice: the features of its best candidates and of its relevant photos. The loss is the
negative log-likelihood of softmax(w · features); every data set has the same weight, and every user the same
within a data set. Cross-validation is over users, because the weights serve users who were not part of the
fit. The probability that the album holds what is meant is a logistic regression on features of the best hit.
It is fitted to users' own queries against queries of the next user, put to the same album.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray, RowArray
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.hits import of_fewer
from gamer.runtime.search.options import Observer

from .. import stats
from ..study.declaration import NoSettings, Run, Work
from ..tables import Sheet
from . import datasets
from .albums import album_of

FITTED = ("text", "words", "coverage", "context_words", "context_coverage", "entity", "related", "cue")
HERE = ("here", "here_cosine", "here_coverage", "here_cue")
KEPT = 120  # candidates a query, besides the relevant photos
FOREIGN = 60  # queries of another user, put to each album
ODDS = 4.0  # assumed number of queries whose answer is in the album, for each whose answer is not
FOLDS = 4
_RIDGE = np.array([1, 10, 1, 10, 1, 1, 1, 1]) * 1e-3  # ridge penalty, by the size of each feature


@dataclass(frozen=True, eq=False)
class Choice:
    """One query's candidates.

    `features`: float32 [C, len(FITTED)]; `meant`: bool [C], the relevant ones; `relevant`: the number of
    relevant ids, whether or not they are candidates.
    """

    dataset: str
    user: str
    features: FloatArray
    meant: NDArray[np.bool_]
    relevant: int


@dataclass(frozen=True)
class Step:
    """Macro recall@5 by data set, with the weight of the summand `without` set to zero."""

    without: str
    recall5: dict[str, float]


@dataclass(frozen=True)
class Fit:
    """The fit. `own`: macro recall@5 with the bundle's weights, by data set; see `fit`."""

    ranking: Ranking
    queries: dict[str, int]
    trained: dict[str, float]
    cross_validated: dict[str, float]
    steps: tuple[Step, ...]
    doubted: dict[str, float]
    own: dict[str, float]


def fit(run: Run[Any]) -> Fit:
    """Fits the weights on the data sets of the run and measures recall@5 with them.

    `doubted`: for each data set's own queries and its foreign ones ("… elsewhere"), the share for which the
    fitted ranking says that the album does not hold what is meant.
    """
    start = run.models.manifest.ranking or Ranking()
    choices: list[Choice] = []
    best_hits: dict[str, list[tuple[float, float, float]]] = {}
    for folder in run.data:
        names = datasets.users(folder)
        asked = {user: datasets.queries(folder, user) for user in names}
        for at, user in enumerate(names):
            run.tell(f"{folder.name} {user}")
            album = album_of(folder, user, run.models, run.home, run.tell)
            engine = Engine.open(run.bundle, album, threads=run.threads)
            observer = Watch(engine)
            rows = {engine.album.photo(row).id: row for row in range(len(engine.album))}
            for query in asked[user]:
                features, ranked = observer.ask(query.text)
                # With a single user, parts of its queries take the place of users in the cross-validation.
                fold_unit = user if len(names) > 1 else f"{user} {len(choices) % FOLDS}"
                choices.append(
                    _choice(
                        folder.name,
                        fold_unit,
                        features,
                        ranked,
                        [rows[i] for i in query.relevant if i in rows],
                        len(query.relevant),
                        start,
                    )
                )
                best_hits.setdefault(folder.name, []).append(_best(features, start, len(engine.album)))
            if len(names) > 1:
                foreign = asked[names[(at + 1) % len(names)]]
                for query in foreign[:: max(1, len(foreign) // FOREIGN)]:
                    best_hits.setdefault(f"{folder.name} elsewhere", []).append(
                        _best(observer.ask(query.text)[0], start, len(engine.album))
                    )
            engine.close()
    weights = _weights(choices)
    steps = tuple(
        Step(name, _recall(choices, np.where(np.array(FITTED) == name, 0, weights))) for name in FITTED
    )
    fitted = replace(
        start, **dict(zip(FITTED, np.round(weights, 3).tolist(), strict=True)), **_here(best_hits), fitted=""
    )
    doubted = {
        name: round(float(np.mean([_doubts(fitted, *features_of_hit) for features_of_hit in values])), 3)
        for name, values in best_hits.items()
    }
    counts = {folder.name: sum(c.dataset == folder.name for c in choices) for folder in run.data}
    return Fit(
        ranking=fitted,
        queries=counts,
        trained=_recall(choices, weights),
        cross_validated=_cross_validated(choices),
        steps=steps,
        doubted=doubted,
        own=_recall(choices, np.array([getattr(start, name) for name in FITTED])),
    )


class Watch(Observer):
    """Runs searches and records the features of the photos that the fused ranking ranked."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.last: tuple[RowArray, Mapping[str, FloatArray]] = np.zeros(0, np.int64), {}

    def ranked(self, rows: RowArray, features: Mapping[str, FloatArray]) -> None:
        self.last = rows, features

    def ask(self, text: str) -> tuple[FloatArray, RowArray]:
        """The features, float32 [rows, len(FITTED)], and the rows of the photos that a search ranked."""
        self._engine.search(text, observer=self)
        rows, features = self.last
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
    is_meant = np.isin(rows, meant)
    candidates = np.union1d(np.argsort(-scores, kind="stable")[:KEPT], np.flatnonzero(is_meant))
    return Choice(dataset, user, features[candidates], is_meant[candidates], relevant)


def _best(features: FloatArray, start: Ranking, photos: int) -> tuple[float, float, float]:
    """The best hit's text cosine, coverage and cue evidence: the arguments of `ranking.presence`."""
    top = features[int(np.argmax(features @ np.array([getattr(start, name) for name in FITTED], np.float32)))]
    by_name = dict(zip(FITTED, top.tolist(), strict=True))
    return (
        by_name["text"] + of_fewer(photos),
        max(by_name["coverage"], by_name["context_coverage"]),
        by_name["cue"],
    )


def _weights(choices: Sequence[Choice]) -> NDArray[np.float64]:
    answered = [c for c in choices if c.meant.any()]
    queries = Counter((c.dataset, c.user) for c in answered)
    users = Counter(dataset for dataset, _ in queries)
    listed = [
        (c.features, c.meant / c.meant.sum(), 1 / queries[c.dataset, c.user] / users[c.dataset])
        for c in answered
    ]
    return stats.listwise(listed, np.array([getattr(Ranking(), name) for name in FITTED]), _RIDGE / 100, 150)


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
    recalls: dict[str, list[tuple[float, int]]] = {}
    for fold in range(FOLDS):
        held_out = set(users[fold::FOLDS])
        weights = _weights([c for c in choices if (c.dataset, c.user) not in held_out])
        tested = [c for c in choices if (c.dataset, c.user) in held_out]
        for name, value in _recall(tested, weights).items():
            recalls.setdefault(name, []).append((value, len({c.user for c in tested if c.dataset == name})))
    return {
        name: round(sum(v * n for v, n in parts) / sum(n for _, n in parts), 4)
        for name, parts in sorted(recalls.items())
    }


def _here(best_hits: dict[str, list[tuple[float, float, float]]]) -> dict[str, float]:
    """The logistic's weights by the names in HERE; empty if there are no foreign queries.

    Own and foreign queries have the same total weight, and each data set the same within its kind. The
    intercept is then shifted to the odds ODDS.
    """
    from sklearn.linear_model import LogisticRegression

    foreign = [name.endswith(" elsewhere") for name in best_hits]
    if not any(foreign):
        return {}
    x = np.concatenate([np.array(values) for values in best_hits.values()])
    y = np.concatenate(
        [
            np.full(len(values), not is_foreign)
            for values, is_foreign in zip(best_hits.values(), foreign, strict=True)
        ]
    )
    share = np.concatenate(
        [
            np.full(len(v), 1 / len(v) / foreign.count(is_foreign))
            for v, is_foreign in zip(best_hits.values(), foreign, strict=True)
        ]
    )
    model: Any = LogisticRegression(C=10).fit(x, y, sample_weight=share * len(y) / 2)
    coefficients = [float(model.intercept_[0]) + np.log(ODDS), *(float(w) for w in model.coef_[0])]
    return {name: round(float(value), 2) for name, value in zip(HERE, coefficients, strict=True)}


def _doubts(fitted: Ranking, cosine: float, coverage: float, cue: float) -> bool:
    from gamer.runtime.search.hits import presence

    return presence(fitted, cosine, coverage, cue) < 0.5


def tables(result: Fit) -> list[Sheet | str]:
    lines = {"fitted": result.trained, "cross-validated by user": result.cross_validated}
    lines |= {f"without {step.without}": step.recall5 for step in result.steps}
    rows = ((name, *(f"{recall[at]:.4f}" for at in result.trained)) for name, recall in lines.items())
    weights = asdict(result.ranking)
    return [
        Sheet("macro recall@5", ("", *result.trained), tuple(rows)),
        ", ".join(f"{name} {value}" for name, value in weights.items() if name != "fitted"),
        f"called not in the album: {result.doubted}",
    ]


WORK = Work(NoSettings, fit, tables)
