"""Says which components get another quantization than the requested one, and why."""

from __future__ import annotations

from ..components import components
from ..recipe import CALIBRATED, LLM_ROLES, PICTURE_ROLES, STATIC
from ..settings import Settings

# 4 bits by another name, which --quant int4 means on that target.
_SAME = {("int4", "8da4w"), ("pal4", "8da4w"), (CALIBRATED, "int4"), (CALIBRATED, "8da4w")}


def lines(settings: Settings, targets: tuple[str, ...]) -> tuple[str, ...]:
    """A line for each target, quantization and reason: "onnx: llm_decoder in int4, not int8: …"."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for target in targets:
        for role in components.roles(settings):
            used = settings.quant_of(role, target)
            if used != settings.quant and (settings.quant, used) not in _SAME:
                name = "dpe" if role.startswith("dpe") else role
                groups.setdefault((target, used, _why(settings, role, target, used)), []).append(name)
    return tuple(
        f"{target}: {', '.join(dict.fromkeys(roles))} in {used}, not {settings.quant}: {why}"
        for (target, used, why), roles in groups.items()
    )


def _why(settings: Settings, role: str, target: str, used: str) -> str:
    rules = settings.weights_rules
    if role in rules.instead.get(target, {}).get(settings.quant, {}):
        return rules.why
    if settings.quant in STATIC and target != "executorch" and role not in PICTURE_ROLES:
        if target == "coreml" and settings.quant != "a8w8":
            return "Core ML has 8 bits or fp16 for activations, which are fp16 with it"
        if role == "text_tower":
            return "its activations have outliers, for which 8 bits are too few"
        if target == "coreml":
            return "a language model is for the CPU there"
        return "a cache that grows has no fixed shape, so that it stays on the CPU"
    if settings.quant == CALIBRATED and target != "executorch":
        return "decoders are calibrated"
    if target == "executorch" and settings.executorch_backend != "xnnpack":
        return f"its {settings.executorch_backend} backend computes no closer"
    if target == "executorch":
        small = role.startswith("dpe") and used == "fp32" and settings.quant != "fp16"
        return "they are small" if small else "XNNPACK has fp32, int8, and 4 bits for language models"
    if target == "onnx" and (settings.quant == "pal6" or role in LLM_ROLES):
        return "ONNX Runtime has no palettes"
    return "convolutions lose too much" if role == "image_tower" else "too much would be lost"
