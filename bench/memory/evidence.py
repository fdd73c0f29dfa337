"""The share of the evidence of LoCoMo's questions that the response stage retrieves, beside the baselines.

All are given as many turns as the response stage showed for the question. It is scored with the weights that
it has, which were fitted to these conversations, and with weights that were fitted to the other four.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.recall import FEATURES, WEIGHTS, Encoder, Recall
from gamer.runtime.memory.response import Responder
from gamer.runtime.memory.update import Updater

from ..retrieval import datasets
from . import fit as fitting
from .baselines import BASELINES
from .talks import Question, Talk, read, stored

OURS, HELD_OUT = "response stage", "response stage, fitted to the others"
# What is left of OURS if it retrieves memories of one kind less (PersonaVLM, Table 8).
WITHOUT = {"without semantic memory": {"semantic": ()}, "without episodic memory": {"episodes": ()}}


@dataclass(frozen=True)
class Evidence:
    """`found`: method → kind of question ("all" too) → mean share of the evidence over conversations.

    `ratios`: HELD_OUT over the best baseline of that kind. `items`: turns per question, mean.
    """

    questions: dict[str, int]
    items: float
    found: dict[str, dict[str, float]]
    ratios: dict[str, float]
    weights: dict[str, float]
    shipped: dict[str, float]


def measure(folder: Path, encoder: Encoder, tell: Callable[[str], None]) -> Evidence:
    """Raises DatasetError for a folder that is not like LoCoMo's."""
    scores: dict[str, dict[str, list[tuple[str, float]]]] = {}
    counts: list[int] = []
    with tempfile.TemporaryDirectory() as aside, ExitStack() as opened:
        talks: list[tuple[Talk, MemoryStore]] = []
        for name in datasets.users(folder):
            tell(f"{name}: reading")
            talk = read(folder, name, encoder)
            talks.append((talk, opened.enter_context(stored(talk, Path(aside) / f"{name}.gamer", encoder))))
        tell("fitting")
        known = {talk.name: fitting.choices(talk, store, encoder) for talk, store in talks}
        for talk, store in talks:
            tell(f"{talk.name}: asking")
            others = [choice for name, some in known.items() if name != talk.name for choice in some]
            held_out = fitting.fit(others) if others else WEIGHTS
            for question, ranked in _asked(talk, store, encoder, held_out):
                counts.append(len(ranked[HELD_OUT]))
                for method, turns in ranked.items():
                    share = len(question.evidence & {*turns}) / len(question.evidence)
                    for kind in (question.kind, "all"):
                        scores.setdefault(method, {}).setdefault(kind, []).append((talk.name, share))
        everything = fitting.fit([choice for some in known.values() for choice in some])
    found = {method: {kind: _macro(of) for kind, of in kinds.items()} for method, kinds in scores.items()}
    best = {kind: max(found[name][kind] for name in BASELINES) for kind in found[OURS]}
    return Evidence(
        questions={kind: len(of) for kind, of in scores[OURS].items()},
        items=round(float(np.mean(counts)), 2),
        found=found,
        ratios={kind: round(found[HELD_OUT][kind] / max(best[kind], 1e-9), 3) for kind in best},
        weights=dict(zip(FEATURES, map(float, everything), strict=True)),
        shipped=dict(zip(FEATURES, map(float, WEIGHTS), strict=True)),
    )


def _asked(
    talk: Talk, store: MemoryStore, encoder: Encoder, held_out: NDArray[np.float64]
) -> list[tuple[Question, dict[str, list[int]]]]:
    ranks = {name: over(talk, encoder) for name, over in BASELINES.items()}
    updater = Updater(store, owner=talk.turns[0].speaker)
    recall = Recall(store, encoder)
    responder = Responder(store, recall, updater)
    out = []
    for question in talk.questions:
        turns: dict[str, list[int]] = {}
        for method, weights in ((OURS, WEIGHTS), (HELD_OUT, held_out)):
            recall.weights = weights
            reply = responder.respond(question.text, talk.now)
            turns[method] = [turn for one in reply.rounds[-1:] for turn in one.found.turns]
            if method == OURS:
                turns |= {
                    name: [turn for one in reply.rounds[-1:] for turn in replace(one.found, **left).turns]
                    for name, left in WITHOUT.items()
                }
        most = len(turns[HELD_OUT])
        turns |= {name: rank(question.text)[:most] for name, rank in ranks.items()}
        out.append((question, turns))
    return out


def _macro(shares: Sequence[tuple[str, float]]) -> float:
    talks = dict.fromkeys(name for name, _ in shares)
    means = [np.mean([share for of, share in shares if of == name]) for name in talks]
    return round(float(np.mean(means)), 4)
