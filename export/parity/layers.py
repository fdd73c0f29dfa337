"""Where parity was lost: values of torch and of an artifact compared by module, on the inputs of parity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.backends.coreml_backend import shared
from gamer.runtime.bundle.manifest import Artifact
from gamer.runtime.models.language.decoder import StepDecoder, cross_inputs

from ..components import fixtures
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..networks.channels_first import channels_first
from ..recipe import LLM_ROLES, Threshold
from ..settings import Settings
from .reference import cosines, crosses, language_of, prose_of, read
from .values import Graph, OnnxValues, ProgramValues, Values, Watched

TARGETS = ("onnx", "coreml")


@dataclass(frozen=True)
class Layer:
    """One module, or one output of the component.

    `operator`: what does its work in the artifact, "" for an output. `cosine`: of all its numbers together,
    of the worst input. `lost`: how much of it the values that it takes still had. `error`: the greatest
    difference of a number.
    """

    name: str
    operator: str
    cosine: float
    lost: float
    error: float


@dataclass(frozen=True)
class Layers:
    """The layers of an artifact in the order in which torch runs them, then its outputs.

    `threshold`: the cosine that its parity has to reach.
    """

    role: str
    target: str
    quant: str
    threshold: float
    rows: tuple[Layer, ...]

    @property
    def first(self) -> Layer | None:
        """The first layer below the threshold."""
        return next((row for row in self.rows if row.operator and not row.cosine >= self.threshold), None)

    @property
    def most(self) -> Layer | None:
        """The layer that lost most of what it took; None if none lost anything."""
        worst = max((row for row in self.rows if row.operator), key=lambda row: row.lost, default=None)
        return worst if worst is not None and worst.lost > 0 else None

    @property
    def summary(self) -> str:
        """Which layers lost it, as a clause; "" if none is below the threshold and none lost anything."""
        first, most = self.first, self.most
        clauses = []
        if first is not None:
            clauses.append(
                f"{first.name} ({first.operator}, cosine {first.cosine:.4f}) is the first layer below"
            )
        if most is not None:
            clauses.append(f"{most.name} ({most.operator}) loses most")
        return ", ".join(clauses)


def lost(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> Layers | None:
    """As `compare`; None where that fails, so that a message about parity is not lost to another."""
    try:
        return compare(settings, item, artifact, path, threshold)
    except Exception:  # engines raise many classes
        return None


def compare(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> Layers:
    """Runs the artifact at `path` and fp32 torch on the inputs of parity, and compares their layers.

    Raises ExportError for a target whose values cannot be read.
    """
    if artifact.target not in TARGETS:
        raise ExportError(
            f"{artifact.role} for {artifact.target}: layers are compared for {', '.join(TARGETS)}"
        )
    if artifact.target == "coreml" and settings.coreml_layout == "ane":
        # Equal outputs, with the values between laid out as the program's.
        item = replace(item, module=channels_first(item.module))
    watched, modules = Watched(item), [name for name, _ in item.module.named_modules() if name]
    side: OnnxValues | ProgramValues
    language = artifact.role in LLM_ROLES
    if artifact.target == "onnx":
        side = OnnxValues(path, artifact, modules)
        pairs = _prompted(settings, watched, side) if language else _sampled(settings, watched, side)
    else:
        side = ProgramValues(path, artifact, item)
        pairs = _stepped(settings, watched, side) if language else _sampled(settings, watched, side)
    rows = _rows(pairs, side.graph)
    if not rows:
        raise ExportError(f"{artifact.role} for {artifact.target}: no value could be matched with torch's")
    return Layers(artifact.role, artifact.target, artifact.quant, threshold.cosine, rows)


def _rows(pairs: Iterator[tuple[Values, Values]], graph: Graph) -> tuple[Layer, ...]:
    """A row for each value that both sides have, in the order of torch's."""
    cosines, errors = dict[str, list[float]](), defaultdict[str, float](float)
    for want, got in pairs:
        for name in want:
            if name in got and (figures := _figures(got[name], want[name])) is not None:
                cosines.setdefault(name, []).append(figures[0])
                errors[name] = max(errors[name], figures[1])
    worst = {name: float(np.min(values)) for name, values in cosines.items()}  # np.min propagates NaN
    return tuple(_row(name, worst, errors[name], graph) for name in worst)


