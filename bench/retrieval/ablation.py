"""What each layer contributes: the same queries with a layer left out, or with other thresholds.

These are the paper's Tables 4 and 10, measured on the shipped engine with SearchOptions. Intervals and
p-values come from quality.py; ablations that need other albums, other bundles or the language model alone are
in sweeps.py, and δ in delta.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import LAYERS, Answer, Trace
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

from . import quality
from .baselines import Baseline
from .quality import Interval, ScoredUser
from .user import User

WORDS = ("words", "coverage", "context_words", "context_coverage")
NO_NODE = 2.0  # as δ: above every cosine, so that no entity node is chosen
K = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Variant:
    """One way to search.

    `zero`: weights of the fused ranking that are set to 0; `skip`, `delta`: as in SearchOptions.
    """

    what: str
    mode: str = "fused"
    refined_by: str = "fast"
    zero: tuple[str, ...] = ()
    skip: frozenset[str] = frozenset()
    delta: float | None = None

    def options(self, engine: Engine) -> SearchOptions:
        """The SearchOptions that make `engine` search in this way."""
        zeros: dict[str, Any] = dict.fromkeys(self.zero, 0.0)
        return SearchOptions(weights=replace(engine.ranking, **zeros), delta=self.delta, skip=self.skip)


VARIANTS: dict[str, Variant] = {
    "full": Variant("the default search"),
    "no layer 1": Variant(
        "no cue is read: neither cubes nor evidence of time and place", skip=frozenset({"cube"})
    ),
    "no layer 2": Variant("no entity node: δ out of reach", delta=NO_NODE),
    "no edges": Variant("no node that is reached over the graph's edges only", zero=("related",)),
    "no layer 3": Variant(
        "neither vectors nor words: cues and entity nodes alone", zero=("text", "image", *WORDS)
    ),
    "no words": Variant("vectors without BM25 and coverage", zero=WORDS),
    "no refinement": Variant("the query as it was typed", refined_by="off"),
}
PAPER_VARIANTS: dict[str, Variant] = {
    "paper": Variant("mode paper: cube, δ, cosine", "paper"),
    "paper, no layer 1": Variant("the whole tree", "paper", skip=frozenset({"cube"})),
    "paper, no layer 2": Variant("no entity node: the whole cube is ranked", "paper", delta=NO_NODE),
    "paper, no layer 3": Variant(
        "photos of the chosen nodes, ranked by the nodes alone", "paper", skip=frozenset({"vectors"})
    ),
    "paper, no refinement": Variant("the query as it was typed", "paper", refined_by="off"),
}


@dataclass(frozen=True)
class Outcome:
    """The results of one variant over all queries.

    `recall`: macro recall@K by K. `left`: the number of photos left after each layer, the mean over queries
    (Table 10). `layer_ms`: median milliseconds by layer (Table 3).
    """

    name: str
    what: str
    scores: dict[str, Interval]
    recall: dict[str, float]
    left: dict[str, float]
    layer_ms: dict[str, float]


@dataclass
class Trial:
    """A variant as a method for quality.ask. It collects the photos left and the times from the traces."""

    variant: Variant
    left: list[dict[str, int]] = field(default_factory=list)
    spent: list[dict[str, float]] = field(default_factory=list)

    def rank(self, user: User, query: str) -> list[str]:
        answer = search(user.engine, self.variant, query, 10, user.now)
        self._note(answer.trace)
        return [hit.id for hit in answer.hits]

    def _note(self, trace: Trace) -> None:
        self.left.append(trace.left)
        self.spent.append(trace.milliseconds)


def search(engine: Engine, variant: Variant, query: str, k: int, now: datetime | None) -> Answer:
    """Runs one search with the variant's settings."""
    return engine.search(
        query,
        k,
        mode=variant.mode,
        refined_by=variant.refined_by,
        now=now,
        options=variant.options(engine),
    )


def measure(
    folder: Path, models: Models, home: Path, most: int, progress: Callable[[str], None]
) -> dict[str, tuple[Outcome, ...]]:
    """The outcomes of the groups "fused" and "paper", on at most `most` queries a user."""
    groups = {"fused": VARIANTS, "paper": PAPER_VARIANTS}
    trials = {name: Trial(variant) for group in groups.values() for name, variant in group.items()}
    methods = {name: Baseline(trial.rank, trial.variant.what) for name, trial in trials.items()}
    asked = quality.ask_users(folder, models, home, methods, most, progress)
    references = {"fused": "full", "paper": "paper"}
    return {
        group: _outcomes(asked, {name: trials[name] for name in groups[group]}, references[group])
        for group in groups
    }


def _outcomes(asked: Sequence[ScoredUser], trials: dict[str, Trial], reference: str) -> tuple[Outcome, ...]:
    rows = quality.judge(asked, list(trials), reference)
    return tuple(
        Outcome(
            name=row.method,
            what=trials[row.method].variant.what,
            scores=row.scores,
            recall=recall_by_k(asked, row.method),
            left={
                layer: round(float(np.mean([left[layer] for left in trials[row.method].left])), 2)
                for layer in trials[row.method].left[0]
            },
            layer_ms={
                layer: round(float(np.median([spent[layer] for spent in trials[row.method].spent])), 3)
                for layer in LAYERS
            },
        )
        for row in rows
    )


def recall_by_k(asked: Sequence[ScoredUser], method: str) -> dict[str, float]:
    """Macro recall@K, by K."""
    from .metrics import recall

    return {
        str(k): float(
            np.mean(
                [np.mean([recall(q.places[method], q.relevant, k) for q in user.queries]) for user in asked]
            )
        )
        for k in K
    }
