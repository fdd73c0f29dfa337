"""ExecuTorch for XNNPACK: one .pte per component, fixed shapes. `write` quantizes, exports, lowers; it proves nothing (see parity.py).

int8 is dynamic on activations (per token) and per output channel on weights for matrix products, static (PT2E) for convolutions.
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

SUFFIX = ".pte"
Specs = tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]


def write(item: ExportModule, quant: str, language: Language, samples: list[tuple[NDArray[Any], ...]], path: Path) -> Specs:
    """Writes `item` to `path` in `quant` (fp32 | int8) with the example's shapes. Returns the tensor specs with those shapes."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    module = item.module
    if quant == "int8" and item.role == "image_tower":
        module = _static_int8(item, samples)
    elif quant == "int8" and item.role != "llm_embed":
        module = _dynamic_int8(module)
    try:
        program = torch.export.export(module, item.example, strict=False)
        with _passes_for(item.role):
            lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
    except Exception as error:
        raise ExportError(f"{item.role}: ExecuTorch cannot lower it ({str(error).splitlines()[0][:200]})") from error
    with path.open("wb") as stream:
        lowered.write_to_file(stream)
    return _fixed(item.inputs, item.example), _fixed_outputs(item)


def _dynamic_int8(module: nn.Module) -> nn.Module:
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerAxis

    changed = copy.deepcopy(module)
    quantize_(changed, Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int8, weight_granularity=PerAxis(0)))
    return changed


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
def _passes_for(role: str) -> Iterator[None]:
    """Runs only the XNNPACK passes that can change the graph at hand.

    The backend runs 17 passes, each of which re-traces the whole graph; on the 30-layer decoder those for convolutions, paddings and
    upsampling cost more than the rest of the lowering and find nothing. There is no option for it in executorch 1.4. Parity proves the result.
    """
    if role == "image_tower":  # convolutions need nearly all of them
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
