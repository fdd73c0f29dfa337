"""ExecuTorch: one .pte per component, fixed shapes. `write` quantizes, exports, lowers; it proves nothing
(see parity.py).

For XNNPACK, int8 is dynamic on activations (per token) and per output channel on weights for matrix products,
static (PT2E) for convolutions. 8da4w is the same with 4-bit weights that share a scale by groups, a language
model's head staying in 8 bits. For Core ML the delegates are converted as packages are (to_coreml.py). For
Vulkan fp16 is half precision throughout; 8da4w leaves the head, and what is no weight, in fp32.

A language model is quantized in the place of the module that was given, matrix by matrix: it may be most of
the memory.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from torch import nn

from gamer.runtime.bundle.manifest import Language, TensorSpec

from ..components.export_module import ExportModule
from ..errors import ExportError
from ..quantize.calibration import convolves
from ..quantize.fp16_emulation import Rounded, in_half
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import LLM_ROLES
from ..target_options import DEFAULT, TargetOptions

SUFFIX = ".pte"
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: list[tuple[NDArray[Any], ...]],
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant`, one of the backend's, with the example's shapes. Returns the tensor
    specs with those shapes.

    A language model's module is quantized itself. Raises ExportError.
    """
    from executorch.exir import to_edge_transform_and_lower

    specs = _fixed(item.inputs, item.example), _fixed_outputs(item)
    module = quantized(item, quant, samples, options)
    try:
        program = torch.export.export(module, item.example, strict=False)
        with BACKENDS[options.backend](item.module, quant, options) as partitioner:
            edge = to_edge_transform_and_lower(program, partitioner=[partitioner])
            left = _left_over(edge.exported_program().graph)
            lowered = edge.to_executorch()
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"{item.role}: ExecuTorch cannot lower it for {options.backend} "
            f"({(str(error) or repr(error)).splitlines()[0][:200]})"
        ) from error
    # One operator outside and every token is copied in and out of the delegate.
    if left and options.backend == "xnnpack" and item.role in LLM_ROLES:
        raise ExportError(
            f"{item.role}: XNNPACK leaves operators to the portable kernels: {', '.join(left)[:200]}"
        )
    with path.open("wb") as stream:
        lowered.write_to_file(stream)
    return specs


def before_delegation(item: ExportModule, quant: str, options: TargetOptions) -> ExportModule:
    """`item` as the edge program that a backend is given, for torch to run: rounding as Vulkan does, with
    Core ML's weights not quantized yet. A language model's module is quantized itself, and any rounded."""
    from executorch.exir import to_edge

    half = options.backend == "vulkan" and quant == "fp16"
    module = quantized(item, quant, [], options)  # neither backend calibrates
    module = in_half(module) if half else module
    edge = to_edge(torch.export.export(module, item.example, strict=False)).exported_program().module()
    return replace(item, module=Rounded(edge) if half else edge)


def _left_over(graph: Any) -> list[str]:
    """What a lowered graph still computes beside its delegate."""
    names = [
        str(node.target)
        for node in graph.nodes
        if node.op == "call_function" and "getitem" not in str(node.target)
    ]
    delegates = [name for name in names if "call_delegate" in name]
    return sorted(
        {name for name in names if name not in delegates}
        | ({f"{len(delegates)} delegates"} if len(delegates) > 1 else set())
    )


def quantized(
    item: ExportModule, quant: str, samples: list[tuple[NDArray[Any], ...]], options: TargetOptions
) -> nn.Module:
    """The module as the backend is to see it.

    Raises ExportError for a quantization that the backend has not.
    """
    if quant not in QUANTS[options.backend]:
        raise ExportError(
            f"{item.role}: ExecuTorch for {options.backend} has no {quant!r}; choose one of: "
            f"{', '.join(QUANTS[options.backend])}"
        )
    # Core ML's weights are quantized in its own conversion; half precision is Vulkan's; the token table comes
    # in its quantization.
    if options.backend == "coreml" or quant in ("fp32", "fp16") or item.role == "llm_embed":
        return item.module
    if quant == "int8" and convolves(item.module) and samples:
        return _static_int8(item, samples)
    module = item.module if item.role.startswith("llm_") else _apart(item.module)
    # Vulkan has no matrices of 8 bits with dynamic activations.
    head = ("head", "int8" if options.backend == "xnnpack" else "fp32")
    policy = QuantizationPolicy(
        "ExecuTorch",
        (*QUANTS[options.backend], "int8"),
        quant,
        (*options.keep, head) if item.role in LLM_ROLES else options.keep,
        options.group,
    )
    for name, linear in module.named_modules():
        if isinstance(linear, nn.Linear) and (own := policy.of(f"{name}.weight")) in ("int8", "8da4w"):
            _quantize(linear, name, own, options.group)
    return module


