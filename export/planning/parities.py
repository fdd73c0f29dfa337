"""Warns of artifacts that are likely to miss their parity: what like models reached, by kind of component.

`REACHED` is the worst of the committed results (bench/results) and of one model measured beside them. Most of
those have random weights, in blocks of 32; a trained model may do better or worse.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from ..checkpoints import catalogue
from ..components import components
from ..quantize.calibration import convolves
from ..recipe import VISION
from ..settings import Settings


@dataclass(frozen=True)
class Reached:
    """The worst cosine with torch, and for decoders the worst share of equal likeliest tokens, if known."""

    cosine: float
    top1: float | None = None


# (kind, target, quantization) → the worst that was measured.
REACHED: dict[tuple[str, str, str], Reached] = {
    ("image tower of convolutions", "onnx", "int8"): Reached(0.993773),
    ("image tower of convolutions", "executorch", "int8"): Reached(0.985869),
    ("image tower of convolutions", "coreml", "int8"): Reached(0.994343),
    ("image transformer", "onnx", "int4"): Reached(0.97227),
    ("image transformer", "executorch", "int8"): Reached(0.999651),
    ("image transformer", "coreml", "int4"): Reached(0.972794),
    ("text tower", "onnx", "int8"): Reached(0.989197),
    ("text tower", "executorch", "int8"): Reached(0.99852),
    ("text tower", "coreml", "int8"): Reached(0.99922),
    ("expert", "onnx", "int8"): Reached(0.999689),
    ("expert", "onnx", "int4"): Reached(0.989927),
    ("expert", "executorch", "int8"): Reached(0.999822),
    ("expert", "coreml", "int8"): Reached(0.999858),
    ("expert", "coreml", "int4"): Reached(0.989912),
    ("token table", "onnx", "int8"): Reached(0.999885),
    ("token table", "executorch", "int8"): Reached(0.999885),
    ("token table", "coreml", "int8"): Reached(0.999885),
    ("language encoder", "onnx", "int4"): Reached(0.996898),
    ("language encoder", "executorch", "8da4w"): Reached(0.995124),
    ("language encoder", "coreml", "int4"): Reached(0.99695),
    # int4 and 8da4w: Qwen2.5-0.5B of a GGUF file, whose weights are quantized a second time, and whose
    # activations XNNPACK quantizes, too; Gemma 3 270M (top-1).
    ("language decoder", "onnx", "int4"): Reached(0.971, 0.8588),
    ("language decoder", "executorch", "int8"): Reached(0.993016, 0.9091),
    ("language decoder", "executorch", "8da4w"): Reached(0.86558, 0.7727),
    ("language decoder", "coreml", "int8"): Reached(0.998707, 0.9455),
    ("language decoder", "coreml", "int4"): Reached(0.990205),
}
_KINDS = {
    "text_tower": "text tower",
    "llm_embed": "token table",
    "llm_encoder": "language encoder",
    "llm_decoder": "language decoder",
}


def kind(role: str, network: nn.Module | None) -> str:
    """The kind of a component in REACHED; "" for one of which nothing is known."""
    if role in ("image_tower", VISION) and network is not None:
        return "image tower of convolutions" if convolves(network) else "image transformer"
    return "expert" if role.startswith("dpe_expert") else _KINDS.get(role, "")


def warnings(settings: Settings, targets: tuple[str, ...], built: dict[str, nn.Module]) -> tuple[str, ...]:
    """A line for each artifact whose like reached less than it must.

    Packaged weights are left out: their own parity is known, and a test exports them.
    """
    lines = []
    for role in components.roles(settings):
        for target in () if _is_packaged(settings, role) else targets:
            quant = settings.quant_of(role, target)
            known = REACHED.get((kind(role, built.get(role)), target, quant))
            if known is not None and (missed := _missed(settings, role, quant, known)):
                lines.append(f"{kind(role, built.get(role))} {quant} for {target}: {missed}")
    return tuple(lines)


def _missed(settings: Settings, role: str, quant: str, known: Reached) -> str:
    wanted = settings.threshold(quant, role)
    figures = []
    if known.cosine < wanted.cosine:
        figures.append(f"a cosine of {known.cosine:.3f} of {wanted.cosine:g} wanted")
    if known.top1 is not None and wanted.top1 is not None and known.top1 < wanted.top1:
        figures.append(f"{known.top1:.3f} of {wanted.top1:g} equal likeliest tokens wanted")
    if not figures:
        return ""
    finer = "fp32" if quant == "int8" else "int8"
    way = "--quant none" if role in ("llm_embed", "text_tower") else f"--keep NAME={finer}"
    return f"like models reached {' and '.join(figures)}; consider {way}, or --min-parity {role}=LOWER"


def _is_packaged(settings: Settings, role: str) -> bool:
    """Whether the component's weights are those of a package, and its bar the project's own."""
    part = "dpe" if role.startswith("dpe_") else "llm" if role.startswith("llm_") else role.split("_")[0]
    name = settings.model(part)
    packaged = name is not None and bool(catalogue.model(name).module)
    return packaged and settings.source(part) is None and role not in dict(settings.bars)
