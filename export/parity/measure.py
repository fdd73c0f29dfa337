"""Parity: every artifact is run through the very code that the runtime uses and compared with the fp32 torch
module on real inputs.

A figure below its threshold raises, with the figure. Core ML runs on Apple's systems only: elsewhere an
interpreter evaluates the saved program itself (mil/), and each figure says what executed the artifact. What
cannot be executed is said to be so, never given a number.
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
from gamer.runtime.models.decoder import EncoderDecoder, StepDecoder, cross_inputs, open_decoder

from ..components import components, fixtures
from ..components.components import build, reference
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..executorch import pte
from ..onnx import to_ort
from ..recipe import Threshold
from ..settings import Settings
from ..target_options import target_options

PROSE_TOKENS = 110
EXECUTED_BY = {"onnx": "onnxruntime", "executorch": "executorch", "coreml": "Core ML"}
SOURCE_GRAPH = "its source graph"  # how an ORT file is proven where its kernels saturate
LARGE, FEW_TOKENS = 500_000_000, 24  # parameters from which on a token in fp32 torch takes seconds


class TorchSession:
    """A torch module behind the runtime's Session interface, so that the reference runs through the same
    driver.
    """

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


def unproven(threshold: Threshold) -> Parity:
    """The entry of an artifact that nothing on this platform executes."""
    return Parity(NOT_RUN, "cosine", threshold.cosine)


def measure(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> Parity:
    """Runs the artifact and compares.

    Raises ExportError naming component, target and figure when it is below `threshold`.
    """
    proven = [
        _held(settings, item, artifact, path, threshold, ran) for ran in _sessions(settings, artifact, path)
    ]
    if not proven:
        return replace(unproven(threshold), executed_by=_instead(settings, item, artifact, path, threshold))
    others = [f"{p.executed_by} cosine ≥ {p.minimum:.5f}" for p in proven[1:]]
    return replace(proven[0], executed_by="; ".join((proven[0].executed_by, *others)))


Ran = tuple[
    str, Any, str
]  # what executes, its session, and whose kernels the figures then hold for ("" where it has none of its own)


def _held(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold, ran: Ran
) -> Parity:
    """One executor's parity. Where this processor's fast kernels are wrong, the file may still be right, and
    phones will run it: then the backend's exact form has to reach the threshold, and the parity says so."""
    by, session, kernels = ran
    try:
        return replace(_measure(settings, item, artifact, session, threshold, by), kernels=kernels)
    except ExportError as error:
        exact, source = FALLBACK.get(artifact.target), to_ort.source_of(path)
        if not kernels or exact is None:
            raise
        if source.is_file():  # precise kernels are chosen for it as it is loaded
            session, exact = open_session(artifact.target, source, artifact, threads=2), SOURCE_GRAPH
        else:
            session = open_session(f"{artifact.target}:{exact}", path, artifact, threads=2)
        try:
            proven = _measure(settings, item, artifact, session, threshold, f"{by}, {exact}")
        except ExportError:
            raise error from None
        return replace(proven, kernels=f"{kernels}, {exact}")


def _sessions(settings: Settings, artifact: Artifact, path: Path) -> Iterator[Ran]:
    """All that can execute the artifact here."""
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


def _delegated(artifact: Artifact, path: Path) -> Iterator[Ran]:
    """ExecuTorch, where its runtime has the delegates; the interpreter, where Core ML takes the whole
    program.
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


def _instead(
    settings: Settings, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold
) -> str:
    """What is known of an ExecuTorch program that nothing here executes: who would compute it, and that what
    was lowered is the same model.
    """
    from ..executorch import to_executorch

    given = build(settings, artifact.role, artifact.quant)
    session = TorchSession(
        to_executorch.before_delegation(given, artifact.quant, target_options(settings, None))
    )
    session.artifact = artifact
    found = _measure(settings, item, artifact, session, threshold, "")
    return f"{pte.describe(pte.read(path))}; torch runs what was delegated with cosine ≥ {found.minimum:.5f}"


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
            f"{where}: worst cosine {parity.minimum:.5f} with torch is below {threshold.cosine}: not written"
        )
    if parity.top1 is not None and threshold.top1 is not None and not parity.top1 >= threshold.top1:
        raise ExportError(
            f"{where}: likeliest token agrees at {parity.top1:.3f} of positions, below {threshold.top1}: "
            "not written"
        )
    return replace(parity, executed_by=by)


def _fixed(session: Any) -> bool:
    return all(isinstance(d, int) for t in session.artifact.inputs for d in t.shape)


def _outputs(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    # The image tower's retrieval output is its first; patch features and label probabilities follow from the
    # same trunk.
    specs, name, worst = session.artifact.inputs, session.artifact.outputs[0].name, []
    for n, sample in enumerate(fixtures.samples(settings, item, _fixed(session))):
        # An artifact that prepares photos itself gets them as they are.
        given = (fixtures.photographs()[n],) if specs[0].dtype == "uint8" else sample
        got = session.run({t.name: x for t, x in zip(specs, given, strict=True)})[name]
        worst.append(float(cosines(got.astype(np.float32), reference(item.module, sample)[0]).min()))
    # numpy's minimum, which a NaN does not slip past
    return Parity(
        "passed",
        "cosine",
        threshold.cosine,
        round(float(np.min(worst)), 6),
        round(float(np.mean(worst)), 6),
        inputs=len(worst),
    )


def _table(settings: Settings) -> FloatArray:
    return np.asarray(build(settings, "llm_embed", "fp32").module.get_buffer("rows").numpy())


def teacher_force(decoder: Any, embeds: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Feeds embeds [S, H] one by one → hidden states [S, H] and the likeliest next token at each position
    [S].
    """
    decoder.reset()
    hidden, best = [], []
    for row in embeds:
        logits, state = decoder.forward(row[None])
        hidden.append(state[-1].copy())
        best.append(int(np.argmax(logits)))
    return np.stack(hidden), np.array(best)


