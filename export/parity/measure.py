"""Runs an artifact through the runtime's code and compares its outputs with fp32 torch on real inputs.

Parity below a threshold raises ExportError with the figure. Core ML runs on Apple's systems only, but an
interpreter (coreml/mil/) evaluates a saved program on any. `executed_by` names what ran the artifact. An
artifact that nothing on this platform can execute gets no figure.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.backends import FALLBACK, open_session, processor, runs_here
from gamer.runtime.backends.coreml_backend import shared
from gamer.runtime.bundle.manifest import NOT_RUN, Artifact, Language, Parity
from gamer.runtime.models.language.decoder import EncoderDecoder, StepDecoder, cross_inputs, open_decoder

from ..components import components, fixtures
from ..components.components import build, reference
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..executorch import pte
from ..onnx import to_ort
from ..recipe import Threshold
from ..settings import Settings
from ..target_options import target_options
from . import advice

PROSE_TOKENS = 110
EXECUTED_BY = {"onnx": "onnxruntime", "executorch": "executorch", "coreml": "Core ML"}
# In a parity's `kernels`: the graph was run in place of the ORT file, whose kernels saturate on this
# processor.
SOURCE_GRAPH = "its source graph"
# Above LARGE parameters a token takes seconds in fp32 torch, so that FEW_TOKENS are compared.
LARGE, FEW_TOKENS = 500_000_000, 24


class TorchSession:
    """A torch module as a Session of the runtime, so that the reference runs with the same driver."""

    def __init__(self, item: ExportModule) -> None:
        self.item = item
        self.artifact = Artifact(
            role=item.role,
            target="torch",
            quant="fp32",
            path="",
            bytes=0,
            sha256="",
            inputs=item.inputs,
            outputs=item.outputs,
            parity=Parity("", "", 0.0),
            export_seconds=0.0,
        )

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        out = reference(self.item.module, tuple(inputs[t.name] for t in self.item.inputs))
        return dict(zip([t.name for t in self.item.outputs], out, strict=True))


def cosines(got: FloatArray, want: FloatArray) -> FloatArray:
    """Cosine of each row (all axes but the last flattened): got, want [..., D] → [n]."""
    a, b = (
        got.reshape(-1, got.shape[-1]).astype(np.float64),
        want.reshape(-1, want.shape[-1]).astype(np.float64),
    )
    return np.asarray(
        (a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12), np.float32
    )


def not_run(threshold: Threshold) -> Parity:
    """The parity of an artifact that nothing on this platform executes."""
    return Parity(NOT_RUN, "cosine", threshold.cosine)


def measure(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> Parity:
    """The parity of an artifact, with the figures of the first executor; `executed_by` lists further ones.

    Raises ExportError naming component, target and figure if an executor's parity is below `threshold`.
    """
    parities = [
        _execute(settings, item, artifact, path, threshold, executor)
        for executor in _executors(settings, artifact, path)
    ]
    if not parities:
        return replace(
            not_run(threshold), executed_by=_describe_unexecuted(settings, item, artifact, path, threshold)
        )
    further = [f"{p.executed_by} cosine ≥ {p.minimum:.5f}" for p in parities[1:]]
    return replace(parities[0], executed_by="; ".join((parities[0].executed_by, *further)))


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


def _executors(settings: Settings, artifact: Artifact, path: Path) -> Iterator[Executor]:
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
    settings: Settings, item: ExportModule, artifact: Artifact, session: Any, threshold: Threshold, by: str
) -> Parity:
    if item.role == "llm_decoder":
        parity = _decoder(settings, item, session, threshold)
    elif item.role == "llm_encoder":
        parity = _encoder(settings, item, session, threshold)
    else:
        parity = _outputs(settings, item, session, threshold)
    assert parity.minimum is not None
    where = f"{artifact.role} for {artifact.target} ({artifact.quant})"
    if not parity.minimum >= threshold.cosine:
        raise ExportError(
            f"{where}: worst cosine {parity.minimum:.5f} with torch is below {threshold.cosine}: not "
            f"written; try {advice.below(settings, item, artifact, parity, threshold)}"
        )
    if parity.top1 is not None and threshold.top1 is not None and not parity.top1 >= threshold.top1:
        raise ExportError(
            f"{where}: likeliest token agrees at {parity.top1:.3f} of positions, below {threshold.top1}: "
            f"not written; try {advice.below(settings, item, artifact, parity, threshold)}"
        )
    return replace(parity, executed_by=by)


def _has_fixed_shapes(session: Any) -> bool:
    return all(isinstance(d, int) for t in session.artifact.inputs for d in t.shape)


def _outputs(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    # Only the first output is compared: the image tower's others, patch features and label probabilities,
    # come from the same layers.
    specs, name, cosines_of_samples = session.artifact.inputs, session.artifact.outputs[0].name, []
    for n, sample in enumerate(fixtures.samples(settings, item, _has_fixed_shapes(session))):
        # An artifact with its own preprocessing gets the photographs unprepared.
        inputs = (fixtures.photographs()[n],) if specs[0].dtype == "uint8" else sample
        got = session.run({t.name: x for t, x in zip(specs, inputs, strict=True)})[name]
        cosines_of_samples.append(
            float(cosines(got.astype(np.float32), reference(item.module, sample)[0]).min())
        )
    # np.min, because it propagates NaN
    return Parity(
        "passed",
        "cosine",
        threshold.cosine,
        round(float(np.min(cosines_of_samples)), 6),
        round(float(np.mean(cosines_of_samples)), 6),
        inputs=len(cosines_of_samples),
    )


def _table(settings: Settings) -> FloatArray:
    return np.asarray(build(settings, "llm_embed", "fp32").module.get_buffer("rows").numpy())


def teacher_force(decoder: Any, embeds: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Feeds embeds [S, H] one at a time → hidden states [S, H], likeliest next token at each position [S]."""
    decoder.reset()
    hidden, likeliest = [], []
    for row in embeds:
        logits, state = decoder.forward(row[None])
        hidden.append(state[-1].copy())
        likeliest.append(int(np.argmax(logits)))
    return np.stack(hidden), np.array(likeliest)


