"""The options of a target's writer beside the quantization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import nn

from gamer.index.records import FloatArray
from gamer.runtime.bundle.manifest import Preprocessing

from .quantize.block_codes import Blocks4
from .settings import Settings


@dataclass(frozen=True)
class TargetOptions:
    """The options that every writer takes; some concern a single target.

    `keep`: (part of a tensor's name, its quantization) pairs, those of this component. `group`: weights
    that share a scale in 4 bits. `resize`: if given, the image tower takes uint8 RGB of any size and
    applies this preprocessing in its own graph; ONNX only. `cache`: how a Core ML decoder passes its
    cache, "tensors" or "state". `layout`: of Core ML's transformers, "rows" or "ane". `opset`: the ONNX
    operator set. `ios`: the oldest system that Core ML programs run on. `backend`: the ExecuTorch
    backend. `given`: codes of matrices, by their path in the module, which the writer takes instead of
    its own (quantize/calibrated.py). `adapters`: the changes of a decoder's layers by name, which an
    ONNX decoder takes as inputs and a Core ML decoder has functions with. `cache_scales`: of a decoder's
    8-bit cache (quantize/cache_scales.py).
    """

    keep: tuple[tuple[str, str], ...] = ()
    group: int = 32
    resize: Preprocessing | None = None
    cache: str = "tensors"
    layout: str = "rows"
    opset: int = 20
    ios: str = "iOS18"
    backend: str = "xnnpack"
    given: Mapping[str, Blocks4] = field(default_factory=dict)
    adapters: Mapping[str, nn.ModuleList] = field(default_factory=dict)
    cache_scales: FloatArray | None = None


DEFAULT = TargetOptions()


def target_options(
    settings: Settings, preprocessing: Preprocessing | None, role: str, target: str
) -> TargetOptions:
    """The writers' options of a component; `preprocessing`: of the image tower, if there is one."""
    resize = preprocessing if settings.image_input == "any" else None
    return TargetOptions(
        keep=settings.overrides_of(role, target),
        group=settings.group_size,
        resize=resize,
        cache=settings.coreml_cache,
        layout=settings.coreml_layout,
        opset=settings.opset,
        ios=settings.deployment_target,
        backend=settings.executorch_backend,
    )
