"""The tasks of the language model, for several bundles: quality, milliseconds, megabytes, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from gamer.index import extract
from gamer.runtime.models.models import Models

from ..study.declaration import About, Run, Tell, Work
from ..tables import Sheet
from . import reading, refinement
from .reading import CueQuotes, Extraction
from .refinement import MethodRecall, Refinement

RULES = "rules"
_LLM_ROLES = ("llm_decoder", "llm_embed")


@dataclass(frozen=True)
class Reader:
    """One language model, or the rules that stand in its place.

    `extraction`, `cues`: None where the model's tokenizer does not allow a grammar.

    `megabytes`: its files in the bundle, of the backend that was measured. `refinements`: by data set.
    """

    name: str
    source: str
    quant: str
    megabytes: float
    extraction: Extraction | None
    cues: CueQuotes | None
    refinements: tuple[Refinement, ...]


@dataclass(frozen=True)
class Settings:
    queries: Annotated[int, About("queries a user, evenly spread", least=1, quick=3)] = 50


@dataclass(frozen=True)
class Language:
    """`most`: queries a user of each data set."""

    most: int
    readers: tuple[Reader, ...]


def measure(run: Run[Settings]) -> Language:
    """The run's home keeps albums and the models' answers."""
    readers, most, progress = list[Reader](), run.settings.queries, run.tell
    for bundle in run.bundles:
        models = Models.open(bundle, "onnx", run.threads)
        name = models.manifest.recipe
        if not readers:
            progress("rules: entities and cues")
            rules = reading.extraction(extract), reading.cues_by_rules(models)
            readers.append(Reader(RULES, "", "", 0.0, *rules, ()))
        progress(f"{name}: entities")
        extraction = reading.extraction_by(models)
        progress(f"{name}: cues")
        cues = reading.cues_by(models)
        tell = _after(progress, name)
        refined = tuple(refinement.measure(folder, models, run.home, most, tell) for folder in run.data)
        decoder = models.manifest.artifact("llm_decoder", models.backend)
        source = models.manifest.component("llm_decoder").source
        readers.append(Reader(name, source, decoder.quant, _megabytes(models), extraction, cues, refined))
    return Language(most, tuple(readers))


def tables(result: Language) -> tuple[Sheet, ...]:
    tasks = Sheet(
        "Language models in the tasks of a search",
        ("model", "MB", "entities F1", "relations F1", "ms a note", "times", "places", "ms a query"),
        tuple(_tasks(reader) for reader in result.readers),
    )
    recalls = Sheet(
        "Refinement: recall@5 by data set",
        ("data set", "model", "queries", "refined by", "recall@5", "p", "accepted", "changed", "ms"),
        tuple(
            _recall(reader, found, row)
            for reader in result.readers
            for found in reader.refinements
            for row in found.methods
        ),
    )
    return (tasks, recalls) if recalls.rows else (tasks,)


def _tasks(reader: Reader) -> tuple[str, ...]:
    found, cues = reader.extraction, reader.cues
    return (
        reader.name,
        f"{reader.megabytes:.0f}",
        *(
            ("", "", "")
            if found is None
            else (f"{found.entities_f1:.2f}", f"{found.relations_f1:.2f}", f"{found.p50_ms:.1f}")
        ),
        *(
            ("", "", "")
            if cues is None
            else (f"{cues.times:.0%}", f"{cues.places:.0%}", f"{cues.p50_ms:.1f}")
        ),
    )


def _recall(reader: Reader, found: Refinement, row: MethodRecall) -> tuple[str, ...]:
    return (
        found.dataset,
        reader.name,
        str(found.queries),
        row.method,
        f"{row.recall5.mean:.3f}",
        "" if row.recall5.p is None else f"{row.recall5.p:.3f}",
        f"{row.taken:.0%}",
        f"{row.changed:.0%}",
        "–" if row.p50_ms is None else f"{row.p50_ms:.0f}",
    )


def _megabytes(models: Models) -> float:
    of_model = (
        a.bytes for a in models.manifest.artifacts if a.role in _LLM_ROLES and a.target == models.backend
    )
    return round(sum(of_model) / 1e6, 1)


def _after(progress: Tell, name: str) -> Tell:
    return lambda text: progress(f"{name}: {text}")


WORK = Work(Settings, measure, tables)
