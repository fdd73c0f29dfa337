"""Fits the weights of gamer.runtime.events.rules: a logistic regression, on the rule's own mistakes too.

An event's mean and duration depend on earlier decisions. So the first fit sees the true events, and each
later one the events that the rule itself made (Ross et al. 2011, DAgger), with the true boundaries as
targets. Every user has the same weight. The threshold is the one with the greatest sum of both F1 on the
users of the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.runtime.events.rhythm import Rhythm
from gamer.runtime.events.rules import FEATURES, FITTED, Rules, Weights, features
from gamer.runtime.events.segment import Decision, Draft, Moment, segment

from .photos import Labelled
from .scores import Cuts, boundaries, macro, score

ROUNDS = 2  # fits on the rule's own events, after the one on the data set's events
THRESHOLDS = tuple(round(0.35 + 0.05 * step, 2) for step in range(8))


class _Watch:
    """Records the features of every photo but the first. `follow`: the true boundaries, or None to decide."""

    def __init__(self, weights: Weights, follow: Cuts | None) -> None:
        self._rules, self._rhythm, self._follow = Rules(weights), Rhythm(), follow
        self.seen: list[NDArray[np.float64]] = []

    def decide(self, draft: Draft | None, moment: Moment) -> Decision:
        decision = Decision("ADD", 1.0, "")
        if draft is not None:
            self.seen.append(features(self._rhythm, draft, moment))
            decision = self._rules.weigh(self.seen[-1], draft, moment)
            if self._follow is not None:
                decision = Decision("ADD" if self._follow[len(self.seen) - 1] else "NO_OP", 0.0, "")
        self._rhythm.observe(moment)
        return decision


def fit(users: Sequence[Labelled]) -> Weights:
    weights = FITTED
    for turn in range(ROUNDS + 1):
        tables = [_features(user, weights, boundaries(user.events) if not turn else None) for user in users]
        weights = _regression(tables, [boundaries(user.events) for user in users])
    sums = []
    for threshold in THRESHOLDS:
        mean = macro(score(cuts(user, replace(weights, threshold=threshold)), user.events) for user in users)
        sums.append(mean.boundary + mean.pairwise)
    return replace(weights, threshold=THRESHOLDS[int(np.argmax(sums))])


def cuts(user: Labelled, weights: Weights) -> Cuts:
    """bool [n - 1]: where the rule begins an event."""
    decisions = segment(user.moments, Rules(weights)).decisions
    return np.array([decision.action == "ADD" for decision in decisions[1:]], np.bool_)


def _features(user: Labelled, weights: Weights, follow: Cuts | None) -> NDArray[np.float64]:
    watch = _Watch(weights, follow)
    segment(user.moments, watch)
    return np.stack(watch.seen)


def _regression(tables: Sequence[NDArray[np.float64]], true: Sequence[Cuts]) -> Weights:
    from sklearn.linear_model import LogisticRegression

    x, y = np.concatenate(tables), np.concatenate(true)
    share = np.concatenate([np.full(len(table), len(x) / len(table) / len(tables)) for table in tables])
    mean, spread = x.mean(axis=0), x.std(axis=0) + 1e-9
    model: Any = LogisticRegression(C=1.0, max_iter=500)
    model.fit((x - mean) / spread, y, sample_weight=share)
    slopes = model.coef_[0] / spread
    by_name = {name: round(float(slope), 4) for name, slope in zip(FEATURES, slopes, strict=True)}
    return Weights(bias=round(float(model.intercept_[0] - slopes @ mean), 4), threshold=0.5, **by_name)
