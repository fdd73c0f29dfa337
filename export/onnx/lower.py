"""Lowers a traced graph and the module's tensors to an ONNX graph, each matrix in its own quantization.

Weights are quantized and streamed to disk one at a time as the graph is written (graph.py), so that memory
never holds a second copy of a model.

fp16: the whole graph computes in fp16, its inputs and outputs stay fp32. int8: matrices are symmetric with a
scale per output channel, activations are quantized dynamically with a scale and a zero point per call, and
tables have a scale per row. int4: matrices are in blocks with a scale and an integer zero point per
block, activations are in 8 bits, and tables in int8. --keep NAME=int8/64 has int8 in such blocks, without
zero points: activations have a scale per block, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gamer.index.records import FloatArray

from ..capabilities import writer
from ..errors import ExportError
from ..quantize.block_codes import nearest_blocks, pack_nibbles, quantize_blocks
from ..quantize.quantization_policy import QuantizationPolicy
from .graph import MS, GraphWriter

QUANTS = writer("onnx").quants
ROWS = 1024  # rows of a matrix that are quantized at a time


class Lowering:
    """Writes the nodes of a traced model into `graph`.

    `tensors`: the weights by name; the traced model takes them as further inputs.
    """

    def __init__(self, graph: GraphWriter, tensors: dict[str, Tensor], policy: QuantizationPolicy) -> None:
        self.graph, self.tensors, self.policy = graph, dict(tensors), policy
        self.half = policy.quant == "fp16"
        self._turned: dict[str, str] = {}
        self._quantized: set[str] = set()  # inputs whose int8 codes the graph has already

    def run(self, model: Any, inputs: list[str], outputs: list[str]) -> None:
        """Writes all nodes of `model`. Raises ExportError if the group size does not divide a matrix."""
        if self.half:
            model = _in_half(model, inputs, outputs)
        for node in model.graph.node:
            self._node(node)

    def _node(self, node: Any) -> None:
        match node.op_type:
            case "Identity" if node.input[0] in self.tensors:
                self.tensors[node.output[0]] = self.tensors[node.input[0]]
            case "Transpose" if node.input[0] in self.tensors and self.tensors[node.input[0]].dim() == 2:
                self._turned[node.output[0]] = node.input[0]
            case "MatMul" if node.input[1] in self._turned:
                self._product(node.input[0], self._turned[node.input[1]], node.output[0])
            case "Gemm" if _is_linear(node) and node.input[1] in self.tensors:
                self._product(node.input[0], node.input[1], f"{node.output[0]}/product")
                self.graph.node(
                    "Add", [f"{node.output[0]}/product", self._constant(node.input[2])], [node.output[0]]
                )
            case "Gather" if self._is_table(node):
                self._lookup(node.input[0], node.input[1], node.output[0])
            case _:
                self._copy(node)

    def _copy(self, node: Any) -> None:
        for n, name in enumerate(node.input):
            if name in self._turned:
                node.input[n] = self.graph.constant(f"{name}/turned", self._array(self._turned[name]).T)
            elif name in self.tensors:
                node.input[n] = self._constant(name)
        self.graph.nodes.append(node)

    def _array(self, name: str) -> NDArray[Any]:
        return np.asarray(self.tensors[name].detach().numpy())

    def _constant(self, name: str) -> str:
        array = self._array(name)
        return self.graph.constant(
            name, array.astype(np.float16) if self.half and array.dtype == np.float32 else array
        )

    def _is_table(self, node: Any) -> bool:
        table = self.tensors.get(node.input[0])
        other_axis = any(a.name == "axis" and a.i != 0 for a in node.attribute)
        return table is not None and table.dim() == 2 and table.is_floating_point() and not other_axis

    def _product(self, x: str, name: str, out: str) -> None:
        """Writes `out` [..., N]: x [..., K] times the transpose of the matrix called `name` [N, K]."""
        matrix, quant = self._array(name), self.policy.of(name)
        match quant:
            case "int8" | "int4":
                write = {"int8": self._product8, "int4": self._product4}[quant]
                if quant == "int8" and self.policy.size_of(name):
                    write = self._product8_blocks
                if self.half:
                    x = self.graph.node("Cast", [x], [f"{out}/input"], to=1)
                write(x, matrix, name, self._in_floats(out))
                self._to_half(out)
            case "fp16" if not self.half:
                self.graph.node(
                    "Cast",
                    [self.graph.constant(f"{name}/half", matrix.T.astype(np.float16))],
                    [f"{out}/weight"],
                    to=1,
                )
                self.graph.node("MatMul", [x, f"{out}/weight"], [out])
            case _:
                self.graph.node(
                    "MatMul",
                    [x, self.graph.constant(name, matrix.T.astype(np.float16) if self.half else matrix.T)],
                    [out],
                )

    def _in_floats(self, out: str) -> str:
        """The name of a quantized operator's result, which is always fp32, before a cast to `out`."""
        return f"{out}/fp32" if self.half else out

    def _to_half(self, out: str) -> None:
        if self.half:
            self.graph.node("Cast", [self._in_floats(out)], [out], to=10)

    def _product8(self, x: str, matrix: FloatArray, name: str, out: str) -> None:
        codes, scales = by_row(matrix)
        parts = [f"{x}/codes", f"{x}/scale", f"{x}/zero"]
        # Matrices with the same input (queries, keys, values) share its codes.
        if x not in self._quantized:
            self._quantized.add(x)
            self.graph.node("DynamicQuantizeLinear", [x], parts)
        weight = self.graph.constant(f"{name}/codes", codes.T)
        self.graph.node("MatMulInteger", [parts[0], weight, parts[2]], [f"{out}/sums"])
        self.graph.node("Cast", [f"{out}/sums"], [f"{out}/floats"], to=1)
        self.graph.node("Mul", [parts[1], self.graph.constant(f"{name}/scales", scales)], [f"{out}/scales"])
        self.graph.node("Mul", [f"{out}/floats", f"{out}/scales"], [out])

    def _product4(self, x: str, matrix: FloatArray, name: str, out: str) -> None:
        group, (_, columns) = self.policy.group_of(name), matrix.shape
        _check_group(name, columns, group)
        blocks = nearest_blocks(matrix, group)
        self._n_bits(x, name, out, 4, pack_nibbles(blocks.codes), blocks.scales, columns)
        zeros = self.graph.constant(f"{name}/zeros", pack_nibbles(blocks.zeros).reshape(-1))
        self.graph.nodes[-1].input.append(zeros)

    def _product8_blocks(self, x: str, matrix: FloatArray, name: str, out: str) -> None:
        group, (_, columns) = self.policy.group_of(name), matrix.shape
        _check_group(name, columns, group)
        codes, scales = quantize_blocks(matrix, group)
        self._n_bits(x, name, out, 8, codes, scales, columns)

    def _n_bits(
        self,
        x: str,
        name: str,
        out: str,
        bits: int,
        codes: NDArray[np.uint8],
        scales: FloatArray,
        columns: int,
    ) -> None:
        """Writes a MatMulNBits of codes [N, blocks, bytes] and scales [N, blocks]."""
        inputs = [
            x,
            self.graph.constant(f"{name}/codes", codes),
            self.graph.constant(f"{name}/scales", scales.reshape(-1)),
        ]
        sizes = {"K": columns, "N": len(codes), "bits": bits, "block_size": columns // codes.shape[1]}
        self.graph.node("MatMulNBits", inputs, [out], MS, **sizes, accuracy_level=4)

    def _lookup(self, name: str, ids: str, out: str) -> None:
        quant = self.policy.of(name)
        if quant in ("int8", "int4"):
            codes, scales = by_row(self._array(name))
            self.graph.node("Gather", [self.graph.constant(f"{name}/codes", codes), ids], [f"{out}/codes"])
            self.graph.node(
                "Gather", [self.graph.constant(f"{name}/scales", scales[:, None]), ids], [f"{out}/scales"]
            )
            self.graph.node("Cast", [f"{out}/codes"], [f"{out}/floats"], to=1)
            self.graph.node("Mul", [f"{out}/floats", f"{out}/scales"], [self._in_floats(out)])
            self._to_half(out)
        elif quant == "fp16" and not self.half:
            half = self.graph.constant(f"{name}/half", self._array(name).astype(np.float16))
            self.graph.node("Cast", [self.graph.node("Gather", [half, ids], [f"{out}/half"])], [out], to=1)
        else:
            self.graph.node("Gather", [self._constant(name), ids], [out])


def by_row(matrix: FloatArray) -> tuple[NDArray[np.int8], FloatArray]:
    """Quantizes [N, K] symmetrically by row: int8 codes [N, K] and scales [N], matrix ≈ codes · scales."""
    codes, scales = np.empty(matrix.shape, np.int8), np.empty(len(matrix), np.float32)
    for at in range(0, len(matrix), ROWS):
        rows = matrix[at : at + ROWS]
        scale = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127.0
        codes[at : at + ROWS], scales[at : at + ROWS] = np.rint(rows / scale[:, None]), scale
    return codes, scales


def _check_group(name: str, columns: int, group: int) -> None:
    if columns % group:
        raise ExportError(
            f"{name}: {columns} columns must be a multiple of group size {group}: choose a smaller "
            "--group-size, or --keep it in int8"
        )


def _is_linear(node: Any) -> bool:
    linear = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1}
    values = {a.name: a.f if a.type == 1 else a.i for a in node.attribute}
    return len(node.input) == 3 and {**linear, "transB": 0} | values == linear


def _in_half(model: Any, inputs: list[str], outputs: list[str]) -> Any:
    """`model` itself, changed to fp16, with casts from fp32 at its inputs and to fp32 at its outputs."""
    from onnx import TensorProto, helper, numpy_helper

    floats = {
        v.name
        for v in model.graph.input
        if v.name in inputs and v.type.tensor_type.elem_type == TensorProto.FLOAT
    }
    before = [
        helper.make_node("Cast", [name], [f"{name}/half"], to=TensorProto.FLOAT16) for name in sorted(floats)
    ]
    after = [helper.make_node("Cast", [f"{name}/half"], [name], to=TensorProto.FLOAT) for name in outputs]
    renamed = {name: f"{name}/half" for name in (*floats, *outputs)}
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [renamed.get(name, name) for name in names]
        for a in node.attribute:
            if a.name == "value" and a.t.data_type == TensorProto.FLOAT:
                a.t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(a.t).astype(np.float16)))
            if node.op_type == "Cast" and a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = TensorProto.FLOAT16
    nodes = [*before, *model.graph.node, *after]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return model
