"""Drivers of a decoder: embeddings in, logits of the last token and hidden states out.

The KV cache persists between calls. Two kinds of graph have the same interface here. The ONNX graph takes any
number of tokens and updates a bound cache in place (GroupQueryAttention). The step graph of the other targets
takes one token and returns its key and value, which the host writes into the cache; on Core ML it may keep
them in states of its session instead. An encoder-decoder is either of them with an encoder's session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ...backends import Array, Session
from ...backends.coreml_backend import MAIN, function_of
from ...bundle.manifest import Language
from ...errors import RuntimeFailure
from ...telemetry import load_onnxruntime
from .kv_cache import PREFILL, PREFILL_TOKENS, CacheArray, Held, StateSession, cache_type, step_cache


class Decoder(Protocol):
    """A decoder; `held`: which tokens its cache holds, `past`: how many."""

    @property
    def held(self) -> Held: ...

    @property
    def past(self) -> int: ...

    def reset(self) -> None: ...

    def cut(self, tokens: int) -> None:
        """Forgets all but the first `tokens` slots of the cache."""
        ...

    def forward(self, embeds: FloatArray, ids: Sequence[int] | None = None) -> tuple[FloatArray, FloatArray]:
        """(logits of the last token [V], hidden states [S, H]) of `embeds` [S, H], positions from `past` on.

        `ids`: the tokens of `embeds`, if they are tokens. `past` grows by S. The results may be the decoder's
        buffers, which the next call overwrites.
        """
        ...

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        """As `forward`, but the logits [last, V] of the last tokens."""
        ...

    def alike(self) -> bool:
        """Whether a token gets the very same numbers alone and in one call with others, for less time."""
        ...

    def keep(self) -> CacheArray:
        """A copy of the used slots of the cache, for `restore`: [layers, 2 (key, value), KV, past, Dh]."""
        ...

    def restore(self, cache: CacheArray, ids: Sequence[int] | None = None) -> None:
        """Replaces the cache's content with `cache`, as `keep` returned it; `ids`: its tokens."""
        ...


def rotary(
    language: Language, positions: NDArray[np.int64], local: bool = False
) -> tuple[FloatArray, FloatArray]:
    """cos, sin float32 [S, Dh/2] of the rotary angles (Su et al. 2021, arXiv 2104.09864).

    Computed in float64. `local`: with the rotary base of the local layers.
    """
    half = language.head_dim // 2
    angles = positions[:, None] / (language.rope_theta_local if local else language.rope_theta) ** (
        np.arange(half) / half
    )
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def relative_buckets(
    offsets: NDArray[np.int64], buckets: int, distance: int, both_ways: bool
) -> NDArray[np.int64]:
    """T5's buckets of relative positions, of the shape of `offsets` (Raffel et al. 2020, arXiv 1910.10683).

    `offsets`: key position minus query position. Half of the buckets have one distance each; the others
    divide the distances up to `distance` logarithmically. `both_ways`: the upper half of all buckets is for
    keys after the query; otherwise such keys have the bucket of the query's position.
    """
    count = buckets // 2 if both_ways else buckets
    base = np.where(offsets > 0, count, 0) if both_ways else np.zeros_like(offsets)
    away = np.abs(offsets) if both_ways else np.maximum(-offsets, 0)
    exact = count // 2
    # In float32 and in this order, as in training, because the bounds between buckets depend on the rounding.
    share = (
        np.log(np.maximum(away, 1).astype(np.float32) / np.float32(exact))
        / np.float32(np.log(distance / exact))
        * np.float32(count - exact)
    )
    far = np.minimum(exact + share.astype(np.int64), count - 1)
    return np.asarray(base + np.where(away < exact, away, far), np.int64)


def _check_room(language: Language, past: int, tokens: int) -> None:
    if past + tokens > language.max_seq:
        raise RuntimeFailure(
            f"{past + tokens} tokens do not fit the decoder's {language.max_seq} cache slots: shorten the "
            "prompt"
        )


def _cached_tokens(language: Language, cache: CacheArray, kind: str) -> int:
    """The number of tokens in a stored cache. Raises RuntimeFailure if its shape is another decoder's."""
    want = (language.layers, 2, language.kv_heads, language.head_dim)
    if (
        cache.ndim != 5
        or cache.dtype != kind
        or (*cache.shape[:3], cache.shape[4]) != want
        or cache.shape[3] > language.max_seq
    ):
        raise RuntimeFailure(
            f"a prefix cache of shape {list(cache.shape)} does not fit the decoder: export the bundle again"
        )
    return int(cache.shape[3])


PROBE = 3  # positions that `BoundDecoder.alike` computes at once and apart


