"""All three measurements of the memory of the person in one result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gamer.runtime.memory import deciders
from gamer.runtime.memory.recall import encoder_of
from gamer.runtime.models.models import Models

from .. import machine
from . import changes, evidence, growth


@dataclass(frozen=True)
class MemoryQuality:
    """`evidence`: None where the conversations are not there."""

    machine: machine.Machine
    command: str
    bundle: str
    evidence: evidence.Evidence | None
    updates: changes.Updates
    growth: tuple[growth.Grown, ...]
    when: str


def measure(
    bundle: Path,
    data: Path | None,
    most: int,
    threads: int,
    tell: Callable[[str], None],
    command: str,
    decider: str = "rules",
) -> MemoryQuality:
    """`data`: LoCoMo's folder. `most`: turns of the greatest album. `decider`: of the changes of mind.

    Raises DatasetError, and RuntimeFailure for a bundle without the decider's language model.
    """
    conversations = changes.CONVERSATIONS if decider == "rules" else changes.BY_MODEL
    models = Models.open(bundle, "onnx", threads)
    encoder = encoder_of(models)
    assert encoder is not None
    return MemoryQuality(
        machine=machine.read(),
        command=command,
        bundle=f"{models.manifest.recipe} {models.manifest.quant}",
        evidence=None if data is None else evidence.measure(data, encoder, tell),
        updates=changes.measure(tell, conversations, deciders.decider(decider, models)),
        growth=growth.measure(tell, {years: n for years, n in growth.YEARS.items() if n <= most}),
        when=datetime.now().astimezone().isoformat(timespec="seconds"),
    )
