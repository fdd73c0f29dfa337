"""The work of one operator: multiply-adds, other arithmetic, bytes. A literal table; an operator that is not
in it is an error that names it.

Our definition, for every figure of `gamer bench`:
- A multiply-add (MAC) is one product added to a sum, in a matrix product, a convolution or an attention; a
fused one counts once. FLOPs = 2 MACs.
- `arithmetic` counts all else, one for each add, multiply, compare, exponential … of an element (a norm and a
softmax as their formulas say).
- Attention counts what is attended to: a causal prompt of S tokens after P has S·P + S(S+1)/2 pairs, not
S·(P+S).
- `weight_bytes`: weights as the artifact stores them (int4 with its scales), once a run, where they are read
first; of a table, the rows looked up.
- `activation_bytes`: what the operator reads and writes beside them, each tensor once, as if no two operators
  were fused. Two exceptions, which every runtime makes: views (Reshape) move nothing, and a QuantizeLinear or
  DequantizeLinear moves nothing by itself, its neighbour reads or writes the quantized tensor.
- What is computed from constants alone is done at load and costs nothing here.
"""
# `gamer bench flops` prints the docstring above and stores it in its JSON as the definition of the figures.

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .contrib_shapes import heads
from .nodes import MS, Graph, GraphError, Node, Value, stored_bytes


@dataclass(frozen=True)
class Work:
    """The work of one operator.

    `parameters`: the trained numbers among its constants, counted as logical elements. `precision`: what a
    product is computed in ("fp32", "fp16", "int8", "int4"; "depthwise" for a depthwise convolution; "" for an
    operator that is no product). `rows`: rows of the product, or output pixels of a convolution: with few
    rows a processor waits for weights.
    """

    name: str
    op: str
    kind: str
    macs: int
    arithmetic: int
    parameters: int
    weight_bytes: int
    activation_bytes: int
    precision: str = ""
    rows: int = 0

    @property
    def bytes(self) -> int:
        return self.weight_bytes + self.activation_bytes

    @property
    def intensity(self) -> float:
        """FLOPs per byte; 0 if no bytes are moved."""
        return (2 * self.macs + self.arithmetic) / self.bytes if self.bytes else 0.0


def _matmul(node: Node) -> int:
    return node.output().size * node.input(0).shape[-1]


def _fused_matmul(node: Node) -> int:
    return node.output().size * node.input(0).shape[-2 if node.number("transA", 0) else -1]


def _gemm(node: Node) -> int:
    return node.output().size * node.input(0).shape[0 if node.number("transA", 0) else 1]


def _conv(node: Node, weight_at: int = 1) -> int:
    """Output elements × (input channels of a group × kernel).

    The factor is the number of the weight's elements per output channel.
    """
    return node.output().size * math.prod(node.input(weight_at).shape[1:])


def _qlinear_conv(node: Node) -> int:
    return _conv(node, 3)


def _transposed_conv(node: Node) -> int:
    return node.input(0).size * math.prod(node.input(1).shape[1:])


def _nbits(node: Node) -> int:
    return node.output().size * node.number("K", 0)


def _einsum(node: Node) -> int:
    """The product of the lengths of all indices: exact for two operands, which is what exporters write.

    Raises GraphError for another number of operands and for "...".
    """
    operands = str(node.attributes.get("equation", "")).replace(" ", "").split("->")[0].split(",")
    if len(operands) != 2 or "." in "".join(operands):
        raise GraphError(
            f"Einsum {node.name!r} of {len(operands)} operands: only two without '...' can be counted"
        )
    lengths = {
        letter: length
        for letters, at in zip(operands, (0, 1), strict=True)
        for letter, length in zip(letters, node.input(at).shape, strict=True)
    }
    return math.prod(lengths.values())


def _pairs(queries: int, past: int, causal: bool, window: int = -1) -> int:
    """The number of query-key pairs that one head attends to."""
    if not causal:
        return queries * (past + queries)
    if window < 0:
        return queries * past + queries * (queries + 1) // 2
    return sum(min(past + at + 1, window) for at in range(queries))


def _grouped(node: Node, past: int) -> int:
    query, (count, _, width) = node.input(0), heads(node)
    return (
        2
        * query.shape[0]
        * count
        * width
        * _pairs(query.shape[1], past, True, node.number("local_window_size", -1))
    )


def _multi_head(node: Node, past: int) -> int:
    query, key = node.input(0), node.inputs[1] if len(node.inputs) > 1 else None
    count, _, width = heads(node)
    keys = query.shape[1] if key is None else key.shape[-2]
    cached = past if len(node.inputs) > 6 and node.inputs[6] is not None else 0
    pairs = (
        _pairs(query.shape[1], cached, True)
        if node.number("unidirectional", 0)
        else query.shape[1] * (keys + cached)
    )
    return 2 * query.shape[0] * count * width * pairs


