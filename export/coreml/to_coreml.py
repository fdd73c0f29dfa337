"""Core ML: one .mlpackage (an ML program for iOS 18 by default) per component, with fixed shapes.

The conversion runs on any platform; mil/ evaluates the packages.

A decoder's cache is passed as inputs and outputs, or (TargetOptions.cache) kept in states of the program,
which are fp16, as states in iOS 18 are, and are not copied by a call. Such a program has several functions
(stateful.py): they are converted apart, and their equal weights are stored once.

Weights are quantized. int8: linear and symmetric per output channel. a8w8: so, and activations have 8 bits,
too (activations.py). int4: in blocks of --group-size inputs (block_weights.py). pal6 and pal4: palettes, one
for each group of 16 output channels. A weight that a scheme cannot take (too small, or not divisible into
blocks) stays fp16.

All quantizations but fp32 compute in fp16, except for the operations between a square and the root of its
mean. The mean of squares in a norm overflows fp16 from an activation of 256 on, which every language model
has, so these few operations stay in fp32.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from gamer.runtime.backends.coreml_backend import MAIN
from gamer.runtime.bundle.manifest import Language, TensorSpec

from ..capabilities import writer
from ..components.export_module import ExportModule, Samples, Specs
from ..errors import ExportError
from ..networks.channels_first import channels_first
from ..quantize.palette import palette
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import STATIC
from ..target_options import DEFAULT, TargetOptions
from . import activations, block_weights
from .stateful import functions

SUFFIX = ".mlpackage"
PALETTE_CHANNELS = 16
LOW = ".low."  # in the path of an adapter's matrices, which are small and keep their type
# Operations between a square and the root of its mean.
ROOT_OPS = ("linear", "matmul", "reduce_mean", "reduce_sum", "add", "sqrt", "rsqrt")


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | fp16 | int8 | int4 | pal6 | pal4 | a8w8).

    `samples`: inputs that calibrate activations. Returns the tensor specs of the file's inputs and outputs.
    Raises ExportError.
    """
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    try:
        if options.cache == "state" and item.role == "llm_decoder":
            model = _together(functions(item, options.adapters), quant, options, path)
        else:
            if options.layout == "ane":
                item = replace(item, module=channels_first(item.module))
            model = _converted(item, quant, options)
            model.save(str(path))
        if quant in STATIC:
            activations.quantize(model, samples, path).save(str(path))
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"{item.role}: Core ML cannot convert it ({(str(error) or repr(error)).splitlines()[0][:200]})"
        ) from error
    description = model.get_spec().description
    return tuple(_spec(f) for f in description.input), tuple(_spec(f) for f in description.output)


def _together(
    parts: Iterator[tuple[str, ExportModule]], quant: str, options: TargetOptions, path: Path
) -> Any:
    """Writes functions as one program to `path`, and returns the model of the first alone."""
    from coremltools.models.utils import MultiFunctionDescriptor, save_multifunction

    told, first = MultiFunctionDescriptor(), None
    with TemporaryDirectory(dir=path.parent) as folder:
        for name, item in parts:
            model, alone = _converted(item, quant, options), f"{folder}/{name}{SUFFIX}"
            model.save(alone)
            told.add_function(alone, MAIN, name)
            first = model if first is None else first
        told.default_function_name = MAIN
        save_multifunction(told, str(path))
    return first


def _converted(item: ExportModule, quant: str, options: TargetOptions) -> Any:
    """coremltools' model of `item`."""
    import coremltools as ct

    # MIL allows no dots in names.
    inputs = [_input(t.name, x) for t, x in zip(item.inputs, item.example, strict=True)]
    outputs = [ct.TensorType(name=t.name.replace(".", "_")) for t in item.outputs]
    # torch.export rather than a trace, whose graph has shape arithmetic that the converter cannot fold.
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        program = torch.export.export(item.module, item.example, strict=False).run_decompositions({})
    keep = ((LOW, "fp32" if quant == "fp32" else "fp16"), *options.keep)
    policy = QuantizationPolicy("Core ML", QUANTS, quant, keep, options.group, options.given)
    return convert(program, policy, options, inputs, outputs)


def convert(
    program: Any,
    policy: QuantizationPolicy,
    options: TargetOptions,
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
) -> Any:
    """Converts an exported program (of ATen or of ExecuTorch's edge operators) to coremltools' model.

    `policy` gives the quantization of each weight.
    """
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    import coremltools as ct

    with warnings.catch_warnings(), torch.no_grad(), block_weights.using(policy.given.values()):
        warnings.simplefilter("ignore")
        return ct.convert(
            _without_aliases(program),
            inputs=inputs,
            outputs=outputs,
            minimum_deployment_target=getattr(ct.target, options.ios),
            compute_precision=_precision(policy.quant),
            pass_pipeline=_pipeline(
                policy, {s.arg.name: s.target for s in program.graph_signature.input_specs if s.target}
            ),
            skip_model_load=True,
        )


