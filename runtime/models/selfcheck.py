"""Runs a component's golden fixtures before it is used on kernels for which its parity was not measured.

A parity figure is valid for a file and the kernels that computed it: the same int8 graph gave a cosine of
0.994 with VNNI and of 0.907 with AVX2's saturating products. So when a component is first opened with an
engine, an engine version or a processor that the manifest's parity does not name, its fixtures are run (for
at most BUDGET seconds, at least one fixture), and the verdict is stored in the user's cache. Below the
threshold, the backend's slower form is tried; if that fails too, the component is refused and the cosines are
reported.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gamer.index.json_checked import stored
from gamer.index.records import FloatArray

from .. import cache
from ..backends import FALLBACK, UNITS, Array, Session, open_session, processor, split
from ..bundle import manifest as mf
from ..bundle.manifest import Language, Preprocessing
from ..errors import BundleError, RuntimeFailure

LOG = logging.getLogger("gamer")
LOG.setLevel(logging.WARNING)  # converters set the root logger's level, which would suppress warnings
BUDGET = 0.2  # seconds for the fixtures of a component
PIECE = 4  # tokens of a decoder between two readings of the clock
MAX_GOLDEN = 64 << 20  # bytes of one golden array


@dataclass(frozen=True)
class Verdict:
    """The parity of a component on this machine's kernels, and the units of the backend that it runs on.

    `cosine`: the worst that was measured, None without a measurement. `source`: "export" (the parity in the
    manifest, which names the same kernels), "measured" (now), "remembered" (measured by an earlier process),
    "no fixtures".
    """

    role: str
    units: str
    cosine: float | None
    threshold: float
    source: str


def open_checked(
    bundle: Path, manifest: mf.Manifest, chosen: str, role: str, threads: int
) -> tuple[Session, Verdict]:
    """A component's session on the backend `chosen` ("onnx", "coreml:cpu_only"), and its verdict.

    Raises BundleError for a file that changed since the export, RuntimeFailure if no form of the backend
    reaches the threshold on this machine.
    """
    backend, units = split(chosen)
    artifact = manifest.artifact(role, backend)
    path = mf.check_one(bundle, artifact)

    def opened(units: str) -> Session:
        return open_session(f"{backend}:{units}" if units else backend, path, artifact, threads)

    kernels, threshold = processor.kernels(backend), artifact.parity.threshold
    first = UNITS.get(backend, ("",))[0]
    if artifact.parity.kernels == kernels and units == first:
        return opened(units), Verdict(role, units, artifact.parity.minimum, threshold, "export")
    golden = manifest.golden(role)
    if "want" not in golden:
        return opened(units), Verdict(role, units, None, threshold, "no fixtures")
    verdict_path = _verdict_path(artifact, golden, f"{kernels}, {units}")
    if (stored := _load_verdict(verdict_path, threshold)) is not None:
        return opened(stored[0]), Verdict(role, stored[0], stored[1], threshold, "remembered")
    arrays = {name: golden_array(bundle, file) for name, file in golden.items()}
    forms = [units, FALLBACK[backend]] if units == first and backend in FALLBACK else [units]
    measured = []
    for form in forms:
        session = opened(form)
        cosine = worst_cosine(session, role, arrays, manifest, bundle=bundle)
        measured.append(f"{cosine:.4f} {form}".rstrip())
        if not cosine >= threshold:  # true for NaN too
            del session  # frees its memory before the next form is loaded
            continue
        if form != units:
            LOG.warning(
                "%s: %s is wrong on this processor (worst cosine %s, %g is wanted): running it %s, slower",
                path,
                role,
                measured[0],
                threshold,
                form,
            )
        cache.keep(verdict_path, {"units": form, "cosine": cosine})
        return session, Verdict(role, form, round(cosine, 6), threshold, "measured")
    raise RuntimeFailure(
        f"{path}: worst cosine {', '.join(measured)} on {kernels}, below {threshold:g}: export with --quant "
        "none, or use another --backend"
    )


def worst_cosine(
    session: Session,
    role: str,
    golden: dict[str, Array],
    manifest: mf.Manifest,
    seconds: float = BUDGET,
    bundle: Path | None = None,
) -> float:
    """The smallest cosine between the session's outputs and those of fp32 torch; NaN if an output has NaN.

    Runs as many golden cases as `seconds` allow, at least one. `bundle`: the manifest's folder, for a
    component that sees for the language model. Raises BundleError for fixtures that do not fit the component.
    """
    sees = bundle is not None and role == mf.VISION
    spec = mf.picture_pixels(bundle, manifest) if bundle is not None and sees else manifest.preprocessing
    begin, row, cosines = perf_counter(), 0, []
    try:
        want = golden["want"].reshape(-1, golden["want"].shape[-1]).astype(np.float64)
        for rows in replay(session, role, golden, spec, manifest.language):
            outputs = rows.reshape(-1, want.shape[1]).astype(np.float64)
            expected = want[row : row + len(outputs)]
            if outputs.shape != expected.shape:
                raise ValueError(f"outputs {list(outputs.shape)} where {list(expected.shape)} are wanted")
            lengths = np.maximum(np.linalg.norm(outputs, axis=1) * np.linalg.norm(expected, axis=1), 1e-12)
            cosines.append(float(np.min((outputs * expected).sum(1) / lengths)))
            row += len(outputs)
            if perf_counter() - begin > seconds:
                break
        return float(np.min(cosines))
    except (RuntimeFailure, MemoryError):
        raise
    except Exception as error:  # engines raise many classes for inputs that do not fit
        message = " ".join(str(error).split())[:80]
        raise BundleError(
            f"{role}: its golden fixtures do not fit it ({message}): export the bundle again"
        ) from None


def replay(
    session: Session,
    role: str,
    golden: dict[str, Array],
    spec: Preprocessing | None,
    language: Language | None,
) -> Iterator[FloatArray]:
    """Yields the component's outputs [n, D] for its golden inputs, case by case, by the code of a search."""
    if role in ("image_tower", mf.VISION) and spec is not None:
        from .image import tower_input

        out = "prompts" if role == mf.VISION else "embedding"
        for pixels in golden["pixels"]:
            yield np.asarray(session.run(tower_input(session, pixels, spec))[out], np.float32)
    elif role == "text_tower":
        from .text import embed

        for ids, mask in zip(golden["ids"], golden["mask"], strict=True):
            yield embed(session, ids[: int(mask.sum())].tolist())[None]
    elif role == "llm_embed":
        name, out = session.artifact.inputs[0].name, session.artifact.outputs[0].name
        for token in golden["ids"]:
            yield np.asarray(session.run({name: np.array([token], np.int64)})[out], np.float32)
    elif role == "llm_encoder" and language is not None:
        from .language.decoder import EncoderDecoder

        no_decoder: Any = _Deaf()
        yield EncoderDecoder(session, no_decoder, language).read(np.asarray(golden["embeds"], np.float32))
    elif role == "llm_decoder" and language is not None:
        yield from _decoded(session, golden, language)
    else:
        name, out = session.artifact.inputs[0].name, session.artifact.outputs[0].name
        pictured = "pixels" if role in mf.FACE_ROLES + mf.OCR_ROLES else "patches"
        array = "states" if role == "dpe_query" else pictured
        for rows in golden[array]:
            yield np.asarray(session.run({name: rows[None].astype(np.float32)})[out], np.float32)


