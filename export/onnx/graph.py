"""Writes an ONNX graph node by node, with matrices in the chosen quantization and weights streamed to disk.

Weights are quantized a few thousand rows at a time and written to a data file at once, so that a graph of any
size needs little memory beside the module it is written from. `save` puts the weights into the model file if
protobuf can hold them, else it writes a directory with model.onnx and model.onnx.data.

int4: matrices are stored in 4-bit blocks with an integer zero point (block_codes.py). Rounding the zero point
to an integer leaves an error that is constant within a block. To correct it, the block sums of the
activations are appended to the activations as further columns, and these constants to the weights. Fractional
zero points are no alternative: the operator's path for them is a hundred times slower. Without the
correction, a GGUF's own Q4_1 weights would be quantized twice (measured: top-1 agreement 0.72 instead of
0.96, perplexity +13 % instead of +0.4 %).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gamer.index.records import FloatArray
from gamer.runtime.bundle.manifest import TensorSpec

from ..capabilities import writer
from ..errors import ExportError
from ..quantize.block_codes import Blocks4, affine_blocks, nearest_blocks, pack_nibbles, quantize_blocks
from ..quantize.quantization_policy import group_for, override_for, split

MS = "com.microsoft"
QUANTS = writer("onnx").quants
A, B = ".lora_a", ".lora_b"  # ends of the names of the inputs that change a matrix
# In this opset LayerNormalization, Gelu and an antialiased Resize are single operators. Torch's tracing
# exporter writes no higher opset.
OPSET = 20
GROUPS = writer("onnx").blocks
MAX_EMBEDDED_BYTES = 1_500_000_000  # larger weights lie beside the graph; protobuf's limit is 2 GiB
INLINE = 1024  # bytes up to which a tensor is stored in the graph instead of the data file
CHUNK = 1 << 24  # weights quantized at a time


@dataclass(frozen=True)
class Scheme:
    """How matrices are quantized.

    `group`: the number of weights that share a scale (int8, int4). `keep`: pairs (part of a matrix's name,
    quantization, "int4/64" with a number of its own), of which the first that matches a name applies; the
    output matrix "head" is int8 in int4 models unless a pair matches it. `opset`: the graph's opset version.
    From OPSET on, the operators used here have changed only in the types that they accept; parity runs the
    graph that was written. `given`: codes of matrices that have some already, by the path of their weight.
    `adapters`: whether the matrices of the layers can be changed by adapters (adapters.py).
    """

    quant: str
    group: int = 32
    keep: tuple[tuple[str, str], ...] = ()
    opset: int = OPSET
    given: Mapping[str, Blocks4] = field(default_factory=dict)
    adapters: bool = False

    def __post_init__(self) -> None:
        pairs = (split(quant, self.group) for _, quant in self.keep)
        for quant, group in ((self.quant, self.group), *pairs):
            if quant not in QUANTS:
                raise ExportError(
                    f"unknown quantization {quant!r} of a language model; choose one of: {', '.join(QUANTS)}"
                )
            if group not in GROUPS:
                raise ExportError(f"group size {group}: ONNX Runtime knows {', '.join(map(str, GROUPS))}")

    def of(self, name: str) -> str:
        """The quantization of the matrix called `name`."""
        if override := override_for(self.keep, name):
            return split(override, self.group)[0]
        return "int8" if (name, self.quant) == ("head", "int4") else self.quant

    def group_of(self, name: str) -> int:
        """The number of weights that share a scale in the matrix called `name`."""
        return group_for(self.keep, name, self.group)


class GraphWriter:
    """Collects nodes and weights: `with GraphWriter(scheme, path) as g`, then g.save(...).

    Leaving the `with` block removes the data file of streamed weights, unless `save` moved it.
    """

    def __init__(self, scheme: Scheme, path: Path) -> None:
        self.scheme, self.path, self.nodes, self.weights = scheme, path, list[Any](), list[Any]()
        self._names, self._optional = set[str](), list[TensorSpec]()
        self._data = path.with_name(f"{path.name}.data")
        self._stream: BinaryIO = self._data.open("w+b")

    def __enter__(self) -> GraphWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.close()
        self._data.unlink(missing_ok=True)

    def node(
        self, op: str, inputs: list[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> str:
        from onnx import helper

        self.nodes.append(
            helper.make_node(
                op, inputs, outputs, name=f"/{outputs[0] or outputs[-1]}/{op}", domain=domain, **attributes
            )
        )
        return outputs[0]

    def constant(self, name: str, value: NDArray[Any]) -> str:
        """Adds an initializer and returns its name. If the name exists already, nothing is added."""
        from onnx import numpy_helper

        if name in self._names:
            return name
        self._names.add(name)
        if value.nbytes <= INLINE:
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        else:
            self.weights.append(self._streamed(name, value))
        return name

    def _streamed(self, name: str, value: NDArray[Any]) -> Any:
        from onnx import TensorProto, helper

        # Aligned to pages, so that a runtime can map the tensor.
        offset = -(-self._stream.tell() // 4096) * 4096
        self._stream.seek(offset)
        rows = max(1, CHUNK // max(1, value[:1].size))
        for at in range(0, len(value), rows):  # in parts: a transposed matrix has to be copied
            self._stream.write(np.ascontiguousarray(value[at : at + rows]).view(np.uint8).data)
        tensor = TensorProto(
            name=name, data_type=helper.np_dtype_to_tensor_dtype(value.dtype), dims=value.shape
        )
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in (("location", "model.onnx.data"), ("offset", offset), ("length", value.nbytes)):
            tensor.external_data.add(key=key, value=str(text))
        return tensor

    def linear(self, x: str, weight: Tensor, name: str, bias: Tensor | None = None) -> str:
        """x [..., K] times the transpose of weight [N, K], plus bias [N]: the name of the result [..., N].

        With the change that an adapter may give. Raises ExportError if the group size does not divide K
        (int8, int4).
        """
        result = self._unchanged(x, weight, name, bias)
        return (
            self._changed(x, result, weight.shape, name)
            if self.scheme.adapters and name != "head"
            else result
        )

    def _changed(self, x: str, result: str, shape: tuple[int, ...], name: str) -> str:
        """`result` and what an adapter adds to it: the product of x with two further inputs of the graph."""
        rows, columns = shape
        sides = (f"{name}{A}", (columns, 0)), (f"{name}{B}", (0, rows))
        for side, sizes in sides:
            self.constant(side, np.zeros(sizes, np.float32))
            self._optional.append(
                TensorSpec(side, tuple(size or f"{name}.rank" for size in sizes), "float32")
            )
            x = self.node("MatMul", [x, side], [f"{side}.product"])
        return self.node("Add", [result, x], [f"{name}.adapted"])

    def _unchanged(self, x: str, weight: Tensor, name: str, bias: Tensor | None) -> str:
        matrix, quant = weight.detach().numpy(), self.scheme.of(name)
        if quant in ("fp32", "fp16"):
            return self._plain(x, matrix, name, quant, bias)
        group = self.scheme.group_of(name)
        if matrix.shape[1] % group:
            raise ExportError(
                f"{name}: {matrix.shape[1]} columns must be a multiple of group size {group}: "
                "choose a smaller group"
            )
        if quant == "int4":
            return self._linear4(x, matrix, name, bias)
        parts = [quantize_blocks(rows, group) for rows in _chunks(matrix)]
        codes, scales = (np.concatenate([part[i] for part in parts]) for i in range(2))
        return self._product(
            x, name, 8, np.asarray(codes, np.uint8), np.asarray(scales, np.float32), None, bias
        )

    def _plain(self, x: str, matrix: FloatArray, name: str, quant: str, bias: Tensor | None) -> str:
        if quant == "fp16":  # half the file size; the runtime converts it to fp32 once, at loading
            half = self.constant(f"{name}.weight_half", matrix.T.astype(np.float16))
            stored = self.node("Cast", [half], [f"{name}.weight"], to=1)
        else:
            stored = self.constant(f"{name}.weight", matrix.T)
        if bias is None:
            return self.node("MatMul", [x, stored], [name])
        product = self.node("MatMul", [x, stored], [f"{name}.product"])
        return self.node("Add", [product, self.constant(f"{name}.bias", bias.detach().numpy())], [name])

    def _linear4(self, x: str, matrix: FloatArray, name: str, bias: Tensor | None) -> str:
        group = self.scheme.group_of(name)
        given = self.scheme.given.get(f"{name}.weight")
        whole = [corrected(given, matrix.shape[1], group)] if given is not None else []
        parts = [_packed(p) for p in whole or (corrected_blocks(rows, group) for rows in _chunks(matrix))]
        codes, scales, zeros = (np.concatenate(column) for column in zip(*parts, strict=True))
        x = self._with_sums(x, matrix.shape[1], group)
        return self._product(
            x,
            name,
            4,
            np.asarray(codes, np.uint8),
            np.asarray(scales, np.float32),
            np.asarray(zeros, np.uint8),
            bias,
        )

    def _with_sums(self, x: str, width: int, group: int) -> str:
        """x [..., K] with its block sums appended twice: [..., K + 2 · sum_columns(K, group)].

        Twice, because `corrected_blocks` has two sets of constants for the weights. Zeros pad the sums to a
        multiple of the group size.
        """
        own = "" if group == self.scheme.group else f".{group}"
        extended = f"{x}.both{own}"
        if extended in self._names:  # written for another matrix with the same input
            return extended
        self._names.add(extended)
        shape = self.constant(f"in_blocks.{group}", np.array([0, 0, -1, group], np.int64))
        blocks = self.node("Reshape", [x, shape], [f"{x}.blocks{own}"])
        axis = self.constant("last_axis", np.array([3], np.int64))
        sums = self.node("ReduceSum", [blocks, axis], [f"{x}.block_sums{own}"], keepdims=0)
        # A product with ones for a whole row takes 24 times as long where the row has 4,864 numbers.
        columns, count = sum_columns(width, group), width // group
        place = np.tile(np.eye(count, columns, dtype=np.float32), 2)
        placed = self.node("MatMul", [sums, self.constant(f"places.{width}{own}", place)], [f"{x}.sums{own}"])
        return self.node("Concat", [x, placed], [extended], axis=-1)

    def _product(
        self,
        x: str,
        name: str,
        bits: int,
        codes: NDArray[np.uint8],
        scales: FloatArray,
        zeros: NDArray[np.uint8] | None,
        bias: Tensor | None,
    ) -> str:
        """Writes a MatMulNBits. codes [N, blocks, bytes], scales [N, blocks], zeros [N, bytes], packed."""
        inputs = [
            x,
            self.constant(f"{name}.weight_q", codes),
            self.constant(f"{name}.scales", scales.reshape(-1)),
        ]
        inputs.append("" if zeros is None else self.constant(f"{name}.zeros", zeros.reshape(-1)))
        inputs += ["", ""] if bias is None else ["", self.constant(f"{name}.bias", bias.detach().numpy())]
        while not inputs[-1]:
            inputs.pop()
        group = self.scheme.group_of(name)
        size = {
            "K": codes.shape[1] * group,
            "N": len(codes),
            "bits": bits,
            "block_size": group,
            "accuracy_level": 4,
        }
        return self.node("MatMulNBits", inputs, [name], MS, **size)

    def save(self, inputs: tuple[TensorSpec, ...], outputs: tuple[TensorSpec, ...]) -> None:
        """Writes the graph to its path: one file, or a directory if the weights are larger."""
        import onnx
        from onnx import TensorProto, helper

        types = {
            "float32": TensorProto.FLOAT,
            "int32": TensorProto.INT32,
            "int64": TensorProto.INT64,
            "uint8": TensorProto.UINT8,
        }
        ins, outs = (
            [helper.make_tensor_value_info(t.name, types[t.dtype], list(t.shape)) for t in specs]
            for specs in ((*inputs, *self._optional), outputs)
        )
        graph = helper.make_graph(self.nodes, "gamer", ins, outs, self.weights)
        model = helper.make_model(graph)
        set_opset(model, self.scheme.opset)
        target = self.path
        if self._stream.tell() <= MAX_EMBEDDED_BYTES:
            self._take_in(model)
        else:
            self.path.mkdir()
            target = self.path / "model.onnx"
            self._stream.close()
            self._data.replace(self.path / "model.onnx.data")
        onnx.save(model, str(target))

    def _take_in(self, model: Any) -> None:
        from onnx import TensorProto

        for tensor in model.graph.initializer:
            if tensor.data_location == TensorProto.EXTERNAL:
                location = {entry.key: entry.value for entry in tensor.external_data}
                self._stream.seek(int(location["offset"]))
                tensor.raw_data = self._stream.read(int(location["length"]))
                tensor.ClearField("external_data")
                tensor.data_location = TensorProto.DEFAULT


def set_opset(model: Any, opset: int) -> None:
    """Sets the model's opset imports, `opset` and ONNX Runtime's own operators, and a fitting IR version."""
    from onnx import helper

    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    del model.opset_import[:]
    model.opset_import.extend(imports)
    model.ir_version = max(10, helper.find_min_ir_version_for(imports, ignore_unknown=True))


def _chunks(matrix: FloatArray) -> list[FloatArray]:
    rows = max(1, CHUNK // matrix.shape[1])
    return [matrix[at : at + rows] for at in range(0, len(matrix), rows)]


def corrected_blocks(matrix: FloatArray, group: int) -> tuple[Blocks4, Blocks4, Blocks4]:
    """[N, K] → its blocks, and two sets of blocks of what these leave of each block, [N, sum_columns].

    Constants in 4 bits would account for half of the model's total error. So a second set of 4-bit constants
    holds the rounding error of the first.
    """
    return corrected(affine_blocks(matrix, group), matrix.shape[1], group)


def corrected(main: Blocks4, width: int, group: int) -> tuple[Blocks4, Blocks4, Blocks4]:
    """The blocks `main` of a matrix with `width` columns, and two sets of blocks of their rest."""
    constants = np.zeros((len(main.codes), sum_columns(width, group)), np.float32)
    constants[:, : main.rest.shape[1]] = main.rest
    coarse = nearest_blocks(constants, group)
    return main, coarse, nearest_blocks(constants - coarse.dequantize(), group)


def _packed(parts: tuple[Blocks4, ...]) -> tuple[NDArray[np.uint8], FloatArray, NDArray[np.uint8]]:
    codes, scales, zeros = (np.concatenate([part[i] for part in parts], axis=1) for i in range(3))
    return pack_nibbles(np.asarray(codes, np.uint8)), scales, pack_nibbles(np.asarray(zeros, np.uint8))


def sum_columns(width: int, group: int) -> int:
    """The number of columns for a row's block sums, rounded up to a multiple of `group`."""
    return -(-(width // group) // group) * group