def _input(name: str, example: torch.Tensor) -> Any:
    """The model's input: fp32, or int32, the widest integer type that Core ML has."""
    import coremltools as ct

    return ct.TensorType(
        name.replace(".", "_"), tuple(example.shape), np.float32 if example.is_floating_point() else np.int32
    )


def _without_aliases(program: Any) -> Any:
    """`program` itself, less its "alias" nodes: they do nothing, and the converter does not support them."""
    graph = program.graph_module.graph
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.alias.default:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    program.graph_module.recompile()
    return program


def _precision(quant: str) -> Any:
    import coremltools as ct

    if quant == "fp32":
        return ct.precision.FLOAT32
    return ct.transform.FP16ComputePrecision(op_selector=lambda op: not _overflows(op, {}))


def _overflows(op: Any, seen: dict[str, bool]) -> bool:
    """Whether `op` squares a tensor or lies between such a square and the root of its mean.

    `seen`: the results by operation name.
    """
    if op.name not in seen:
        seen[op.name] = False
        producers = [
            v.op
            for v in op.inputs.values()
            if not isinstance(v, (list, tuple)) and getattr(v, "op", None) is not None
        ]
        seen[op.name] = _square(op) or (
            op.op_type in ROOT_OPS
            and any(_overflows(m, seen) for m in producers if m.op_type not in ("sqrt", "rsqrt"))
        )
    return seen[op.name]


def _square(op: Any) -> bool:
    if op.op_type == "mul":
        return bool(op.x is op.y)
    if op.op_type == "pow":
        return bool(op.y.val is not None and op.y.val.ndim == 0 and op.y.val == 2)
    return op.op_type in ("square", "reduce_sum_square", "reduce_l2_norm")


def _int8_config() -> Any:
    from coremltools.optimize.coreml import OpLinearQuantizerConfig

    return OpLinearQuantizerConfig(mode="linear_symmetric", dtype="int8")


def _int4_config(group: int) -> Any:
    from coremltools.optimize.coreml import OpLinearQuantizerConfig

    return OpLinearQuantizerConfig(mode="linear", dtype="uint4", granularity="per_block", block_size=group)


def _palette_config(bits: int) -> Any:
    from coremltools.optimize.coreml import OpPalettizerConfig

    # coremltools' own k-means takes hours for a language model.
    return OpPalettizerConfig(
        mode="custom",
        lut_function=lambda values: palette(values, bits),
        granularity="per_grouped_channel",
        group_size=PALETTE_CHANNELS,
    )


# quantization → (the converter's pass, its configuration by group size); the others leave the weights in the
# type they compute in
PASSES: dict[str, tuple[str, Callable[[int], Any]]] = {
    **dict.fromkeys(("int8", "a8w8"), ("compression::linear_quantize_weights", lambda group: _int8_config())),
    "int4": (block_weights.PASS, _int4_config),
    "pal6": ("compression::palettize_weights", lambda group: _palette_config(6)),
    "pal4": ("compression::palettize_weights", lambda group: _palette_config(4)),
}
QUANTS = writer("coreml").quants


def _pipeline(policy: QuantizationPolicy, parameters: dict[str, str]) -> Any:
    """The converter's default passes and those that quantize the weights.

    Quantizing the finished model instead would load and save all of it again. `parameters`: a parameter's
    name in the program → its path in the module. With int4, tables are int8, as on the other targets.
    """
    import coremltools as ct
    from coremltools.optimize.coreml import OptimizationConfig

    block_weights.register()
    pipeline = ct.PassPipeline.DEFAULT
    overrides = {
        constant: (quant, group)
        for name, path in parameters.items()
        for quant, group in [(policy.of(path), policy.group_of(path))]
        if (quant, group) != (policy.quant, policy.group)
        for constant in (name, f"{name}_to_fp16")
    }
    table = "int8" if policy.quant == "int4" else policy.quant
    for name in dict.fromkeys(
        PASSES[quant][0]
        for quant in (policy.quant, table, *(quant for quant, _ in overrides.values()))
        if quant in PASSES
    ):
        everywhere, tables = (_config(name, quant, policy.group) for quant in (policy.quant, table))
        config = OptimizationConfig(
            everywhere,
            {"gather": tables},
            {constant: _config(name, quant, group) for constant, (quant, group) in overrides.items()},
        )
        pipeline.append_pass(name)
        pipeline.set_options(name, {"config": config})
    return pipeline


def _config(name: str, quant: str, group: int) -> Any:
    """The configuration of the pass called `name` for weights in `quant`, or None if another pass does it."""
    pass_name, config = PASSES.get(quant, ("", None))
    return config(group) if config is not None and pass_name == name else None


def _spec(feature: Any) -> TensorSpec:
    """The spec of an input or output, of the type that the file declares.

    It may differ from the module's: Core ML has no 64-bit integers, and what it computes in fp16 is output in
    fp16.
    """
    from coremltools.proto import FeatureTypes_pb2

    array = feature.type.multiArrayType
    kind = FeatureTypes_pb2.ArrayFeatureType.ArrayDataType.Name(array.dataType)
    return TensorSpec(feature.name, tuple(int(n) for n in array.shape), kind.lower())