def _apart(module: nn.Module) -> nn.Module:
    """A copy of the modules that shares the tensors: quantizing it replaces its matrices and leaves the
    original's.
    """
    return copy.deepcopy(module, {id(t): t for t in (*module.parameters(), *module.buffers())})


def _quantize(linear: nn.Linear, name: str, quant: str, group: int) -> None:
    """Puts the quantized matrix in the place of the fp32 one."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    if quant == "8da4w" and (group % 32 or linear.in_features % group):
        raise ExportError(
            f"{name}: {linear.in_features} columns in groups of {group}: a multiple of 32 that divides them "
            "is wanted"
        )
    bits, grain = (torch.int8, PerAxis(0)) if quant == "int8" else (torch.int4, PerGroup(group))
    quantize_(linear, Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=grain))


def _static_int8(item: ExportModule, samples: list[tuple[NDArray[Any], ...]]) -> nn.Module:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    graph = torch.export.export(item.module, item.example, strict=False).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    if any(node.target is torch.ops.aten.gelu.default for node in graph.graph.nodes):  # as in to_onnx.py
        quantizer = quantizer.set_filter_function(_mixes_channels)
    prepared: Any = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(*(torch.from_numpy(x) for x in sample))
    converted: nn.Module = convert_pt2e(prepared)
    return converted


def _mixes_channels(node: Any) -> bool:
    """Whether `node` is a convolution that sees more than a single channel, or belongs to one."""
    if node.op != "call_function":  # weights, of which the quantizer asks too
        return True
    groups = node.args[6] if len(node.args) > 6 else 1
    return bool(node.target is torch.ops.aten.conv2d.default and groups == 1)


@contextlib.contextmanager
def _xnnpack(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    """Runs only the XNNPACK passes that can change the graph at hand.

    The backend runs 17 passes, each of which re-traces the whole graph; on the 30-layer decoder those for
    convolutions, paddings and upsampling cost more than the rest of the lowering and find nothing. There is
    no option for it in executorch 1.4. Parity proves the result.
    """
    from executorch.backends.xnnpack import _passes, xnnpack_preprocess
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    if convolves(module):  # convolutions need nearly all of them
        yield XnnpackPartitioner()
        return
    chosen = [
        _passes.XNNPACKRemoveCloneOpsTransform,
        _passes.DimOrderOpsRevertPass,
        _passes.ConvertToLinearPass,
    ]
    manager = xnnpack_preprocess.XNNPACKPassManager
    xnnpack_preprocess.XNNPACKPassManager = lambda program, passes=None: manager(program, passes or chosen)
    try:
        yield XnnpackPartitioner()
    finally:
        xnnpack_preprocess.XNNPACKPassManager = manager


@contextlib.contextmanager
def _coreml(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    """Converts each delegate as to_coreml.py converts a package: the backend's own options know one precision
    for all operations and no blocks.
    """
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner

    from ..coreml.to_coreml import QUANTS as SCHEMES
    from ..coreml.to_coreml import convert

    policy = QuantizationPolicy("Core ML", SCHEMES, quant, options.keep, options.group)
    theirs = CoreMLBackend._convert_to_mlmodel
    CoreMLBackend._convert_to_mlmodel = staticmethod(
        lambda program, specs, skip_model_load=True: convert(program, policy, options)
    )
    try:
        yield CoreMLPartitioner()
    finally:
        CoreMLBackend._convert_to_mlmodel = staticmethod(theirs)


@contextlib.contextmanager
def _vulkan(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

    yield VulkanPartitioner({"force_fp16": quant == "fp16"})


Backend = Callable[[nn.Module, str, TargetOptions], contextlib.AbstractContextManager[Any]]
BACKENDS: dict[str, Backend] = {"xnnpack": _xnnpack, "coreml": _coreml, "vulkan": _vulkan}
QUANTS = {
    "xnnpack": ("fp32", "int8", "8da4w"),
    "coreml": ("fp32", "fp16", "int8", "int4", "pal6", "pal4"),
    "vulkan": ("fp32", "fp16", "8da4w"),
}


def _fixed(specs: tuple[TensorSpec, ...], example: tuple[torch.Tensor, ...]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(s.name, tuple(x.shape), s.dtype) for s, x in zip(specs, example, strict=True))


def _fixed_outputs(item: ExportModule) -> tuple[TensorSpec, ...]:
    with torch.no_grad():
        out = item.module(*item.example)
    return _fixed(item.outputs, out if isinstance(out, tuple) else (out,))
