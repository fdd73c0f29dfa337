"""Drivers of a decoder: embeds in, logits of the last token and hidden states out, keys and values kept
between calls.

Two graphs hide behind one interface: the ONNX one takes any number of tokens and updates a bound cache in
place (GroupQueryAttention); the step graph of the other targets takes one token and returns its key and
value, which the host writes into the cache, or keeps them itself in states of its session (Core ML). An
encoder-decoder is either of them beside its encoder's session.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..backends import Array, Session
from ..bundle.manifest import Language
from ..errors import RuntimeFailure
from ..telemetry import load_onnxruntime
from .kv_cache import step_cache


class Decoder(Protocol):
    """A decoder with `past` tokens in its cache."""

    @property
    def past(self) -> int: ...

    def reset(self) -> None: ...

    def forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """embeds [S, H] at positions past… → (logits of the last token [V], hidden states [S, H]); `past`
        grows by S.

        The results may be the decoder's own memory: they hold until the next call.
        """
        ...

    def keep(self) -> FloatArray:
        """A copy of the cache's `past` slots, [layers, 2 (key, value), KV, past, Dh]: a prefix for
        `restore`.
        """
        ...

    def restore(self, cache: FloatArray) -> None:
        """Takes over what `keep` gave, in place of everything in the cache."""
        ...


def rotary(
    language: Language, positions: NDArray[np.int64], local: bool = False
) -> tuple[FloatArray, FloatArray]:
    """cos, sin float32 [S, Dh/2] of the rotary angles, computed in float64 (Su et al.

    2021, arXiv 2104.09864); `local`: of local layers.
    """
    half = language.head_dim // 2
    angles = positions[:, None] / (language.rope_theta_local if local else language.rope_theta) ** (
        np.arange(half) / half
    )
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def relative_buckets(
    offsets: NDArray[np.int64], buckets: int, distance: int, both_ways: bool
) -> NDArray[np.int64]:
    """T5's buckets of key position minus query position (Raffel et al. 2020, arXiv 1910.10683): one each for
    half of them, then by logarithm up to `distance`. `both_ways`: the upper half of the buckets is for keys
    after the query; else these count as the query's own."""
    count = buckets // 2 if both_ways else buckets
    base = np.where(offsets > 0, count, 0) if both_ways else np.zeros_like(offsets)
    away = np.abs(offsets) if both_ways else np.maximum(-offsets, 0)
    exact = count // 2
    # In float32 and in this order, as the model was trained: the bounds of buckets stand on it.
    share = (
        np.log(np.maximum(away, 1).astype(np.float32) / np.float32(exact))
        / np.float32(np.log(distance / exact))
        * np.float32(count - exact)
    )
    far = np.minimum(exact + share.astype(np.int64), count - 1)
    return np.asarray(base + np.where(away < exact, away, far), np.int64)


def _room(language: Language, past: int, tokens: int) -> None:
    if past + tokens > language.max_seq:
        raise RuntimeFailure(
            f"{past + tokens} tokens do not fit the decoder's {language.max_seq} cache slots: shorten the "
            "prompt"
        )


def _fits(language: Language, cache: FloatArray) -> int:
    """The number of tokens in a kept cache. Raises RuntimeFailure if it is of another decoder's shape."""
    want = (language.layers, 2, language.kv_heads, language.head_dim)
    if (
        cache.ndim != 5
        or cache.dtype != np.float32
        or (*cache.shape[:3], cache.shape[4]) != want
        or cache.shape[3] > language.max_seq
    ):
        raise RuntimeFailure(
            f"a prefix cache of shape {list(cache.shape)} does not fit the decoder: export the bundle again"
        )
    return int(cache.shape[3])


