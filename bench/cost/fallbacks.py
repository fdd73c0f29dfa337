"""Which nodes run a slower kernel than their artifact promises, and why. Rules, each a line."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .nodes import MS, Graph, Node

PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "Conv", "FusedConv", "FusedGemm")
LOW = ("MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "QGemm")


@dataclass(frozen=True)
class Ran:
    """A node that ran: its kernel, its microseconds (median over runs), and the work that it took over.

    `layer`: the model's, by name.
    """

    name: str
    op: str
    layer: str
    us: float
    macs: int
    bytes: int
    precision: str


@dataclass(frozen=True)
class Fallback:
    """Nodes of one kernel that are slower than they could be: `us` in all."""

    kernel: str
    times: int
    us: float
    why: str


def find(nodes: Sequence[Ran], exported: Graph) -> tuple[Fallback, ...]:
    """The dearest first."""
    named = {n.name: n for n in exported.nodes}
    low = any(n.op in LOW or n.op.startswith(f"{MS}:MatMulNBits") or _stored_low(n) for n in exported.nodes)
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for node in nodes:
        if why := _why(node, named, low):
            found[node.op, why].append(node.us)
    out = [Fallback(kernel, len(us), sum(us), why) for (kernel, why), us in found.items()]
    return tuple(sorted(out, key=lambda f: -f.us))


def _why(node: Ran, named: dict[str, Node], low: bool) -> str:
    """The reason why this node's kernel is not the fast one; "" when it is."""
    source = named.get(node.name) or next(
        (n for name, n in named.items() if node.name.startswith(name)), None
    )
    if low and node.op in PRODUCTS and node.precision in ("fp32", "fp16"):
        constant = "Conv" in node.op or (
            source is not None
            and any(v is not None and v.constant and v.size > 1 for v in source.inputs[1:2])
        )
        return (
            "float in a quantized graph: its weight was left out"
            if constant
            else "float in a quantized graph: both factors are activations"
        )
    if node.op == "MatMulNBits" and source is not None and source.number("accuracy_level", 0) != 4:
        return "accuracy_level is not 4: weights are unpacked and multiplied in float"
    if (
        node.op == "MatMulNBits"
        and source is not None
        and len(source.inputs) > 3
        and source.inputs[3] is not None
        and source.inputs[3].dtype == 1
    ):
        return "fractional zero points: the path for them is a hundred times slower"
    if node.op == "MatMulInteger":
        return "not fused with its scale: the result goes through memory in int32"
    if node.op in ("QuantizeLinear", "DequantizeLinear") and low:
        return "a boundary between int8 and float inside the graph"
    if node.op in ("ReduceMean", "Pow") and "norm" in node.name.lower():
        return "a norm in several operators: not fused"
    if node.op == "Erf":
        return "a GELU in several operators: not fused"
    if node.op in ("ReorderInput", "ReorderOutput"):
        return "a change of layout between blocked and plain channels"
    if node.op == "Cast" and "InsertedPrecisionFreeCast" in node.name:
        return "no kernel of this precision on this processor: cast to float"
    return ""


def _stored_low(node: Node) -> bool:
    return (
        any(
            v is not None and v.constant and v.dtype in (2, 3, 21, 22) and v.size > 1 for v in node.inputs[:1]
        )
        and node.op == "DequantizeLinear"
    )