class StepDecoder:
    """Runs a step graph (export/networks/decoder.py, t5.py, export/coreml/stateful.py), one token a call; all
    of a prompt but its last token by the function PREFILL, if the session has one."""

    def __init__(self, session: Session, language: Language) -> None:
        self.session, self.language, self.held = session, language, Held()
        self._functions = session.functions if isinstance(session, StateSession) else ()
        self._adapter = ""
        self._cache = step_cache(session, language)
        self._cross: dict[str, FloatArray] = {}
        self._cache.reset()

    def attend(self, cross: dict[str, FloatArray]) -> None:
        """Clears the cache; from now on, steps attend to an encoder's keys and values too."""
        self.reset()
        self._cross = cross

    @property
    def prefills(self) -> bool:
        """Whether a prompt is computed otherwise than token by token."""
        return PREFILL in self._functions

    def adapt(self, name: str, values: dict[str, FloatArray]) -> None:
        """Clears the cache; from now on, the functions of an adapter run, "" for those of none."""
        self.reset()
        if name and function_of(MAIN, name) not in self._functions:
            raise RuntimeFailure(
                f"adapter {name!r}: the program has no such function: export the bundle again"
            )
        self._adapter = name

    @property
    def past(self) -> int:
        return len(self.held.ids)

    def reset(self) -> None:
        self.held.cut(0)
        self._cache.reset()

    def cut(self, tokens: int) -> None:
        if tokens < self.past:
            self.held.cut(tokens)
            self._cache.cut(tokens)

    def keep(self) -> CacheArray:
        return self._cache.read(self.past)

    def restore(self, cache: CacheArray, ids: Sequence[int] | None = None) -> None:
        tokens = _cached_tokens(self.language, cache, cache_type(self.session.artifact))
        self._cache.write(cache)
        self.held.cut(0)
        self.held.add(ids, tokens, True)

    def forward(self, embeds: FloatArray, ids: Sequence[int] | None = None) -> tuple[FloatArray, FloatArray]:
        states, steps = self._run(embeds, ids, 1)
        return steps[-1][0], np.concatenate([states, [state for _, state in steps]])

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        return np.stack([logits for logits, _ in self._run(embeds, ids, last)[1]][-last:])

    def alike(self) -> bool:
        return False  # the same they are, but a call takes one token

    def _run(
        self, embeds: FloatArray, ids: Sequence[int] | None, last: int
    ) -> tuple[FloatArray, list[tuple[FloatArray, FloatArray]]]:
        """The states of tokens that were computed together, then logits and state of each of the others, of
        which there are at least `last`."""
        _check_room(self.language, self.past, len(embeds))
        states, at = [np.zeros((0, embeds.shape[1]), np.float32)], 0
        while self.prefills and (count := min(PREFILL_TOKENS, len(embeds) - last - at)) > 1:
            states.append(
                self._prefill(embeds[at : at + count], None if ids is None else ids[at : at + count])
            )
            at += count
        steps = [
            self._step(embeds[n : n + 1], ids[n : n + 1] if ids is not None else None)
            for n in range(at, len(embeds))
        ]
        return np.concatenate(states), steps

    def _prefill(self, embeds: FloatArray, ids: Sequence[int] | None) -> FloatArray:
        """The states [S, H] of up to PREFILL_TOKENS tokens; the rest of the places stays free."""
        count, padded = len(embeds), np.zeros((PREFILL_TOKENS, embeds.shape[1]), np.float32)
        padded[:count] = embeds
        where = self._where(PREFILL_TOKENS)
        where["place"][:, count:] = 0.0
        session: Any = self.session
        out = session.run_function(function_of(PREFILL, self._adapter), {"embeds": padded, **where})
        self.held.add(ids, count, True)
        return np.asarray(out["hidden"][:count], np.float32)

    def _step(self, embed: FloatArray, ids: Sequence[int] | None) -> tuple[FloatArray, FloatArray]:
        inputs = {"embeds": embed, **self._where(), **self._cache.inputs(), **self._cross}
        session: Any = self.session
        main = function_of(MAIN, self._adapter)
        out = session.run_function(main, inputs) if self._adapter else session.run(inputs)
        self._cache.take(out, self.past)
        self.held.add(ids, 1, not self.prefills)
        return out["logits"][0].astype(np.float32), out["hidden"][0].astype(np.float32)

    def _where(self, count: int = 1) -> dict[str, FloatArray]:
        """The inputs that depend on the position of `count` tokens, as far as the graph has them."""
        s, slots = self.language, np.arange(self.language.max_seq)
        at = np.arange(self.past, self.past + count)
        back = at[:, None] - slots
        inputs = {"place": (back.T == 0).astype(np.float32), "mask": _mask(back >= 0)}
        if s.rope_theta:
            cos, sin = rotary(s, at)
            inputs |= {"cos": cos[None], "sin": sin[None]}
        if s.window:
            cos, sin = rotary(s, at, local=True)
            seen = (back >= 0) & (back < s.window)
            inputs |= {"cos_local": cos[None], "sin_local": sin[None], "mask_local": _mask(seen)}
        if s.buckets:
            inputs["buckets"] = np.eye(s.buckets, dtype=np.float32)[
                relative_buckets(slots - self.past, s.buckets, s.distance, False)
            ]
        return inputs


