"""What the bank of things adds to search: recall@5 with it, without it, and with another user's.

Each query is asked without and, where it is about a thing, with T_t from the user's own bank, from the next
user's and from that of the farthest user of the data set, by Jaccard index (EgoMemory, section 4.3), and from
the own bank as it was when only the first photos were there (its Table 6), or with a few of each thing's
sightings (its Figure 5). The weight of the feature "thing"
is fitted as the other weights are, by the likelihood of what is meant, on the users that are not measured
with it; the other weights stay. A gain that another user's bank gives too is not memory, but wording.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, AlbumWriter, FloatArray, RowArray
from gamer.index.entities.words import WORD
from gamer.index.things import bank
from gamer.index.things.extract import extract
from gamer.index.things.records import UNSPECIFIED, Thing
from gamer.index.things.words import words
from gamer.runtime.agent.timeline import Timeline
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.search.options import SearchOptions
from gamer.runtime.search.stages.things import Target, Things

from .. import stats
from ..retrieval import datasets
from ..retrieval.albums import album_of
from ..retrieval.fit_ranking import Watch
from ..retrieval.user import User
from ..study.declaration import NoSettings, Run, Work
from ..tables import Sheet, sheet

T = TypeVar("T")
METHODS = ("without", "own bank", "another's bank", "farthest user's bank")
SHARES = (0.2, 0.4, 0.6, 0.8, 1.0)  # of a user's photos, in order of time
SAMPLES = (1, 2, 4, 8)  # sightings kept of a thing
Recalls = tuple[float, ...]  # by METHODS, then by SHARES and by SAMPLES of the own bank
Looks = Mapping[str, frozenset[tuple[str, str]]]  # head noun → (attribute, value)
FREQUENT = 100  # object types that the diversity is of
SUBSETS = ("all", "about a thing", "my")
FOLDS = 4
MOST_WEIGHT = 8.0


@dataclass(frozen=True, eq=False)
class ThingQuery:
    """One query: the score of each ranked photo without the bank, and the feature "thing" with each bank.

    All float32 [rows]; the features are 0 where the query is about no thing of that bank. `grown`, `sampled`:
    of the own bank, by SHARES and by SAMPLES. `since`: the least share of the photos that holds all that is
    meant. `meant`: bool [rows]; `relevant`: how many ids are, ranked or not. `owned`: whether it says "my" or
    another owner's cue.
    """

    dataset: str
    user: str
    base: FloatArray
    own: FloatArray
    other: FloatArray
    far: FloatArray
    grown: tuple[FloatArray, ...]
    sampled: tuple[FloatArray, ...]
    since: float
    meant: NDArray[np.bool_]
    relevant: int
    owned: bool

    @property
    def concerned(self) -> bool:
        return bool(self.own.any())

    def recall(self, scores: FloatArray) -> float:
        top = np.argsort(-scores, kind="stable")[:5]
        return float(self.meant[top].sum()) / self.relevant


@dataclass(frozen=True)
class Gain:
    """Of one data set, or of all, and one of SUBSETS. `recall5`: macro over users, by METHODS.

    `better`, `worse`: queries whose recall own bank raises and lowers. `p`: of own bank against without, by a
    paired permutation test; `p_other`, `p_far`: of another's bank against without. 1.0 where nothing differs.
    """

    dataset: str
    subset: str
    queries: int
    recall5: dict[str, float]
    better: int
    worse: int
    p: float
    p_other: float
    p_far: float


@dataclass(frozen=True)
class Growth:
    """The own bank of the first `share` of each user's photos, on all data sets.

    `queries`: those about a thing of the whole bank of which all that is meant is among these photos; recall
    among all photos, macro over users.
    """

    share: float
    queries: int
    without: float
    recall5: float


@dataclass(frozen=True)
class Sampled:
    """The own bank with `samples` sightings of each thing: of all queries about a thing, macro over users."""

    samples: int
    recall5: float


@dataclass(frozen=True)
class ThingsQuality:
    """`things`: entries of each user's bank, of which recur `recurring`. `weights`: of the folds.

    `diversity`: by data set of several users, of the most frequent object types.
    """

    bundle: str
    things: dict[str, int]
    recurring: dict[str, int]
    weights: tuple[float, ...]
    diversity: dict[str, float]
    gains: tuple[Gain, ...]
    growth: tuple[Growth, ...] = ()
    sampled: tuple[Sampled, ...] = ()


def measure(run: Run[NoSettings]) -> ThingsQuality:
    """Raises DatasetError for a folder that is no data set."""
    users = [(folder, name) for folder in run.data for name in datasets.users(folder)]
    paths = [album_of(folder, name, run.models, run.home, run.tell) for folder, name in users]
    banks = [_bank(path) for path in paths]
    looks = [looks_of(bank) for bank in banks]
    sets = [folder.name for folder, _ in users]
    far, asked = [farthest(at, sets, looks) for at in range(len(users))], list[ThingQuery]()
    for at, (folder, name) in enumerate(users):
        run.tell(f"{folder.name} {name}")
        with User(name, paths[at], run.models) as user:
            asked += _ask(user, folder, [banks[(at + 1) % len(banks)], banks[far[at]]])
    weights, scored = cross_validated(asked)
    names = [f"{folder.name} {name}" for folder, name in users]
    return ThingsQuality(
        bundle=run.recipe,
        things={name: len(things) for name, things in zip(names, banks, strict=True)},
        recurring={
            name: sum(thing.recurrence > 1 for thing in things)
            for name, things in zip(names, banks, strict=True)
        },
        weights=weights,
        diversity={
            name: diversity([own for of, own in zip(sets, looks, strict=True) if of == name])
            for name in dict.fromkeys(sets)
            if sets.count(name) > 1
        },
        gains=gains(asked, scored),
        growth=growth(asked, scored),
        sampled=sampled(asked, scored),
    )


def cross_validated(
    asked: Sequence[ThingQuery],
) -> tuple[tuple[float, ...], list[Recalls]]:
    """(the weight of each fold, the recalls of each query), by users.

    With a single user, that user is measured with the weight of the others' data sets, or with none.
    """
    users = sorted({(one.dataset, one.user) for one in asked})
    folds = [set(users[fold::FOLDS]) for fold in range(FOLDS)]
    weights = tuple(fitted([one for one in asked if (one.dataset, one.user) not in held]) for held in folds)
    weight_of = {user: weight for held, weight in zip(folds, weights, strict=True) for user in held}
    out = []
    for one in asked:
        weight = np.float32(weight_of[one.dataset, one.user])
        banks = (one.own, one.other, one.far, *one.grown, *one.sampled)
        out.append((one.recall(one.base), *(one.recall(one.base + weight * bank) for bank in banks)))
    return weights, out


def fitted(asked: Sequence[ThingQuery]) -> float:
    """The weight under which what is meant is likeliest, 0 to MOST_WEIGHT; each user weighs the same.

    The scale of all scores is fitted too: a feature that repeats the query would else get a weight only
    because it makes the scores of these queries greater.
    """
    from scipy.optimize import minimize

    useful = [one for one in asked if one.concerned and one.meant.any()]
    if not useful:
        return 0.0
    counts: dict[tuple[str, str], int] = {}
    for one in useful:
        counts[one.dataset, one.user] = counts.get((one.dataset, one.user), 0) + 1

    def loss(given: NDArray[np.float64]) -> float:
        scale, weight = given
        total = 0.0
        for one in useful:
            scores = scale * (np.asarray(one.base, np.float64) + weight * one.own)
            likelihood = scores[one.meant].mean() - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            total -= float(likelihood) / counts[one.dataset, one.user]
        return total

    bounds = [(0.1, 10.0), (0.0, MOST_WEIGHT)]
    found: Any = minimize(loss, np.array([1.0, 1.0]), method="L-BFGS-B", bounds=bounds)
    return round(float(found.x[1]), 2)


def gains(asked: Sequence[ThingQuery], scored: Sequence[Recalls]) -> tuple[Gain, ...]:
    out = []
    for name in [*dict.fromkeys(one.dataset for one in asked), "all"]:
        for subset in SUBSETS:
            chosen = [
                (one, values)
                for one, values in zip(asked, scored, strict=True)
                if name in (one.dataset, "all") and _within(one, subset)
            ]
            if chosen:
                out.append(_gain(name, subset, chosen))
    return tuple(out)


def _within(one: ThingQuery, subset: str) -> bool:
    return subset == "all" or (one.concerned if subset == "about a thing" else one.owned)


def _gain(name: str, subset: str, chosen: Sequence[tuple[ThingQuery, Recalls]]) -> Gain:
    by_user: dict[tuple[str, str], list[Recalls]] = {}
    for one, values in chosen:
        by_user.setdefault((one.dataset, one.user), []).append(values)
    table = [np.array(values, np.float64).T for values in by_user.values()]
    means, p = stats.macro(table), stats.permutation(table, 0)
    return Gain(
        dataset=name,
        subset=subset,
        queries=len(chosen),
        recall5={method: round(float(mean), 4) for method, mean in zip(METHODS, means, strict=False)},
        better=sum(own > without for _, (without, own, *_) in chosen),
        worse=sum(own < without for _, (without, own, *_) in chosen),
        p=round(float(p[1]), 4),
        p_other=round(float(p[2]), 4),
        p_far=round(float(p[3]), 4),
    )


def growth(asked: Sequence[ThingQuery], scored: Sequence[Recalls]) -> tuple[Growth, ...]:
    """For each of SHARES that holds what a query about a thing means."""
    out = []
    for at, share in enumerate(SHARES, len(METHODS)):
        by_user: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for one, recalls in zip(asked, scored, strict=True):
            if one.concerned and one.since <= share:
                by_user.setdefault((one.dataset, one.user), []).append((recalls[0], recalls[at]))
        if by_user:
            without, grown = stats.macro([np.array(told, np.float64).T for told in by_user.values()])
            queries = sum(map(len, by_user.values()))
            out.append(Growth(share, queries, round(float(without), 4), round(float(grown), 4)))
    return tuple(out)


def sampled(asked: Sequence[ThingQuery], scored: Sequence[Recalls]) -> tuple[Sampled, ...]:
    """For each of SAMPLES; nothing where no query is about a thing."""
    by_user: dict[tuple[str, str], list[Recalls]] = {}
    for one, recalls in zip(asked, scored, strict=True):
        if one.concerned:
            by_user.setdefault((one.dataset, one.user), []).append(recalls[-len(SAMPLES) :])
    means = stats.macro([np.array(told, np.float64).T for told in by_user.values()]) if by_user else ()
    return tuple(Sampled(n, round(float(mean), 4)) for n, mean in zip(SAMPLES, means, strict=False))


def _bank(path: Path) -> list[Thing]:
    """The bank of an album, which is made if an older program wrote the album."""
    with AlbumWriter.extend(path) as writer:
        writer.change_optional(lambda db, at: bank.grow(db, at, extract))
    with Album.open(path) as album:
        return album.reading(bank.things)


def looks_of(things: Sequence[Thing]) -> Looks:
    """The attributes of a user's object types; what is not known is none."""
    out: dict[str, set[tuple[str, str]]] = {}
    for thing in things:
        told = vars(thing.attributes).items()
        out.setdefault(thing.head, set()).update(one for one in told if one[1] != UNSPECIFIED)
    return {head: frozenset(told) for head, told in out.items() if told}


