"""Whether a phone can run what an export makes: the targets that its system has, and the memory that one
app may take.

In memory a component is its artifact as it lies on disk, a decoder's cache in float32, and the runtime. How
fast it is, `gamer bench device` says.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from gamer.runtime.bundle.manifest import Language

from .devices import Profile

RUNTIME_BYTES = 60_000_000  # runtime, tokenizers, album
RUNS = {"Android": ("onnx", "executorch"), "iOS": ("onnx", "executorch", "coreml")}


class Sized(Protocol):
    """An artifact, or one that is only planned."""

    @property
    def role(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def bytes(self) -> int: ...


@dataclass(frozen=True)
class Fit:
    """One artifact on a phone.

    `runs`: the phone's system has the target. `bytes`: in memory. `fits`: it runs, within what an app may
    take.
    """

    device: str
    role: str
    target: str
    bytes: int
    runs: bool
    fits: bool


def cache_bytes(language: Language) -> int:
    """A decoder's keys and values in float32."""
    return 2 * language.layers * language.kv_heads * language.head_dim * language.max_seq * 4


def fits(phone: Profile, artifacts: Iterable[Sized], language: Language | None) -> tuple[Fit, ...]:
    """Each artifact on the phone, in their order."""
    out = []
    for artifact in artifacts:
        cache = cache_bytes(language) if language is not None and artifact.role == "llm_decoder" else 0
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


def cannot(found: Iterable[Fit]) -> tuple[str, ...]:
    """The components that the phone can run from none of their artifacts."""
    every = tuple(found)
    able = {fit.role for fit in every if fit.fits}
    return tuple(dict.fromkeys(fit.role for fit in every if fit.role not in able))
