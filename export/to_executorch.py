"""ExecuTorch for XNNPACK: one .pte per component, fixed shapes. `write` quantizes, exports, lowers; it proves nothing (see parity.py).

int8 is dynamic on activations (per token) and per output channel on weights for matrix products, static (PT2E) for convolutions. 8da4w is the
same with 4-bit weights that share a scale by groups, a language model's head staying in 8 bits. A language model is quantized in the place of
the module that was given, matrix by matrix: it may be most of the memory.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from gamer.runtime.manifest import Language, TensorSpec
from numpy.typing import NDArray
from torch import nn

from .components import ExportModule
from .errors import ExportError
from .form import DEFAULT, Form

SUFFIX = ".pte"
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(item: ExportModule, quant: str, language: Language, samples: list[tuple[NDArray[Any], ...]], path: Path, form: Form = DEFAULT) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | int8 | 8da4w) with the example's shapes. Returns the tensor specs with those shapes.

    A language model's module is quantized itself. Raises ExportError.
    """
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    specs = _fixed(item.inputs, item.example), _fixed_outputs(item)
    module = _quantized(item, quant, samples, form.group)
    try:
        program = torch.export.export(module, item.example, strict=False)
        with _passes_for(item.module):
            edge = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
            left = _left_over(edge.exported_program().graph)
            lowered = edge.to_executorch()
    except Exception as error:
        raise ExportError(f"{item.role}: ExecuTorch cannot lower it ({str(error).splitlines()[0][:200]})") from error
    if left and item.role in ("llm_decoder", "llm_encoder"):  # one operator outside and every token is copied in and out of the delegate
        raise ExportError(f"{item.role}: XNNPACK leaves operators to the portable kernels: {', '.join(left)[:200]}")
    with path.open("wb") as stream:
        lowered.write_to_file(stream)
    return specs


def _left_over(graph: Any) -> list[str]:
    """What a lowered graph still computes beside its delegate."""
    names = [str(node.target) for node in graph.nodes if node.op == "call_function" and "getitem" not in str(node.target)]
    delegates = [name for name in names if "call_delegate" in name]
    return sorted({name for name in names if name not in delegates} | ({f"{len(delegates)} delegates"} if len(delegates) > 1 else set()))


def _quantized(item: ExportModule, quant: str, samples: list[tuple[NDArray[Any], ...]], group: int) -> nn.Module:
    if quant == "fp32" or item.role == "llm_embed":  # the token table comes in its quantization
        return item.module
    if quant == "int8" and _convolves(item.module) and samples:
        return _static_int8(item, samples)
    module = item.module if item.role.startswith("llm_") else _apart(item.module)
    for name, linear in module.named_modules():
        if isinstance(linear, nn.Linear):
            _quantize(linear, name, "int8" if name == "head" else quant, group)
    return module


def _convolves(module: nn.Module) -> bool:
    return any(isinstance(part, nn.Conv2d) for part in module.modules())


def _apart(module: nn.Module) -> nn.Module:
    """A copy of the modules that shares the tensors: quantizing it replaces its matrices and leaves the original's."""
    return copy.deepcopy(module, {id(t): t for t in (*module.parameters(), *module.buffers())})


def _quantize(linear: nn.Linear, name: str, quant: str, group: int) -> None:
    """Puts the quantized matrix in the place of the fp32 one."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis, PerGroup

    if quant not in ("int8", "8da4w"):
        raise ExportError(f"{name}: ExecuTorch has no {quant!r}; choose one of: fp32, int8, 8da4w")
    if quant == "8da4w" and (group % 32 or linear.in_features % group):
        raise ExportError(f"{name}: {linear.in_features} columns in groups of {group}: XNNPACK wants a multiple of 32 that divides them")
    bits, grain = (torch.int8, PerAxis(0)) if quant == "int8" else (torch.int4, PerGroup(group))
    quantize_(linear, Int8DynamicActivationIntxWeightConfig(weight_dtype=bits, weight_granularity=grain))


def _static_int8(item: ExportModule, samples: list[tuple[NDArray[Any], ...]]) -> nn.Module:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    graph = torch.export.export(item.module, item.example, strict=False).module()
    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared: Any = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        for sample in samples:
            prepared(*(torch.from_numpy(x) for x in sample))
    converted: nn.Module = convert_pt2e(prepared)
    return converted


@contextlib.contextmanager
def _passes_for(module: nn.Module) -> Iterator[None]:
    """Runs only the XNNPACK passes that can change the graph at hand.

    The backend runs 17 passes, each of which re-traces the whole graph; on the 30-layer decoder those for convolutions, paddings and
    upsampling cost more than the rest of the lowering and find nothing. There is no option for it in executorch 1.4. Parity proves the result.
    """
    if _convolves(module):  # convolutions need nearly all of them
        yield
        return
    from executorch.backends.xnnpack import _passes, xnnpack_preprocess

    chosen = [_passes.XNNPACKRemoveCloneOpsTransform, _passes.DimOrderOpsRevertPass, _passes.ConvertToLinearPass]
    manager = xnnpack_preprocess.XNNPACKPassManager
    xnnpack_preprocess.XNNPACKPassManager = lambda program, passes=None: manager(program, passes or chosen)
    try:
        yield
    finally:
        xnnpack_preprocess.XNNPACKPassManager = manager


def _fixed(specs: tuple[TensorSpec, ...], example: tuple[torch.Tensor, ...]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(s.name, tuple(x.shape), s.dtype) for s, x in zip(specs, example, strict=True))


def _fixed_outputs(item: ExportModule) -> tuple[TensorSpec, ...]:
    with torch.no_grad():
        out = item.module(*item.example)
    return _fixed(item.outputs, out if isinstance(out, tuple) else (out,))