class StepDecoder:
    """Drives the step graphs (export/networks/decoder.py, t5.py, stateful.py): one token a call."""

    def __init__(self, session: Session, language: Language) -> None:
        self.session, self.language, self.past = session, language, 0
        self._cache = step_cache(session, language)
        self._cross: dict[str, FloatArray] = {}
        self._cache.reset()

    def attend(self, cross: dict[str, FloatArray]) -> None:
        """Starts anew beside an encoder's keys and values."""
        self.reset()
        self._cross = cross

    def reset(self) -> None:
        self.past = 0
        self._cache.reset()

    def keep(self) -> FloatArray:
        return self._cache.read(self.past)

    def restore(self, cache: FloatArray) -> None:
        tokens = _fits(self.language, cache)
        self._cache.write(cache)
        self.past = tokens

    def forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        _room(self.language, self.past, len(embeds))
        hidden, logits = [], np.zeros(0, np.float32)
        for row in embeds:
            logits, state = self._step(row[None])
            hidden.append(state)
        return logits, np.stack(hidden)

    def _step(self, embed: FloatArray) -> tuple[FloatArray, FloatArray]:
        out = self.session.run({"embeds": embed, **self._where(), **self._cache.inputs(), **self._cross})
        self._cache.take(out, self.past)
        self.past += 1
        return out["logits"][0].astype(np.float32), out["hidden"][0].astype(np.float32)

    def _where(self) -> dict[str, FloatArray]:
        """The inputs that say where this token stands, those of them that the graph has."""
        s, slots = self.language, np.arange(self.language.max_seq)
        place = (slots == self.past).astype(np.float32)[:, None]
        inputs = {"place": place, "mask": _mask(slots <= self.past)}
        if s.rope_theta:
            cos, sin = rotary(s, np.array([self.past]))
            inputs |= {"cos": cos[None], "sin": sin[None]}
        if s.window:
            cos, sin = rotary(s, np.array([self.past]), local=True)
            seen = (slots <= self.past) & (slots > self.past - s.window)
            inputs |= {"cos_local": cos[None], "sin_local": sin[None], "mask_local": _mask(seen)}
        if s.buckets:
            inputs["buckets"] = np.eye(s.buckets, dtype=np.float32)[
                relative_buckets(slots - self.past, s.buckets, s.distance, False)
            ]
        return inputs


def _mask(seen: NDArray[np.bool_]) -> FloatArray:
    """[T] → [1, 1, T]: 0 seen, -1e4 not."""
    return np.where(seen, np.float32(0.0), np.float32(-1e4))[None, None]


