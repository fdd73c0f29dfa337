"""ExecuTorch's Python runtime (XNNPACK).

Its binding takes torch tensors and imports torch itself. This is the only module outside export/ that may
import torch, and only when a session is opened.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index.installing import install

from ..bundle.manifest import Artifact
from ..errors import RuntimeFailure
from . import Array


class ExecutorchSession:
    """The `forward` method of a loaded .pte program.

    Shapes are fixed; the caller pads smaller inputs.
    """

    def __init__(self, path: Path, artifact: Artifact) -> None:
        try:
            self._torch = importlib.import_module("torch")
            runtime = importlib.import_module("executorch.runtime")
        except ImportError as error:
            raise RuntimeFailure(f"the executorch backend needs {error.name}: {install('export')}") from None
        try:
            self._program: Any = runtime.Runtime.get().load_program(path)
            self._method: Any = self._program.load_method("forward")
        except Exception as error:  # the binding raises RuntimeError with a C++ message
            raise RuntimeFailure(
                f"{path}: ExecuTorch refuses it ({str(error).splitlines()[0][:200]}): export again"
            ) from None
        self.artifact = artifact

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        args = [
            self._torch.from_numpy(np.ascontiguousarray(inputs[spec.name])) for spec in self.artifact.inputs
        ]
        out = self._method.execute(args)
        return {spec.name: tensor.numpy() for spec, tensor in zip(self.artifact.outputs, out, strict=True)}


def open_session(path: Path, artifact: Artifact, threads: int, units: str) -> ExecutorchSession:
    """Loads a .pte file, which runs on the CPU. Raises RuntimeFailure.

    `threads` is ignored: XNNPACK uses its own pool, which this binding cannot adjust. `units` is unused.
    """
    return ExecutorchSession(path, artifact)
