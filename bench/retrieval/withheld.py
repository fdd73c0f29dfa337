"""What a search finds of photos whose memories it does not have, beside photos that kept theirs.

Each data set is asked after memories were withheld: of every other photo, chosen by a hash of its id, or of
the photos from a day on. Recall is counted for queries whose answers are all described, or none of them,
without and with the evidence expected of missing memories (runtime/search/stages/unknown.py); its weights
are also chosen by likelihood, cross-validated by user, and by query in a data set of one user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from gamer.index import FloatArray
from gamer.runtime.search.stages import ranking, refine
from gamer.runtime.search.stages.unknown import DEFAULT, Evidence, Weights, expected

from ..study.declaration import About, Run, Work
from ..tables import Sheet
from . import datasets
from .albums import album_of
from .fit_ranking import Watch
from .user import User

FOLDS = 4
SPREADS, PICTURES = (0.0, 0.25, 0.5, 0.75, 1.0), (1.0, 1.6, 2.26, 3.0, 4.0)
KINDS = ("untold", "told", "all")


@dataclass(frozen=True)
class Settings:
    since: Annotated[date | None, About("also withhold the memories of the photos from this day on")] = None


@dataclass(frozen=True)
class Recall:
    """Macro recall@5 of `queries`: a missing memory counted as nothing, as DEFAULT does, and with the weights
    chosen by the other folds' queries.
    """

    queries: int
    nothing: float
    unknown: float
    held_out: float


@dataclass(frozen=True)
class Row:
    """A data set without some memories. `withheld`: of which photos. `recall`: by kind of query (KINDS)."""

    dataset: str
    withheld: str
    photos: int
    untold: int
    recall: dict[str, Recall]


@dataclass(frozen=True)
class Withheld:
    """`chosen`: the weights of the greatest likelihood over all rows, each row weighing the same; `by_fold`:
    those without each fold. `loss`: the mean negative log-likelihood by "spread picture".
    """

    rows: tuple[Row, ...]
    used: Weights
    chosen: Weights
    by_fold: tuple[Weights, ...]
    loss: dict[str, float]


@dataclass(frozen=True, eq=False)
class WithheldQuery:
    """One query: the summands of the photos that were ranked, and which are meant, bool [rows].

    `relevant`: the number of relevant ids; `cues_only`: whether the query names nothing but times or places.
    """

    user: str
    fold: int
    known: Evidence
    meant: NDArray[np.bool_]
    relevant: int
    cues_only: bool

    @property
    def kind(self) -> str:
        """One of KINDS; "all" for a query some of whose answers are described."""
        told = self.known.told[self.meant]
        return "told" if told.all() else "all" if told.any() else "untold"

    def scores(self, weights: Weights | None) -> NDArray[np.float64]:
        """float64 [rows]; None: a missing memory counts as nothing."""
        parts: dict[str, FloatArray] = dict(self.known.parts)
        if weights is not None and not self.known.told.all():
            parts["unknown"] = expected(self.known, self.known, weights)
        if self.cues_only:
            parts = ranking.by_cues(parts)
        return np.asarray(np.sum(list(parts.values()), axis=0), np.float64)

    def recall(self, weights: Weights | None) -> float:
        first = np.argsort(-self.scores(weights), kind="stable")[:5]
        return float(self.meant[first].sum()) / self.relevant

    def loss(self, weights: Weights) -> float:
        """The negative log of the mean probability of the photos that are meant."""
        scores = self.scores(weights)
        return float(
            np.logaddexp.reduce(scores) - np.logaddexp.reduce(scores[self.meant]) + np.log(self.meant.sum())
        )


def measure(run: Run[Settings]) -> Withheld:
    """With `since`, in a row of its own photos from it on lose their memories, if there are any.

    Raises DatasetError, AlbumError or BundleError.
    """
    since = run.settings.since.isoformat() if run.settings.since else None
    asked: dict[tuple[str, str], list[WithheldQuery]] = {}
    photos: dict[tuple[str, str], tuple[int, int]] = {}
    for folder in run.data:
        users = datasets.users(folder)
        for at, user in enumerate(users):
            for name, hidden in _hidden(folder, user, since).items():
                run.tell(f"{folder.name} {user}, {name}")
                album = album_of(folder, user, run.models, run.home, run.tell, hidden=hidden, pixels=True)
                fold, key = at if len(users) > 1 else None, (folder.name, name)
                with User(user, album, run.models) as one:
                    asked.setdefault(key, []).extend(_ask(one, datasets.queries(folder, user), fold))
                    total, untold = photos.get(key, (0, 0))
                    photos[key] = total + len(one.album), untold + len(hidden)
    losses = {
        weights: [[query.loss(weights) for query in queries] for queries in asked.values()]
        for weights in (Weights(spread, picture) for spread, picture in product(SPREADS, PICTURES))
    }
    folds = [np.array([query.fold for query in queries]) for queries in asked.values()]
    by_fold = tuple(_best(losses, [fold != n for fold in folds]) for n in range(FOLDS))
    return Withheld(
        tuple(
            Row(*key, *photos[key], {kind: _recall(queries, kind, by_fold) for kind in KINDS})
            for key, queries in asked.items()
        ),
        DEFAULT,
        _best(losses, [fold >= 0 for fold in folds]),
        by_fold,
        {f"{w.spread:g} {w.picture:g}": round(_mean(values), 4) for w, values in losses.items()},
    )


def _hidden(folder: Path, user: str, since: str | None) -> dict[str, frozenset[str]]:
    """Ids of the photos whose memories are withheld, by a name for them."""
    rows = list(datasets.read_jsonl(folder / f"{user}.corpus.jsonl.gz", "id", "timestamp"))
    half = frozenset(r["id"] for r in rows if hashlib.sha256(r["id"].encode()).digest()[0] % 2)
    late = frozenset(r["id"] for r in rows if since is not None and r["timestamp"] >= since)
    return {"half": half} | ({f"since {since}": late} if 0 < len(late) < len(rows) else {})


def _ask(user: User, queries: Sequence[datasets.Query], fold: int | None) -> list[WithheldQuery]:
    """`fold`: of the user's queries; None: each query has its own."""
    watch, zero = Watch(user.engine), np.zeros(user.album.meta.dim, np.float32)
    told, seen = (np.isfinite(user.album.scores(name, zero)) for name in ("text", "image"))
    at = {photo: row for row, photo in enumerate(user.ids)}
    out = []
    for n, query in enumerate(queries):
        answer = user.engine.search(query.text, now=user.now, observer=watch)
        rows, features = watch.last
        meant = np.isin(rows, [at[photo] for photo in query.relevant if photo in at])
        if meant.any():
            known = Evidence(ranking.weighted(dict(features), user.engine.ranking), told[rows], seen[rows])
            cues_only = bool(features["cue"].any()) and refine.says_nothing(answer.trace.refined)
            place = (n if fold is None else fold) % FOLDS
            out.append(WithheldQuery(user.name, place, known, meant, len(query.relevant), cues_only))
    return out


