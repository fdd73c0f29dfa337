"""Predicts an export from configurations, without reading weights: artifacts, sizes and peak memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..components import components
from ..errors import ExportError
from ..onnx import to_ort
from ..recipe import TARGETS
from ..settings import Settings
from . import limits

# Bytes per parameter, including scales for groups of 32 (16-bit scales; 32-bit ones in ONNX).
_BYTES = {"fp32": 4.0, "fp16": 2.0, "int8": 1.03, "8da4w": 0.57, "int4": 0.65, "pal6": 0.76, "pal4": 0.51}
_BASE = 0.9e9  # bytes of torch and a converter, loaded
# Copies of the fp32 weights in memory at the peak of conversion and parity, the module's included: the middle
# of the values measured for decoders of 0.5 to 1.6 billion parameters (bench/results/exports-full-size.json).
_COPIES = {"onnx": 1.6, "executorch": 1.9, "coreml": 3.0}


@dataclass(frozen=True)
class Planned:
    """A planned artifact. `bytes`: predicted size. `peak`: predicted peak memory of its worker, in bytes."""

    role: str
    target: str
    quant: str
    parameters: int
    bytes: int
    peak: int


@dataclass(frozen=True)
class ExportPlan:
    """`notes`: what the settings ask for and do not get."""

    artifacts: tuple[Planned, ...]
    bytes: int
    peak: int
    notes: tuple[str, ...] = ()


def parameters(settings: Settings) -> dict[str, int]:
    """Parameters of each component, from configurations alone. Raises ExportError."""
    sizes: dict[str, int] = {}
    parts = settings.chosen.parts()
    if ("image" in parts and settings.model("image") != components.CONSE) or (
        "text" in parts and settings.chosen.max_text == 0
    ):
        from ..components import towers

        part = "image" if "image" in parts else "text"
        sizes |= {
            size.role: size.parameters for size in towers.shapes(components.checkpoint(settings, part).config)
        }
    if "llm" in parts:
        from ..components import decoders

        sizes |= {
            size.role: size.parameters
            for size in decoders.shapes(components.checkpoint(settings, "llm").config, settings.slots)
        }
    for role in components.roles(settings):
        if role not in sizes:  # small enough to be built and counted
            sizes[role] = components.build(settings, role, "fp32").describe().parameters
    return sizes


def predict(settings: Settings, targets: tuple[str, ...] = TARGETS) -> ExportPlan:
    """The plan of an export. Raises ExportError for unsupported settings or configurations."""
    notes = limits.check(settings, targets)
    sizes = parameters(settings)
    artifacts = []
    for role in components.roles(settings):
        for target in targets:
            quant = settings.quant_of(role, target)
            size = int(sizes[role] * _BYTES[quant] + 100_000)
            if target == "onnx" and settings.onnx_format == "ort" and size > to_ort.MAX_BYTES:
                raise ExportError(to_ort.too_large_message(role, quant, size))
            artifacts.append(
                Planned(
                    role,
                    target,
                    quant,
                    sizes[role],
                    size,
                    int(_BASE + 4 * sizes[role] * _COPIES[target] + size),
                )
            )
    return ExportPlan(
        tuple(artifacts), sum(p.bytes for p in artifacts), max(p.peak for p in artifacts), notes
    )
