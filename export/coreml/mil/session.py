"""The interpreter as an implementation of the runtime's Session interface."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from gamer.runtime.backends import Array
from gamer.runtime.backends.coreml_backend import MAIN
from gamer.runtime.bundle.manifest import Artifact

from ...errors import ExportError
from .interpreter import Interpreter
from .memory import KEPT_BYTES


class MilSession:
    """A Core ML artifact that torch evaluates.

    `run` accepts integer inputs as int32, as the artifact declares, or wider, as in the fixtures.
    """

    def __init__(self, path: Path, artifact: Artifact) -> None:
        self.artifact, self._interpreter = artifact, Interpreter(path)
        self._loaded = {MAIN: self._interpreter}
        program = self._interpreter.program
        self.functions = program.functions
        expected = [(t.name, tuple(t.shape)) for t in artifact.inputs], [t.name for t in artifact.outputs]
        if ([(i.name, i.type.shape) for i in program.inputs], list(program.outputs)) != expected:
            raise ExportError(
                f"{path}: the program's inputs or outputs are not those of the manifest: export again"
            )

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return self.run_function(MAIN, inputs)

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]:
        if name not in self._loaded:
            kept = KEPT_BYTES // len(self.functions)
            self._loaded[name] = Interpreter(self._interpreter.package, kept, name, self._interpreter)
        interpreter = self._loaded[name]
        given = {
            spec.name: torch.from_numpy(np.ascontiguousarray(inputs[spec.name])).to(spec.type.dtype.held)
            for spec in interpreter.program.inputs
        }
        return {name: value.numpy() for name, value in interpreter.run(given).items()}

    def reset(self) -> None:
        """Sets the program's states to zero."""
        self._interpreter.reset()

    def states(self) -> dict[str, Array]:
        return {name: value.numpy() for name, value in self._interpreter.states().items()}

    def set_states(self, values: dict[str, Array]) -> None:
        self._interpreter.set_states(
            {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in values.items()}
        )


def open_session(path: Path, artifact: Artifact) -> MilSession:
    """Loads a .mlpackage. Raises ExportError for a package that the interpreter cannot run."""
    return MilSession(path, artifact)
