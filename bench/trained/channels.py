"""What a photo is found by when only its pixels are known: labels (ConSE), trained experts, and both fused.

Asked are the memories that `gamer train --until` withheld, and queries that others wrote of those photos;
the photos searched are all of the album. The vectors are export's (fp32); this file only ranks and counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import Ranking

from ..published import PAPER
from ..retrieval.datasets import read_answered
from ..study.declaration import About, Run, Work
from ..tables import Sheet

if TYPE_CHECKING:
    from gamer.export.training.vectors import Vectors

FloatArray = NDArray[np.float32]
K = (5, 20)
FOLDS = 5
# Weights per unit of cosine of the trained channel that are tried beside Ranking.image.
WEIGHTS = (0.0, 1.0, 2.0, 3.0, 4.6, 6.0, 8.0, 12.0, 16.0, 24.0, 48.0)
Answers = Sequence[frozenset[int]]  # for each query, the rows of the photos that answer it


@dataclass(frozen=True)
class Settings:
    queries: Annotated[Path | None, About('a JSONL of {"query", "relevant": [ids]} to ask as well')] = None


@dataclass(frozen=True)
class ChannelResult:
    """Recall by K, the mean over queries; `none` of them gives zeros."""

    withheld: dict[str, float]
    queries: dict[str, float]


@dataclass(frozen=True)
class ByRho:
    """The same checkpoint with another ρ (Table 7). `experts`: that a photo takes, on average."""

    rho: float
    experts: float
    trained: ChannelResult


@dataclass(frozen=True)
class Row:
    """One checkpoint. `settings`: those of its training, without paths.

    `fused`: cosines weighed by Ranking's `image` and `dpe`. `fitted`: with the weight of the trained channel
    chosen by recall@5: for withheld memories on the photos of the other folds, for queries on all withheld
    memories (`weight`). `by_weight`: recall@5 of the withheld memories at each of WEIGHTS. `seconds`: of
    computing the vectors and ranking, not of the training.
    """

    checkpoint: str
    settings: dict[str, Any]
    trained_on: int
    trained: ChannelResult
    fused: ChannelResult
    fitted: ChannelResult
    weight: float
    weight_by_fold: tuple[float, ...]
    by_weight: dict[str, float]
    by_rho: tuple[ByRho, ...]
    seconds: float


@dataclass(frozen=True)
class Channels:
    """`until`: memories of photos taken from this day on were withheld. `photos`: that are searched.

    `names`: what attention over the names of the classes finds, without training.
    """

    until: str
    photos: int
    withheld: int
    queries: int
    weights: dict[str, float]
    labels: ChannelResult
    names: ChannelResult | None
    rows: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class ChannelQuery:
    """Cosines float32 [Q, N] of queries and photos in both spaces; the first `withheld` are memories.

    `names`: scores float32 [Q, N] from the classifier's names alone (Vectors.by_names). `by_rho`: ρ →
    (experts a photo, cosines by these).
    """

    labels: FloatArray
    trained: FloatArray
    names: FloatArray | None
    answers: Answers
    withheld: int
    by_rho: Mapping[float, tuple[float, FloatArray]]

    def found(self, scores: FloatArray) -> ChannelResult:
        """Recall of scores float32 [Q, N]."""
        cut = self.withheld
        return ChannelResult(
            {str(k): recall(scores[:cut], self.answers[:cut], k) for k in K},
            {str(k): recall(scores[cut:], self.answers[cut:], k) for k in K},
        )

    def fused(self, weight: float) -> FloatArray:
        return np.asarray(Ranking().image * self.labels + weight * self.trained, np.float32)


def measure(run: Run[Settings]) -> Channels:
    """Recall with pixels alone, for each checkpoint of `run.data`.

    Of the queries those count whose answers all had their memories withheld. Raises AlbumError, DatasetError,
    and ExportError for a checkpoint that is not of the album.
    """
    from gamer.export.errors import ExportError
    from gamer.export.training import vectors

    queries, checkpoints = run.settings.queries, run.data
    told = [] if queries is None else read_answered(queries)
    assert run.album is not None
    rows, labels, shown = list[Row](), ChannelResult({}, {}), (0, 0, 0, 0)
    names: ChannelResult | None = None
    for folder in checkpoints:
        begun = time.monotonic()
        found = vectors.of_checkpoint(
            run.album, folder, [query for query, _ in told], run.tell, PAPER.table_7["rho"]
        )
        asked = asked_of(found, [relevant for _, relevant in told])
        if rows and shown[0] != found.options.until:
            raise ExportError(f"{folder}: trained with another --until than {checkpoints[0]}")
        shown = (
            found.options.until or 0,
            len(found.ids),
            asked.withheld,
            len(asked.answers) - asked.withheld,
        )
        own = asked.found(asked.labels)
        if rows and own != labels:
            raise ExportError(f"{folder}: its towers are not those of {checkpoints[0]}: measure it alone")
        labels, names = own, None if asked.names is None else asked.found(asked.names)
        rows.append(row_of(folder.name, found, asked, time.monotonic() - begun))
    until, photos, withheld, count = shown
    return Channels(
        datetime.fromtimestamp(until / 1000, UTC).date().isoformat(),
        photos,
        withheld,
        count,
        {"labels": Ranking().image, "trained": Ranking().dpe},
        labels,
        names,
        tuple(rows),
    )


def asked_of(found: Vectors, relevant: Sequence[Sequence[str]]) -> ChannelQuery:
    """The cosines of what counts. `relevant`: ids for each query that is not a memory."""
    cut, at = len(found.owners), {name: row for row, name in enumerate(found.ids)}
    late = {found.ids[row] for row in found.owners}
    kept = [n for n, ids in enumerate(relevant) if ids and set(ids) <= late]
    chosen = [*range(cut), *(cut + n for n in kept)]
    answers = [
        *(frozenset({row}) for row in found.owners),
        *(frozenset(at[name] for name in relevant[n]) for n in kept),
    ]
    labels = found.label_queries[chosen] @ found.label_photos.T
    names = None if found.by_names is None else found.by_names[chosen]
    queries = found.queries[chosen]
    by_rho = {rho: (used, queries @ photos.T) for rho, (used, photos) in found.by_rho.items()}
    return ChannelQuery(labels, queries @ found.photos.T, names, answers, cut, by_rho)


def row_of(name: str, found: Vectors, asked: ChannelQuery, seconds: float) -> Row:
    """The figures of one checkpoint."""
    cut = asked.withheld
    fused = {weight: asked.fused(weight) for weight in WEIGHTS}
    every = np.arange(cut)
    weight = best(fused, asked.answers, every)
    held_out, by_fold = np.zeros_like(asked.trained), list[float]()
    # All memories of a photo stand in one fold, so that none is chosen by its own photo.
    owners = np.array([min(answer) for answer in asked.answers[:cut]], np.int64)
    for fold in range(FOLDS):
        inside = np.flatnonzero(owners % FOLDS == fold)
        by_fold.append(best(fused, asked.answers, np.setdiff1d(every, inside)))
        held_out[inside] = fused[by_fold[-1]][inside]
    held_out[cut:] = fused[weight][cut:]
    settings = {key: value for key, value in asdict(found.options).items() if key != "until"}
    return Row(
        name,
        settings,
        found.trained_on,
        asked.found(asked.trained),
        asked.found(asked.fused(Ranking().dpe)),
        asked.found(held_out),
        weight,
        tuple(by_fold),
        {str(w): recall(scores[:cut], asked.answers[:cut], 5) for w, scores in fused.items()},
        tuple(
            ByRho(rho, round(used, 3), asked.found(scores)) for rho, (used, scores) in asked.by_rho.items()
        ),
        round(seconds, 1),
    )


def best(fused: dict[float, FloatArray], answers: Answers, among: NDArray[np.intp]) -> float:
    """The weight with the greatest recall@5 of the queries `among`; of several, the least."""
    asked = [answers[n] for n in among]
    return max(fused, key=lambda weight: (recall(fused[weight][among], asked, 5), -weight))


def recall(scores: FloatArray, answers: Answers, k: int) -> float:
    """The mean share of each query's answers among its first `k` photos, for scores float32 [Q, N]."""
    first = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    pairs = zip(first.tolist(), answers, strict=True)
    finite = np.isfinite(scores)  # what has no score was not found
    shares = [
        len({n for n in answer.intersection(row) if finite[q, n]}) / len(answer)
        for q, (row, answer) in enumerate(pairs)
    ]
    return round(float(np.mean(shares)), 4) if shares else 0.0


def tables(result: Channels) -> list[Sheet | str]:
    ways = [("labels", result.labels)]
    if result.names is not None:
        ways.append(("attention over the labels' names", result.names))
    for row in result.rows:
        ways += [
            (f"{row.checkpoint}: trained", row.trained),
            (f"{row.checkpoint}: fused", row.fused),
            (f"{row.checkpoint}: fused, weight {row.weight:g} chosen elsewhere", row.fitted),
        ]
    title = (
        f"{result.photos} photos; {result.withheld} memories from {result.until} on, withheld; "
        f"{result.queries} queries"
    )
    rows = (
        (name, *(f"{share:.3f}" for share in (*way.withheld.values(), *way.queries.values())))
        for name, way in ways
    )
    return [Sheet(title, ("", "withheld @5", "@20", "queries @5", "@20"), tuple(rows))]


WORK = Work(Settings, measure, tables)
