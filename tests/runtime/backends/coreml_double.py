"""A replacement for Core ML on systems without it: coremltools' MLModel runs the project's MIL interpreter.

All of coremltools' Python code runs as on a Mac (specification, names, its fp16 → fp32 conversion of inputs).
Only the native proxy is replaced. Like Core ML, the replacement refuses a missing input, a wrong shape and a
wrong type. Core ML itself runs in none of these tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from gamer.runtime import backends
from gamer.runtime.backends import Array


class State:
    """What Core ML gives to MLState as a new state: named fp16 arrays, all zero."""

    def __init__(self, values: dict[str, Array]) -> None:
        self.values = {name: np.zeros_like(value) for name, value in values.items()}

    def read_state(self, name: str) -> Array:
        return self.values[name].copy()

    def write_state(self, name: str, value: Array) -> None:
        old = self.values[name]
        if (value.shape, value.dtype) != (old.shape, old.dtype):
            raise RuntimeError(f"state {name} is {old.dtype} {old.shape}, not {value.dtype} {value.shape}")
        self.values[name] = value.copy()


class Proxy:
    """The part of libcoremlpython's _MLModelProxy that MLModel uses.

    `loaded`: (file name, compute units) of every proxy that was created.
    """

    loaded: list[tuple[str, str]]
    half_out = np.float16  # the type of returned fp16 results; some versions of the binding returned float32
    disturbed = 0.0  # added to every result, as if Core ML computed other numbers
    refuses = ""  # if not empty: the error message for every package, instead of loading it

    def __init__(self, path: str, units: str, function: str, hints: dict[str, str], asset: None) -> None:
        from gamer.export.coreml.mil.interpreter import Interpreter

        assert (hints, asset) == ({}, None)
        if self.refuses:
            raise RuntimeError(self.refuses)
        self._interpreter, self._path = Interpreter(Path(path), function=function or "main"), path
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

        inputs = {}
        for spec in self._interpreter.program.inputs:
            if spec.name not in data:
                raise RuntimeError(f"Feature {spec.name} is required but not specified.")
            value, expected_type = (
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
            if value.dtype != expected_type:
                raise RuntimeError(
                    f"MultiArray of {value.dtype} for {spec.name}: {np.dtype(expected_type)} is wanted"
                )
            inputs[spec.name] = torch.from_numpy(np.ascontiguousarray(value)).to(spec.type.dtype.held)
        if (state is not None) != bool(self._interpreter.states()):
            raise RuntimeError(
                "The model is stateful, and wants a state" if state is None else "The model has no states"
            )
        if state is not None:
            self._interpreter.set_states(
                {name: torch.from_numpy(value) for name, value in state.values.items()}
            )
        outputs = {
            name: value.numpy() + self.disturbed for name, value in self._interpreter.run(inputs).items()
        }
        if state is not None:
            state.values = {name: value.numpy() for name, value in self._interpreter.states().items()}
        return {
            name: value.astype(self.half_out) if value.dtype == np.float16 else value
            for name, value in outputs.items()
        }


def install(monkeypatch: pytest.MonkeyPatch) -> type[Proxy]:
    """Makes coremltools and the runtime treat this system as one with Core ML, until the test ends.

    Returns a new subclass of Proxy, so that what a test sets on it does not affect other tests.
    """
    from coremltools.models import model

    class ProxyOfOneTest(Proxy):
        loaded: list[tuple[str, str]] = []  # noqa: RUF012 - the class is used by one test only

    monkeypatch.setitem(backends.PLATFORMS, "coreml", (sys.platform, "this system"))
    monkeypatch.setattr(model, "_MLModelProxy", ProxyOfOneTest)
    monkeypatch.setattr(model, "_is_macos", lambda: True)
    monkeypatch.setattr(model, "_macos_version", lambda: (15, 0))
    return ProxyOfOneTest