def diversity(users: Sequence[Looks]) -> float:
    """Mean of 1 - Jaccard index over pairs of users, and over object types (EgoMemory, Algorithm 1).

    Of the FREQUENT types that most users have; 0 where none is of two.
    """
    having = Counter(head for one in users for head in one)
    types = sorted(
        (head for head, count in having.items() if count > 1), key=lambda head: (-having[head], head)
    )
    apart = [
        1
        - float(
            np.mean([jaccard(a[head], b[head]) for a, b in combinations(users, 2) if head in a and head in b])
        )
        for head in types[:FREQUENT]
    ]
    return round(float(np.mean(apart)), 4) if apart else 0.0


def jaccard(one: Set[T], other: Set[T]) -> float:
    """0 for two empty sets."""
    return len(one & other) / max(1, len(one | other))


def farthest(at: int, sets: Sequence[str], looks: Sequence[Looks]) -> int:
    """The user of the same data set whose attributes are least alike; of one alone, the next user."""
    flat = [{(head, *one) for head, told in user.items() for one in told} for user in looks]
    others = [n for n, name in enumerate(sets) if name == sets[at] and n != at] or [(at + 1) % len(sets)]
    return min(others, key=lambda n: jaccard(flat[at], flat[n]))


def _ask(user: User, folder: Path, others: Sequence[Sequence[Thing]]) -> list[ThingQuery]:
    album, row_of = user.album, {photo: row for row, photo in enumerate(user.ids)}
    dated = Timeline(album.times()).order
    order = [user.ids[row] for row in (*dated, *np.setdiff1d(np.arange(len(album)), dated))]  # undated last
    place = {photo: (at + 1) / len(order) for at, photo in enumerate(order)}
    shares = [{photo for photo in order if place[photo] <= share} for share in SHARES]
    grown = [album.reading(partial(bank.things, photos=share)) for share in shares]
    few = [album.reading(partial(bank.things, most=n)) for n in SAMPLES]
    banks = [user.engine.things, *(Things(album, entries) for entries in (*others, *grown, *few))]
    out, watch = list[ThingQuery](), Watch(user.engine)
    for query in datasets.queries(folder, user.name):
        options = SearchOptions(timed=False)
        answer = user.engine.search(query.text, now=user.now, options=options, observer=watch)
        rows, features = watch.last
        own, other, far, *earlier = (
            _feature(user, one, query.text, answer.trace.refined, rows) for one in banks
        )
        out.append(
            ThingQuery(
                dataset=folder.name,
                user=user.name,
                base=_base(features, user.engine.ranking),
                own=own,
                other=other,
                far=far,
                grown=tuple(earlier[: len(SHARES)]),
                sampled=tuple(earlier[len(SHARES) :]),
                since=max(place.get(one, math.inf) for one in query.relevant),
                meant=np.isin(rows, [row_of[one] for one in query.relevant if one in row_of]),
                relevant=len(query.relevant),
                owned=not words().owners.isdisjoint(w.casefold() for w in WORD.findall(query.text)),
            )
        )
    return out


