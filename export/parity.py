"""Parity: every artifact is run through the very code that the runtime uses and compared with the fp32 torch module on real inputs.

A figure below its threshold raises, with the figure. What cannot be executed here is said to be so, never given a number.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from gamer.runtime.backends import BACKENDS, open_session
from gamer.runtime.decoder import StepDecoder, open_decoder
from gamer.runtime.manifest import NOT_RUN, Artifact, Language, Parity
from numpy.typing import NDArray

from . import fixtures
from .components import ExportModule, build, reference
from .errors import ExportError
from .recipe import Recipe, Threshold

PROSE_TOKENS = 110
Floats = NDArray[np.float32]


class _TorchSession:
    """A torch module behind the runtime's Session interface, so that the reference runs through the same driver."""

    def __init__(self, item: ExportModule) -> None:
        self.item = item
        self.artifact = Artifact(item.role, "torch", "fp32", "", 0, "", item.inputs, item.outputs, Parity("", "", 0.0), 0.0)

    def run(self, inputs: dict[str, Any]) -> dict[str, Any]:
        out = reference(self.item.module, tuple(inputs[t.name] for t in self.item.inputs))
        return dict(zip([t.name for t in self.item.outputs], out, strict=True))


def cosines(got: Floats, want: Floats) -> Floats:
    """Cosine of each row (all axes but the last flattened): got, want [..., D] → [n]."""
    a, b = got.reshape(-1, got.shape[-1]).astype(np.float64), want.reshape(-1, want.shape[-1]).astype(np.float64)
    return np.asarray((a * b).sum(1) / np.maximum(np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1), 1e-12), np.float32)


def unproven(threshold: Threshold) -> Parity:
    """The entry of an artifact that nothing on this platform executes."""
    return Parity(NOT_RUN, "cosine", threshold.cosine)


def measure(recipe: Recipe, item: ExportModule, artifact: Artifact, path: Path, language: Language, threshold: Threshold) -> Parity:
    """Runs the artifact and compares. Raises ExportError naming component, target and figure when it is below `threshold`."""
    if artifact.target not in BACKENDS:
        return unproven(threshold)
    if item.role == "llm_decoder":
        parity = _decoder(recipe, artifact, path, language, threshold)
    else:
        parity = _outputs(recipe, item, artifact, path, threshold)
    assert parity.minimum is not None
    where = f"{artifact.role} for {artifact.target} ({artifact.quant})"
    if not parity.minimum >= threshold.cosine:
        raise ExportError(f"{where}: worst cosine {parity.minimum:.5f} with torch is below {threshold.cosine}: not written")
    if threshold.top1 is not None and not (parity.top1 or 0.0) >= threshold.top1:
        raise ExportError(f"{where}: likeliest token agrees at {parity.top1:.3f} of positions, below {threshold.top1}: not written")
    return parity


def _outputs(recipe: Recipe, item: ExportModule, artifact: Artifact, path: Path, threshold: Threshold) -> Parity:
    session = open_session(artifact.target, path, artifact, threads=2)
    fixed = all(isinstance(d, int) for t in artifact.inputs for d in t.shape)
    # The int8 token table must be held to the table that it came from, not to itself.
    module = build(recipe, item.role, "fp32").module
    # The image tower's retrieval output is its first; patch features and label probabilities follow from the same trunk.
    name, worst = artifact.outputs[0].name, []
    for sample in fixtures.samples(recipe, item.role, fixed):
        got = session.run({t.name: x for t, x in zip(artifact.inputs, sample, strict=True)})[name]
        worst.append(float(cosines(got.astype(np.float32), reference(module, sample)[0]).min()))
    return Parity("passed", "cosine", threshold.cosine, round(min(worst), 6), round(float(np.mean(worst)), 6), inputs=len(worst))


@lru_cache(maxsize=1)
def _table(name: str) -> Floats:
    from . import recipe as recipes
    from .sources import language_model

    return np.asarray(language_model(recipes.recipe(name).llm_source).table.numpy())


@lru_cache(maxsize=1)
def _prose_reference(name: str, language: Language) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
    from . import recipe as recipes

    chosen = recipes.recipe(name)
    ids = np.array(fixtures.prose_ids(chosen)[:PROSE_TOKENS])
    decoder = StepDecoder(_TorchSession(build(chosen, "llm_decoder", "fp32")), language)
    hidden, best = teacher_force(decoder, _table(name)[ids])
    return hidden, best, ids


def teacher_force(decoder: Any, embeds: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Feeds embeds [S, H] one by one → hidden states [S, H] and the likeliest next token at each position [S]."""
    decoder.reset()
    hidden, best = [], []
    for row in embeds:
        logits, state = decoder.forward(row[None])
        hidden.append(state[-1].copy())
        best.append(int(np.argmax(logits)))
    return np.stack(hidden), np.array(best)


def _decoder(recipe: Recipe, artifact: Artifact, path: Path, language: Language, threshold: Threshold) -> Parity:
    want, best, ids = _prose_reference(recipe.name, language)
    decoder = open_decoder(open_session(artifact.target, path, artifact, threads=2), language)
    embeds = _table(recipe.name)[ids]
    got, ours = teacher_force(decoder, embeds)
    # Prefill must be the same computation as token-by-token decoding, in the cache as in the result.
    decoder.reset()
    _, whole = decoder.forward(embeds)
    close = min(float(cosines(got, want).min()), float(cosines(whole, want).min()))
    mean = float(cosines(got, want).mean())
    share = float((ours == best).mean())
    return Parity("passed", "top1", threshold.cosine, round(close, 6), round(mean, 6), round(share, 4), threshold.top1, len(ids))
