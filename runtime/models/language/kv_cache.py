"""The KV cache of a step graph between calls: in this process, or in states of the session.

A step (export/networks/decoder.py, t5.py) takes past_k.N, past_v.N [KV, T, Dh] for each layer, zero from the
first free slot on, and returns the new key and value. A step that keeps its cache itself
(export/coreml/stateful.py) has a state for each of these inputs instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ...backends import Array, Session
from ...bundle.manifest import Artifact, Language
from ...errors import RuntimeFailure

PAST = "past_"
# Of a step with states, the function that reads as many tokens of a prompt at once, and gives no logits.
PREFILL, PREFILL_TOKENS = "prefill", 32
# Keys and values [layers, 2, KV, T, Dh], in the decoder's type: float32, float16, or the codes of int8.
CacheArray = NDArray[Any]
NO_TOKEN = -1  # what a slot holds that was computed from a soft prompt, or from embeddings without ids


@dataclass
class Held:
    """Which tokens the used slots of a cache are of.

    `ids`: the token of each, or NO_TOKEN. `sure`: the slots before this one hold the very numbers that the
    prompt of the same tokens would get, computed at once.
    """

    ids: list[int] = field(default_factory=list)
    sure: int = 0

    def add(self, ids: Sequence[int] | None, count: int, sure: bool) -> None:
        """Appends `count` slots, of these `ids` if they are known."""
        if sure and self.sure == len(self.ids):
            self.sure += count
        self.ids += [NO_TOKEN] * count if ids is None else ids

    def cut(self, count: int) -> None:
        """Forgets the slots from `count` on."""
        del self.ids[count:]
        self.sure = min(self.sure, count)


def state_name(past: str) -> str:
    """The name of the state that replaces the step's input `past` ("past_k.3")."""
    return past.replace(".", "_")


@runtime_checkable
class StateSession(Session, Protocol):
    """A session whose graph has states that persist between calls, and may have several functions."""

    @property
    def functions(self) -> tuple[str, ...]: ...

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]: ...

    def reset(self) -> None:
        """Sets all states to zero."""
        ...

    def states(self) -> dict[str, Array]:
        """Copies of all states."""
        ...

    def set_states(self, values: dict[str, Array]) -> None:
        """Replaces the states' values; the shapes must be equal."""
        ...


class StepCache(Protocol):
    """The keys and values of a step graph, [layers, 2, KV, T, Dh], zero from the first free slot on."""

    def inputs(self) -> dict[str, CacheArray]: ...

    def take(self, out: dict[str, Array], slot: int) -> None: ...

    def reset(self) -> None: ...

    def cut(self, tokens: int) -> None: ...

    def read(self, tokens: int) -> CacheArray: ...

    def write(self, cache: CacheArray) -> None: ...


def _cache_names(language: Language) -> list[str]:
    return [f"{PAST}{x}.{n}" for n in range(language.layers) for x in "kv"]


class HostCache:
    """The cache in this process, of float32 or of codes; its views are the inputs past_k.N, past_v.N."""

    def __init__(self, language: Language, kind: str) -> None:
        self._all = np.zeros(
            (language.layers, 2, language.kv_heads, language.max_seq, language.head_dim), kind
        )
        self._views = {name: self._all[n // 2, n % 2] for n, name in enumerate(_cache_names(language))}

    def inputs(self) -> dict[str, CacheArray]:
        return self._views

    def take(self, out: dict[str, Array], slot: int) -> None:
        for name, view in self._views.items():
            view[:, slot] = out[name.removeprefix(PAST)][:, 0]

    def reset(self) -> None:
        self.cut(0)

    def cut(self, tokens: int) -> None:
        self._all[:, :, :, tokens:] = 0.0

    def read(self, tokens: int) -> CacheArray:
        return self._all[:, :, :, :tokens].copy()

    def write(self, cache: CacheArray) -> None:
        self.reset()
        self._all[:, :, :, : cache.shape[3]] = cache


class StateCache:
    """The cache in the session's states; keys and values are copied only to read or write a prefix."""

    def __init__(self, session: StateSession, language: Language) -> None:
        self._session, self._language = session, language
        self._names = [state_name(name) for name in _cache_names(language)]

    def inputs(self) -> dict[str, CacheArray]:
        return {}

    def take(self, out: dict[str, Array], slot: int) -> None:
        """Does nothing, since the graph itself writes the key and value."""

    def reset(self) -> None:
        self._session.reset()

    def cut(self, tokens: int) -> None:
        self.write(self.read(tokens))

    def read(self, tokens: int) -> CacheArray:
        s, states = self._language, self._session.states()
        rows = np.stack([states[name][:, :tokens].astype(np.float32) for name in self._names])
        return rows.reshape(s.layers, 2, s.kv_heads, tokens, s.head_dim)

    def write(self, cache: CacheArray) -> None:
        s = self._language
        padded = np.zeros((s.layers, 2, s.kv_heads, s.max_seq, s.head_dim), np.float32)
        padded[:, :, :, : cache.shape[3]] = cache
        self._session.set_states({name: padded[n // 2, n % 2] for n, name in enumerate(self._names)})


def cache_type(artifact: Artifact) -> str:
    """The type of a decoder's keys and values: "float32", or by --kv-cache "float16" or "int8" (codes).

    As the host sees them: those in a session's states are read as float32.
    """
    first = (f"{PAST}key.0", f"{PAST}k.0")
    return next((t.dtype for t in artifact.inputs if t.name in first), "float32")


def step_cache(session: Session, language: Language) -> StepCache:
    if any(spec.name.startswith(PAST) for spec in session.artifact.inputs):
        return HostCache(language, cache_type(session.artifact))
    if isinstance(session, StateSession):
        return StateCache(session, language)
    raise RuntimeFailure(
        "the decoder takes no keys and values and its engine keeps no states: export the bundle again"
    )
