"""Time from work and ceilings: each operator takes the longer of its arithmetic and its bytes, and operators
follow one another.

What a figure leaves out: fusing (fewer bytes), contention, frequency.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .ceilings import Ceilings
from .counting import Work

GIGA = 1e9
CACHE = 32e6  # bytes of weights that stay in a server's cache between runs


@dataclass(frozen=True)
class Predicted:
    """Seconds of a run of a graph: by products, by all else, by one operator following another; `bound`: what
    most of it waits for.
    """

    seconds: float
    products: float
    rest: float
    dispatch: float
    bound: str


def predict(works: Sequence[Work], ceilings: Ceilings, cache_bytes: float) -> Predicted:
    """`cache_bytes`: weights that fit are read at the cached rate from the second run on."""
    cold = sum(w.weight_bytes for w in works) > cache_bytes
    read = ceilings.stream_gbs if cold else ceilings.cached_gbs
    compute = memory = rest = 0.0
    for w in works:
        if w.macs:
            by_macs, by_bytes = (
                w.macs / GIGA / _rate(w, ceilings),
                w.weight_bytes / GIGA / read + w.activation_bytes / GIGA / ceilings.cached_gbs,
            )
            compute, memory = (
                (compute + by_macs, memory) if by_macs >= by_bytes else (compute, memory + by_bytes)
            )
        elif w.kind != "quantizer":  # done by its neighbour
            moved = w.weight_bytes / GIGA / read + w.activation_bytes / GIGA / ceilings.cached_gbs
            rest += max(w.arithmetic / GIGA / ceilings.arithmetic_gops, moved)
    steps = sum(1 for w in works if w.kind not in ("constant", "view", "quantizer"))
    dispatch = (steps * ceilings.dispatch_us + ceilings.call_us) / 1e6
    parts = {
        "arithmetic of products": compute,
        "memory of products": memory,
        "other operators": rest,
        "dispatch": dispatch,
    }
    return Predicted(
        compute + memory + rest + dispatch,
        compute + memory,
        rest,
        dispatch,
        max(parts, key=lambda name: parts[name]),
    )


def _rate(w: Work, ceilings: Ceilings) -> float:
    if w.precision == "depthwise":
        return ceilings.depthwise_gmacs
    return ceilings.rate("fp32" if w.precision == "fp16" else w.precision, w.rows)


def attainable_seconds(
    macs: float, bytes_moved: float, precision: str, ceilings: Ceilings, cold: bool
) -> float:
    """The classic roofline of one operator: no faster than the peak's rate, no faster than its bytes come
    (`cold`: from beyond the caches).
    """
    peak = ceilings.peak(precision if precision in ("int8", "int4") else "fp32")
    return max(
        macs / GIGA / peak,
        bytes_moved / GIGA / (ceilings.stream_gbs if cold else max(ceilings.stream_gbs, ceilings.cached_gbs)),
    )