def _packed(node: Node, past: int) -> int:
    """ONNX Runtime's Attention, which includes the projection to Q, K and V."""
    x, weight = node.input(0), node.input(1)
    project = x.shape[0] * x.shape[1] * weight.shape[0] * weight.shape[1]
    return project + 2 * x.shape[0] * (weight.shape[1] // 3) * _pairs(
        x.shape[1], past, bool(node.number("unidirectional", 0))
    )


def _attention(node: Node, past: int) -> int:
    """The standard Attention (opset 23): [B, H, S, D], or [B, S, H·D] with the head counts as attributes."""
    query, key, value = (node.input(at) for at in range(3))
    batch, s = query.shape[0], query.shape[-2]
    keys = key.shape[-2] + (
        node.input(4).shape[2] if len(node.inputs) > 4 and node.inputs[4] is not None else 0
    )
    q_heads = query.shape[1] if len(query.shape) == 4 else node.number("q_num_heads", 1)
    width = query.shape[-1] if len(query.shape) == 4 else query.shape[-1] // q_heads
    v_width = value.shape[-1] if len(value.shape) == 4 else value.shape[-1] // node.number("kv_num_heads", 1)
    pairs = _pairs(s, keys - s, True) if node.number("is_causal", 0) else s * keys
    return batch * q_heads * (width + v_width) * pairs


# The multiply-adds of every operator that computes products.
PRODUCTS: dict[str, Callable[[Node], int]] = {
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvInteger": _conv,
    "QLinearConv": _qlinear_conv,
    "ConvTranspose": _transposed_conv,
    "Einsum": _einsum,
    f"{MS}:MatMulNBits": _nbits,
    f"{MS}:FusedMatMul": _fused_matmul,
    f"{MS}:MatMulIntegerToFloat": _matmul,
    f"{MS}:DynamicQuantizeMatMul": _matmul,
    f"{MS}:QGemm": _gemm,
    f"{MS}:FusedConv": _conv,
    f"{MS}:FusedGemm": _gemm,
}
ATTENTIONS: dict[str, Callable[[Node, int], int]] = {
    f"{MS}:GroupQueryAttention": _grouped,
    f"{MS}:MultiHeadAttention": _multi_head,
    f"{MS}:Attention": _packed,
    f"{MS}:QAttention": _packed,
    "Attention": _attention,
}
SOFTMAX = 5  # maximum, subtraction, exponential, sum, division
# Arithmetic operations per output element.
NORMS = {
    "LayerNormalization": 7,
    "InstanceNormalization": 7,
    "GroupNormalization": 7,
    "BatchNormalization": 2,
    "RMSNormalization": 4,
    "SimplifiedLayerNormalization": 4,
    f"{MS}:SkipSimplifiedLayerNormalization": 5,
    f"{MS}:SkipLayerNormalization": 8,
    f"{MS}:EmbedLayerNormalization": 9,
    "LpNormalization": 3,
}
_UNIT_COST = (
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Pow",
    "Sqrt",
    "Reciprocal",
    "Exp",
    "Log",
    "Erf",
    "Tanh",
    "Sigmoid",
    "Relu",
    "Neg",
    "Abs",
    "Floor",
    "Ceil",
    "Round",
    "Sin",
    "Cos",
    "Min",
    "Max",
    "Mean",
    "Sum",
    "Equal",
    "Greater",
    "GreaterOrEqual",
    "Less",
    "LessOrEqual",
    "And",
    "Or",
    "Xor",
    "Not",
    "Where",
    "Sign",
    "Mod",
    "IsNaN",
    "IsInf",
    "BitShift",
    "BitwiseAnd",
    "BitwiseOr",
    "CumSum",
)
ELEMENTWISE = dict.fromkeys(_UNIT_COST, 1) | {
    "Clip": 2,
    "LeakyRelu": 2,
    "PRelu": 2,
    "HardSigmoid": 4,
    "HardSwish": 5,
    "Softplus": 3,
    "Elu": 3,
    "Selu": 3,
    "Mish": 5,
    "Gelu": 5,
    "Swish": 3,
    "Softmax": SOFTMAX,
    "LogSoftmax": SOFTMAX,
    f"{MS}:QLinearSoftmax": SOFTMAX,
    "QuantizeLinear": 3,
    "DequantizeLinear": 2,
    f"{MS}:QuantizeLinear": 3,
    f"{MS}:DequantizeLinear": 2,
    "DynamicQuantizeLinear": 5,
    "RotaryEmbedding": 3,
    f"{MS}:RotaryEmbedding": 3,
    f"{MS}:QuickGelu": 3,
    f"{MS}:Gelu": 5,
    f"{MS}:FastGelu": 8,
    f"{MS}:BiasGelu": 6,
    f"{MS}:QLinearAdd": 5,
    f"{MS}:QLinearMul": 5,
    f"{MS}:QLinearSigmoid": 6,
    f"{MS}:QLinearLeakyRelu": 4,
    "Resize": 8,
    "GridSample": 8,
}
# Arithmetic operations per input element.
REDUCTIONS = {
    "ReduceSum": 1,
    "ReduceMean": 1,
    "ReduceMax": 1,
    "ReduceMin": 1,
    "ReduceProd": 1,
    "ReduceL1": 2,
    "ReduceL2": 2,
    "ReduceSumSquare": 2,
    "ReduceLogSumExp": 3,
    "ArgMax": 1,
    "ArgMin": 1,
    "TopK": 1,
    "GlobalAveragePool": 1,
    "GlobalMaxPool": 1,
    f"{MS}:QLinearGlobalAveragePool": 1,
}
# No arithmetic, but bytes are read and written.
MOVES = frozenset(
    (
        "Cast",
        "CastLike",
        "Transpose",
        "Concat",
        "Slice",
        "Split",
        "Pad",
        "Expand",
        "Tile",
        "ScatterND",
        "ScatterElements",
        "GatherElements",
        "GatherND",
        "DepthToSpace",
        "SpaceToDepth",
        "ConstantOfShape",
        "Range",
        "Trilu",
        "OneHot",
        "NonZero",
        "EyeLike",
        "Compress",
    )
)
LOOKUPS = frozenset(("Gather", f"{MS}:GatherBlockQuantized"))
VIEWS = frozenset(
    ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", "Shape", "Size", "Constant", "Dropout")
)
QUANTIZERS = frozenset(
    ("QuantizeLinear", "DequantizeLinear", f"{MS}:QuantizeLinear", f"{MS}:DequantizeLinear")
)
# Positions of the inputs that are scales, zero points, tables of angles or lengths, and so not trained.
_SCALES: dict[str, tuple[int, ...]] = {
    "MatMulInteger": (2, 3),
    "ConvInteger": (2, 3),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "QLinearConv": (1, 2, 4, 5, 6, 7),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    f"{MS}:MatMulNBits": (2, 3, 4),
    f"{MS}:GatherBlockQuantized": (2, 3),
    f"{MS}:GroupQueryAttention": (5, 6, 7, 8),
    f"{MS}:RotaryEmbedding": (1, 2, 3),
    f"{MS}:MatMulIntegerToFloat": (2, 3, 4, 5),
    f"{MS}:DynamicQuantizeMatMul": (2, 3),
}
_TRAINED = frozenset(
    (*PRODUCTS, *ATTENTIONS, *NORMS, *LOOKUPS, "Add", "Sub", "Mul", "PRelu", f"{MS}:BiasGelu")
)


