"""Replaces traced attention by ONNX Runtime's MultiHeadAttention.

Torch traces an attention as about a dozen operators. The fused operator never holds the full matrix of
scores, and makes no copies to transpose the heads. Only the exact pattern that export/networks/encoder.py and
similar networks produce is replaced; any other part of a graph is left unchanged. Parity checks that the
fused graph computes the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MS = "com.microsoft"


@dataclass(frozen=True)
class _Match:
    """An attention, softmax(query · keyᵀ · scale + bias) · value, by the names of its tensors.

    `query`, `key` and `value` are [B, S, heads · dim]; `bias` is "" if there is none.
    """

    query: str
    key: str
    value: str
    bias: str
    heads: int
    scale: float
    result: str


def fuse_attention(model: Any) -> int:
    """Replaces each attention of `model` in place and removes unused nodes; returns how many it replaced."""
    import onnx
    from onnx import helper

    graph = _Nodes(onnx.shape_inference.infer_shapes(model, data_prop=True))
    fused: list[Any] = []
    count = 0
    for node in model.graph.node:
        match = graph.attention(node)
        if match is None:
            fused.append(node)
            continue
        count += 1
        fused += _bias_rows(match, {out for n in fused for out in n.output} if match.bias else set())
        bias = f"{match.bias}/rows" if match.bias else ""
        inputs = [match.query, match.key, match.value, "", "", bias]
        while not inputs[-1]:
            inputs.pop()
        attributes = {"num_heads": match.heads, "scale": match.scale}
        fused.append(
            helper.make_node(
                "MultiHeadAttention",
                inputs,
                [match.result],
                f"{node.name}/Attention",
                domain=MS,
                **attributes,
            )
        )
    del model.graph.node[:]
    model.graph.node.extend(_live(fused, {out.name for out in model.graph.output}))
    if count:
        model.opset_import.append(helper.make_opsetid(MS, 1))
    return count


def _bias_rows(match: _Match, existing: set[str]) -> list[Any]:
    """Nodes that expand the bias to as many rows as the query has; empty if `existing` has their output.

    The operator broadcasts a bias over batch and heads, but not over rows. All layers share the nodes.
    """
    from onnx import TensorProto, helper

    if not match.bias or f"{match.bias}/rows" in existing:
        return []
    prefix = f"{match.bias}/at"
    one = helper.make_tensor(f"{prefix}/one", TensorProto.INT64, [1], [1])
    return [
        helper.make_node("Constant", [], [f"{prefix}/one"], value=one),
        helper.make_node("Shape", [match.query], [f"{prefix}/length"], start=1, end=2),
        helper.make_node(
            "Concat",
            [f"{prefix}/one", f"{prefix}/one", f"{prefix}/length", f"{prefix}/one"],
            [f"{prefix}/shape"],
            axis=0,
        ),
        helper.make_node("Expand", [match.bias, f"{prefix}/shape"], [f"{match.bias}/rows"]),
    ]


def _live(nodes: list[Any], wanted: set[str]) -> list[Any]:
    """The nodes on which the outputs `wanted` depend, in their order."""
    live: list[Any] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            live.append(node)
            wanted |= set(node.input)
    return live[::-1]


class _Nodes:
    """A graph by tensor name: `maker` (the node that computes it), `constants`, `shapes` (0: dynamic)."""

    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        self.maker = {out: node for node in model.graph.node for out in node.output}
        constants = {
            n.output[0]: n.attribute[0].t
            for n in model.graph.node
            if n.op_type == "Constant" and n.attribute[0].name == "value"
        }
        self.constants = {name: numpy_helper.to_array(t) for name, t in constants.items()}
        values = (*model.graph.value_info, *model.graph.input, *model.graph.output)
        self.shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in values}

    def attention(self, node: Any) -> _Match | None:
        """The attention whose last node is `node`, a Reshape(Transpose(softmax · value)), or None."""
        product = self._through(node, "Reshape", "Transpose", "MatMul")
        if product is None or _perm(self.maker[node.input[0]]) != [0, 2, 1, 3]:
            return None
        softmax = self.maker.get(product.input[0])
        value = self._heads(product.input[1])
        if softmax is None or softmax.op_type != "Softmax" or value is None:
            return None
        scores, scale, bias = self._scores(softmax.input[0])
        if scores is None:
            return None
        query, key = self._heads(scores.input[0]), self._heads(scores.input[1], [0, 2, 3, 1])
        shape = self.shapes.get(scores.input[0], [])
        if query is None or key is None or len(shape) != 4 or not shape[1]:
            return None
        return _Match(
            query=query, key=key, value=value, bias=bias, heads=shape[1], scale=scale, result=node.output[0]
        )

    def _scores(self, name: str) -> tuple[Any, float, str]:
        """The MatMul of query · keyᵀ, its scale and its bias, from a softmax's input; or (None, 0, "")."""
        node, bias = self.maker.get(name), ""
        if node is not None and node.op_type == "Add":
            left, bias = node.input
            node = self.maker.get(left)
        if node is None or node.op_type != "Mul" or node.input[1] not in self.constants:
            return None, 0.0, ""
        scale = self.constants[node.input[1]]
        product = self.maker.get(node.input[0])
        fits = product is not None and product.op_type == "MatMul" and scale.size == 1
        return (product, float(scale.reshape(())), bias) if fits else (None, 0.0, "")

    def _heads(self, name: str, perm: list[int] | None = None) -> str | None:
        """The name of the [B, S, W] tensor that `name` [B, heads, S, dim] was split from, or None.

        `perm` [0, 2, 3, 1]: `name` is [B, heads, dim, S], the layout of transposed keys.
        """
        transpose = self.maker.get(name)
        if transpose is None or transpose.op_type != "Transpose":
            return None
        if perm is not None and _perm(transpose) == [0, 1, 3, 2]:
            transpose, perm = self.maker.get(transpose.input[0]), None
        if (
            transpose is None
            or transpose.op_type != "Transpose"
            or _perm(transpose) != (perm or [0, 2, 1, 3])
        ):
            return None
        reshape = self.maker.get(transpose.input[0])
        if reshape is None or reshape.op_type != "Reshape" or len(self.shapes.get(reshape.input[0], [])) != 3:
            return None
        return str(reshape.input[0])

    def _through(self, node: Any, *types: str) -> Any:
        for n, kind in enumerate(types):
            if node is None or node.op_type != kind:
                return None
            if n + 1 < len(types):
                node = self.maker.get(node.input[0])
        return node


def _perm(node: Any) -> list[int]:
    return [int(i) for a in node.attribute if a.name == "perm" for i in a.ints]