class _Listener:
    """Takes the place of the decoder beside an encoder, and records the keys and values it is given."""

    def __init__(self) -> None:
        self.cross: dict[str, FloatArray] = {}

    def attend(self, cross: dict[str, FloatArray]) -> None:
        self.cross = cross


def _read(session: Any, embeds: FloatArray, language: Language) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Runs an encoder on embeds [S, H]: its states [S, H], and the keys and values for the decoder."""
    listener: Any = _Listener()
    return EncoderDecoder(session, listener, language).read(embeds), listener.cross


def _encoder(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    language, embeds = _language(settings), _prose(settings, item)
    want, _ = _read(TorchSession(item), embeds, language)
    got, _ = _read(session, embeds, language)
    similarity = cosines(got, want)
    return Parity(
        "passed",
        "cosine",
        threshold.cosine,
        round(float(similarity.min()), 6),
        round(float(similarity.mean()), 6),
        inputs=len(embeds),
    )


def crosses(settings: Settings, source: FloatArray) -> FloatArray:
    """The decoder's cross-attention keys and values for `source` [S, H], from the fp32 encoder.

    Returns [2 · layers, heads, S, Dh].
    """
    _, cross = _read(TorchSession(build(settings, "llm_encoder", "fp32")), source, _language(settings))
    return np.stack([x[:, : len(source)] for name, x in cross.items() if name != "cross_mask"])


def _language(settings: Settings) -> Language:
    language = components.language(settings)
    assert language is not None
    return language


def _prose(settings: Settings, item: ExportModule) -> FloatArray:
    """The embeddings that parity is measured on: fewer tokens for a large model."""
    large = sum(p.numel() for p in item.module.parameters()) > LARGE
    return prose(settings, FEW_TOKENS if large else PROSE_TOKENS)


def prose(settings: Settings, count: int) -> FloatArray:
    """fp32 embeddings [count, H] of the first tokens of PROSE; count is at most PROSE_TOKENS."""
    return _rows(settings)[:count]


@lru_cache(maxsize=1)
def _rows(settings: Settings) -> FloatArray:
    """fp32 embeddings of the first PROSE_TOKENS tokens of PROSE.

    They are cached because the token table is large, and parity and golden fixtures both need them.
    """
    return np.array(_table(settings)[fixtures.prose_ids(settings)[:PROSE_TOKENS]])


def _decoder(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    language, embeds = _language(settings), _prose(settings, item)
    reference_decoder, decoder = StepDecoder(TorchSession(item), language), open_decoder(session, language)
    if language.start_id is not None:
        cross = crosses(settings, embeds)
        reference_decoder.attend(cross_inputs(reference_decoder.session, cross, language))
        driver: Any = decoder
        driver.attend(cross_inputs(session, cross, language))
    want, want_tokens = teacher_force(reference_decoder, embeds)
    got, got_tokens = teacher_force(decoder, embeds)
    prefilled = got
    if not isinstance(decoder, StepDecoder):
        # Prefill must give the same results as token-by-token decoding. A step graph has no prefill.
        decoder.reset()
        _, prefilled = decoder.forward(embeds)
    minimum = float(np.minimum(cosines(got, want), cosines(prefilled, want)).min())
    mean = float(cosines(got, want).mean())
    # With random weights the likeliest tokens are near ties, so that agreement says nothing about arithmetic.
    agreement = round(float((got_tokens == want_tokens).mean()), 4) if item.trained else None
    return Parity(
        status="passed",
        metric="top1",
        threshold=threshold.cosine,
        minimum=round(minimum, 6),
        mean=round(mean, 6),
        top1=agreement,
        top1_threshold=threshold.top1,
        inputs=len(embeds),
    )
