"""Reads an ONNX graph with every shape known: dimensions bound, constants folded, local functions inlined.

The shapes of each node are inferred separately, with onnx's own rules where it has any and with
contrib_shapes.py's otherwise: onnx's whole-graph inference stops at the first operator of ONNX Runtime's own
domain. Small constants are evaluated, so that the shapes that exporters compute inside the graph (Shape →
Gather → Concat → Reshape) become numbers. Weights are never read; only their declared sizes are used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .nodes import Attribute, Graph, GraphError, Node, Value, stored_bytes

SMALL = 4096  # elements up to which a constant is evaluated: shapes and indices, never weights
MAX_FILE = 2 << 30  # protobuf's own limit
# The outputs of these operators count as many bytes as their input.
_SAME_BYTES = frozenset(("DequantizeLinear", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"))
# Names that exporters give to the dimensions that their graphs leave open.
_LENGTH_ONE = ("batch", "batch_size", "wanted", "beams")
_TOKENS = (
    "tokens",
    "sequence",
    "sequence_length",
    "seq_len",
    "seq",
    "ids",
    "source",
    "encoder_sequence_length",
)
_PAST = ("past", "past_sequence_length", "past_tokens")
_TOTAL = ("total", "total_sequence_length", "total_tokens")
PHOTO_HEIGHT, PHOTO_WIDTH = 600, 800  # the photo for a tower that resizes in its own graph


def dims_of(tokens: int, past: int, given: Mapping[str, int]) -> dict[str, int]:
    """Lengths of the open dimensions by name, for a run of `tokens` tokens after `past` tokens in the cache.

    `given` (a user's NAME=N) overrides the table.
    """
    out = (
        dict.fromkeys(_LENGTH_ONE, 1)
        | dict.fromkeys(_TOKENS, tokens)
        | dict.fromkeys(_PAST, past)
        | dict.fromkeys(_TOTAL, past + tokens)
    )
    return out | {"height": PHOTO_HEIGHT, "width": PHOTO_WIDTH} | dict(given)


@lru_cache(maxsize=4)
def _model(path: Path) -> Any:
    """The ModelProto without external weights, with its local functions inlined.

    The shapes that the file declares for intermediate values are dropped, since they may be stale.
    """
    import onnx
    from onnx import inliner

    try:
        if path.stat().st_size > MAX_FILE:
            raise GraphError(f"{path}: larger than an ONNX file can be: its weights must lie beside it")
        model = onnx.load(str(path), load_external_data=False)
    except (OSError, GraphError):
        raise
    except Exception as error:  # protobuf's DecodeError is not in a public module
        raise GraphError(f"{path}: not an ONNX model ({str(error)[:80]}): export it again") from None
    if model.functions:
        model = inliner.inline_local_functions(model)
    del model.graph.value_info[:]
    return model


def read(path: Path, dims: Mapping[str, int], past: int = 0) -> Graph:
    """The graph of `path` with its named dimensions bound to `dims`.

    `path` is a file, or a directory that holds one beside its weights. `past`: positions in a decoder's cache
    before the run. Raises GraphError for a file that is no model, a dimension that is not in `dims`, or an
    operator whose shapes cannot be inferred.
    """
    if path.is_dir():
        inside = sorted(path.glob("*.onnx"))
        if len(inside) != 1:
            raise GraphError(f"{path}: {len(inside)} .onnx files, one is wanted")
        path = inside[0]
    if path.suffix == ".ort":
        raise GraphError(
            f"{path}: ORT format holds no graph that can be counted: export the same with --onnx-format "
            "onnx, and count that"
        )
    model = _model(path)
    walk = _Walk(path, model, past)
    inputs = tuple(walk.declare(value, dims) for value in model.graph.input if value.name not in walk.initial)
    nodes = tuple(walk.nodes(model.graph.node))
    outputs = tuple(tensor for value in model.graph.output if (tensor := walk.values.get(value.name)))
    return Graph(path, nodes, inputs, outputs, past)


def bound(symbol: str, dims: Mapping[str, int]) -> int | None:
    """The length of a named dimension: "tokens", or a sum such as "past + tokens".

    None if a part is unknown.
    """
    total = 0
    for part in (p.strip() for p in symbol.split("+")):
        number = int(part) if part.isdigit() else dims.get(part)
        if number is None:
            return None
        total += number
    return total


class _Walk:
    """Visits a model's nodes in order and fills in `values`, the tensors by name."""

    def __init__(self, path: Path, model: Any, past: int) -> None:
        from onnx import defs

        self._path, self._past, self._defs = path, past, defs
        self._opsets = {o.domain: o.version for o in model.opset_import}
        self._imports = list(model.opset_import)
        self._ir = model.ir_version
        self.values: dict[str, Value] = {}
        self._take(model.graph.initializer)
        self.initial = frozenset(self.values)
        self._readers: dict[str, set[str]] = {}
        for node in model.graph.node:
            for name in node.input:
                self._readers.setdefault(name, set()).add(node.op_type)
        for value in model.graph.output:
            self._readers.setdefault(value.name, set()).add("")

    def _take(self, tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            shape = tuple(int(d) for d in tensor.dims)
            data = self._data(tensor) if math.prod(shape) <= SMALL else None
            self.values[tensor.name] = Value(
                tensor.name, shape, tensor.data_type, True, stored_bytes(tensor.data_type, shape), data
            )

    def _data(self, tensor: Any) -> NDArray[Any] | None:
        from onnx import external_data_helper, numpy_helper

        try:
            if external_data_helper.uses_external_data(tensor):
                tensor = _copy(tensor)  # a copy, since loading changes the tensor and the model is cached
                external_data_helper.load_external_data_for_tensor(tensor, str(self._path.parent))
            return np.asarray(numpy_helper.to_array(tensor))
        except (OSError, ValueError, TypeError) as error:
            raise GraphError(
                f"{self._path}: constant {tensor.name!r} cannot be read ({str(error)[:80]}): copy the whole "
                "bundle"
            ) from None

    def declare(self, value: Any, dims: Mapping[str, int]) -> Value:
        kind = value.type.tensor_type
        shape = []
        for axis, dim in enumerate(kind.shape.dim):
            length = bound(dim.dim_param, dims) if dim.dim_param else int(dim.dim_value)
            if length is None:
                raise GraphError(
                    f"{self._path}: input {value.name!r} has a dimension {dim.dim_param!r} of unknown "
                    f"length: give --dim {dim.dim_param}=N"
                )
            if length < 0 or (length == 0 and not dim.dim_param):
                raise GraphError(
                    f"{self._path}: input {value.name!r} has no length on axis {axis}: export it with a "
                    "named dimension"
                )
            shape.append(length)
        data = self._length(value.name, shape, dims)
        declared = Value(
            value.name, tuple(shape), kind.elem_type, False, stored_bytes(kind.elem_type, shape), data
        )
        self.values[value.name] = declared
        return declared

    def _length(self, name: str, shape: Sequence[int], dims: Mapping[str, int]) -> NDArray[Any] | None:
        """The value of a decoder input that gives the cache's length; None for other inputs.

        Shapes are computed from it.
        """
        total = self._past + dims.get("tokens", 0)
        length = {"total_seq_len": total, "total_sequence_length": total, "seqlens_k": total - 1}.get(name)
        return None if length is None else np.full(shape, length, np.int32)

    def nodes(self, protos: Iterable[Any]) -> Iterator[Node]:
        for proto in protos:
            if proto.op_type == "If":
                yield from self._branch(proto)
                continue
            node = self._node(proto)
            for value in node.outputs:
                if value is not None:
                    self.values[value.name] = value
            yield node

    def _branch(self, proto: Any) -> Iterator[Node]:
        """The nodes of the branch that an If takes. Raises GraphError if its condition is not constant."""
        from onnx import helper

        condition = self._get(proto, proto.input[0])
        if condition is None or condition.data is None:
            raise GraphError(
                f"{self._path}: If {proto.name!r} depends on data: which branch costs what cannot be known, "
                "export the branches apart"
            )
        wanted = "then_branch" if bool(condition.data.reshape(-1)[0]) else "else_branch"
        branch = next(helper.get_attribute_value(a) for a in proto.attribute if a.name == wanted)
        self._take(branch.initializer)
        yield from self.nodes(branch.node)
        for outer, inner in zip(proto.output, branch.output, strict=True):
            self.values[outer] = replace(self.values[inner.name], name=outer)

    def _get(self, proto: Any, name: str) -> Value | None:
        if not name:
            return None
        if name not in self.values:
            raise GraphError(
                f"{self._path}: {proto.op_type} {proto.name!r} reads {name!r}, which nothing writes: the "
                "graph is damaged"
            )
        return self.values[name]

    def _node(self, proto: Any) -> Node:
        inputs = tuple(self._get(proto, name) for name in proto.input)
        op = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}:{proto.op_type}"
        attributes = _attributes(proto)
        draft = Node(
            proto.name or f"{proto.op_type}_{proto.output[0]}", op, inputs, (), attributes, frozenset()
        )
        outputs = self._outputs(proto, draft)
        quantized = frozenset(
            v.name for v in outputs if v is not None and self._readers.get(v.name) == {"QuantizeLinear"}
        )
        return replace(draft, outputs=outputs, quantized=quantized)

    def _outputs(self, proto: Any, node: Node) -> tuple[Value | None, ...]:
        inputs = [v for v in node.inputs if v is not None]
        constant = all(v.constant for v in inputs) or proto.op_type in ("Shape", "Size", "Constant")
        evaluated = (
            self._evaluate(proto, node) if constant or all(v.data is not None for v in inputs) else None
        )
        if evaluated is not None:
            max_bytes = sum(v.stored for v in inputs) if proto.op_type == "DequantizeLinear" else None
            return tuple(
                _evaluated_value(name, array, constant, max_bytes) if name else None
                for name, array in zip(proto.output, evaluated, strict=True)
            )
        kinds = self._kinds(proto, node)
        # A weight that is dequantized, transposed or cast at load counts the bytes that are stored, and an
        # activation that is dequantized counts its 8 bits, which its reader reads.
        stored = (
            sum(v.stored for v in inputs)
            if constant
            else inputs[0].stored
            if proto.op_type in _SAME_BYTES
            else None
        )
        out: list[Value | None] = []
        for name, (dtype, shape) in zip(proto.output, kinds, strict=False):
            size = stored_bytes(dtype, shape)
            out.append(
                Value(name, shape, dtype, constant, size if stored is None else min(size, stored))
                if name
                else None
            )
        return tuple(out)

    def _evaluate(self, proto: Any, node: Node) -> list[NDArray[Any]] | None:
        """The outputs of a node whose inputs are known.

        None if they cannot be evaluated or have more than SMALL elements; their shapes are inferred then.
        """
        if proto.op_type == "Shape":
            shape = node.input(0).shape
            return [np.array(shape[node.number("start", 0) : node.number("end", len(shape))], np.int64)]
        if proto.op_type == "Size":
            return [np.array(node.input(0).size, np.int64)]
        values = [v for v in node.inputs if v is not None]
        if (
            proto.domain not in ("", "ai.onnx")
            or any(v.data is None for v in values)
            or self._grows(proto, node)
        ):
            return None
        from onnx.reference import ReferenceEvaluator

        try:
            feeds = {v.name: v.data for v in values}
            arrays = [np.asarray(x) for x in ReferenceEvaluator(proto).run(None, feeds)]
        except Exception:  # the reference evaluator lacks an operator or a type: infer the shapes instead
            return None
        return arrays if all(x.size <= SMALL for x in arrays) else None

    def _grows(self, proto: Any, node: Node) -> bool:
        """Whether evaluating could create more than SMALL elements; the shapes are inferred then."""
        if proto.op_type not in ("ConstantOfShape", "Expand", "Tile", "Range", "Resize", "Pad", "Constant"):
            return False
        if proto.op_type == "Constant":
            return any(a.type == 4 and math.prod(a.t.dims) > SMALL for a in proto.attribute)
        given = [
            v.data.reshape(-1)[:16]
            for v in node.inputs
            if v is not None and v.data is not None and v.data.dtype.kind in "iu"
        ]
        return math.prod(max(1, abs(int(n))) for numbers in given for n in numbers) > SMALL

    def _kinds(self, proto: Any, node: Node) -> list[tuple[int, tuple[int, ...]]]:
        from .contrib_shapes import ALIASES, SHAPES

        if node.op in SHAPES:
            return SHAPES[node.op](node, self._past)
        if node.op in ALIASES:
            op, count = ALIASES[node.op]
            proto = _copy(proto)
            proto.op_type, proto.domain = op, ""
            del proto.input[count:]
            for attribute in [a for a in proto.attribute if a.name.startswith("activation")]:
                proto.attribute.remove(attribute)
        return self._infer(proto, node)

    def _infer(self, proto: Any, node: Node) -> list[tuple[int, tuple[int, ...]]]:
        from onnx import helper, numpy_helper, shape_inference

        domain = "" if proto.domain == "ai.onnx" else proto.domain
        try:
            schema = self._defs.get_schema(proto.op_type, self._opsets.get(domain, 1), domain)
        except self._defs.SchemaError:
            raise GraphError(
                f"{self._path}: the shapes of {node.op} {node.name!r} are unknown: add the operator to "
                "bench/cost/contrib_shapes.py"
            ) from None
        kinds = {
            v.name: helper.make_tensor_type_proto(v.dtype, list(v.shape))
            for v in node.inputs
            if v is not None
        }
        data = {
            v.name: numpy_helper.from_array(v.data, v.name)
            for v in node.inputs
            if v is not None and v.data is not None
        }
        try:
            inferred = shape_inference.infer_node_outputs(
                schema, proto, kinds, data, opset_imports=self._imports, ir_version=self._ir
            )
        except Exception as error:  # InferenceError comes from C++ with a message of several lines
            raise GraphError(
                f"{self._path}: {node.op} {node.name!r} does not fit its inputs "
                f"({str(error).splitlines()[0][:120]})"
            ) from None
        return [_concrete(self._path, node, inferred.get(name), name) for name in proto.output]


def _concrete(path: Path, node: Node, kind: Any, name: str) -> tuple[int, tuple[int, ...]]:
    if kind is None and not name:
        return 0, ()
    dims = None if kind is None or not kind.tensor_type.HasField("shape") else kind.tensor_type.shape.dim
    if dims is None or any(not d.HasField("dim_value") for d in dims):
        raise GraphError(
            f"{path}: the shape of {name!r}, which {node.op} {node.name!r} writes, depends on data: it "
            "cannot be counted beforehand"
        )
    return kind.tensor_type.elem_type, tuple(int(d.dim_value) for d in dims)


def _evaluated_value(name: str, array: NDArray[Any], constant: bool, max_bytes: int | None) -> Value:
    from onnx import helper

    dtype = int(helper.np_dtype_to_tensor_dtype(array.dtype))
    size = stored_bytes(dtype, array.shape)
    return Value(
        name, tuple(array.shape), dtype, constant, size if max_bytes is None else min(size, max_bytes), array
    )


def _copy(proto: Any) -> Any:
    new = type(proto)()
    new.CopyFrom(proto)
    return new


def _attributes(proto: Any) -> dict[str, Attribute]:
    from onnx import helper

    out: dict[str, Attribute] = {}
    for attribute in proto.attribute:
        if attribute.type in (1, 2, 3, 6, 7):  # float, int, string, floats, ints
            value = helper.get_attribute_value(attribute)
            out[attribute.name] = (
                value.decode("utf-8", "replace")
                if isinstance(value, bytes)
                else tuple(value)
                if attribute.type > 5
                else value
            )
    return out
