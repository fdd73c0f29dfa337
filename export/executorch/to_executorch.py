"""ExecuTorch: one .pte per component, with fixed shapes. `write` quantizes, exports and lowers; export/parity
checks the result.

XNNPACK: int8 quantizes matrix products with dynamic activations (per token) and weights per output channel,
and convolutions statically (PT2E). 8da4w is the same with 4-bit weights that have a scale per group; a
language model's head stays in 8 bits. Core ML: delegates are converted as packages are (to_coreml.py).
Vulkan: fp16 is half precision throughout; 8da4w leaves the head, and all that is not a weight, in fp32.

A language model is quantized in place, matrix by matrix, because it may take up most of the memory.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from gamer.runtime.bundle.manifest import Language

from ..capabilities import writer
from ..components.export_module import ExportModule, Samples, Specs
from ..errors import ExportError
from ..quantize.block_codes import Blocks4
from ..quantize.calibration import convolves, in_fp32
from ..quantize.fp16_emulation import Rounded, in_half
from ..quantize.quantization_policy import QuantizationPolicy
from ..recipe import LLM_ROLES
from ..target_options import DEFAULT, TargetOptions
from .small_cache import with_codes

SUFFIX = ".pte"


def write(
    item: ExportModule,
    quant: str,
    language: Language,
    samples: Samples,
    path: Path,
    options: TargetOptions = DEFAULT,
) -> Specs:
    """Writes `item` to `path` in `quant`, one of the backend's QUANTS, with the example's shapes.

    Returns the tensor specs with those shapes. Quantizes a language model's module in place. Raises
    ExportError.
    """
    module = quantized(item, quant, samples, options)
    if options.cache_scales is not None:
        item = with_codes(item, module, options.cache_scales)
        module = item.module
    specs = item.fixed_specs()
    program, leftovers = lowered(item, module, quant, options)
    # A single operator outside the delegate would copy tensors out of it and back for every token.
    if leftovers and options.backend == "xnnpack" and item.role in LLM_ROLES:
        raise ExportError(
            f"{item.role}: XNNPACK leaves operators to the portable kernels: {', '.join(leftovers)[:200]}"
        )
    with path.open("wb") as stream:
        program.write_to_file(stream)
    return specs


def lowered(
    item: ExportModule,
    module: nn.Module,
    quant: str,
    options: TargetOptions,
    constants: dict[str, Any] | None = None,
) -> tuple[Any, list[str]]:
    """The program of `item`, and the operators that it leaves outside its delegate.

    `module`: that of `item`, quantized. `constants`: further methods, each of which returns a number or a
    list of them; for a program that keeps a cache. Raises ExportError.
    """
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower

    # A program with a cache of its own writes into it, instead of copying it for each token.
    config = ExecutorchBackendConfig(run_reinplace_pass=constants is not None)
    try:
        program = torch.export.export(module, item.example, strict=False)
        with BACKENDS[options.backend](item.module, quant, options) as partitioner:
            edge = to_edge_transform_and_lower(program, partitioner=[partitioner], constant_methods=constants)
            leftovers = _left_over(edge.exported_program().graph)
            return edge.to_executorch(config), leftovers
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"{item.role}: ExecuTorch cannot lower it for {options.backend} "
            f"({(str(error) or repr(error)).splitlines()[0][:200]})"
        ) from error


def before_delegation(item: ExportModule, quant: str, options: TargetOptions) -> ExportModule:
    """`item` with the edge program that the backend receives as its module, which torch can run.

    For Vulkan's fp16, every operation is rounded to fp16. Core ML's weights are not quantized yet. The module
    of `item` itself is changed: a language model's is quantized, and any module is rounded for Vulkan's fp16.
    """
    from executorch.exir import to_edge

    half = options.backend == "vulkan" and quant == "fp16"
    module = quantized(item, quant, [], options)  # neither backend calibrates
    module = in_half(module) if half else module
    edge = to_edge(torch.export.export(module, item.example, strict=False)).exported_program().module()
    return replace(item, module=Rounded(edge) if half else edge)


def _left_over(graph: Any) -> list[str]:
    """The operators that a lowered graph leaves outside its delegate, sorted.

    If there are several delegates, their number is in the list too.
    """
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
    """The module in `quant`, as it is exported for the backend. A language model's is quantized in place.

    Raises ExportError for a quantization that the backend does not have.
    """
    if quant not in QUANTS[options.backend]:
        raise ExportError(
            f"{item.role}: ExecuTorch for {options.backend} has no {quant!r}; choose one of: "
            f"{', '.join(QUANTS[options.backend])}"
        )
    # Core ML's weights are quantized by its conversion, Vulkan's fp16 by its partitioner, and the token table
    # is already quantized.
    if options.backend == "coreml" or quant in ("fp32", "fp16") or item.role == "llm_embed":
        return item.module
    if quant == "int8" and convolves(item.module) and samples:
        return _static_int8(item, samples)
    module = item.module if item.role.startswith("llm_") else _shared_copy(item.module)
    # Vulkan does not support 8-bit matrices with dynamic activations.
    head = ("head", "int8" if options.backend == "xnnpack" else "fp32")
    policy = QuantizationPolicy(
        "ExecuTorch",
        (*QUANTS[options.backend], "int8"),
        quant,
        (*options.keep, head) if item.role in LLM_ROLES else options.keep,
        options.group,
    )
    for name, linear in module.named_modules():
        if isinstance(linear, nn.Linear) and (chosen := policy.of(f"{name}.weight")) in ("int8", "8da4w"):
            quantize_linear(linear, name, chosen, policy.group_of(f"{name}.weight"))
            if (given := options.given.get(f"{name}.weight")) is not None:
                _take(linear, given)
    return module


def _shared_copy(module: nn.Module) -> nn.Module:
    """A copy of the module that shares its tensors; quantizing the copy leaves the original unchanged."""
    return copy.deepcopy(module, {id(t): t for t in (*module.parameters(), *module.buffers())})


def quantize_linear(linear: nn.Linear, name: str, quant: str, group: int) -> None:
    """Quantizes the matrix in place. Raises ExportError for an unsuitable group size."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    if quant == "8da4w" and (
        group not in writer("executorch", "xnnpack").blocks or linear.in_features % group
    ):
        raise ExportError(
            f"{name}: {linear.in_features} columns in groups of {group}: a multiple of 32 that divides them "
            "is wanted"
        )
    dtype, granularity = (torch.int8, PerAxis(0)) if quant == "int8" else (torch.int4, PerGroup(group))
    quantize_(
        linear, Int8DynamicActivationIntxWeightConfig(weight_dtype=dtype, weight_granularity=granularity)
    )


