"""Core ML: one .mlpackage (ML program, iOS 18 unless told) per component, fixed shapes. Converts anywhere;
mil/ evaluates what is written here.

A decoder's cache is its inputs and outputs, or (TargetOptions.cache) states of the program, fp16 as iOS 18
has them, which no call copies.

Quantization is of weights only: int8 linear and symmetric per output channel; int4 in blocks of --group-size
inputs (mil_blocks.py); pal6 and pal4 palettes, one for each group of 16 output channels. A weight that a
scheme cannot take (too small, blocks that do not divide it) stays fp16.

All but fp32 compute in fp16, except what fp16 cannot hold: the mean of squares in a norm overflows from an
activation of 256 on, which every language model has; the few operations from the square to the root stay
fp32.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import Language, TensorSpec

from ..components.export_module import ExportModule
from ..errors import ExportError
from ..quantize.palette import palette
from ..quantize.quantization_policy import QuantizationPolicy
from ..target_options import DEFAULT, TargetOptions
from . import block_weights
from .stateful import stateful

SUFFIX = ".mlpackage"
GROUP = 16
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]
# What leads from a square to the root of its mean.
ROOT_OPS = ("linear", "matmul", "reduce_mean", "reduce_sum", "add", "sqrt", "rsqrt")


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: list[tuple[NDArray[Any], ...]],
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | fp16 | int8 | int4 | pal6 | pal4).

    Returns names, fixed shapes and types as the file has them.
    """
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    import coremltools as ct

    if options.cache == "state" and item.role == "llm_decoder":
        item = stateful(item)
    # Names without dots, which MIL does not allow.
    inputs = [_input(t.name, x) for t, x in zip(item.inputs, item.example, strict=True)]
    outputs = [ct.TensorType(name=t.name.replace(".", "_")) for t in item.outputs]
    try:
        # torch.export rather than a trace: its graph has no shape arithmetic left, which the converter cannot
        # fold.
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            program = torch.export.export(item.module, item.example, strict=False).run_decompositions({})
        model = convert(
            program,
            QuantizationPolicy("Core ML", QUANTS, quant, options.keep, options.group),
            options,
            inputs,
            outputs,
        )
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"{item.role}: Core ML cannot convert it ({(str(error) or repr(error)).splitlines()[0][:200]})"
        ) from error
    model.save(str(path))
    description = model.get_spec().description
    return tuple(_spec(f) for f in description.input), tuple(_spec(f) for f in description.output)


def convert(
    program: Any,
    policy: QuantizationPolicy,
    options: TargetOptions,
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
) -> Any:
    """An exported program (of ATen or of ExecuTorch's edge operators) as coremltools' model, its weights
    quantized by `mix`.
    """
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    import coremltools as ct

    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return ct.convert(
            _bare(program),
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
    """The model's input: fp32, or the widest integers that Core ML has."""
    import coremltools as ct

    return ct.TensorType(
        name.replace(".", "_"), tuple(example.shape), np.float32 if example.is_floating_point() else np.int32
    )


def _bare(program: Any) -> Any:
    """The program without its "alias" nodes, which say nothing and which the converter does not know."""
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
    """Whether `op` squares a tensor, or leads from such a square to the root of its mean."""
    if op.name not in seen:
        seen[op.name] = False
        makers = [
            v.op
            for v in op.inputs.values()
            if not isinstance(v, (list, tuple)) and getattr(v, "op", None) is not None
        ]
        seen[op.name] = _square(op) or (
            op.op_type in ROOT_OPS
            and any(_overflows(m, seen) for m in makers if m.op_type not in ("sqrt", "rsqrt"))
        )
    return seen[op.name]


def _square(op: Any) -> bool:
    if op.op_type == "mul":
        return bool(op.x is op.y)
    if op.op_type == "pow":
        return bool(op.y.val is not None and op.y.val.ndim == 0 and op.y.val == 2)
    return op.op_type in ("square", "reduce_sum_square", "reduce_l2_norm")


def _channels() -> Any:
    from coremltools.optimize.coreml import OpLinearQuantizerConfig

    return OpLinearQuantizerConfig(mode="linear_symmetric", dtype="int8")


def _blocks(group: int) -> Any:
    from coremltools.optimize.coreml import OpLinearQuantizerConfig

    return OpLinearQuantizerConfig(mode="linear", dtype="uint4", granularity="per_block", block_size=group)


def _palette(bits: int) -> Any:
    from coremltools.optimize.coreml import OpPalettizerConfig

    # Not coremltools' own k-means, which takes hours for a language model.
    return OpPalettizerConfig(
        mode="custom",
        lut_function=lambda values: palette(values, bits),
        granularity="per_grouped_channel",
        group_size=GROUP,
    )


# quantization → (the converter's pass, its configuration by group size); those not here leave the weights as
# they compute
PASSES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "int8": ("compression::linear_quantize_weights", lambda group: _channels()),
    "int4": (block_weights.PASS, _blocks),
    "pal6": ("compression::palettize_weights", lambda group: _palette(6)),
    "pal4": ("compression::palettize_weights", lambda group: _palette(4)),
}
QUANTS = ("fp32", "fp16", *PASSES)


def _pipeline(policy: QuantizationPolicy, parameters: dict[str, str]) -> Any:
    """The converter's passes, with the weights quantized among them: doing that to the finished model loads
    and saves it all again.

    `parameters`: the program's name of each → its path in the module. Tables stay in 8 bits under int4, as on
    the other targets.
    """
    import coremltools as ct
    from coremltools.optimize.coreml import OptimizationConfig

    block_weights.register()
    pipeline = ct.PassPipeline.DEFAULT
    own = {
        constant: quant
        for name, path in parameters.items()
        if (quant := policy.of(path)) != policy.quant
        for constant in (name, f"{name}_to_fp16")
    }
    table = "int8" if policy.quant == "int4" else policy.quant
    for name in dict.fromkeys(
        PASSES[quant][0] for quant in (policy.quant, table, *own.values()) if quant in PASSES
    ):
        everywhere, tables = (_config(name, quant, policy.group) for quant in (policy.quant, table))
        config = OptimizationConfig(
            everywhere,
            {"gather": tables},
            {constant: _config(name, quant, policy.group) for constant, quant in own.items()},
        )
        pipeline.append_pass(name)
        pipeline.set_options(name, {"config": config})
    return pipeline


def _config(name: str, quant: str, group: int) -> Any:
    """What the pass called `name` does to weights in `quant`: nothing (None) if another pass does it."""
    own, config = PASSES.get(quant, ("", None))
    return config(group) if config is not None and own == name else None


def _spec(feature: Any) -> TensorSpec:
    """An input or output as the file describes it: Core ML has no 64-bit integers, and gives what it computed
    in fp16 as such.
    """
    from coremltools.proto import FeatureTypes_pb2

    array = feature.type.multiArrayType
    kind = FeatureTypes_pb2.ArrayFeatureType.ArrayDataType.Name(array.dataType)
    return TensorSpec(feature.name, tuple(int(n) for n in array.shape), kind.lower())
