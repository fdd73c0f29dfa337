"""Finds nodes that run a slower kernel than their artifact promises. `_why` holds the rules."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from .nodes import MS, Graph, Node

PRODUCTS = ("MatMul", "FusedMatMul", "Gemm", "Conv", "FusedConv", "FusedGemm")
LOW = ("MatMulInteger", "ConvInteger", "QLinearConv", "QLinearMatMul", "QGemm")


@dataclass(frozen=True)
class ExecutedNode:
    """A node that ran: its kernel, its microseconds (median over runs), and the work assigned to it.

    `layer`: the part of the model that the node's name gives.
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
    """Nodes with the same kernel and the same reason why it is slow. `us`: their sum."""

    kernel: str
    times: int
    us: float
    why: str


def find(nodes: Sequence[ExecutedNode], exported: Graph) -> tuple[Fallback, ...]:
    """The fallbacks, the most expensive first."""
    named = {n.name: n for n in exported.nodes}
    quantized = any(
        n.op in LOW or n.op.startswith(f"{MS}:MatMulNBits") or _dequantizes_weight(n) for n in exported.nodes
    )
    by_reason: dict[tuple[str, str], list[float]] = defaultdict(list)
    for node in nodes:
        if why := _why(node, named, quantized):
            by_reason[node.op, why].append(node.us)
    out = [Fallback(kernel, len(us), sum(us), why) for (kernel, why), us in by_reason.items()]
    return tuple(sorted(out, key=lambda f: -f.us))


def _why(node: ExecutedNode, named: dict[str, Node], quantized: bool) -> str:
    """The reason why this node's kernel is not the fast one; "" if it is."""
    exported_node = named.get(node.name) or next(
        (n for name, n in named.items() if node.name.startswith(name)), None
    )
    if quantized and node.op in PRODUCTS and node.precision in ("fp32", "fp16"):
        constant = "Conv" in node.op or (
            exported_node is not None
            and any(v is not None and v.constant and v.size > 1 for v in exported_node.inputs[1:2])
        )
        return (
            "float in a quantized graph: its weight was left out"
            if constant
            else "float in a quantized graph: both factors are activations"
        )
    if (
        node.op == "MatMulNBits"
        and exported_node is not None
        and exported_node.number("accuracy_level", 0) != 4
    ):
        return "accuracy_level is not 4: weights are unpacked and multiplied in float"
    if (
        node.op == "MatMulNBits"
        and exported_node is not None
        and len(exported_node.inputs) > 3
        and exported_node.inputs[3] is not None
        and exported_node.inputs[3].dtype == 1
    ):
        return "fractional zero points: the path for them is a hundred times slower"
    if node.op == "MatMulInteger":
        return "not fused with its scale: the result goes through memory in int32"
    if node.op in ("QuantizeLinear", "DequantizeLinear") and quantized:
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


def _dequantizes_weight(node: Node) -> bool:
    return (
        any(
            v is not None and v.constant and v.dtype in (2, 3, 21, 22) and v.size > 1 for v in node.inputs[:1]
        )
        and node.op == "DequantizeLinear"
    )
