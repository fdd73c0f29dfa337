"""Whether a phone can run an export: which targets its system has, and whether an app's memory is enough.

A component is assumed to take the size of its artifact on disk, a decoder's cache, and the runtime. `gamer
bench device` predicts its speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from gamer.runtime.bundle.manifest import Language

from ..settings import KV_CACHES
from .devices import Profile

RUNTIME_BYTES = 60_000_000  # runtime, tokenizers, album
RUNS = {"Android": ("onnx", "executorch"), "iOS": ("onnx", "executorch", "coreml")}


class Sized(Protocol):
    """An artifact, or a planned one."""

    @property
    def role(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def bytes(self) -> int: ...


@dataclass(frozen=True)
class Fit:
    """One artifact on a phone.

    `bytes`: in memory. `runs`: the phone's system has the target. `fits`: it runs, and an app may use as much
    memory.
    """

    device: str
    role: str
    target: str
    bytes: int
    runs: bool
    fits: bool


_NUMBER_BYTES = {"fp32": 4, "fp16": 2, "int8": 1}  # of KV_CACHES


def cache_bytes(language: Language, kv_cache: str = KV_CACHES[0]) -> int:
    """The bytes of a decoder's keys and values of this type."""
    numbers = 2 * language.layers * language.kv_heads * language.head_dim * language.max_seq
    return numbers * _NUMBER_BYTES[kv_cache]


def fits(
    phone: Profile,
    artifacts: Iterable[Sized],
    language: Language | None,
    cache_of: Callable[[str], str] = lambda _: KV_CACHES[0],
) -> tuple[Fit, ...]:
    """A Fit for each artifact, in the same order; `cache_of`: target → the type of a decoder's cache."""
    out = []
    for artifact in artifacts:
        cache = (
            cache_bytes(language, cache_of(artifact.target))
            if language is not None and artifact.role == "llm_decoder"
            else 0
        )
        size, runs = artifact.bytes + cache + RUNTIME_BYTES, artifact.target in RUNS.get(phone.os, ())
        out.append(
            Fit(
                phone.name,
                artifact.role,
                artifact.target,
                size,
                runs,
                runs and size <= phone.app_memory_gb * 1e9,
            )
        )
    return tuple(out)


def roles_that_do_not_fit(results: Iterable[Fit]) -> tuple[str, ...]:
    """The roles of which no artifact fits the phone."""
    checked = tuple(results)
    runnable = {fit.role for fit in checked if fit.fits}
    return tuple(dict.fromkeys(fit.role for fit in checked if fit.role not in runnable))
