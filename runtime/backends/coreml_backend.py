"""Core ML on a Mac, through coremltools' MLModel.

A Core ML program has its own names: no dots, and `rest_0`… or `given_0`… where a step takes its inputs as a
list. `shared` gives it the names that the other backends have, so that the drivers above know one contract; a
step's inputs are matched by their place. Shapes are fixed, and what was computed in fp16 comes out as such. A
decoder may keep its cache in states of the program.

Core ML itself has not been run by the project's tests: they run on other systems, with the saved programs
interpreted beneath MLModel.
"""

from __future__ import annotations

import importlib
import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..bundle.manifest import Artifact
from ..errors import RuntimeFailure
from . import Array

_NUMBERED = re.compile(r"_(\d+)$")
_WHERE, _ROTATED = ("place", "mask"), ("cos", "sin", "place", "mask")
# What a step takes before its caches, by the positions that its family has: learned, rotary, rotary with
# local layers.
_HEADS = tuple(
    ("embeds", *where) for where in (_WHERE, _ROTATED, (*_ROTATED, "cos_local", "sin_local", "mask_local"))
)
_RELATIVE = ("embeds", *_WHERE, "buckets", "cross_mask")


class Program(Protocol):
    """What runs a package, by the package's own names: Core ML, or an interpreter of the same."""

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]: ...

    def reset(self) -> None: ...

    def states(self) -> dict[str, Array]: ...

    def set_states(self, values: dict[str, Array]) -> None: ...


class Shared:
    """A program behind the names that every backend shares; numbers as the program declares them."""

    def __init__(self, program: Program, artifact: Artifact) -> None:
        self._program, self._own, self.artifact = program, artifact, shared_names(artifact)

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        pairs = zip(self._own.inputs, self.artifact.inputs, strict=True)
        out = self._program.run(
            {own.name: np.ascontiguousarray(inputs[ours.name], np.dtype(own.dtype)) for own, ours in pairs}
        )
        pairs = zip(self._own.outputs, self.artifact.outputs, strict=True)
        return {ours.name: np.asarray(out[own.name], np.dtype(own.dtype)) for own, ours in pairs}


class SharedStates(Shared):
    """The same of a program that has states; these have one name everywhere."""

    def reset(self) -> None:
        self._program.reset()

    def states(self) -> dict[str, Array]:
        return self._program.states()

    def set_states(self, values: dict[str, Array]) -> None:
        self._program.set_states(values)


def shared(program: Program, artifact: Artifact) -> Shared:
    """Raises RuntimeFailure for an artifact whose inputs are no step's."""
    return (SharedStates if program.states() else Shared)(program, artifact)


def shared_names(artifact: Artifact) -> Artifact:
    """The artifact with the tensor names that the other targets' artifacts have.

    Raises RuntimeFailure for one that fits no step.
    """
    if not artifact.role.startswith("llm_"):
        return artifact
    outputs = [_NUMBERED.sub(r".\1", t.name) for t in artifact.outputs]
    inputs = [t.name for t in artifact.inputs]
    if artifact.role == "llm_decoder":
        inputs = _step_inputs(artifact, sum(name.startswith("k.") for name in outputs))
    return replace(
        artifact,
        inputs=tuple(replace(t, name=name) for t, name in zip(artifact.inputs, inputs, strict=True)),
        outputs=tuple(replace(t, name=name) for t, name in zip(artifact.outputs, outputs, strict=True)),
    )


def _step_inputs(artifact: Artifact, layers: int) -> list[str]:
    """Names of a step's inputs in their order. `layers`: how many give their key and value; 0 where all keep
    them in states. The count alone says which step it is."""
    count, past = len(artifact.inputs), _pairs("past", layers)
    for head in _HEADS:
        if len(head) + len(past) == count:
            return [*head, *past]
    crossed = (
        count - len(_RELATIVE) - len(past)
    )  # after the caches, an encoder's keys and values for as many layers
    if crossed > 0 and crossed == 2 * (layers or crossed // 2):
        return [*_RELATIVE, *past, *_pairs("cross", crossed // 2)]
    raise RuntimeFailure(
        f"{artifact.path}: {count} inputs, {layers} layers' keys and values: no decoder's step: export again"
    )


def _pairs(kind: str, layers: int) -> list[str]:
    return [f"{kind}_{x}.{n}" for n in range(layers) for x in "kv"]


class _Native:
    """An MLModel with its states."""

    def __init__(self, model: Any, where: str) -> None:
        self._model, self._where = model, where
        self._names = tuple(f.name for f in model.get_spec().description.state)
        self.reset()

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        try:
            found: dict[str, Array] = self._model.predict(inputs, self._state)
        except Exception as error:
            raise RuntimeFailure(
                f"{self._where}: Core ML fails ({_first_line(error)}): try --backend coreml:cpu_only"
            ) from None
        return found

    def reset(self) -> None:
        """New states, where the model has any."""
        self._state: Any = self._model.make_state() if self._names else None

    def states(self) -> dict[str, Array]:
        return {name: np.array(self._state.read_state(name)) for name in self._names}

    def set_states(self, values: dict[str, Array]) -> None:
        for name, value in values.items():
            self._state.write_state(
                name, np.ascontiguousarray(value, np.float16)
            )  # the one type that states have


def open_session(path: Path, artifact: Artifact, threads: int, units: str) -> Shared:
    """Loads a .mlpackage, which Core ML compiles. `units`: all | cpu_only | cpu_and_gpu | cpu_and_ne; its
    threads are its own. Raises RuntimeFailure."""
    logging.getLogger("coremltools").setLevel(
        logging.ERROR
    )  # it warns of every package beside it that it does not know yet
    try:
        ct: Any = importlib.import_module("coremltools")
    except ImportError as error:
        raise RuntimeFailure(
            f"the coreml backend needs {error.name}: pip install 'gamer-on-device[coreml]'"
        ) from None
    try:
        model: Any = ct.models.MLModel(str(path), compute_units=ct.ComputeUnit[units.upper()])
        # a package that Core ML does not load is no more than a warning until it is asked something
        model.get_compiled_model_path()
        native = _Native(model, f"{path} on {units}")
    except Exception as error:  # Core ML's own messages arrive as RuntimeError, coremltools' as Exception
        raise RuntimeFailure(f"{path}: Core ML refuses it ({_first_line(error)}): export again") from None
    return shared(native, artifact)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0][:200]