def _best(losses: dict[Weights, list[list[float]]], among: Sequence[NDArray[np.bool_]]) -> Weights:
    """The weights of the least loss over the queries that `among` marks in each row."""
    kept = {
        w: [np.array(row)[mask].tolist() for row, mask in zip(rows, among, strict=True)]
        for w, rows in losses.items()
    }
    return min(kept, key=lambda weights: _mean(kept[weights]))


def _mean(rows: Sequence[Sequence[float]]) -> float:
    return float(np.mean([np.mean(row) for row in rows if row]))


def _recall(queries: Sequence[WithheldQuery], kind: str, by_fold: Sequence[Weights]) -> Recall:
    chosen = [query for query in queries if kind in ("all", query.kind)]

    def macro(weights: Callable[[WithheldQuery], Weights | None]) -> float:
        users: dict[str, list[float]] = {}
        for query in chosen:
            users.setdefault(query.user, []).append(query.recall(weights(query)))
        return round(_mean(list(users.values())), 4) if users else 0.0

    return Recall(
        len(chosen), macro(lambda _: None), macro(lambda _: DEFAULT), macro(lambda query: by_fold[query.fold])
    )


def tables(result: Withheld) -> list[Sheet | str]:
    columns = ("", "withheld", "untold", "photos asked for", "queries", "nothing", "unknown", "held out")
    rows = tuple(
        (row.dataset, row.withheld, f"{row.untold} of {row.photos}", kind, recall.queries)
        + tuple(f"{share:.3f}" for share in (recall.nothing, recall.unknown, recall.held_out))
        for row in result.rows
        for kind, recall in row.recall.items()
    )
    title = "recall@5: a missing memory as nothing, as unknown, with weights of other folds"
    return [Sheet(title, columns, rows)]


WORK = Work(Settings, measure, tables)