def _decoded(session: Session, golden: dict[str, Array], language: Language) -> Iterator[FloatArray]:
    from .language.decoder import BoundDecoder, StepDecoder, cross_inputs, open_decoder

    decoder = open_decoder(session, language)
    if "cross" in golden and isinstance(decoder, StepDecoder | BoundDecoder):
        decoder.attend(cross_inputs(session, np.asarray(golden["cross"], np.float32), language))
    embeds = np.asarray(golden["embeds"], np.float32)
    for start in range(0, len(embeds), PIECE):
        yield decoder.forward(embeds[start : start + PIECE])[1].copy()


class _Deaf:
    """A decoder that ignores its encoder, for running an encoder alone."""

    def attend(self, cross: dict[str, FloatArray]) -> None:
        pass


def golden_array(bundle: Path, file: mf.DataFile) -> Array:
    path = mf.check_one(bundle, file)
    try:
        if file.bytes > MAX_GOLDEN:
            raise ValueError(f"{file.bytes} bytes")
        # Memory-mapped first: a header that claims more than the file's size is refused before memory is
        # allocated for it.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise BundleError(f"{path}: no golden array ({str(error)[:80]}): export the bundle again") from None


def _verdict_path(artifact: mf.Artifact, golden: dict[str, mf.DataFile], kernels: str) -> Path:
    """The file of a verdict in the user's cache; its name is a hash over artifact, fixtures and kernels."""
    parts = (artifact.sha256, *sorted(f.sha256 for f in golden.values()), kernels)
    return cache.file_of("selfcheck", parts, ".json")


@dataclass(frozen=True)
class _Verdict:
    units: str
    cosine: float


def _load_verdict(path: Path, threshold: float) -> tuple[str, float] | None:
    """(units, worst cosine) of an earlier check that passed.

    None if there was no such check or its file is damaged; then the component is measured again.
    """
    verdict: _Verdict | None = stored(_Verdict, path)
    if verdict is None:
        return None
    units = any(verdict.units in choices for choices in (*UNITS.values(), ("",)))
    return (verdict.units, verdict.cosine) if units and threshold <= verdict.cosine <= 1.001 else None
