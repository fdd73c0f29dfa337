"""Backends: one file per engine with the same names, chosen from a literal table; the heavy import stands inside `open_session`.

A `Session` runs one artifact: named arrays in, named arrays out.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import RuntimeFailure
from ..manifest import Artifact

Array = NDArray[np.generic]
BACKENDS = {"onnx": "onnx_backend", "executorch": "executorch_backend"}


class Session(Protocol):
    """One loaded artifact. Arrays have the names, shapes and dtypes of the artifact's tensor specs."""

    artifact: Artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]: ...


def open_session(backend: str, path: Path, artifact: Artifact, threads: int) -> Session:
    """Loads one artifact. Raises RuntimeFailure for an unknown backend, a missing package or a file that the engine refuses."""
    if backend not in BACKENDS:
        raise RuntimeFailure(f"unknown backend {backend!r}; choose one of: {', '.join(BACKENDS)}")
    module = importlib.import_module(f".{BACKENDS[backend]}", __name__)
    session: Session = module.open_session(path, artifact, threads)
    return session
