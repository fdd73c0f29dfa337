"""Core ML itself, on Apple's systems, behind the runtime's Session interface. Not run on any other platform; knows artifacts and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gamer.runtime.backends import Array
from gamer.runtime.manifest import Artifact

from ..errors import ExportError


class NativeSession:
    """coremltools' MLModel: compiles the package and predicts on whatever units Core ML chooses."""

    def __init__(self, path: Path, artifact: Artifact) -> None:
        import coremltools as ct

        try:
            self._model: Any = ct.models.MLModel(str(path))
        except Exception as error:  # Core ML's own messages arrive as RuntimeError
            raise ExportError(f"{path}: Core ML refuses it ({(str(error) or repr(error)).splitlines()[0][:200]}): export again") from None
        self.artifact = artifact
        self._states = tuple(f.name for f in self._model.get_spec().description.state)
        self.reset()

    def reset(self) -> None:
        """New states, where the model has any."""
        self._state: Any = self._model.make_state() if self._states else None

    def states(self) -> dict[str, Array]:
        return {name: np.array(self._state.read_state(name)) for name in self._states}

    def set_states(self, values: dict[str, Array]) -> None:
        for name, value in values.items():
            self._state.write_state(name, np.ascontiguousarray(value, np.float16))

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        kinds = {t.name: np.dtype(t.dtype) for t in self.artifact.inputs}
        out = self._model.predict({name: np.ascontiguousarray(inputs[name]).astype(kind) for name, kind in kinds.items()}, self._state)
        return {t.name: np.asarray(out[t.name]) for t in self.artifact.outputs}


def open_native(path: Path, artifact: Artifact) -> NativeSession:
    """Loads a .mlpackage into Core ML. Raises ExportError if it refuses."""
    return NativeSession(path, artifact)
