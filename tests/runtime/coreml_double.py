"""A stand-in for Core ML on systems that have none: the MIL interpreter beneath coremltools' own MLModel.

All of coremltools' Python code runs as it would on a Mac (specification, names, its fp16 → fp32 conversion of inputs); only the native proxy is
replaced, by one that refuses what Core ML refuses: a missing input, another shape, another type. Core ML itself runs in none of these tests.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from gamer.runtime import backends
from gamer.runtime.backends import Array


class Proxy:
    """What libcoremlpython's _MLModelProxy does, as far as MLModel asks it. `loaded`: (file name, compute units) of all that were made."""

    loaded: list[tuple[str, str]]
    half_out = np.float16  # how fp16 results are handed over: the binding has had them as float32 too
    disturbed = 0.0  # added to every result, as by an engine that computes otherwise
    refuses = ""  # what it says of every package instead of loading it

    def __init__(self, path: str, units: str, function: str, hints: dict[str, str], asset: None) -> None:
        from gamer.export.mil.interpreter import Interpreter

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

    def predict(self, data: dict[str, Array], state: None) -> dict[str, Array]:
        import torch

        given = {}
        for spec in self._interpreter.program.inputs:
            if spec.name not in data:
                raise RuntimeError(f"Feature {spec.name} is required but not specified.")
            value, wanted = data[spec.name], {torch.float32: np.float32, torch.float16: np.float32, torch.int32: np.int32}[spec.type.dtype.held]
            if value.shape != spec.type.shape:
                raise RuntimeError(f"MultiArray shape {value.shape} does not match the shape {spec.type.shape} specified in the model description")
            if value.dtype != wanted:
                raise RuntimeError(f"MultiArray of {value.dtype} for {spec.name}: {np.dtype(wanted)} is wanted")
            given[spec.name] = torch.from_numpy(np.ascontiguousarray(value)).to(spec.type.dtype.held)
        out = {name: value.numpy() + self.disturbed for name, value in self._interpreter.run(given).items()}
        return {name: value.astype(self.half_out) if value.dtype == np.float16 else value for name, value in out.items()}


def install(monkeypatch: pytest.MonkeyPatch) -> type[Proxy]:
    """Makes this system one that "has" Core ML, until the test ends. Returns the proxy's class, made for this test."""
    from coremltools.models import model

    class Own(Proxy):
        loaded: list[tuple[str, str]] = []  # noqa: RUF012 - of one test

    monkeypatch.setitem(backends.PLATFORMS, "coreml", (sys.platform, "this system"))
    monkeypatch.setattr(model, "_MLModelProxy", Own)
    return Own
