"""A toy language model: two dozen tokens, a linear decoder, and the same interface as the real one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gamer.index.records import FloatArray
from gamer.runtime.backends import Array
from gamer.runtime.bundle.manifest import Artifact, Language, Parity, TensorSpec
from gamer.runtime.models.language.kv_cache import Held
from gamer.runtime.models.language.llm import LanguageModel
from gamer.runtime.models.language.sampling import Sampling

LETTERS = 'abcdefghijklmnopqrstuvwxyz {}":,0é\n'
TOKENS: dict[int, bytes] = dict(
    enumerate([b"", *(bytes([b]) for b in LETTERS.encode()), b"ab", b"time", b'":"', b' "', b"dog", b" on"])
)
END = 0
WIDTH = 8
PROMPT = (5, 9, 1)
# Sampled, so that the toy model gives another token at each step.
LIVELY = Sampling(1.0, seed=4)


def decode(ids: Sequence[int]) -> str:
    return b"".join(TOKENS[i] for i in ids).decode("utf-8", "replace")


def spell(text: str) -> tuple[int, ...]:
    single = {b: i for i, t in TOKENS.items() if len(t) == 1 for b in t}
    return tuple(single[b] for b in text.encode())


class ToyDecoder:
    """Logits are a fixed linear map of a decaying sum of the embeddings seen; `computed` counts the positions
    that were run, `calls` the runs. Unless `alike`, a position that is computed alone is another one.
    """

    def __init__(self, slots: int = 64, bias: int | None = None, alike: bool = False) -> None:
        self.held, self.slots, self.computed, self.calls = Held(), slots, 0, 0
        self._bias, self._alike = bias, alike
        self._head = np.random.default_rng(7).standard_normal((len(TOKENS), WIDTH)).astype(np.float32)
        self._seen = np.zeros((slots, WIDTH), np.float32)

    @property
    def past(self) -> int:
        return len(self.held.ids)

    def reset(self) -> None:
        self.cut(0)

    def cut(self, tokens: int) -> None:
        self.held.cut(tokens)
        self._seen[tokens:] = np.nan

    def alike(self) -> bool:
        return self._alike

    def forward(self, embeds: FloatArray, ids: Sequence[int] | None = None) -> tuple[FloatArray, FloatArray]:
        return self.rows(embeds, ids, 1)[0], embeds

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        begin, count = self.past, len(embeds)
        assert begin + count <= self.slots
        alone = count == 1 and (not self._alike or begin + 1 == self.slots)
        self._seen[begin : begin + count] = embeds * (0.9 if alone else 1.0)
        self.held.add(ids, count, not alone)
        self.computed, self.calls = self.computed + count, self.calls + 1
        return np.stack([self._logits(end) for end in range(self.past - last + 1, self.past + 1)])

    def _logits(self, end: int) -> FloatArray:
        weight = 0.7 ** np.arange(end)[::-1, None]
        logits = self._head @ (self._seen[:end] * weight).sum(0)
        if self._bias is not None:
            logits[self._bias] += 1e6
        return np.asarray(logits, np.float32)

    def keep(self) -> FloatArray:
        return np.stack([self._seen[: self.past]] * 2)[None, :, None]

    def restore(self, cache: FloatArray, ids: Sequence[int] | None = None) -> None:
        self.cut(0)
        self.held.add(ids, cache.shape[3], True)
        self._seen[: self.past] = cache[0, 0, 0]


class Table:
    artifact = Artifact(
        "llm_embed",
        "onnx",
        "fp32",
        "",
        0,
        "",
        (TensorSpec("ids", ("tokens",), "int64"),),
        (),
        Parity("", "", 0.0),
        0.0,
    )

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        rows = np.random.default_rng(3).standard_normal((len(TOKENS), WIDTH)).astype(np.float32)
        return {"embeds": rows[inputs["ids"].astype(int)]}


def model(decoder: ToyDecoder | None = None, text: bool = True) -> LanguageModel:
    decoder = decoder or ToyDecoder()
    language = Language(1, 1, WIDTH, WIDTH, decoder.slots, 10_000.0, (END,))
    return LanguageModel(Table(), decoder, language, decode if text else None)
