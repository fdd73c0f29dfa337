"""All three measurements of the memory of the person in one result, and the fit of recall's weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gamer.index.console import json_line
from gamer.runtime.memory import deciders
from gamer.runtime.memory.recall import Encoder, encoder_of

from ..study.declaration import About, NoSettings, Run, Work
from ..tables import Sheet
from . import changes, evidence, growth
from .evidence import Evidence


@dataclass(frozen=True)
class Settings:
    turns: Annotated[int, About("turns of the greatest album", least=1, quick=10_000)] = 100_000
    decider: Annotated[str, About("what decides on changes of mind", choices=("rules", "llm"))] = "rules"


@dataclass(frozen=True)
class MemoryQuality:
    """`evidence`: None where the conversations are not there."""

    bundle: str
    evidence: evidence.Evidence | None
    updates: changes.Updates
    growth: tuple[growth.Grown, ...]


def measure(run: Run[Settings]) -> MemoryQuality:
    """`run.data`: LoCoMo's folder, or nothing.

    Raises DatasetError, and RuntimeFailure for a bundle without the decider's language model.
    """
    decider, most = run.settings.decider, run.settings.turns
    conversations = changes.CONVERSATIONS if decider == "rules" else changes.BY_MODEL
    return MemoryQuality(
        bundle=run.recipe,
        evidence=evidence.measure(run.data[0], _encoder(run), run.tell) if run.data else None,
        updates=changes.measure(run.tell, conversations, deciders.decider(decider, run.models)),
        growth=growth.measure(run.tell, {years: n for years, n in growth.YEARS.items() if n <= most}),
    )


def _encoder(run: Run[Settings] | Run[NoSettings]) -> Encoder:
    encoder = encoder_of(run.models)
    assert encoder is not None
    return encoder


def tables(result: MemoryQuality) -> list[Sheet | str]:
    evidence_found: Sheet | str = "evidence: left out, since no data were given"
    if result.evidence is not None:
        evidence_found = _evidence(result.evidence)
    updates = result.updates
    growing = (
        f"{grown.turns} turns: retrieval p95 {grown.retrieval_ms[1]} ms, update p95 {grown.update_ms[1]} ms, "
        f"{grown.mb} MB"
        for grown in result.growth
    )
    return [
        evidence_found,
        f"changes of mind: now right {updates.now}, before {updates.before}",
        f"made up: {updates.invented} of {updates.never_said}",
        *growing,
    ]


def _evidence(measured: Evidence) -> Sheet:
    kinds = measured.questions
    lines = {
        method: tuple(f"{shares[kind]:.3f}" for kind in kinds) for method, shares in measured.found.items()
    }
    lines["held out / best baseline"] = tuple(f"{measured.ratios[kind]:.2f}" for kind in kinds)
    return Sheet(
        f"share of the evidence found, in {measured.items} turns a question",
        ("", *(f"{kind} ({count})" for kind, count in kinds.items())),
        tuple((method, *cells) for method, cells in lines.items()),
    )


@dataclass(frozen=True)
class RecallWeights:
    """The weights of recall as fitted to all of the data, by feature."""

    weights: dict[str, float]


def fit(run: Run[NoSettings]) -> RecallWeights:
    return RecallWeights(evidence.measure(run.data[0], _encoder(run), run.tell).weights)


WORK = Work(Settings, measure, tables)
FIT = Work(NoSettings, fit, lambda result: [json_line(result.weights)])
