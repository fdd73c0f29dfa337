"""Core ML on macOS, through coremltools' MLModel.

The tensors of a Core ML program have names without dots, and `rest_0`… or `given_0`… where a decoder step
takes its inputs as a list. `shared` gives them the names of the other backends, so that the drivers in
models/ use one interface; a step's inputs are matched by position. Shapes are fixed, and outputs that were
computed in fp16 are fp16. A decoder may keep its cache in states of the program.

The project's tests do not run Core ML itself: they run on other systems, where MLModel calls an interpreter
of the saved program.
"""

from __future__ import annotations

import importlib
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from gamer.index.installing import install

from ..bundle.manifest import Artifact
from ..errors import RuntimeFailure
from . import Array

MAIN = "main"  # the function that a program runs unless another is asked for
_NUMBERED = re.compile(r"_(\d+)$")
_POSITION, _ROTATED = ("place", "mask"), ("cos", "sin", "place", "mask")
# A step's inputs before its caches, by the kind of its positions: learned, rotary, rotary with local layers.
_STEP_INPUTS = tuple(
    ("embeds", *where) for where in (_POSITION, _ROTATED, (*_ROTATED, "cos_local", "sin_local", "mask_local"))
)
_RELATIVE_INPUTS = ("embeds", *_POSITION, "buckets", "cross_mask")


class Program(Protocol):
    """Runs a package, with the names that the package has: Core ML, or an interpreter in its place."""

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]: ...

    @property
    def functions(self) -> tuple[str, ...]:
        """The names of the package's functions, which share states and weights; `run` runs MAIN."""
        ...

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]: ...

    def reset(self) -> None: ...

    def states(self) -> dict[str, Array]: ...

    def set_states(self, values: dict[str, Array]) -> None: ...


class Shared:
    """A session of a program, with the tensor names of the other backends and the program's dtypes."""

    def __init__(self, program: Program, artifact: Artifact) -> None:
        self._program, self._own, self.artifact = program, artifact, shared_names(artifact)

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        out = self._program.run(self._given(inputs))
        pairs = zip(self._own.outputs, self.artifact.outputs, strict=True)
        return {spec.name: np.asarray(out[native.name], np.dtype(native.dtype)) for native, spec in pairs}

    def _given(self, inputs: dict[str, Array]) -> dict[str, Array]:
        pairs = zip(self._own.inputs, self.artifact.inputs, strict=True)
        return {
            native.name: np.ascontiguousarray(inputs[spec.name], np.dtype(native.dtype))
            for native, spec in pairs
        }


class SharedStates(Shared):
    """A session of a program with states, whose names are the same everywhere."""

    @property
    def functions(self) -> tuple[str, ...]:
        return self._program.functions

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]:
        out = self._program.run_function(name, self._given(inputs))
        return {key: np.asarray(value) for key, value in out.items()}

    def reset(self) -> None:
        self._program.reset()

    def states(self) -> dict[str, Array]:
        return self._program.states()

    def set_states(self, values: dict[str, Array]) -> None:
        self._program.set_states(values)


def shared(program: Program, artifact: Artifact) -> Shared:
    """The session of a program. Raises RuntimeFailure for a decoder whose inputs are not those of a step."""
    return (SharedStates if program.states() else Shared)(program, artifact)


def shared_names(artifact: Artifact) -> Artifact:
    """The artifact with the tensor names of the other targets' artifacts.

    Raises RuntimeFailure for a decoder whose inputs are not those of a step.
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
    """The names of a step's inputs, in order. The number of inputs determines the kind of step.

    `layers`: the number of layers that return their key and value; 0 if all layers keep them in states.
    """
    count, past = len(artifact.inputs), _pairs("past", layers)
    for head in _STEP_INPUTS:
        if len(head) + len(past) == count:
            return [*head, *past]
    # An encoder's keys and values for the same number of layers follow the caches.
    crossed = count - len(_RELATIVE_INPUTS) - len(past)
    if crossed > 0 and crossed == 2 * (layers or crossed // 2):
        return [*_RELATIVE_INPUTS, *past, *_pairs("cross", crossed // 2)]
    raise RuntimeFailure(
        f"{artifact.path}: {count} inputs, {layers} layers' keys and values: no decoder's step: export again"
    )


def _pairs(kind: str, layers: int) -> list[str]:
    return [f"{kind}_{x}.{n}" for n in range(layers) for x in "kv"]


def function_of(kind: str, adapter: str) -> str:
    """The name of an adapter's function, such as "main_style"; "" is the model without one."""
    return f"{kind}_{adapter}" if adapter else kind


def _adapter(function: str) -> str:
    """The adapter of `function_of`."""
    return function.partition("_")[2]


class _Native:
    """A package as MLModels, and their states, as a `Program`.

    There is one for each function of the model and of the adapter that ran last. `load`: makes the model of a
    function, None for the only one of a package.
    """

    def __init__(self, load: Callable[[str | None], Any], where: str) -> None:
        self._load, self._where, model = load, where, load(None)
        told = model.get_spec().description
        functions = {d.name: d for d in told.functions}
        self.functions = tuple(sorted(functions)) or (MAIN,)
        # The exporter makes MAIN the default; the states are the same in every function.
        self._models = {MAIN: model}
        self._names = tuple(f.name for f in functions.get(MAIN, told).state)
        self.reset()

    def run(self, inputs: dict[str, Array]) -> dict[str, Array]:
        return self.run_function(MAIN, inputs)

    def run_function(self, name: str, inputs: dict[str, Array]) -> dict[str, Array]:
        try:
            if name not in self._models:
                self._models = {
                    one: m for one, m in self._models.items() if _adapter(one) in ("", _adapter(name))
                }
                self._models[name] = self._load(name)
            outputs: dict[str, Array] = self._models[name].predict(inputs, self._state)
        except Exception as error:
            raise RuntimeFailure(
                f"{self._where}: Core ML fails ({_first_line(error)}): try --backend coreml:cpu_only"
            ) from None
        return outputs

    def reset(self) -> None:
        """Makes new states, if the model has any."""
        self._state: Any = self._models[MAIN].make_state() if self._names else None

    def states(self) -> dict[str, Array]:
        return {name: np.array(self._state.read_state(name)) for name in self._names}

    def set_states(self, values: dict[str, Array]) -> None:
        for name, value in values.items():
            self._state.write_state(name, np.ascontiguousarray(value, np.float16))  # states are always fp16


def open_session(path: Path, artifact: Artifact, threads: int, units: str) -> Shared:
    """Loads a .mlpackage, which Core ML compiles. Raises RuntimeFailure.

    `units`: all | cpu_only | cpu_and_gpu | cpu_and_ne. `threads` is ignored: Core ML has its own threads.
    """
    # coremltools warns about each installed package that it does not know yet.
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    try:
        ct: Any = importlib.import_module("coremltools")
    except ImportError as error:
        raise RuntimeFailure(f"the coreml backend needs {error.name}: {install('coreml')}") from None
    try:

        def load(function: str | None) -> Any:
            model = ct.models.MLModel(
                str(path), compute_units=ct.ComputeUnit[units.upper()], function_name=function
            )
            # A package that Core ML cannot load only causes a warning until it is used.
            model.get_compiled_model_path()
            return model

        native = _Native(load, f"{path} on {units}")
    except Exception as error:  # Core ML's own messages arrive as RuntimeError, coremltools' as Exception
        raise RuntimeFailure(f"{path}: Core ML refuses it ({_first_line(error)}): export again") from None
    return shared(native, artifact)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or repr(error)).splitlines()[0][:200]
