"""A stand-in for Core ML on systems that have none: the MIL interpreter beneath coremltools' own MLModel.

All of coremltools' Python code runs as it would on a Mac (specification, names, its fp16 → fp32 conversion of
inputs); only the native proxy is replaced, by one that refuses what Core ML refuses: a missing input, another
shape, another type. Core ML itself runs in none of these tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gamer.runtime import backends
from gamer.runtime.backends import Array


class State:
    """What a new state of Core ML is to MLState: named arrays of fp16, zero at first."""

    def __init__(self, values: dict[str, Array]) -> None:
        self.values = {name: np.zeros_like(value) for name, value in values.items()}

    def read_state(self, name: str) -> Array:
        return self.values[name].copy()

    def write_state(self, name: str, value: Array) -> None:
        held = self.values[name]
        if (value.shape, value.dtype) != (held.shape, held.dtype):
            raise RuntimeError(f"state {name} is {held.dtype} {held.shape}, not {value.dtype} {value.shape}")
        self.values[name] = value.copy()


class Proxy:
    """What libcoremlpython's _MLModelProxy does, as far as MLModel asks it.

    `loaded`: (file name, compute units) of all that were made.
    """

    loaded: list[tuple[str, str]]
    half_out = np.float16  # how fp16 results are handed over: the binding has had them as float32 too
    disturbed = 0.0  # added to every result, as by an engine that computes otherwise
    refuses = ""  # what it says of every package instead of loading it

    def __init__(self, path: str, units: str, function: str, hints: dict[str, str], asset: None) -> None:
        from gamer.export.coreml.mil.interpreter import Interpreter

        assert (function, hints, asset) == ("", {}, None)
        if self.refuses:
            raise RuntimeError(self.refuses)
        self._interpreter, self._path = Interpreter(Path(path)), path
        self.loaded.append((Path(path).name, units))

    @staticmethod
    def maximum_supported_specification_version() -> int:
        return 9

    def get_compiled_model_path(self) -> str:
        return self._path

    def newState(self) -> State:
        return State({name: value.numpy() for name, value in self._interpreter.states().items()})

    def predict(self, data: dict[str, Array], state: State | None) -> dict[str, Array]:
        import torch

        given = {}
        for spec in self._interpreter.program.inputs:
            if spec.name not in data:
                raise RuntimeError(f"Feature {spec.name} is required but not specified.")
            value, wanted = (
                data[spec.name],
                {torch.float32: np.float32, torch.float16: np.float32, torch.int32: np.int32}[
                    spec.type.dtype.held
                ],
            )
            if value.shape != spec.type.shape:
                raise RuntimeError(
                    f"MultiArray shape {value.shape} does not match the shape {spec.type.shape} specified "
                    "in the model description"
                )
            if value.dtype != wanted:
                raise RuntimeError(
                    f"MultiArray of {value.dtype} for {spec.name}: {np.dtype(wanted)} is wanted"
                )
            given[spec.name] = torch.from_numpy(np.ascontiguousarray(value)).to(spec.type.dtype.held)
        if (state is not None) != bool(self._interpreter.states()):
            raise RuntimeError(
                "The model is stateful, and wants a state" if state is None else "The model has no states"
            )
        if state is not None:
            self._interpreter.set_states(
                {name: torch.from_numpy(value) for name, value in state.values.items()}
            )
        out = {name: value.numpy() + self.disturbed for name, value in self._interpreter.run(given).items()}
        if state is not None:
            state.values = {name: value.numpy() for name, value in self._interpreter.states().items()}
        return {
            name: value.astype(self.half_out) if value.dtype == np.float16 else value
            for name, value in out.items()
        }


def install(monkeypatch: pytest.MonkeyPatch) -> type[Proxy]:
    """Makes this system one that "has" Core ML, until the test ends.

    Returns the proxy's class, made for this test.
    """
    from coremltools.models import model

    class Own(Proxy):
        loaded: list[tuple[str, str]] = []  # noqa: RUF012 - of one test

    monkeypatch.setitem(backends.PLATFORMS, "coreml", (sys.platform, "this system"))
    monkeypatch.setattr(model, "_MLModelProxy", Own)
    monkeypatch.setattr(model, "_is_macos", lambda: True)
    monkeypatch.setattr(model, "_macos_version", lambda: (15, 0))
    return Own