def count(graph: Graph) -> tuple[Work, ...]:
    """The work of every operator. Raises GraphError naming the first unknown operator."""
    seen: set[str] = set()
    return tuple(_work(graph, node, seen) for node in graph.nodes)


def _work(graph: Graph, node: Node, seen: set[str]) -> Work:
    """The work of one operator. `seen`: constants that earlier operators read, which do not count again."""
    if all(v is None or v.constant for v in node.outputs):
        return Work(
            name=node.name,
            op=node.op,
            kind="constant",
            macs=0,
            arithmetic=0,
            parameters=0,
            weight_bytes=0,
            activation_bytes=0,
        )
    kind, macs, arithmetic = _kind(graph, node)
    new_constants = frozenset(v.name for v in node.inputs if v is not None and v.constant) - seen
    weights, activations = _traffic(graph, node, kind, new_constants)
    precision, rows = (_precision(node), _rows(node)) if macs else ("", 0)
    work = Work(
        name=node.name,
        op=node.op,
        kind=kind,
        macs=macs,
        arithmetic=arithmetic,
        parameters=_parameters(node, new_constants),
        weight_bytes=weights,
        activation_bytes=activations,
        precision=precision,
        rows=rows,
    )
    seen |= new_constants
    return work


def _kind(graph: Graph, node: Node) -> tuple[str, int, int]:
    """(kind, multiply-adds, arithmetic)."""
    op, out = node.op, node.output()
    if op in PRODUCTS:
        return "product", PRODUCTS[op](node), 0
    if op in ATTENTIONS:
        macs = ATTENTIONS[op](node, graph.past)
        return "attention", macs, SOFTMAX * macs // max(1, 2 * heads(node)[2]) if op != "Attention" else 0
    if op in QUANTIZERS:
        return "quantizer", 0, ELEMENTWISE[op] * out.size
    size = node.input(0).size if node.inputs else 0
    for kind, table, elements in (
        ("norm", NORMS, out.size),
        ("elementwise", ELEMENTWISE, out.size),
        ("reduction", REDUCTIONS, size),
    ):
        if op in table:
            return kind, 0, table[op] * elements
    if op in ("AveragePool", "MaxPool"):
        return "reduction", 0, out.size * math.prod(node.numbers("kernel_shape"))
    if op in LOOKUPS:
        return "lookup", 0, out.size if "Quantized" in op else 0
    if op in MOVES or op in VIEWS:
        return "move" if op in MOVES else "view", 0, 0
    raise GraphError(
        f"{graph.path}: {op} ({node.name!r}) is an operator that the counter does not know: add it to "
        "bench/cost/counting.py"
    )


