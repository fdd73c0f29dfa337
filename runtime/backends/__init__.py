"""Backends: one module per engine with the same interface, chosen from a table and imported when first used.

A `Session` runs one artifact: named arrays in, named arrays out. A backend's name may end with the processors
or kernels to use: `coreml:cpu_and_ne`, `onnx:unfused`.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..bundle.manifest import Artifact
from ..errors import RuntimeFailure

Array = NDArray[np.generic]
BACKENDS = {"onnx": "onnx_backend", "executorch": "executorch_backend", "coreml": "coreml_backend"}
PLATFORMS = {"coreml": ("darwin", "macOS")}  # backends of one system only: its sys.platform and name
# The first of a backend's units is its default. The one in FALLBACK is slower and closer to the arithmetic
# that the file describes; it is used where the default gives wrong results.
UNITS = {"onnx": ("fused", "unfused"), "coreml": ("all", "cpu_only", "cpu_and_gpu", "cpu_and_ne")}
FALLBACK = {"onnx": "unfused", "coreml": "cpu_only"}
CHOICES = (*BACKENDS, *(f"{name}:{unit}" for name, units in UNITS.items() for unit in units))


class Session(Protocol):
    """A loaded artifact. Arrays have the names, shapes and dtypes of the artifact's tensor specs."""

    artifact: Artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]: ...


def runs_here(name: str) -> bool:
    """Whether the backend `name` exists for this system, installed or not."""
    return name in BACKENDS and (name not in PLATFORMS or PLATFORMS[name][0] == sys.platform)


def split(backend: str) -> tuple[str, str]:
    """The name and the units of a backend: "coreml:cpu_and_ne" → ("coreml", "cpu_and_ne").

    The default units if none are given, "" for a backend without units. Raises RuntimeFailure for an unknown
    backend, and for one of another system.
    """
    if backend not in CHOICES:
        raise RuntimeFailure(f"unknown backend {backend!r}; choose one of: {', '.join(CHOICES)}")
    name, _, units = backend.partition(":")
    if not runs_here(name):
        raise RuntimeFailure(
            f"the {name} backend runs on {PLATFORMS[name][1]} alone, this is {sys.platform}: use --backend "
            "onnx"
        )
    return name, units or UNITS.get(name, ("",))[0]


def open_session(backend: str, path: Path, artifact: Artifact, threads: int) -> Session:
    """Loads one artifact, to run with `threads` threads.

    Raises RuntimeFailure for an unknown backend, a missing package or a file that the engine refuses.
    """
    name, units = split(backend)
    module = importlib.import_module(f".{BACKENDS[name]}", __name__)
    session: Session = module.open_session(path, artifact, threads, units)
    return session
