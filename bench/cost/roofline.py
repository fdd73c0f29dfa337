"""Predicts the time of a graph from the work of its operators and the ceilings of a machine.

Each operator takes the longer of the times for its arithmetic and for its bytes, and operators run one after
the other. Not modelled: fusion (which moves fewer bytes), contention, changes of frequency.
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
    """Seconds of one run of a graph: in all, of products, of all other operators, and of dispatching.

    `bound`: the part that takes the longest, where products count apart by arithmetic and by memory.
    """

    seconds: float
    products: float
    rest: float
    dispatch: float
    bound: str


def predict(works: Sequence[Work], ceilings: Ceilings, cache_bytes: float) -> Predicted:
    """The time of one run of a graph.

    If all weights fit in `cache_bytes`, they are read at the rate of the caches, as from the second run on.
    """
    cold = sum(w.weight_bytes for w in works) > cache_bytes
    weight_gbs = ceilings.stream_gbs if cold else ceilings.cached_gbs
    compute = memory = other = 0.0
    for w in works:
        if w.macs:
            by_macs, by_bytes = (
                w.macs / GIGA / _rate(w, ceilings),
                w.weight_bytes / GIGA / weight_gbs + w.activation_bytes / GIGA / ceilings.cached_gbs,
            )
            compute, memory = (
                (compute + by_macs, memory) if by_macs >= by_bytes else (compute, memory + by_bytes)
            )
        elif w.kind != "quantizer":  # its neighbour reads or writes the quantized tensor
            moved = w.weight_bytes / GIGA / weight_gbs + w.activation_bytes / GIGA / ceilings.cached_gbs
            other += max(w.arithmetic / GIGA / ceilings.arithmetic_gops, moved)
    steps = sum(1 for w in works if w.kind not in ("constant", "view", "quantizer"))
    dispatch = (steps * ceilings.dispatch_us + ceilings.call_us) / 1e6
    parts = {
        "arithmetic of products": compute,
        "memory of products": memory,
        "other operators": other,
        "dispatch": dispatch,
    }
    return Predicted(
        compute + memory + other + dispatch,
        compute + memory,
        other,
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
    """The classic roofline of one operator: the longer of its multiply-adds and its bytes.

    The multiply-adds run at the precision's peak rate; the bytes move at the rate of the caches, or, if
    `cold`, of memory.
    """
    peak = ceilings.peak(precision if precision in ("int8", "int4") else "fp32")
    return max(
        macs / GIGA / peak,
        bytes_moved / GIGA / (ceilings.stream_gbs if cold else max(ceilings.stream_gbs, ceilings.cached_gbs)),
    )
