"""ONNX Runtime's own operator for attention in the place of the dozen that torch traces for it.

The operator never holds the whole matrix of scores, and copies nothing to turn heads round. Where the pattern
is not just as `modules/encoder.py` and its like write it, the graph stays as it was: that the two compute the
same is proven by parity, not assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MS = "com.microsoft"


@dataclass(frozen=True)
class _Match:
    """softmax(query · keyᵀ · scale + bias) · value, the three as [B, S, heads · dim], and the name of the
    result.
    """

    query: str
    key: str
    value: str
    bias: str
    heads: int
    scale: float
    result: str


def fuse_attention(model: Any) -> int:
    """Replaces each attention of `model` in place; what nothing reads any more is left out. Returns how many
    were found.
    """
    import onnx
    from onnx import helper

    nodes = _Nodes(onnx.shape_inference.infer_shapes(model, data_prop=True))
    kept: list[Any] = []
    found = 0
    for node in model.graph.node:
        match = nodes.attention(node)
        if match is None:
            kept.append(node)
            continue
        found += 1
        kept += _bias_rows(match, {out for n in kept for out in n.output} if match.bias else set())
        bias = f"{match.bias}/rows" if match.bias else ""
        inputs = [match.query, match.key, match.value, "", "", bias]
        while not inputs[-1]:
            inputs.pop()
        attributes = {"num_heads": match.heads, "scale": match.scale}
        kept.append(
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
    model.graph.node.extend(_read(kept, {out.name for out in model.graph.output}))
    if found:
        model.opset_import.append(helper.make_opsetid(MS, 1))
    return found


def _bias_rows(match: _Match, have: set[str]) -> list[Any]:
    """The bias with as many rows as the query has: the operator stretches it over texts and heads, not over
    rows. Once for all layers.
    """
    from onnx import TensorProto, helper

    if not match.bias or f"{match.bias}/rows" in have:
        return []
    at = f"{match.bias}/at"
    one = helper.make_tensor(f"{at}/one", TensorProto.INT64, [1], [1])
    return [
        helper.make_node("Constant", [], [f"{at}/one"], value=one),
        helper.make_node("Shape", [match.query], [f"{at}/length"], start=1, end=2),
        helper.make_node(
            "Concat", [f"{at}/one", f"{at}/one", f"{at}/length", f"{at}/one"], [f"{at}/shape"], axis=0
        ),
        helper.make_node("Expand", [match.bias, f"{at}/shape"], [f"{match.bias}/rows"]),
    ]


def _read(nodes: list[Any], wanted: set[str]) -> list[Any]:
    """The nodes that something reads, in their order."""
    live: list[Any] = []
    for node in reversed(nodes):
        if wanted.intersection(node.output):
            live.append(node)
            wanted |= set(node.input)
    return live[::-1]


class _Nodes:
    """A graph by its names: what makes a tensor, what constant it is, what shape it has."""

    def __init__(self, model: Any) -> None:
        from onnx import numpy_helper

        self.maker = {out: node for node in model.graph.node for out in node.output}
        constants = {
            n.output[0]: n.attribute[0].t
            for n in model.graph.node
            if n.op_type == "Constant" and n.attribute[0].name == "value"
        }
        self.constants = {name: numpy_helper.to_array(t) for name, t in constants.items()}
        every = (*model.graph.value_info, *model.graph.input, *model.graph.output)
        self.shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in every}

    def attention(self, node: Any) -> _Match | None:
        """The attention whose last node this is: Reshape(Transpose(softmax · value))."""
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
        """(query · keyᵀ, its scale, the name of what is added) of what goes into the softmax."""
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
        """[B, S, W], from which [B, heads, S, dim] was made; for keys with the last two turned."""
        turned = self.maker.get(name)
        if turned is None or turned.op_type != "Transpose":
            return None
        if perm is not None and _perm(turned) == [0, 1, 3, 2]:
            turned, perm = self.maker.get(turned.input[0]), None
        if turned is None or turned.op_type != "Transpose" or _perm(turned) != (perm or [0, 2, 1, 3]):
            return None
        split = self.maker.get(turned.input[0])
        if split is None or split.op_type != "Reshape" or len(self.shapes.get(split.input[0], [])) != 3:
            return None
        return str(split.input[0])

    def _through(self, node: Any, *types: str) -> Any:
        for n, kind in enumerate(types):
            if node is None or node.op_type != kind:
                return None
            if n + 1 < len(types):
                node = self.maker.get(node.input[0])
        return node


def _perm(node: Any) -> list[int]:
    return [int(i) for a in node.attribute if a.name == "perm" for i in a.ints]