class _Listener:
    """Stands where an encoder's decoder would, and keeps what it is told."""

    def __init__(self) -> None:
        self.cross: dict[str, FloatArray] = {}

    def attend(self, cross: dict[str, FloatArray]) -> None:
        self.cross = cross


def _read(session: Any, embeds: FloatArray, language: Language) -> tuple[FloatArray, dict[str, FloatArray]]:
    """What an encoder makes of embeds [S, H]: states [S, H], and the keys and values that a decoder attends
    to.
    """
    listener: Any = _Listener()
    return EncoderDecoder(session, listener, language).read(embeds), listener.cross


def _encoder(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    language, embeds = _language(settings), _prose(settings, item)
    want, _ = _read(TorchSession(item), embeds, language)
    got, _ = _read(session, embeds, language)
    close = cosines(got, want)
    return Parity(
        "passed",
        "cosine",
        threshold.cosine,
        round(float(close.min()), 6),
        round(float(close.mean()), 6),
        inputs=len(embeds),
    )


def crosses(settings: Settings, source: FloatArray) -> FloatArray:
    """Keys and values that the fp32 encoder makes of `source` [S, H] for its decoder: [2 · layers, heads, S,
    Dh].
    """
    _, cross = _read(TorchSession(build(settings, "llm_encoder", "fp32")), source, _language(settings))
    return np.stack([x[:, : len(source)] for name, x in cross.items() if name != "cross_mask"])


def _language(settings: Settings) -> Language:
    language = components.language(settings)
    assert language is not None
    return language


def _prose(settings: Settings, item: ExportModule) -> FloatArray:
    """The same for a parity; fewer for a model whose every token takes seconds here."""
    large = sum(p.numel() for p in item.module.parameters()) > LARGE
    return prose(settings, FEW_TOKENS if large else PROSE_TOKENS)


def prose(settings: Settings, count: int) -> FloatArray:
    """Embeddings [count, H] of a real text's first tokens; count is at most PROSE_TOKENS."""
    return _rows(settings)[:count]


@lru_cache(maxsize=1)
def _rows(settings: Settings) -> FloatArray:
    """The longest prose asked for: the table is large, and parity and golden fixtures both want
    some of it.
    """
    return np.array(_table(settings)[fixtures.prose_ids(settings)[:PROSE_TOKENS]])


def _decoder(settings: Settings, item: ExportModule, session: Any, threshold: Threshold) -> Parity:
    language, embeds = _language(settings), _prose(settings, item)
    reference_decoder, decoder = StepDecoder(TorchSession(item), language), open_decoder(session, language)
    if language.start_id is not None:
        cross = crosses(settings, embeds)
        reference_decoder.attend(cross_inputs(reference_decoder.session, cross, language))
        attending: Any = decoder
        attending.attend(cross_inputs(session, cross, language))
    want, best = teacher_force(reference_decoder, embeds)
    got, ours = teacher_force(decoder, embeds)
    whole = got
    if not isinstance(decoder, StepDecoder):
        # Prefill must be the same computation as token-by-token decoding, in the cache as in the result; a
        # step graph knows no other.
        decoder.reset()
        _, whole = decoder.forward(embeds)
    close = float(np.minimum(cosines(got, want), cosines(whole, want)).min())
    mean = float(cosines(got, want).mean())
    # Random weights make near-ties of all tokens: which one leads says nothing of the arithmetic.
    share = round(float((ours == best).mean()), 4) if item.trained else None
    return Parity(
        status="passed",
        metric="top1",
        threshold=threshold.cosine,
        minimum=round(close, 6),
        mean=round(mean, 6),
        top1=share,
        top1_threshold=threshold.top1,
        inputs=len(embeds),
    )
