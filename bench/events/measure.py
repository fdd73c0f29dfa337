"""Measures the event rules on users that they were not fitted to, beside splitting at gaps and at days.

The gap is chosen on the very users that it is scored on, once for each of the two F1: the strongest fixed gap
that there is, while the rules have one threshold for both and never see the user (`fit` on all others).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np

from gamer.runtime.events.rules import FITTED, Weights

from ..retrieval import datasets
from ..study.declaration import About, Run, Work
from ..tables import Sheet, sheet
from . import photos
from .fit import cuts, fit
from .photos import Labelled
from .scores import Cuts, EventScores, boundaries, macro, score

# Seconds: one minute to sixty days, each 11 % longer than the one before.
GAPS = tuple(float(gap) for gap in np.geomspace(60, 60 * 86_400, 110))
_DAY_MS = 86_400_000


@dataclass(frozen=True)
class Settings:
    users: Annotated[tuple[str, ...], About("users; all of the data set if there are none")] = ()


@dataclass(frozen=True)
class Method:
    """`mean`: over users; `users`: the scores of each. `gap_s`: of a fixed gap, seconds."""

    name: str
    what: str
    mean: EventScores
    users: dict[str, EventScores]
    gap_s: float | None = None


@dataclass(frozen=True)
class EventQuality:
    """`ratio`: the rules' F1 over that of the gap that is best for this F1. `weights`: fitted to all `users`.

    `photos`, `boundaries`: by user, how many were scored.
    """

    dataset: str
    bundle: str
    text_encoder: str
    photos: dict[str, int]
    boundaries: dict[str, int]
    methods: tuple[Method, ...]
    ratio: EventScores
    weights: Weights
    shipped: Weights


def measure(run: Run[Settings]) -> EventQuality:
    """Raises DatasetError for fewer than two users, since each is scored by a fit to the others."""
    (folder,), names = run.data, run.settings.users
    known = datasets.users(folder)
    if unknown := set(names) - set(known):
        raise datasets.DatasetError(f"{folder}: no user {min(unknown)!r}; choose from: {', '.join(known)}")
    users = []
    for name in names or known:
        run.tell(f"{name}: encoding")
        users.append(photos.read(folder, name, run.models, run.home))
    if len(users) < 2:
        raise datasets.DatasetError(f"{folder}: two users or more are wanted, to leave one out of the fit")
    methods = compare(users, run.tell)
    best = {m.name: m.mean for m in methods}
    ratio = EventScores(
        round(best["rules"].boundary / best["gap, best boundary"].boundary, 4),
        round(best["rules"].pairwise / best["gap, best pairwise"].pairwise, 4),
    )
    run.tell("fitting to all")
    return EventQuality(
        dataset=folder.name,
        bundle=run.recipe,
        text_encoder=run.models.manifest.text_encoder,
        photos={user.user: len(user.moments) for user in users},
        boundaries={user.user: int(boundaries(user.events).sum()) for user in users},
        methods=methods,
        ratio=ratio,
        weights=fit(users),
        shipped=FITTED,
    )


def compare(users: Sequence[Labelled], progress: Callable[[str], None]) -> tuple[Method, ...]:
    """The rules, left-one-user-out, then the two best gaps, days, and every photo by itself."""
    ruled = {}
    for user in users:
        progress(f"{user.user}: fitting to the others")
        ruled[user.user] = score(
            cuts(user, fit([other for other in users if other is not user])), user.events
        )
    return (
        Method("rules", "fitted to the other users", macro(ruled.values()), ruled),
        *best_gaps(users),
        _method("day", "a new event at midnight", users, by_day),
        _method("each", "every photo an event", users, lambda user: np.ones(len(user.events) - 1, np.bool_)),
    )


def best_gaps(users: Sequence[Labelled]) -> tuple[Method, Method]:
    """The fixed gap of the greatest boundary F1, and that of the greatest pairwise F1, on these users."""
    tried = [
        _method("", "one gap for all, chosen on the users that it is scored on", users, _splitter(gap), gap)
        for gap in GAPS
    ]
    boundary = max(tried, key=lambda method: method.mean.boundary)
    pairwise = max(tried, key=lambda method: method.mean.pairwise)
    return (
        Method("gap, best boundary", boundary.what, boundary.mean, boundary.users, boundary.gap_s),
        Method("gap, best pairwise", pairwise.what, pairwise.mean, pairwise.users, pairwise.gap_s),
    )


def by_gap(user: Labelled, seconds: float) -> Cuts:
    return np.asarray(np.diff(_walls(user)) > 1000 * seconds, np.bool_)


def by_day(user: Labelled) -> Cuts:
    return np.asarray(np.diff(_walls(user) // _DAY_MS) != 0, np.bool_)


def _walls(user: Labelled) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([moment.wall or 0 for moment in user.moments], np.int64)


def _splitter(seconds: float) -> Callable[[Labelled], Cuts]:
    return lambda user: by_gap(user, seconds)


def _method(
    name: str,
    what: str,
    users: Sequence[Labelled],
    split: Callable[[Labelled], Cuts],
    gap: float | None = None,
) -> Method:
    scores = {user.user: score(split(user), user.events) for user in users}
    return Method(name, what, macro(scores.values()), scores, gap)


def tables(result: EventQuality) -> list[Sheet | str]:
    columns: dict[str, Callable[[Method], str]] = {
        "method": lambda row: row.name,
        "boundary F1": lambda row: f"{row.mean.boundary:.3f}",
        "pairwise F1": lambda row: f"{row.mean.pairwise:.3f}",
        "gap": lambda row: "" if row.gap_s is None else f"{row.gap_s / 3600:.1f} h",
    }
    title = f"{result.dataset}: {len(result.photos)} users, {sum(result.photos.values())} photos"
    ratio, weights = result.ratio, asdict(result.weights).items()
    return [
        sheet(title, result.methods, columns),
        f"rules over the best gap: boundary {ratio.boundary:.3f}, pairwise {ratio.pairwise:.3f}",
        "fitted to all: " + ", ".join(f"{name} {value}" for name, value in weights),
    ]


WORK = Work(Settings, measure, tables)