def _precision(node: Node) -> str:
    """The precision of a product, by its weight as stored: a weight dequantized from 8 bits means int8."""
    if "Conv" in node.op and node.number("group", 1) > 1 and _weight(node).shape[1] == 1:
        return "depthwise"
    if node.op == f"{MS}:MatMulNBits":
        return "int4"  # named after its kernel, whatever its number of bits
    if node.op in ("MatMulInteger", "ConvInteger") or any(
        part in node.op for part in ("QLinear", "QGemm", "QAttention", "Quantize", "Integer")
    ):
        return "int8"
    weight = _weight(node)
    if weight.constant and weight.stored * 2 < stored_bytes(weight.dtype, weight.shape):
        return "int8"
    return "fp16" if node.input(0).dtype == 10 else "fp32"


def _weight(node: Node) -> Value:
    return (
        node.input(3 if node.op == "QLinearConv" else 1)
        if len(node.inputs) > 1 and node.inputs[1] is not None
        else node.input(0)
    )


def _rows(node: Node) -> int:
    out = node.output()
    if "Conv" in node.op:
        return math.prod((out.shape[0], *out.shape[2:]))
    if node.op in ATTENTIONS:
        return node.input(0).shape[-2]
    # The products of a batch are computed one after the other: attention scores are one product per head.
    return (
        out.shape[-2]
        if len(out.shape) > 1 and not _weight(node).constant
        else out.size // max(1, out.shape[-1])
    )


def _traffic(graph: Graph, node: Node, kind: str, new_constants: frozenset[str]) -> tuple[int, int]:
    """(bytes of weights, bytes of activations)."""
    if kind in ("view", "quantizer"):
        return 0, 0
    written = sum(_written(node, v) for v in node.outputs if v is not None and v.name)
    if kind == "lookup":
        return _looked_up(node, written)
    inputs = [v for v in node.inputs if v is not None]
    weights, activations = (
        sum(v.stored for v in inputs if v.name in new_constants),
        sum(v.stored for v in inputs if not v.constant),
    )
    if node.op == f"{MS}:GroupQueryAttention":
        return 0, _attended(graph, node)
    return weights, activations + written


def _written(node: Node, value: Value) -> int:
    """The bytes written for an output; one that only a QuantizeLinear reads is written in 8 bits."""
    return value.size if value.name in node.quantized else value.stored


def _looked_up(node: Node, written: int) -> tuple[int, int]:
    table, ids = node.input(0), node.input(1)
    if not table.constant:
        return 0, ids.stored + 2 * written
    rows = table.shape[node.number("axis", node.number("gather_axis", 0))] if table.shape else 1
    scales = sum(v.stored for v in node.inputs[2:] if v is not None)
    return min(
        table.stored + scales, -(-(table.stored + scales) * ids.size // max(1, rows))
    ), ids.stored + written


def _attended(graph: Graph, node: Node) -> int:
    """The bytes that GroupQueryAttention moves.

    They are the query, the new keys and values and the result, the keys and values written to the cache, and
    the filled part of the cache read, without its empty slots.
    """
    query, (_, kv, width) = node.input(0), heads(node)
    element_bytes = query.stored // max(1, query.size)
    tokens = query.shape[0] * query.shape[1]
    packed = sum(v.stored for v in node.inputs[:3] if v is not None)
    return (
        packed
        + node.output().stored
        + 2 * element_bytes * kv * width * (tokens + query.shape[0] * (graph.past + query.shape[1]))
    )


def _parameters(node: Node, new_constants: frozenset[str]) -> int:
    if node.op not in _TRAINED:
        return 0
    total = 0
    for at, value in enumerate(node.inputs):
        if value is None or value.name not in new_constants or at in _SCALES.get(node.op, ()):
            continue
        if node.op == "Mul" and (value.size < 2 or _scalar_beside(node, at)):
            continue  # a quantization scale, not a trained gain
        if node.op in LOOKUPS and at != 0:
            continue
        if node.op in ("Add", "Sub") and value.size < 2:
            continue
        total += (
            node.number("N", 0) * node.number("K", 0)
            if node.op == f"{MS}:MatMulNBits" and at == 1
            else value.size
        )
    return total


def _scalar_beside(node: Node, at: int) -> bool:
    other = node.inputs[1 - at]
    return other is None or other.size < 2
