"""Runs an artifact through the runtime's code and compares its outputs with fp32 torch on real inputs.

Parity below a threshold raises ExportError with the figure. Core ML runs on Apple's systems only, but an
interpreter (coreml/mil/) evaluates a saved program on any. `executed_by` names what ran the artifact. An
artifact that nothing on this platform can execute gets no figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.records import FloatArray
from gamer.runtime.backends import FALLBACK, UNITS, open_session, processor, runs_here
from gamer.runtime.backends.coreml_backend import shared
from gamer.runtime.backends.onnx_backend import read_adapter
from gamer.runtime.bundle.manifest import NOT_RUN, WITH_ADAPTER, Artifact, Parity
from gamer.runtime.models.language.decoder import BoundDecoder, StepDecoder, cross_inputs, open_decoder

from ..components import components, fixtures
from ..components.components import build, reference
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..executorch import pte
from ..networks import lora
from ..onnx import to_ort
from ..recipe import Threshold
from ..settings import Settings
from ..target_options import target_options
from . import advice, layers
from .reference import TorchSession as TorchSession
from .reference import cosines as cosines
from .reference import crosses, language_of, prose_of, read, trace
from .reference import teacher_force as teacher_force

EXECUTED_BY = {"onnx": "onnxruntime", "executorch": "executorch", "coreml": "Core ML"}
# In a parity's `kernels`: the graph was run in place of the ORT file, whose kernels saturate on this
# processor.
SOURCE_GRAPH = "its source graph"


class Below(ExportError):
    """Parity below its threshold."""

    def __init__(self, text: str, parity: Parity) -> None:
        super().__init__(text)
        self.parity = parity


def not_run(threshold: Threshold) -> Parity:
    """The parity of an artifact that nothing on this platform executes."""
    return Parity(NOT_RUN, "cosine", threshold.cosine)


def measure(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> Parity:
    """The parity of an artifact, with the figures of the first executor; `executed_by` lists further ones.

    Raises ExportError naming component, target, figure and the layers that lost it if an executor's parity is
    below `threshold`.
    """
    try:
        parities = [
            _execute(settings, item, artifact, path, threshold, executor)
            for executor in executors(settings, artifact, path)
        ]
        if not parities:
            by = _describe_unexecuted(settings, item, artifact, path, threshold)
            return replace(not_run(threshold), executed_by=by)
    except Below as error:
        lost = layers.lost(settings, item, artifact, path, threshold)
        why = f" {lost.summary};" if lost is not None and lost.summary else ""
        ways = advice.below(settings, item, artifact, error.parity, threshold, lost)
        raise ExportError(f"{error}: not written;{why} try {ways}") from None
    further = [f"{p.executed_by} cosine ≥ {p.minimum:.5f}" for p in parities[1:]]
    return replace(parities[0], executed_by="; ".join((parities[0].executed_by, *further)))


# An adapter's name, and its matrices if they are not in the program.
Adapter = tuple[str, dict[str, FloatArray]]
# (name, session, kernels that the figures hold for; "" for an interpreter)
Executor = tuple[str, Any, str]


def _execute(
    settings: Settings,
    item: ExportModule,
    artifact: Artifact,
    path: Path,
    threshold: Threshold,
    executor: Executor,
) -> Parity:
    """The parity of one executor.

    If this processor's fast kernels miss the threshold, the file may still be right for phones. Then the
    backend's exact kernels have to reach it, and `kernels` and `executed_by` name them.
    """
    name, session, kernels = executor
    try:
        return replace(_measure(settings, item, artifact, session, threshold, name), kernels=kernels)
    except ExportError as error:
        exact, source = FALLBACK.get(artifact.target), to_ort.source_graph(path)
        if not kernels or exact is None:
            raise
        if source.is_file():  # ONNX Runtime selects precise kernels when it loads this graph
            session, exact = open_session(artifact.target, source, artifact, threads=2), SOURCE_GRAPH
        else:
            session = open_session(f"{artifact.target}:{exact}", path, artifact, threads=2)
        try:
            parity = _measure(settings, item, artifact, session, threshold, f"{name}, {exact}")
        except ExportError:
            raise error from None
        return replace(parity, kernels=f"{kernels}, {exact}")


def executors(settings: Settings, artifact: Artifact, path: Path) -> Iterator[Executor]:
    """Everything that can execute the artifact on this platform."""
    if artifact.target == "executorch" and settings.executorch_backend != "xnnpack":
        yield from _delegated(artifact, path)
    elif runs_here(artifact.target):
        yield (
            EXECUTED_BY[artifact.target],
            open_session(artifact.target, path, artifact, threads=2),
            processor.kernels(artifact.target),
        )
    if artifact.target == "coreml":
        from ..coreml import mil

        yield "MIL interpreter", shared(mil.open_session(path, artifact), artifact), ""


def _delegated(artifact: Artifact, path: Path) -> Iterator[Executor]:
    """The executors of an ExecuTorch program that was not lowered to XNNPACK.

    They are ExecuTorch, if its runtime has the program's delegates, and the MIL interpreter, if Core ML takes
    the complete program.
    """
    from executorch.runtime import Runtime

    program, registry = pte.read(path), Runtime.get().backend_registry
    if all(registry.is_available(name) for name in program.backends):
        yield (
            EXECUTED_BY[artifact.target],
            open_session(artifact.target, path, artifact, threads=2),
            processor.kernels(artifact.target),
        )
    if not program.left and program.backends == ("CoreMLBackend",):
        from ..executorch import delegate

        yield "MIL interpreter", delegate.open_delegate(path, artifact), ""


def _describe_unexecuted(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> str:
    """Describes an ExecuTorch program that nothing here executes, in one line.

    The line has its delegates, and the parity of the graph before delegation, which torch runs. Raises
    ExportError if that parity is below `threshold`.
    """
    from ..executorch import to_executorch

    item_before = build(settings, artifact.role, artifact.quant)
    session = TorchSession(
        to_executorch.before_delegation(
            item_before, artifact.quant, target_options(settings, None, artifact.role, artifact.target)
        )
    )
    session.artifact = artifact
    parity = _measure(settings, item, artifact, session, threshold, "")
    return f"{pte.describe(pte.read(path))}; torch runs what was delegated with cosine ≥ {parity.minimum:.5f}"


def _measure(
    settings: Settings,
    item: ExportModule,
    artifact: Artifact,
    session: Any,
    threshold: Threshold,
    by: str,
    adapter: Adapter | None = None,
) -> Parity:
    if item.role == "llm_decoder":
        parity = _decoder(settings, item, session, threshold, adapter)
    elif item.role == "llm_encoder":
        parity = _encoder(settings, item, session, threshold)
    else:
        parity = _outputs(settings, item, session, threshold)
    assert parity.minimum is not None
    where = f"{artifact.role} for {artifact.target} ({artifact.quant})"
    if not parity.minimum >= threshold.cosine:
        raise Below(
            f"{where}: worst cosine {parity.minimum:.5f} with torch is below {threshold.cosine}", parity
        )
    if parity.top1 is not None and threshold.top1 is not None and not parity.top1 >= threshold.top1:
        raise Below(
            f"{where}: likeliest token agrees at {parity.top1:.3f} of positions, below {threshold.top1}",
            parity,
        )
    return replace(parity, executed_by=by)


def with_adapters(
    settings: Settings,
    artifact: Artifact,
    path: Path,
    parity: Parity,
    threshold: Threshold,
    files: dict[str, Path],
) -> Parity:
    """`parity` of a decoder with the worst cosines of its adapters among its outputs.

    `files`: the ONNX decoder's adapters by name; a Core ML program has its own inside. Each is compared with
    torch's decoder that it is merged into, and must reach the same figures. Raises ExportError, with the
    adapter's name, where it does not.
    """
    outputs, exact = dict(parity.outputs), parity.kernels.endswith(FALLBACK["onnx"])
    if artifact.target == "onnx":
        session: Any = open_session(f"onnx:{UNITS['onnx'][exact]}", path, artifact, threads=2)
    else:
        _, session, _ = next(executors(settings, artifact, path))
    for name, changes in components.adapters(settings).items():
        item = build(settings, artifact.role, "fp32")
        lora.merge(item.module, changes)
        values = read_adapter(files[name], session) if name in files else {}
        try:
            found = _measure(settings, item, artifact, session, threshold, "", (name, values))
        except Below as error:
            ways = advice.below(settings, item, artifact, error.parity, threshold)
            raise ExportError(f"adapter {name}: {error}: not written; try {ways}") from None
        outputs[f"{WITH_ADAPTER}{name}"] = found.outputs["logits"]
    return replace(parity, outputs=outputs)


def _has_fixed_shapes(session: Any) -> bool:
    return all(isinstance(d, int) for t in session.artifact.inputs for d in t.shape)


def _outputs(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    """The figures of the first output, which is held to the threshold, and the worst of each."""
    specs, names = session.artifact.inputs, [t.name for t in item.outputs]
    rows: list[list[float]] = []
    for n, sample in enumerate(fixtures.samples(settings, item, _has_fixed_shapes(session))):
        # An artifact with its own preprocessing gets the photographs unprepared.
        inputs = (fixtures.photographs()[n],) if specs[0].dtype == "uint8" else sample
        got = session.run({t.name: x for t, x in zip(specs, inputs, strict=True)})
        want = reference(item.module, sample)
        pairs = zip((got[t.name] for t in session.artifact.outputs), want, strict=True)
        rows.append([float(cosines(a.astype(np.float32), b).min()) for a, b in pairs])
    return _parity(
        threshold, [row[0] for row in rows], dict(zip(names, zip(*rows, strict=True), strict=True))
    )


def _parity(threshold: Threshold, first: Any, outputs: dict[str, Any], metric: str = "cosine") -> Parity:
    """`first`: cosines of the output that counts. `outputs`: those of all by name; the worst are kept."""
    # np.min, because it propagates NaN
    return Parity(
        "passed",
        metric,
        threshold.cosine,
        round(float(np.min(first)), 6),
        round(float(np.mean(first)), 6),
        inputs=len(first),
        outputs={name: round(float(np.min(values)), 6) for name, values in outputs.items()},
    )


def _encoder(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    language, embeds = language_of(settings), prose_of(settings, item)
    want, crossed = read(TorchSession(item), embeds, language)
    got, cross = read(session, embeds, language)
    similarity = cosines(got, want)
    # Slots behind the prompt are padding, where the encoder has a fixed length.
    used = {
        name: cosines(value[..., : len(embeds), :], crossed[name][..., : len(embeds), :])
        for name, value in cross.items()
        if name != "cross_mask"
    }
    return _parity(threshold, similarity, {"states": similarity, **used})


def _decoder(
    settings: Settings, item: ExportModule, session: Any, threshold: Threshold, adapter: Adapter | None
) -> Parity:
    language, embeds = language_of(settings), prose_of(settings, item)
    reference_decoder, decoder = StepDecoder(TorchSession(item), language), open_decoder(session, language)
    if adapter is not None and isinstance(decoder, BoundDecoder | StepDecoder):
        decoder.adapt(*adapter)
    if language.start_id is not None:
        cross = crosses(settings, embeds)
        reference_decoder.attend(cross_inputs(reference_decoder.session, cross, language))
        driver: Any = decoder
        driver.attend(cross_inputs(session, cross, language))
    want, wanted = trace(reference_decoder, embeds)
    got, logits = trace(decoder, embeds)
    similarity = cosines(got, want)
    outputs, kept = {"logits": cosines(logits, wanted)}, decoder.keep()
    if kept.dtype != np.int8:  # the codes of a smaller cache are no values
        caches = np.stack([reference_decoder.keep(), kept]).astype(np.float32)
        outputs |= {
            name: cosines(caches[1, :, n], caches[0, :, n]) for n, name in enumerate(("keys", "values"))
        }
    if not isinstance(decoder, StepDecoder) or decoder.prefills:
        # Prefill must give the same results as token-by-token decoding.
        decoder.reset()
        similarity = np.minimum(similarity, cosines(decoder.forward(embeds)[1], want))
    outputs = {"hidden": similarity, **outputs}
    # With random weights the likeliest tokens are near ties, so that agreement says nothing about arithmetic.
    agreement = round(float((logits.argmax(-1) == wanted.argmax(-1)).mean()), 4) if item.trained else None
    parity = _parity(threshold, similarity, outputs, "top1")
    return replace(
        parity, mean=round(float(cosines(got, want).mean()), 6), top1=agreement, top1_threshold=threshold.top1
    )
