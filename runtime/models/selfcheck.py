"""Proof that travels: a bundle's golden inputs, run here, before a component is trusted on kernels that it
was not proven on.

A figure of parity holds for a file and for the kernels that computed it: the same int8 graph gave a cosine of
0.994 with VNNI and of 0.907 with AVX2's saturating products. So the first time an engine, a version of it or
a processor opens a component that the manifest's parity does not name, its fixtures are run (at most BUDGET
seconds, at least one), and the verdict is kept in the user's cache. Below the threshold the backend's slower
form is tried; where that fails too, the component is refused with the figure.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from gamer.index.records import FloatArray

from ..backends import FALLBACK, UNITS, Array, Session, open_session, processor, split
from ..bundle import manifest as mf
from ..bundle.manifest import Language, Preprocessing
from ..errors import BundleError, RuntimeFailure

LOG = logging.getLogger("gamer")
LOG.setLevel(logging.WARNING)  # of its own: converters set the root's, and what is wrong here would go unsaid
BUDGET = 0.2  # seconds of a component's fixtures
PIECE = 4  # tokens of a decoder between two looks at the clock
MAX_GOLDEN = 64 << 20  # bytes of one golden array


@dataclass(frozen=True)
class Verdict:
    """What is known of a component on the kernels at hand, and the units of the backend that were chosen for
    it.

    `cosine`: the worst of its fixtures; None where none was run. `source`: "export" (the manifest's parity is
    of these very kernels), "measured" (just now), "remembered" (by an earlier process), "no fixtures".
    """

    role: str
    units: str
    cosine: float | None
    threshold: float
    source: str


def open_checked(
    bundle: Path, manifest: mf.Manifest, chosen: str, role: str, threads: int
) -> tuple[Session, Verdict]:
    """A component's session on the backend `chosen` ("onnx", "coreml:cpu_only"), and why it may be trusted
    here.

    Raises BundleError for a file that changed since export, RuntimeFailure where no form of the backend
    reaches the threshold here.
    """
    backend, units = split(chosen)
    artifact = manifest.artifact(role, backend)
    path = mf.check_one(bundle, artifact)

    def opened(units: str) -> Session:
        return open_session(f"{backend}:{units}" if units else backend, path, artifact, threads)

    here, threshold = processor.kernels(backend), artifact.parity.threshold
    first = UNITS.get(backend, ("",))[0]
    if artifact.parity.kernels == here and units == first:
        return opened(units), Verdict(role, units, artifact.parity.minimum, threshold, "export")
    golden = manifest.golden(role)
    if "want" not in golden:
        return opened(units), Verdict(role, units, None, threshold, "no fixtures")
    note = _note(artifact, golden, f"{here}, {units}")
    if (known := _remembered(note, threshold)) is not None:
        return opened(known[0]), Verdict(role, known[0], known[1], threshold, "remembered")
    arrays = {name: golden_array(bundle, file) for name, file in golden.items()}
    ladder = [units, FALLBACK[backend]] if units == first and backend in FALLBACK else [units]
    figures = []
    for rung in ladder:
        session = opened(rung)
        cosine = worst_cosine(session, role, arrays, manifest)
        figures.append(f"{cosine:.4f} {rung}".rstrip())
        if not cosine >= threshold:  # a NaN is not
            del session  # before another form of it is loaded
            continue
        if rung != units:
            LOG.warning(
                "%s: %s is wrong on this processor (worst cosine %s, %g is wanted): running it %s, slower",
                path,
                role,
                figures[0],
                threshold,
                rung,
            )
        _remember(note, rung, cosine)
        return session, Verdict(role, rung, round(cosine, 6), threshold, "measured")
    raise RuntimeFailure(
        f"{path}: worst cosine {', '.join(figures)} on {here}, below {threshold:g}: export with --quant "
        "none, or use another --backend"
    )


def worst_cosine(
    session: Session, role: str, golden: dict[str, Array], manifest: mf.Manifest, seconds: float = BUDGET
) -> float:
    """The least cosine of any golden output with fp32 torch's, of as many as `seconds` allow and at least
    one. NaN where an output is none.

    Raises BundleError for fixtures that do not fit the component.
    """
    begin, at, worst = perf_counter(), 0, []
    try:
        want = golden["want"].reshape(-1, golden["want"].shape[-1]).astype(np.float64)
        for rows in replay(session, role, golden, manifest.preprocessing, manifest.language):
            got = rows.reshape(-1, want.shape[1]).astype(np.float64)
            wanted = want[at : at + len(got)]
            if got.shape != wanted.shape:
                raise ValueError(f"outputs {list(got.shape)} where {list(wanted.shape)} are wanted")
            lengths = np.maximum(np.linalg.norm(got, axis=1) * np.linalg.norm(wanted, axis=1), 1e-12)
            worst.append(float(np.min((got * wanted).sum(1) / lengths)))
            at += len(got)
            if perf_counter() - begin > seconds:
                break
        return float(np.min(worst))
    except (RuntimeFailure, MemoryError):
        raise
    except Exception as error:  # an engine has many classes for inputs that do not fit
        said = " ".join(str(error).split())[:80]
        raise BundleError(
            f"{role}: its golden fixtures do not fit it ({said}): export the bundle again"
        ) from None


def replay(
    session: Session,
    role: str,
    golden: dict[str, Array],
    spec: Preprocessing | None,
    language: Language | None,
) -> Iterator[FloatArray]:
    """The component's outputs [n, D] for its golden inputs, case by case, by the code that a search runs it
    with.
    """
    if role == "image_tower" and spec is not None:
        from .image import tower_input

        for pixels in golden["pixels"]:
            yield np.asarray(session.run(tower_input(session, pixels, spec))["embedding"], np.float32)
    elif role == "text_tower":
        from .text import embed

        for ids, mask in zip(golden["ids"], golden["mask"], strict=True):
            yield embed(session, ids[: int(mask.sum())].tolist())[None]
    elif role == "llm_embed":
        name, out = session.artifact.inputs[0].name, session.artifact.outputs[0].name
        for token in golden["ids"]:
            yield np.asarray(session.run({name: np.array([token], np.int64)})[out], np.float32)
    elif role == "llm_encoder" and language is not None:
        from .decoder import EncoderDecoder

        deaf: Any = _Deaf()
        yield EncoderDecoder(session, deaf, language).read(np.asarray(golden["embeds"], np.float32))
    elif role == "llm_decoder" and language is not None:
        yield from _decoded(session, golden, language)
    else:
        out = session.artifact.outputs[0].name
        for patches in golden["patches"]:
            yield np.asarray(session.run({session.artifact.inputs[0].name: patches[None]})[out], np.float32)


def _decoded(session: Session, golden: dict[str, Array], language: Language) -> Iterator[FloatArray]:
    from .decoder import BoundDecoder, StepDecoder, cross_inputs, open_decoder

    decoder = open_decoder(session, language)
    if "cross" in golden and isinstance(decoder, StepDecoder | BoundDecoder):
        decoder.attend(cross_inputs(session, np.asarray(golden["cross"], np.float32), language))
    embeds = np.asarray(golden["embeds"], np.float32)
    for start in range(0, len(embeds), PIECE):
        yield decoder.forward(embeds[start : start + PIECE])[1].copy()


class _Deaf:
    """Stands where an encoder's decoder would."""

    def attend(self, cross: dict[str, FloatArray]) -> None:
        pass


