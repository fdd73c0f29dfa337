"""Core ML: one .mlpackage (ML program, fp16, iOS 18) per component, fixed shapes. Converts on Linux; executes nowhere but on Apple's systems.

int8 is linear and symmetric, per output channel, on weights only.
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from gamer.runtime.manifest import Language, TensorSpec
from numpy.typing import NDArray

from .components import ExportModule
from .errors import ExportError

SUFFIX = ".mlpackage"
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(item: ExportModule, quant: str, language: Language, samples: list[tuple[NDArray[Any], ...]], path: Path) -> Specs:
    """Writes `item` to `path` in `quant` (fp32: fp16 here, Core ML's compute precision | int8). Returns specs with fixed shapes."""
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    import coremltools as ct

    inputs, outputs = _specs(item)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            # torch.export rather than a trace: its graph has no shape arithmetic left, which the converter cannot fold.
            program = torch.export.export(item.module, item.example, strict=False).run_decompositions({})
            model = ct.convert(
                program,
                outputs=[ct.TensorType(name=t.name) for t in outputs],
                minimum_deployment_target=ct.target.iOS18,
                compute_precision=ct.precision.FLOAT16,
                pass_pipeline=_pipeline(quant),
                skip_model_load=True,
            )
        except Exception as error:
            raise ExportError(f"{item.role}: Core ML cannot convert it ({str(error).splitlines()[0][:200]})") from error
    model.save(str(path))
    # The converter keeps the module's argument names; the manifest says what the file says.
    names = [i.name for i in model.get_spec().description.input]
    return tuple(replace(t, name=n) for t, n in zip(inputs, names, strict=True)), outputs


def _pipeline(quant: str) -> Any:
    """The converter's passes, with the weights quantized among them: doing that to the finished model loads and saves it all again."""
    import coremltools as ct
    from coremltools.optimize.coreml import OpLinearQuantizerConfig, OptimizationConfig

    pipeline = ct.PassPipeline.DEFAULT
    if quant == "int8":
        name = "compression::linear_quantize_weights"
        pipeline.append_pass(name)
        config = OpLinearQuantizerConfig(mode="linear_symmetric", dtype="int8")
        pipeline.set_options(name, {"config": OptimizationConfig(global_config=config)})
    return pipeline


def _specs(item: ExportModule) -> Specs:
    """Fixed shapes, and int32 where torch has int64: Core ML has no 64-bit integers. Names without dots, which MIL does not allow."""
    with torch.no_grad():
        out = item.module(*item.example)
    results = out if isinstance(out, tuple) else (out,)

    def fixed(spec: TensorSpec, shape: torch.Size) -> TensorSpec:
        return TensorSpec(spec.name.replace(".", "_"), tuple(shape), "int32" if spec.dtype == "int64" else spec.dtype)

    inputs = tuple(fixed(s, x.shape) for s, x in zip(item.inputs, item.example, strict=True))
    return inputs, tuple(fixed(s, x.shape) for s, x in zip(item.outputs, results, strict=True))
