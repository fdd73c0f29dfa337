"""What a user may do about an artifact whose parity is below its threshold, by the names of the options."""

from __future__ import annotations

import math

from gamer.runtime.bundle.manifest import Artifact, Parity

from ..components.export_module import ExportModule
from ..graphs.module import OnnxGraph
from ..planning import kept
from ..quantize.calibration import TARGETS as CALIBRATED
from ..quantize.calibration import convolves
from ..recipe import STATIC, Threshold
from ..settings import GROUP_SIZES, KV_CACHES, Settings
from .layers import Layers

# The next finer quantization of single matrices, and of the whole export.
_FINER = {
    "int4": "int8",
    "8da4w": "int8",
    "pal4": "int8",
    "pal6": "int8",
    "int8": "fp32",
    "a8w8": "a16w8",
    "a16w8": "fp32",
}


def below(
    settings: Settings,
    item: ExportModule,
    artifact: Artifact,
    parity: Parity,
    threshold: Threshold,
    lost: Layers | None = None,
) -> str:
    """The options that may help, as the end of a message's line; the last accepts the parity as it is.

    `lost`: the layers, where they were compared: the matrix that loses most is the one to keep.
    """
    ways = []
    if isinstance(item.module, OnnxGraph):
        taken = artifact.quant in item.module.variants
        ways = ["moving its quantized graph away, so that it is quantized here"] if taken else []
        return ", ".join(
            [*ways, "--quant none", f"or a lower bar, --min-parity {artifact.role}={bar(parity, threshold)}"]
        )
    step = 32 if artifact.quant == "8da4w" else 1  # of XNNPACK's groups
    smaller = [size for size in GROUP_SIZES if size < settings.group_size and size % step == 0]
    if artifact.quant in ("int4", "8da4w") and smaller:
        ways.append(f"--group-size {smaller[-1]}")
    if artifact.quant in STATIC or (
        convolves(item.module) and artifact.quant == "int8" and artifact.target in CALIBRATED
    ):
        if not settings.calibrate and item.role not in ("dpe_query", "text_tower"):
            ways.append("--calibrate with photographs of yours")
    elif artifact.quant in _FINER and artifact.role != "llm_embed":
        matrices = kept.matrices(item.module)
        name = _loser(matrices, lost)
        examples = ", ".join(kept.examples(matrices))
        ways.append(f"--keep {name}={_FINER[artifact.quant]} (matrices are {examples})")
    if artifact.quant in _FINER:
        finer = _FINER[artifact.quant]
        ways.append("--quant none" if finer == "fp32" else f"--quant {finer}")
    if artifact.role == "llm_decoder" and settings.kv_cache != KV_CACHES[0]:
        ways.append(f"--kv-cache {KV_CACHES[0]}")
    return ", ".join([*ways, f"or a lower bar, --min-parity {artifact.role}={bar(parity, threshold)}"])


def _loser(matrices: tuple[str, ...], lost: Layers | None) -> str:
    """The kind of matrix that loses most, measured; else the one that does as a rule, else "NAME"."""
    kinds = {matrix.removesuffix(".weight").rpartition(".")[2] for matrix in matrices}
    most = lost.most.name.rpartition(".")[2] if lost is not None and lost.most is not None else ""
    # "down" reads products of a gate, whose outliers cost the most: Qwen2.5-0.5B's 0.866 becomes 0.954.
    return next((kind for kind in (most, "down") if kind in kinds), "NAME")


def bar(parity: Parity, threshold: Threshold) -> str:
    """The value of --min-parity that the parity just passes, as far as it is below `threshold`."""
    cosine = min(threshold.cosine, _down(parity.minimum or 0.0))
    if threshold.top1 is None or parity.top1 is None:
        return f"{cosine:g}"
    return f"{cosine:g}/{min(threshold.top1, _down(parity.top1)):g}"


def _down(value: float) -> float:
    """Rounded down to three digits, so that another run passes as well."""
    return math.floor(value * 1000) / 1000
