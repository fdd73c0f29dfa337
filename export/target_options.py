"""What every writer may be asked beside the quantization."""

from __future__ import annotations

from dataclasses import dataclass

from gamer.runtime.bundle.manifest import Preprocessing

from .settings import Settings


@dataclass(frozen=True)
class TargetOptions:
    """`keep`: (part of a tensor's name, its quantization) pairs. `group`: weights that share a scale in 4
    bits. `resize`: the image tower takes uint8 RGB of any size, and prepares it so in its own graph; ONNX
    only. `cache`: of a Core ML decoder, "tensors" or "state". `opset`: of ONNX. `ios`: the oldest that Core
    ML's programs run on. `backend`: ExecuTorch's."""

    keep: tuple[tuple[str, str], ...] = ()
    group: int = 32
    resize: Preprocessing | None = None
    cache: str = "tensors"
    opset: int = 20
    ios: str = "iOS18"
    backend: str = "xnnpack"


DEFAULT = TargetOptions()


def target_options(settings: Settings, preprocessing: Preprocessing | None) -> TargetOptions:
    """What the command asked of the writers."""
    resize = preprocessing if settings.image_input == "any" else None
    return TargetOptions(
        keep=settings.kept,
        group=settings.group_size,
        resize=resize,
        cache=settings.coreml_cache,
        opset=settings.opset,
        ios=settings.deployment_target,
        backend=settings.executorch_backend,
    )