def _mask(seen: NDArray[np.bool_]) -> FloatArray:
    """The additive attention mask [1, S, T] of bool [S, T] or [T]: 0 where `seen`, -1e4 elsewhere."""
    return np.where(np.atleast_2d(seen), np.float32(0.0), np.float32(-1e4))[None]


class BoundDecoder:
    """Runs the ONNX decoder; past and present of each layer share memory, so that no step copies the cache.

    The binding for a single token is created once and reused: a step writes its four inputs in place and
    reads its outputs from the bound arrays.
    """

    def __init__(self, session: Session, language: Language) -> None:
        ort = load_onnxruntime()

        self.language, self.held = language, Held()
        self._alike: bool | None = None
        self._native: Any = getattr(session, "native")  # noqa: B009 - of ONNX sessions only
        self._vocab = int(next(t.shape[-1] for t in session.artifact.outputs if t.name == "logits"))
        self._value: Any = ort.OrtValue.ortvalue_from_numpy  # shares the array's memory
        shape = (1, language.kv_heads, language.max_seq, language.head_dim)
        kinds = [f"{kind}.{n}" for n in range(language.layers) for kind in ("key", "value")]
        self._kind = cache_type(session.artifact)
        self._arrays: dict[str, Any] = {name: np.zeros(shape, self._kind) for name in kinds}
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
        self._adapter: dict[str, FloatArray] = {}
        self._step = self._bind(self._embed, self._last, self._logits, self._hidden)

    def attend(self, cross: dict[str, FloatArray]) -> None:
        """Clears the cache; from now on, steps attend to an encoder's keys and values too."""
        self.reset()
        self._cross = cross
        self._step = self._bind(self._embed, self._last, self._logits, self._hidden)

    def adapt(self, name: str, values: dict[str, FloatArray]) -> None:
        """Clears the cache; from now on, the maps are changed by an adapter's matrices, or by none.

        They are bound like other inputs, because ONNX Runtime does not apply active adapters to a binding.
        """
        self.reset()
        self._adapter, self._alike = values, None
        self._step = self._bind(self._embed, self._last, self._logits, self._hidden)

    def _bind(
        self, embeds: FloatArray, last: NDArray[np.int64], logits: FloatArray, hidden: FloatArray
    ) -> tuple[Any, list[Any]]:
        """An IOBinding of these arrays and the cache, and the objects that must live as long as it."""
        binding = self._native.io_binding()
        inputs = {
            "embeds": embeds,
            "seqlens_k": self._seqlens,
            "total_seq_len": self._total,
            "last": last,
            **self._cross,
            **self._adapter,
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

    @property
    def past(self) -> int:
        return len(self.held.ids)

    def reset(self) -> None:
        self.cut(0)

    def cut(self, tokens: int) -> None:
        # Slots from `past` on are never read, because GroupQueryAttention gets the length.
        self.held.cut(tokens)

    def keep(self) -> CacheArray:
        rows = [array[0, :, : self.past] for array in self._arrays.values()]
        return np.stack(rows).reshape(
            self.language.layers, 2, self.language.kv_heads, self.past, self.language.head_dim
        )

    def restore(self, cache: CacheArray, ids: Sequence[int] | None = None) -> None:
        tokens = _cached_tokens(self.language, cache, self._kind)
        for n, array in enumerate(self._arrays.values()):
            array[0, :, :tokens] = cache[n // 2, n % 2]
        self.held.cut(0)
        self.held.add(ids, tokens, True)

    def forward(self, embeds: FloatArray, ids: Sequence[int] | None = None) -> tuple[FloatArray, FloatArray]:
        logits, hidden = self._run(embeds, ids, 1)
        return logits[0], hidden

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        """For a prompt of 500 tokens, the logits of all take 100 MB."""
        return self._run(embeds, ids, last)[0]

    def alike(self) -> bool:
        """Measured once, on PROBE positions behind those of the cache; False while there is no room for them.

        It depends on the graph and on the engine's kernels: a product of one row is often another kernel's
        than that of several, and adds up in another order.
        """
        if self._alike is None and self.past + PROBE < self.language.max_seq:
            begin, width = self.past, self.language.hidden
            probe = np.sin(np.arange(PROBE * width, dtype=np.float32) ** 2).reshape(PROBE, width)
            sure, self._alike = self.held.sure, False
            together = self._run(probe, None, PROBE)
            self.cut(begin)
            first, rest = (
                tuple(part.copy() for part in self._run(rows, None, len(rows)))
                for rows in (probe[:1], probe[1:])
            )
            self.cut(begin)
            self.held.sure = sure
            self._alike = all(
                np.array_equal(whole, np.concatenate(parts))
                for whole, parts in zip(together, zip(first, rest, strict=True), strict=True)
            )
        return bool(self._alike)

    def _run(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> tuple[FloatArray, FloatArray]:
        """The logits [last, V] of the last tokens, and all hidden states [S, H]."""
        count, past = len(embeds), self.past
        _check_room(self.language, past, count)
        self._seqlens[0], self._total[0] = past + count - 1, past + count
        if count == 1:
            self._embed[0] = embeds
            binding, logits, hidden = self._step[0], self._logits, self._hidden
        else:
            logits = np.empty((1, last, self._vocab), np.float32)
            hidden = np.empty((1, count, self.language.hidden), np.float32)
            binding, _alive = self._bind(
                np.ascontiguousarray(embeds[None], np.float32),
                np.arange(count - last, count, dtype=np.int64),
                logits,
                hidden,
            )
        self._native.run_with_iobinding(binding)
        self.held.add(ids, count, count > 1 or self._alike is True)
        return logits[0], hidden[0]


class EncoderDecoder:
    """A decoder that attends to the prompt that an encoder has read; otherwise as `inner`."""

    def __init__(self, encoder: Session, inner: StepDecoder | BoundDecoder, language: Language) -> None:
        self.encoder, self.inner, self.language, self._read = encoder, inner, language, False
        self._fixed = any(spec.name == "mask" for spec in encoder.artifact.inputs)

    @property
    def held(self) -> Held:
        return self.inner.held

    @property
    def past(self) -> int:
        return self.inner.past

    def read(self, embeds: FloatArray) -> FloatArray:
        """Encodes a prompt [S, H] and returns the encoder's states [S, H].

        The decoder starts with an empty cache and attends to the prompt from its first token on.
        """
        count, slots = len(embeds), self.language.max_seq
        _check_room(self.language, 0, count)
        inputs: dict[str, Array] = {"embeds": embeds[None]}
        if self._fixed:
            mask = _mask(np.arange(slots) < count)
            inputs = {
                "embeds": np.concatenate([embeds, np.zeros((slots - count, embeds.shape[1]), np.float32)])[
                    None
                ],
                "mask": mask,
            }
        out = self.encoder.run(inputs)
        cross = {
            name: np.ascontiguousarray(value, np.float32) for name, value in out.items() if name != "states"
        }
        self.inner.attend(cross | ({"cross_mask": mask} if self._fixed else {}))
        self._read = True
        return np.asarray(out["states"][0, :count], np.float32)

    def reset(self) -> None:
        self.inner.reset()

    def cut(self, tokens: int) -> None:
        self.inner.cut(tokens)

    def keep(self) -> CacheArray:
        return self.inner.keep()

    def restore(self, cache: CacheArray, ids: Sequence[int] | None = None) -> None:
        self.inner.restore(cache, ids)

    def forward(self, embeds: FloatArray, ids: Sequence[int] | None = None) -> tuple[FloatArray, FloatArray]:
        self._check_read()
        return self.inner.forward(embeds, ids)

    def rows(self, embeds: FloatArray, ids: Sequence[int] | None, last: int) -> FloatArray:
        self._check_read()
        return self.inner.rows(embeds, ids, last)

    def alike(self) -> bool:
        return self.inner.alike()

    def _check_read(self) -> None:
        if not self._read:
            raise RuntimeFailure("an encoder-decoder has to read a prompt before it answers: call read first")


def cross_inputs(session: Session, cross: FloatArray, language: Language) -> dict[str, FloatArray]:
    """An encoder's keys and values [2 · layers, heads, S, Dh] as inputs of this decoder's artifact.

    An artifact of fixed shape gets them padded to `max_seq`, with a mask.
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
    """The driver that fits the artifact's inputs; `encoder`: the session of the model's encoder, if any."""
    names = {spec.name for spec in session.artifact.inputs}
    inner = StepDecoder(session, language) if "place" in names else BoundDecoder(session, language)
    return inner if encoder is None else EncoderDecoder(encoder, inner, language)