def _row(name: str, worst: dict[str, float], error: float, graph: Graph) -> Layer:
    if name not in graph.values:
        return Layer(name, "", worst[name], 0.0, error)
    took = [worst[before] for before in graph.before(name) if before in worst]
    return Layer(
        name, graph.operator(name), worst[name], max(0.0, min(took, default=1.0) - worst[name]), error
    )


def _figures(got: NDArray[Any], want: NDArray[Any]) -> tuple[float, float] | None:
    """(cosine, greatest difference) of two values; None if they are not of one size."""
    if got.size != want.size:
        return None
    a, b = got.reshape(1, -1).astype(np.float64), want.reshape(1, -1).astype(np.float64)
    error = float(np.abs(a - b).max(initial=0.0))
    return float(cosines(a, b)[0]) if error else 1.0, error


def _sampled(
    settings: Settings, item: Watched, side: OnnxValues | ProgramValues
) -> Iterator[tuple[Values, Values]]:
    specs = side.artifact.inputs
    fixed = all(isinstance(size, int) for spec in specs for size in spec.shape)
    for n, sample in enumerate(fixtures.samples(settings, item.item, fixed)):
        item.run({t.name: x for t, x in zip(item.artifact.inputs, sample, strict=True)})
        given = (fixtures.photographs()[n],) if specs[0].dtype == "uint8" else sample
        got = side.run({t.name: x for t, x in zip(specs, given, strict=True)})
        if isinstance(side, ProgramValues):
            side.calls.clear()
        yield item.calls.pop(), _renamed(got, side.artifact, item.artifact)


def _renamed(values: Values, own: Artifact, shared_by: Artifact) -> Values:
    """Core ML's outputs have names of their own."""
    names = {a.name: b.name for a, b in zip(own.outputs, shared_by.outputs, strict=False)}
    return {names.get(name, name): value for name, value in values.items()}


def _prompted(settings: Settings, item: Watched, side: OnnxValues) -> Iterator[tuple[Values, Values]]:
    """A language model of any number of tokens: torch reads them one at a time, the artifact all at once."""
    embeds = prose_of(settings, item.item)
    count = len(embeds)
    if side.artifact.role == "llm_encoder":
        read(item, embeds, language_of(settings))
        # Torch's encoder has a fixed length.
        want = {name: x[:, :count] if x.ndim == 3 else x for name, x in item.calls.pop().items()}
        yield want, side.run({"embeds": embeds[None]})
        return
    cache = {
        t.name: np.zeros([int(n) for n in t.shape], np.float32)
        for t in side.artifact.inputs
        if t.name.startswith("past_")
    }
    values = side.run(
        {
            "embeds": embeds[None],
            "seqlens_k": np.array([count - 1], np.int32),
            "total_seq_len": np.array([count], np.int32),
            "last": np.arange(count, dtype=np.int64),
            **cache,
            **_steps(settings, item, embeds, side),
        }
    )
    rows = {name: value.reshape(count, -1) for name, value in values.items() if value.size % count == 0}
    yield from ((call, {name: x[n] for name, x in rows.items()}) for n, call in enumerate(item.calls))


def _stepped(settings: Settings, item: Watched, side: ProgramValues) -> Iterator[tuple[Values, Values]]:
    """A language model of fixed shapes: both read the tokens one at a time, each with its own cache."""
    embeds, session = prose_of(settings, item.item), shared(side, side.artifact)
    if side.artifact.role == "llm_encoder":
        for one in (item, session):
            read(one, embeds, language_of(settings))
    else:
        _steps(settings, item, embeds, session)
        _steps(settings, session, embeds, session)
    yield from zip(item.calls, side.calls, strict=True)


def _steps(settings: Settings, session: Any, embeds: FloatArray, beside: Any) -> dict[str, FloatArray]:
    """Feeds a step graph the tokens of `embeds`; returns what `beside` gets of an encoder, if any."""
    language = language_of(settings)
    decoder = StepDecoder(session, language)
    if language.start_id is None:
        decoder.forward(embeds)
        return {}
    cross = crosses(settings, embeds)
    decoder.attend(cross_inputs(session, cross, language))
    decoder.forward(embeds)
    return cross_inputs(beside, cross, language)