def golden_array(bundle: Path, file: mf.DataFile) -> Array:
    path = mf.check_one(bundle, file)
    try:
        if file.bytes > MAX_GOLDEN:
            raise ValueError(f"{file.bytes} bytes")
        # Mapped first: a header that promises more than the file holds is refused before memory is taken for
        # it.
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError, OSError) as error:
        raise BundleError(f"{path}: no golden array ({str(error)[:80]}): export the bundle again") from None


def _note(artifact: mf.Artifact, golden: dict[str, mf.DataFile], kernels: str) -> Path:
    """Where the verdict is kept: beside the user's other caches, under a name that says file, fixtures and
    kernels.
    """
    parts = (artifact.sha256, *sorted(f.sha256 for f in golden.values()), kernels)
    return cache_folder() / "selfcheck" / f"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}.json"


def cache_folder() -> Path:
    """$GAMER_CACHE, else the user's cache folder of this system."""
    if named := os.environ.get("GAMER_CACHE"):
        return Path(named)
    from platformdirs import user_cache_path

    return user_cache_path("gamer")


def _remembered(note: Path, threshold: float) -> tuple[str, float] | None:
    """(units, worst cosine) of an earlier check that passed; None for none, and for a damaged one: it is
    measured again.
    """
    try:
        raw = json.loads(note.read_text(encoding="utf-8"))
        units, cosine = raw["units"], raw["cosine"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
    fits = (
        isinstance(units, str)
        and isinstance(cosine, float)
        and any(units in of for of in (*UNITS.values(), ("",)))
    )
    return (units, cosine) if fits and threshold <= cosine <= 1.001 else None


def _remember(note: Path, units: str, cosine: float) -> None:
    """Written aside, then renamed; a cache that cannot be written is none."""
    aside = note.with_suffix(f".{os.getpid()}")
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        aside.write_text(json.dumps({"units": units, "cosine": cosine}), encoding="utf-8")
        aside.replace(note)
    except OSError:
        pass
