"""What artifacts are compared with: fp32 torch behind the runtime's own drivers, and its inputs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray
from gamer.runtime.bundle.manifest import Artifact, Language, Parity
from gamer.runtime.models.language.decoder import EncoderDecoder

from ..components import components, fixtures
from ..components.components import build, reference
from ..components.export_module import ExportModule
from ..settings import Settings

PROSE_TOKENS = 110
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


def cosines(got: NDArray[np.floating[Any]], want: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    """Cosine of each row (all axes but the last flattened): got, want [..., D] → float64 [n].

    0 for a row of zeros.
    """
    a, b = got.reshape(-1, got.shape[-1]), want.reshape(-1, want.shape[-1])
    dots = [np.einsum("nk,nk->n", x, y, dtype=np.float64) for x, y in ((a, b), (a, a), (b, b))]
    return np.asarray(dots[0] / np.maximum(np.sqrt(dots[1]) * np.sqrt(dots[2]), 1e-30))


def _table(settings: Settings) -> FloatArray:
    return np.asarray(build(settings, "llm_embed", "fp32").module.get_buffer("rows").numpy())


def trace(decoder: Any, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Feeds embeds [S, H] one at a time → hidden states [S, H], logits at each position [S, V]."""
    decoder.reset()
    steps = []
    for row in embeds:
        logits, state = decoder.forward(row[None])
        steps.append((state[-1].copy(), logits.copy()))
    hidden, scores = zip(*steps, strict=True)
    return np.stack(hidden), np.stack(scores)


def teacher_force(decoder: Any, embeds: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """As `trace`, with the likeliest next token at each position [S] in place of the logits."""
    hidden, logits = trace(decoder, embeds)
    return hidden, logits.argmax(-1)


class _Listener:
    """Takes the place of the decoder beside an encoder, and records the keys and values it is given."""

    def __init__(self) -> None:
        self.cross: dict[str, FloatArray] = {}

    def attend(self, cross: dict[str, FloatArray]) -> None:
        self.cross = cross


def read(session: Any, embeds: FloatArray, language: Language) -> tuple[FloatArray, dict[str, FloatArray]]:
    """Runs an encoder on embeds [S, H]: its states [S, H], and the keys and values for the decoder."""
    listener: Any = _Listener()
    return EncoderDecoder(session, listener, language).read(embeds), listener.cross


def crosses(settings: Settings, source: FloatArray) -> FloatArray:
    """The decoder's cross-attention keys and values for `source` [S, H], from the fp32 encoder.

    Returns [2 · layers, heads, S, Dh].
    """
    _, cross = read(TorchSession(build(settings, "llm_encoder", "fp32")), source, language_of(settings))
    return np.stack([x[:, : len(source)] for name, x in cross.items() if name != "cross_mask"])


def language_of(settings: Settings) -> Language:
    language = components.language(settings)
    assert language is not None
    return language


def prose_of(settings: Settings, item: ExportModule) -> FloatArray:
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
