"""The operations of an artifact as plain data, for predictions: from an ONNX file, or from an ML program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..coreml.mil import program

SMALL = 1024  # bytes of a constant whose value decides shapes
_WEIGHTLESS = ("const", "constexpr_")  # operations of an ML program that hold weights


@dataclass(frozen=True)
class Operation:
    """One operation.

    `name`: its type, with the domain before it if it is not ONNX's own. `type`: the element type of its first
    result, "" if it is not known. `rank`: of its first input, None if it is not known. `constant`: which of
    its inputs are constants.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    type: str
    rank: int | None
    constant: tuple[bool, ...]


@dataclass(frozen=True)
class Graph:
    """Operations in an order in which they can run; `varying`: the names of dimensions without a size."""

    operations: tuple[Operation, ...]
    varying: tuple[str, ...]


def of_onnx(path: Path) -> Graph:
    """The operations of an .onnx file or directory, without those that fold to constants at loading.

    Shapes are among these: where they vary, an engine takes the graph once they are fixed, or not at all.
    """
    import onnx

    model = onnx.load(str(path / "model.onnx" if path.is_dir() else path), load_external_data=False)
    constants = {tensor.name for tensor in model.graph.initializer}
    ranks = {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    kept = _unfolded(model.graph.node, constants)
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > SMALL:
            tensor.ClearField("raw_data")  # a copy with all weights would be made for nothing
    inferred = onnx.shape_inference.infer_shapes(model).graph
    values = {v.name: v.type.tensor_type for v in (*inferred.value_info, *inferred.input, *inferred.output)}
    ranks |= {name: len(t.shape.dim) for name, t in values.items() if t.HasField("shape")}
    types = {name: onnx.TensorProto.DataType.Name(t.elem_type).lower() for name, t in values.items()}
    varying = {
        d.dim_param: None for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_param
    }
    return Graph(tuple(_operation(node, constants, ranks, types) for node in kept), tuple(varying))


def _unfolded(nodes: Any, constants: set[str]) -> list[Any]:
    """The nodes that have an input which is no constant; results of the others are added to `constants`."""
    kept = []
    for node in nodes:
        if node.op_type == "Shape" or all(name in constants for name in node.input if name):
            constants.update(node.output)
        else:
            kept.append(node)
    return kept


def _operation(node: Any, constants: set[str], ranks: dict[str, int], types: dict[str, str]) -> Operation:
    return Operation(
        f"{node.domain}:{node.op_type}" if node.domain else str(node.op_type),
        tuple(node.input),
        tuple(name for name in node.output if name),
        types.get(node.output[0], ""),
        ranks.get(node.input[0]) if node.input else None,
        tuple(name in constants for name in node.input),
    )


def of_program(package: Path) -> Graph:
    """The operations of an .mlpackage, without those that hold weights. Raises ExportError."""
    operations = program.read(package).operations
    constants = {o.name for op in operations if op.type.startswith(_WEIGHTLESS) for o in op.outputs}
    return Graph(
        tuple(_of_mil(op, constants) for op in operations if not op.type.startswith(_WEIGHTLESS)), ()
    )


def _of_mil(op: program.Operation, constants: set[str]) -> Operation:
    names = tuple(value for bound in op.inputs.values() for value in bound if isinstance(value, str))
    return Operation(
        op.type,
        names,
        tuple(o.name for o in op.outputs),
        mil_type(op.outputs[0].type.dtype.name) if op.outputs else "",
        None,
        tuple(name in constants for name in names),
    )


def mil_type(name: str) -> str:
    """ "FLOAT16" → "fp16", as Core ML's tools call it."""
    return name.replace("FLOAT", "fp").lower()