def _take(linear: Any, given: Blocks4) -> None:
    """Replaces the codes of a matrix in 8da4w, which are signed, and its scales."""
    codes = given.codes.reshape(len(given.codes), -1).astype(np.int8) - 8
    linear.weight.qdata.copy_(torch.from_numpy(codes))
    linear.weight.scale.copy_(torch.from_numpy(given.scales))


def _static_int8(item: ExportModule, samples: list[tuple[NDArray[Any], ...]]) -> nn.Module:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    graph = torch.export.export(item.module, item.example, strict=False).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    # What stays in fp32 is as in to_onnx.py.
    nodes = list(graph.graph.nodes)
    convolutions = [node for node in nodes if node.target is torch.ops.aten.conv2d.default]
    first = convolutions[: in_fp32(len(convolutions))]
    gelu = any(node.target is torch.ops.aten.gelu.default for node in nodes)
    quantizer = quantizer.set_filter_function(
        lambda node: node not in first and (not gelu or _is_quantizable(node))
    )
    prepared: Any = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(*(torch.from_numpy(x) for x in sample))
    converted: nn.Module = convert_pt2e(prepared)
    return converted


def _is_quantizable(node: Any) -> bool:
    """Whether the quantizer may quantize `node`: only ungrouped convolutions, and their weights."""
    if node.op != "call_function":  # weights, for which the quantizer calls this too
        return True
    groups = node.args[6] if len(node.args) > 6 else 1
    return bool(node.target is torch.ops.aten.conv2d.default and groups == 1)


@contextlib.contextmanager
def _xnnpack(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    """XNNPACK's partitioner. While it is in use, only the passes that can change this graph are run.

    The backend runs 17 passes, each of which re-traces the graph. On the 30-layer decoder, those for
    convolutions, paddings and upsampling cost more than the rest of the lowering and change nothing.
    executorch 1.4 has no option to leave them out, so its pass manager is replaced. Parity checks the result.
    """
    from executorch.backends.xnnpack import _passes, xnnpack_preprocess
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    if convolves(module):  # convolutions need nearly all passes
        yield XnnpackPartitioner()
        return
    needed = [
        _passes.XNNPACKRemoveCloneOpsTransform,
        _passes.DimOrderOpsRevertPass,
        _passes.ConvertToLinearPass,
    ]
    original = xnnpack_preprocess.XNNPACKPassManager
    xnnpack_preprocess.XNNPACKPassManager = lambda program, passes=None: original(program, passes or needed)
    try:
        yield XnnpackPartitioner()
    finally:
        xnnpack_preprocess.XNNPACKPassManager = original


@contextlib.contextmanager
def _coreml(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    """Core ML's partitioner. While it is in use, delegates are converted as to_coreml.py converts packages.

    The backend's own options have a single precision for all operations and no quantization in blocks.
    """
    from executorch.backends.apple.coreml.compiler import CoreMLBackend
    from executorch.backends.apple.coreml.partition import CoreMLPartitioner

    from ..coreml.to_coreml import QUANTS as SCHEMES
    from ..coreml.to_coreml import convert

    policy = QuantizationPolicy("Core ML", SCHEMES, quant, options.keep, options.group, options.given)
    original = CoreMLBackend._convert_to_mlmodel
    CoreMLBackend._convert_to_mlmodel = staticmethod(
        lambda program, specs, skip_model_load=True: convert(program, policy, options)
    )
    try:
        yield CoreMLPartitioner()
    finally:
        CoreMLBackend._convert_to_mlmodel = staticmethod(original)


@contextlib.contextmanager
def _vulkan(module: nn.Module, quant: str, options: TargetOptions) -> Iterator[Any]:
    from executorch.backends.vulkan.partitioner.vulkan_partitioner import VulkanPartitioner

    yield VulkanPartitioner({"force_fp16": quant == "fp16"})


Backend = Callable[[nn.Module, str, TargetOptions], contextlib.AbstractContextManager[Any]]
BACKENDS: dict[str, Backend] = {"xnnpack": _xnnpack, "coreml": _coreml, "vulkan": _vulkan}
QUANTS = {backend: writer("executorch", backend).quants for backend in BACKENDS}
