"""Shape rules for ONNX Runtime's own operators, for which onnx has no schema.

A rule takes the node and the length of the key-value cache before the run, and returns (data type, shape) of
every output. To add an operator, add its rule to the table SHAPES.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .nodes import MS, GraphError, Node, Value

Kind = tuple[int, tuple[int, ...]]
Rule = Callable[[Node, int], list[Kind]]
FLOAT = 1


def _same(node: Node, past: int) -> list[Kind]:
    """Every output has the first input's shape and data type."""
    x = node.input(0)
    return [(x.dtype, x.shape)] * 4


def _skip_norm(node: Node, past: int) -> list[Kind]:
    x = node.input(0)
    return [(x.dtype, x.shape), (FLOAT, (*x.shape[:-1], 1)), (FLOAT, (*x.shape[:-1], 1)), (x.dtype, x.shape)]


def _embed_norm(node: Node, past: int) -> list[Kind]:
    ids, table = node.input(0), node.input(2)
    return [
        (table.dtype, (*ids.shape, table.shape[1])),
        (6, ids.shape[:1]),
        (table.dtype, (*ids.shape, table.shape[1])),
    ]


def _nbits(node: Node, past: int) -> list[Kind]:
    x = node.input(0)
    return [(x.dtype, (*x.shape[:-1], node.number("N", 0)))]


def _fused_matmul(node: Node, past: int) -> list[Kind]:
    a, b = node.input(0).shape, node.input(1).shape
    a = (*a[:-2], a[-1], a[-2]) if node.number("transA", 0) else a
    b = (*b[:-2], b[-1], b[-2]) if node.number("transB", 0) else b
    lead = np.broadcast_shapes(a[:-2], b[:-2])
    return [(node.input(0).dtype, (*lead, a[-2], b[-1]))]


def _integer_product(node: Node, past: int) -> list[Kind]:
    a, b = node.input(0).shape, node.input(1).shape
    return [(FLOAT, (*a[:-1], b[-1]))]


def _qgemm(node: Node, past: int) -> list[Kind]:
    a, b = node.input(0).shape, node.input(3).shape
    m = a[1] if node.number("transA", 0) else a[0]
    n = b[0] if node.number("transB", 0) else b[1]
    quantized = len(node.inputs) > 8 and node.inputs[8] is not None
    return [(node.input(0).dtype if quantized else FLOAT, (m, n))]


def _broadcast(node: Node, past: int) -> list[Kind]:
    return [(node.input(0).dtype, tuple(np.broadcast_shapes(node.input(0).shape, node.input(3).shape)))]


def _global_pool(node: Node, past: int) -> list[Kind]:
    x = node.input(0)
    return [(x.dtype, (*x.shape[:2], *([1] * (len(x.shape) - 2))))]


def _block_gather(node: Node, past: int) -> list[Kind]:
    table, ids, scales = node.input(0), node.input(1), node.input(2)
    axis = node.number("gather_axis", 0)
    packed = 8 // node.number("bits", 4) if table.dtype in (2, 3) else 1
    shape = (*table.shape[:-1], table.shape[-1] * packed)
    return [(scales.dtype, (*shape[:axis], *ids.shape, *shape[axis + 1 :]))]


def heads(node: Node) -> tuple[int, int, int]:
    """(query heads, key-value heads, width of a head) of one of ONNX Runtime's attention operators.

    Raises GraphError for a node without num_heads.
    """
    count = node.number("num_heads", 0)
    if count < 1:
        raise GraphError(f"{node.op} {node.name!r} says no num_heads: the graph is damaged, export it again")
    kv = node.number("kv_num_heads", count)
    query = node.input(0)
    packed = len(query.shape) == 3 and (len(node.inputs) < 2 or node.inputs[1] is None)
    if len(query.shape) != 3:
        return count, kv, query.shape[-1]
    return count, kv, query.shape[-1] // (count + 2 * kv if packed else count)


def _grouped(node: Node, past: int) -> list[Kind]:
    query = node.input(0)
    q_heads, kv, width = heads(node)
    out: list[Kind] = [(query.dtype, (*query.shape[:2], q_heads * width))]
    return out + [
        _cache(node.inputs[at] if at < len(node.inputs) else None, query, kv, width, past) for at in (3, 4)
    ]


def _cache(old: Value | None, query: Value, kv: int, width: int, past: int) -> Kind:
    """A cache after the run: a shared buffer keeps its size; otherwise as long as its content."""
    slots = max(0 if old is None else old.shape[2], past + query.shape[1])
    return query.dtype, (query.shape[0], kv, slots, width)


def _multi_head(node: Node, past: int) -> list[Kind]:
    query = node.input(0)
    count, _, width = heads(node)
    value = node.inputs[2] if len(node.inputs) > 2 else None
    hidden = count * width if value is None or len(value.shape) != 3 else value.shape[-1]
    return [(query.dtype, (query.shape[0], query.shape[1], hidden))] + [
        _cache(None, query, count, width, past)
    ] * 2


def _packed_attention(node: Node, past: int) -> list[Kind]:
    x, weight = node.input(0), node.input(1)
    hidden = weight.shape[-1] // 3
    width = hidden // max(1, node.number("num_heads", 1))
    dtype = x.dtype if x.dtype in (1, 10, 16) else FLOAT
    return [
        (dtype, (*x.shape[:2], hidden)),
        (dtype, (2, x.shape[0], node.number("num_heads", 1), past + x.shape[1], width)),
    ]


SHAPES: dict[str, Rule] = {
    "SimplifiedLayerNormalization": _skip_norm,
    f"{MS}:SkipSimplifiedLayerNormalization": _skip_norm,
    f"{MS}:SkipLayerNormalization": _skip_norm,
    f"{MS}:EmbedLayerNormalization": _embed_norm,
    f"{MS}:MatMulNBits": _nbits,
    f"{MS}:FusedMatMul": _fused_matmul,
    f"{MS}:MatMulIntegerToFloat": _integer_product,
    f"{MS}:DynamicQuantizeMatMul": _integer_product,
    f"{MS}:QGemm": _qgemm,
    f"{MS}:QLinearAdd": _broadcast,
    f"{MS}:QLinearMul": _broadcast,
    f"{MS}:QLinearGlobalAveragePool": _global_pool,
    f"{MS}:GatherBlockQuantized": _block_gather,
    f"{MS}:GroupQueryAttention": _grouped,
    f"{MS}:MultiHeadAttention": _multi_head,
    f"{MS}:Attention": _packed_attention,
    f"{MS}:QAttention": _packed_attention,
    f"{MS}:QuickGelu": _same,
    f"{MS}:Gelu": _same,
    f"{MS}:FastGelu": _same,
    f"{MS}:BiasGelu": _same,
    f"{MS}:RotaryEmbedding": _same,
    f"{MS}:QLinearSigmoid": _same,
    f"{MS}:QLinearLeakyRelu": _same,
    f"{MS}:QLinearSoftmax": _same,
}
# Variants of standard operators, some with an activation fused to the end; the standard rule gives their
# shapes: (standard operator, number of its inputs).
ALIASES = {
    f"{MS}:FusedConv": ("Conv", 3),
    f"{MS}:FusedGemm": ("Gemm", 3),
    f"{MS}:QuantizeLinear": ("QuantizeLinear", 3),
    f"{MS}:DequantizeLinear": ("DequantizeLinear", 3),
}