def _feature(user: User, things: Things, query: str, refined: str, rows: RowArray) -> FloatArray:
    """float32 [rows]: the cosine with T_t of a bank; 0 for a query about none of its things."""
    reflection = things.reflect(query, refined)
    if reflection is None:
        return np.zeros(len(rows), np.float32)
    return Target(user.models.text.encode([reflection.target])[0], 0.0).feature(user.album, rows)


def _base(features: Mapping[str, FloatArray], weights: Ranking) -> FloatArray:
    parts = [values * getattr(weights, name) for name, values in features.items()]
    return np.asarray(np.sum(parts, axis=0), np.float32)


def tables(result: ThingsQuality) -> list[Sheet | str]:
    columns: dict[str, Callable[[Gain], str | int]] = {
        "data set": lambda gain: gain.dataset,
        "queries": lambda gain: gain.subset,
        "number": lambda gain: gain.queries,
        "without": lambda gain: f"{gain.recall5['without']:.4f}",
        "own bank": lambda gain: f"{gain.recall5['own bank']:.4f}",
        "another's bank": lambda gain: f"{gain.recall5[METHODS[2]]:.4f}",
        # Results that were committed before the third swap do not have it.
        "farthest user's": lambda gain: f"{gain.recall5.get(METHODS[3], math.nan):.4f}",
        "p, own bank": lambda gain: f"{gain.p:.3f}",
        "p, another's": lambda gain: f"{gain.p_other:.3f}",
        "p, farthest": lambda gain: f"{gain.p_far:.3f}",
        "+/-": lambda gain: f"{gain.better}/{gain.worse}",
    }
    weights = f"weights of the folds: {', '.join(map(str, result.weights))}"
    apart = "; ".join(f"{name} {value:.3f}" for name, value in result.diversity.items())
    grown: dict[str, Callable[[Growth], str | int]] = {
        "share of photos": lambda one: f"{one.share:.0%}",
        "queries": lambda one: one.queries,
        "without": lambda one: f"{one.without:.4f}",
        "own bank": lambda one: f"{one.recall5:.4f}",
    }
    return [
        sheet("recall@5, macro over users", result.gains, columns),
        weights,
        f"diversity: {apart or 'none'}",
        sheet("growth: the own bank of the first photos", result.growth, grown),
        "sightings kept of a thing: "
        + "; ".join(f"{one.samples}: {one.recall5:.4f}" for one in result.sampled),
    ]


WORK = Work(NoSettings, measure, tables)
