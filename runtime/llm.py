"""The small LLM: tokens and soft prompts in, logits and hidden states out, with a KV cache. Greedy generation with stop ids.

Two decoders hide behind one interface: the ONNX graph takes any number of tokens and updates a bound cache in place (GroupQueryAttention);
the step graph of the other targets takes one token and returns its key and value, which the host writes into the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .backends import Session
from .errors import RuntimeFailure
from .manifest import Language

Floats = NDArray[np.float32]


class Decoder(Protocol):
    """A decoder with `past` tokens in its cache."""

    past: int

    def reset(self) -> None: ...

    def forward(self, embeds: Floats) -> tuple[Floats, Floats]:
        """embeds [S, H] at positions past… → (logits of the last token [V], hidden states [S, H]); `past` grows by S."""
        ...


def rotary(language: Language, positions: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """cos, sin float32 [S, Dh/2] of the rotary angles, computed in float64 (Su et al. 2021, arXiv 2104.09864)."""
    half = language.head_dim // 2
    angles = positions[:, None] / language.rope_theta ** (np.arange(half) / half)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def _room(language: Language, past: int, tokens: int) -> None:
    if past + tokens > language.max_seq:
        raise RuntimeFailure(f"{past + tokens} tokens do not fit the decoder's {language.max_seq} cache slots: shorten the prompt")


class StepDecoder:
    """Drives DecoderStep (export/modules/decoder.py): one token a call, keys and values written here."""

    def __init__(self, session: Session, language: Language) -> None:
        self.session, self.language, self.past = session, language, 0
        shape = (language.kv_heads, language.max_seq, language.head_dim)
        names = [spec.name for spec in session.artifact.inputs if spec.name.startswith("past_")]
        self._cache: dict[str, Floats] = {name: np.zeros(shape, np.float32) for name in names}

    def reset(self) -> None:
        self.past = 0
        for cache in self._cache.values():
            cache[:] = 0.0

    def forward(self, embeds: Floats) -> tuple[Floats, Floats]:
        _room(self.language, self.past, len(embeds))
        hidden, logits = [], np.zeros(0, np.float32)
        for row in embeds:
            logits, state = self._step(row[None])
            hidden.append(state)
        return logits, np.stack(hidden)

    def _step(self, embed: Floats) -> tuple[Floats, Floats]:
        slots = self.language.max_seq
        cos, sin = rotary(self.language, np.array([self.past]))
        place = np.zeros((slots, 1), np.float32)
        place[self.past] = 1.0
        mask = np.where(np.arange(slots) <= self.past, 0.0, -1e4).astype(np.float32)[None, None]
        out = self.session.run({"embeds": embed, "cos": cos[None], "sin": sin[None], "place": place, "mask": mask, **self._cache})
        for name, cache in self._cache.items():
            cache[:, self.past] = out[name.removeprefix("past_")][:, 0]
        self.past += 1
        return out["logits"][0].astype(np.float32), out["hidden"][0].astype(np.float32)


class BoundDecoder:
    """Drives the ONNX decoder: past and present of each layer are the same memory, so that no token copies the cache."""

    def __init__(self, session: Session, language: Language) -> None:
        import onnxruntime as ort

        self.language, self.past = language, 0
        self._native: Any = getattr(session, "native")  # noqa: B009 - only the ONNX session has it, and only this class asks
        shape = (1, language.kv_heads, language.max_seq, language.head_dim)
        self._cache: dict[str, Any] = {}
        for n in range(language.layers):
            for kind in ("key", "value"):
                self._cache[f"{kind}.{n}"] = ort.OrtValue.ortvalue_from_numpy(np.zeros(shape, np.float32), "cpu", 0)

    def reset(self) -> None:
        # Slots beyond `past` are never read: GroupQueryAttention is told the length.
        self.past = 0

    def forward(self, embeds: Floats) -> tuple[Floats, Floats]:
        count = len(embeds)
        _room(self.language, self.past, count)
        total = self.past + count
        binding = self._native.io_binding()
        binding.bind_cpu_input("embeds", np.ascontiguousarray(embeds[None]))
        binding.bind_cpu_input("seqlens_k", np.array([total - 1], np.int32))
        binding.bind_cpu_input("total_seq_len", np.array([total], np.int32))
        binding.bind_cpu_input("last", np.array([count - 1], np.int64))
        for name, value in self._cache.items():
            binding.bind_ortvalue_input(f"past_{name}", value)
            binding.bind_ortvalue_output(f"present_{name}", value)
        for name in ("logits", "hidden"):
            binding.bind_output(name, "cpu")
        self._native.run_with_iobinding(binding)
        # Outputs come back in the order in which they were bound: the caches first.
        logits, hidden = (value.numpy() for value in binding.get_outputs()[-2:])
        self.past = total
        return logits[0, 0], hidden[0]


def open_decoder(session: Session, language: Language) -> Decoder:
    """The driver that fits the artifact's inputs."""
    names = {spec.name for spec in session.artifact.inputs}
    return StepDecoder(session, language) if "place" in names else BoundDecoder(session, language)


@dataclass(frozen=True)
class Generation:
    """What was generated: token ids without the stop id, and how long each part took (nanoseconds)."""

    ids: tuple[int, ...]
    prompt_tokens: int
    prefill_ns: int
    decode_ns: int
    stopped: bool


class LanguageModel:
    """Token table and decoder together. Not thread-safe: it owns one cache."""

    def __init__(self, embed: Session, decoder: Decoder, language: Language) -> None:
        self._embed, self.decoder, self.language = embed, decoder, language

    def embed(self, ids: list[int]) -> Floats:
        """ids → [S, H]. The table may take one id a call (fixed-shape targets) or many."""
        wanted = self._embed.artifact.inputs[0].shape[0]
        if wanted == 1:
            rows = [self._embed.run({"ids": np.array([i], np.int64)})["embeds"] for i in ids]
            return np.concatenate(rows).astype(np.float32)
        return self._embed.run({"ids": np.array(ids, np.int64)})["embeds"].astype(np.float32)

    def generate(self, ids: list[int], max_new: int, soft: Floats | None = None, on_token: Callable[[int], None] | None = None) -> Generation:
        """Greedy generation after `soft` prompts [P, H] (if any) and the prompt `ids`. Raises RuntimeFailure if they do not fit."""
        self.decoder.reset()
        prompt = self.embed(ids) if soft is None else np.concatenate([soft, self.embed(ids)])
        begin = perf_counter_ns()
        logits, _ = self.decoder.forward(prompt)
        prefilled = perf_counter_ns()
        out, stopped = [], False
        for token in self._greedy(logits, min(max_new, self.language.max_seq - len(prompt))):
            if token in self.language.eos_ids:
                stopped = True
                break
            out.append(token)
            if on_token:
                on_token(token)
        return Generation(tuple(out), len(prompt), prefilled - begin, perf_counter_ns() - prefilled, stopped)

    def _greedy(self, logits: Floats, count: int) -> Iterator[int]:
        for _ in range(count):
            token = int(np.argmax(logits))
            yield token
            logits, _ = self.decoder.forward(self.embed([token]))
