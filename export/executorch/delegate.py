"""A runtime Session for ExecuTorch programs that are delegated to Core ML completely: the MIL interpreter
evaluates the delegates.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from gamer.runtime.backends import Array
from gamer.runtime.bundle.manifest import Artifact

from ..coreml.mil.interpreter import Interpreter
from ..errors import ExportError
from .pte import Call, read, unfold


@dataclass(frozen=True)
class _Step:
    """A call of a delegate: its program, the names of its inputs and outputs, and their value indices.

    `values` has the indices of the inputs, then of the outputs.
    """

    interpreter: Interpreter
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    values: tuple[int, ...]


class DelegateSession:
    """A .pte file whose delegates are unpacked into a temporary folder while the session exists.

    Raises ExportError as `open_delegate` does.
    """

    def __init__(self, path: Path, artifact: Artifact) -> None:
        self.artifact, self._program, self._folder = artifact, read(path), TemporaryDirectory()
        if self._program.left or self._program.backends != ("CoreMLBackend",):
            raise ExportError(f"{path}: not Core ML's alone: the MIL interpreter cannot run it")
        self._steps = [
            self._open(call, Path(self._folder.name) / str(n)) for n, call in enumerate(self._program.calls)
        ]

    def _open(self, call: Call, folder: Path) -> _Step:
        unfold(call.data, folder)
        try:
            names: Any = json.loads((folder / "metadata.json").read_text(encoding="utf-8"))
            inputs, outputs = tuple(map(str, names["inputNames"])), tuple(map(str, names["outputNames"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ExportError(
                f"a Core ML delegate does not name its tensors ({str(error)[:100]}): export again"
            ) from None
        step = _Step(Interpreter(folder / "model.mlpackage"), inputs, outputs, call.values)
        declared = {v.name for v in step.interpreter.program.inputs}, set(step.interpreter.program.outputs)
        if len(call.values) != len(inputs) + len(outputs) or (set(inputs), set(outputs)) != declared:
            raise ExportError(
                "a Core ML delegate takes or gives other tensors than its program: export again"
            )
        return step

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        specs, program = self.artifact.inputs, self._program
        values = {
            at: torch.from_numpy(np.ascontiguousarray(inputs[s.name]))
            for at, s in zip(program.inputs, specs, strict=True)
        }
        for step in self._steps:
            kinds = {v.name: v.type.dtype.held for v in step.interpreter.program.inputs}
            given = {
                name: values[at].to(kinds[name]) for name, at in zip(step.inputs, step.values, strict=False)
            }
            out = step.interpreter.run(given)
            values |= {
                at: out[name] for name, at in zip(step.outputs, step.values[len(step.inputs) :], strict=True)
            }
        pairs = zip(self.artifact.outputs, program.outputs, strict=True)
        return {s.name: values[at].numpy().astype(s.dtype) for s, at in pairs}


def open_delegate(path: Path, artifact: Artifact) -> DelegateSession:
    """Loads a .pte file.

    Raises ExportError for a program that is not delegated to Core ML completely, or that the interpreter
    cannot run.
    """
    return DelegateSession(path, artifact)
