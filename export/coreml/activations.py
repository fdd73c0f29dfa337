"""Core ML's activations in 8 bits (a8w8), with scales and zero points calibrated on real inputs.

coremltools' own linear_quantize_activations finds the ranges of values by running the program, which Core ML
does on Macs alone. Here the interpreter (mil/) runs it, and coremltools' passes do the rest: they put a
quantize and a dequantize before and behind convolutions, linear maps, pools and additions. Products of two
activations have no such form there, nor have activations of 16 bits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..components.export_module import Samples
from .mil.interpreter import Interpreter

# The values that a pass needs the ranges of, by name, and what ends doubles of a value between two passes.
_PASSES = (
    "compression::insert_prefix_quantize_dequantize_pair",
    "compression::insert_suffix_quantize_dequantize_pair",
    "common::dequantize_quantize_pair_elimination",
)


def quantize(model: Any, samples: Samples, path: Path) -> Any:
    """`model`, saved at `path`, with activations in uint8 whose ranges are those on `samples`.

    Zero points are asymmetric: pocket's image tower has a worst cosine of 0.981 with them, 0.967 without.
    """
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.converters.mil.mil.passes.graph_pass import PassOption
    from coremltools.converters.mil.mil.passes.pass_registry import PASS_REGISTRY
    from coremltools.models import utils
    from coremltools.optimize.coreml import OpLinearQuantizerConfig, OptimizationConfig

    config = OptimizationConfig(OpLinearQuantizerConfig(mode="linear", dtype="uint8"))
    *inserting, last = (PASS_REGISTRY[name] for name in _PASSES)
    options = [PassOption("config", config), PassOption("activation_stats", ranges(path, samples))]
    for one in inserting:
        one.set_options(options)
    version = model.get_spec().specificationVersion
    return utils._apply_graph_pass(
        model, [*inserting, last], spec_version=version, pymil_load_func=load, skip_model_load=True
    )


def ranges(path: Path, samples: Samples) -> dict[str, dict[str, float]]:
    """The least and the greatest number of each value of the program at `path`, as coremltools calls them."""
    interpreter, found = Interpreter(path), dict[str, dict[str, float]]()

    def see(name: str, value: Tensor) -> None:
        if value.is_floating_point():
            low, high = (float(x) for x in value.aminmax())
            before = found.setdefault(name, {"rmin": low, "rmax": high})
            before |= {"rmin": min(before["rmin"], low), "rmax": max(before["rmax"], high)}

    for sample in samples:
        specs = zip(interpreter.program.inputs, sample, strict=True)
        given = {i.name: torch.from_numpy(np.ascontiguousarray(x)).to(i.type.dtype.held) for i, x in specs}
        for name, value in given.items():
            see(name, value)
        interpreter.run(given, see)
    return found