class BoundDecoder:
    """Drives the ONNX decoder: past and present of each layer are the same memory, so that no token copies
    the cache.

    The binding of the one-token step is made once; a step writes its four inputs in place and reads its
    outputs where they were written.
    """

    def __init__(self, session: Session, language: Language) -> None:
        ort = load_onnxruntime()

        self.language, self.past = language, 0
        self._native: Any = getattr(session, "native")  # noqa: B009 - only the ONNX session has it, and only this class asks
        self._vocab = int(next(t.shape[-1] for t in session.artifact.outputs if t.name == "logits"))
        self._value: Any = ort.OrtValue.ortvalue_from_numpy  # shares the array's memory
        shape = (1, language.kv_heads, language.max_seq, language.head_dim)
        kinds = [f"{kind}.{n}" for n in range(language.layers) for kind in ("key", "value")]
        self._arrays = {name: np.zeros(shape, np.float32) for name in kinds}
        self._cache = {name: self._value(array) for name, array in self._arrays.items()}
        self._seqlens, self._total, self._last = (
            np.zeros(1, np.int32),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
        )
        self._embed = np.zeros((1, 1, language.hidden), np.float32)
        self._logits, self._hidden = (
            np.zeros((1, 1, self._vocab), np.float32),
            np.zeros((1, 1, language.hidden), np.float32),
        )
        self._cross: dict[str, FloatArray] = {}
        self._step = self._bind(self._embed, self._last, self._logits, self._hidden)

    def attend(self, cross: dict[str, FloatArray]) -> None:
        """Starts anew beside an encoder's keys and values."""
        self.reset()
        self._cross = cross
        self._step = self._bind(self._embed, self._last, self._logits, self._hidden)

    def _bind(
        self, embeds: FloatArray, last: NDArray[np.int64], logits: FloatArray, hidden: FloatArray
    ) -> tuple[Any, list[Any]]:
        """An IOBinding over these arrays and the cache, with the values that must outlive it."""
        binding = self._native.io_binding()
        inputs = {
            "embeds": embeds,
            "seqlens_k": self._seqlens,
            "total_seq_len": self._total,
            "last": last,
            **self._cross,
        }
        values = {name: self._value(array) for name, array in inputs.items()}
        results = {"logits": self._value(logits), "hidden": self._value(hidden)}
        for name, value in values.items():
            binding.bind_ortvalue_input(name, value)
        for name, value in self._cache.items():
            binding.bind_ortvalue_input(f"past_{name}", value)
            binding.bind_ortvalue_output(f"present_{name}", value)
        for name, value in results.items():
            binding.bind_ortvalue_output(name, value)
        return binding, [*values.values(), *results.values(), *inputs.values(), logits, hidden]

    def reset(self) -> None:
        # Slots beyond `past` are never read: GroupQueryAttention is told the length.
        self.past = 0

    def keep(self) -> FloatArray:
        rows = [array[0, :, : self.past] for array in self._arrays.values()]
        return np.stack(rows).reshape(
            self.language.layers, 2, self.language.kv_heads, self.past, self.language.head_dim
        )

    def restore(self, cache: FloatArray) -> None:
        self.past = _fits(self.language, cache)
        for n, array in enumerate(self._arrays.values()):
            array[0, :, : self.past] = cache[n // 2, n % 2]

    def forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        logits, hidden = self._run(embeds, np.array([len(embeds) - 1], np.int64))
        return logits[0], hidden

    def score(self, embeds: FloatArray) -> FloatArray:
        """embeds [S, H] → logits of every position [S, V], for perplexity: a prompt of 500 tokens takes 100
        MB.
        """
        return self._run(embeds, np.arange(len(embeds), dtype=np.int64))[0]

    def _run(self, embeds: FloatArray, wanted: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        count = len(embeds)
        _room(self.language, self.past, count)
        self._seqlens[0], self._total[0] = self.past + count - 1, self.past + count
        if count == 1:
            self._embed[0] = embeds
            binding, logits, hidden = self._step[0], self._logits, self._hidden
        else:
            logits = np.empty((1, len(wanted), self._vocab), np.float32)
            hidden = np.empty((1, count, self.language.hidden), np.float32)
            binding, _alive = self._bind(
                np.ascontiguousarray(embeds[None], np.float32), wanted, logits, hidden
            )
        self._native.run_with_iobinding(binding)
        self.past += count
        return logits[0], hidden[0]


class EncoderDecoder:
    """A decoder that answers to what an encoder has read; otherwise as the driver within."""

    def __init__(self, encoder: Session, inner: StepDecoder | BoundDecoder, language: Language) -> None:
        self.encoder, self.inner, self.language, self._read = encoder, inner, language, False
        self._fixed = any(spec.name == "mask" for spec in encoder.artifact.inputs)

    @property
    def past(self) -> int:
        return self.inner.past

    def read(self, embeds: FloatArray) -> FloatArray:
        """Encodes a prompt [S, H], which the decoder then attends to from its first token on.

        Returns the encoder's states [S, H].
        """
        count, slots = len(embeds), self.language.max_seq
        _room(self.language, 0, count)
        inputs: dict[str, Array] = {"embeds": embeds[None]}
        if self._fixed:
            unseen = _mask(np.arange(slots) < count)
            inputs = {
                "embeds": np.concatenate([embeds, np.zeros((slots - count, embeds.shape[1]), np.float32)])[
                    None
                ],
                "mask": unseen,
            }
        out = self.encoder.run(inputs)
        cross = {
            name: np.ascontiguousarray(value, np.float32) for name, value in out.items() if name != "states"
        }
        self.inner.attend(cross | ({"cross_mask": unseen} if self._fixed else {}))
        self._read = True
        return np.asarray(out["states"][0, :count], np.float32)

    def reset(self) -> None:
        self.inner.reset()

    def keep(self) -> FloatArray:
        return self.inner.keep()

    def restore(self, cache: FloatArray) -> None:
        self.inner.restore(cache)

    def forward(self, embeds: FloatArray) -> tuple[FloatArray, FloatArray]:
        if not self._read:
            raise RuntimeFailure("an encoder-decoder has to read a prompt before it answers: call read first")
        return self.inner.forward(embeds)


def cross_inputs(session: Session, cross: FloatArray, language: Language) -> dict[str, FloatArray]:
    """An encoder's keys and values [2 · layers, heads, S, Dh] as the inputs that this decoder's artifact has
    for them.
    """
    specs = [
        spec
        for spec in session.artifact.inputs
        if spec.name.startswith("cross_") and spec.name != "cross_mask"
    ]
    if not any(spec.name == "cross_mask" for spec in session.artifact.inputs):
        return {spec.name: np.ascontiguousarray(x[None]) for spec, x in zip(specs, cross, strict=True)}
    count, slots = cross.shape[2], language.max_seq
    padded = np.zeros((*cross.shape[:2], slots, cross.shape[3]), np.float32)
    padded[:, :, :count] = cross
    inputs = {spec.name: x for spec, x in zip(specs, padded, strict=True)}
    return inputs | {"cross_mask": _mask(np.arange(slots) < count)}


def open_decoder(session: Session, language: Language, encoder: Session | None = None) -> Decoder:
    """The driver that fits the artifact's inputs; beside `encoder`, if the model has one."""
    names = {spec.name for spec in session.artifact.inputs}
    inner = StepDecoder(session, language) if "place" in names else BoundDecoder(session, language)
    return inner if encoder is None else EncoderDecoder(encoder, inner, language)
