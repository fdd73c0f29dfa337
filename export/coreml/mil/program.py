"""A saved ML program as plain data: inputs, states, operations and outputs, read with coremltools' protobuf
classes.

Only the model.mlmodel of an .mlpackage is read; constants in the weight file stay references. Features that
the interpreter does not support (control flow, dynamic shapes, images, unknown attributes) raise an error
that names them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from gamer.runtime.backends.coreml_backend import MAIN

from ...errors import ExportError
from .blob import unpack
from .dtypes import DType, dtype

MODEL, DATA = "Data/com.apple.CoreML/model.mlmodel", "Data/com.apple.CoreML"
# Bounds on what a file can make its reader allocate.
MOST_BYTES, MOST_ELEMENTS, MOST_RANK = 1 << 30, 1 << 30, 8


@dataclass(frozen=True)
class Type:
    """Element type and shape of a value. `state`: whether it is a state, which persists between calls."""

    dtype: DType
    shape: tuple[int, ...]
    state: bool = False


@dataclass(frozen=True)
class Stored:
    """A constant in a weight file, in the record at `offset`.

    `file`: "@model_path/" and the file's path in the package's data folder.
    """

    type: Type
    file: str
    offset: int


@dataclass(frozen=True)
class Text:
    """A string constant. A plain str is the name of a value."""

    text: str


Constant: TypeAlias = "Tensor | Text | Stored"
Bound: TypeAlias = "str | Constant"


@dataclass(frozen=True)
class Named:
    """A value's name and type."""

    name: str
    type: Type


@dataclass(frozen=True)
class Operation:
    """`inputs`: parameter → the values bound to it, names or constants. `value`: that of a `const`."""

    type: str
    inputs: dict[str, tuple[Bound, ...]]
    outputs: tuple[Named, ...]
    value: Constant | None = None


@dataclass(frozen=True)
class Program:
    """A function of a model. `inputs` and `states` in its order; `outputs`: names of values; `functions`: the
    names of all of the model's, sorted."""

    inputs: tuple[Named, ...]
    states: tuple[Named, ...]
    outputs: tuple[str, ...]
    operations: tuple[Operation, ...]
    functions: tuple[str, ...]


def read(package: Path, function: str = MAIN) -> Program:
    """A function of an .mlpackage directory.

    Raises ExportError, a single line, for a file that is damaged or that holds no supported program.
    """
    from coremltools.proto import Model_pb2

    path, model = package / MODEL, Model_pb2.Model()
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ExportError(f"{path}: {path.stat().st_size} bytes, more than {MOST_BYTES}")
        model.ParseFromString(path.read_bytes())
    except OSError as error:
        raise ExportError(f"{path}: cannot be read ({error.strerror}): export again") from None
    except ExportError:
        raise
    except Exception as error:  # protobuf's errors have no common type
        raise ExportError(f"{path}: not a Core ML model ({str(error)[:80]}): export again") from None
    if model.WhichOneof("Type") != "mlProgram":
        raise ExportError(f"{path}: holds {model.WhichOneof('Type')}, not an ML program: export again")
    try:
        return _program(model, function)
    except (ValueError, OverflowError, UnicodeDecodeError, TypeError, RuntimeError) as error:
        raise ExportError(f"{path}: damaged ({str(error).splitlines()[0][:120]}): export again") from None
    except ExportError as error:
        raise ExportError(f"{path}: {error}") from None


def _program(model: Any, function: str) -> Program:
    functions = model.mlProgram.functions
    if function not in functions:
        raise ExportError(f"functions {sorted(functions)}, none of them called {function}: export again")
    main = functions[function]
    if main.opset not in main.block_specializations:
        raise ExportError(f"no block for opset {main.opset!r}")
    block = main.block_specializations[main.opset]
    values = tuple(Named(v.name, _type(v.type, v.name)) for v in main.inputs)
    inputs = tuple(v for v in values if not v.type.state)
    states = tuple(v for v in values if v.type.state)
    # Of a model of several functions each has a description of its own.
    told = {d.name: d for d in model.description.functions}
    _check_interface(told.get(function, model.description), inputs, states, tuple(block.outputs))
    operations = tuple(_operation(o) for o in block.operations)
    return Program(inputs, states, tuple(block.outputs), operations, tuple(sorted(functions)))


def _check_interface(
    description: Any, inputs: tuple[Named, ...], states: tuple[Named, ...], outputs: tuple[str, ...]
) -> None:
    """Raises ExportError unless the model's description, which apps see, agrees with the program.

    Its inputs and outputs must be arrays, and its names must be the program's.
    """
    for feature in (*description.input, *description.output):
        if feature.type.WhichOneof("Type") != "multiArrayType":
            raise ExportError(
                f"{feature.name} is {feature.type.WhichOneof('Type')}: the MIL interpreter takes and gives "
                "arrays"
            )
    if {f.name for f in description.input} != {i.name for i in inputs} or {
        f.name for f in description.output
    } != set(outputs):
        raise ExportError(
            "the model's description and its program name different inputs or outputs: export again"
        )
    if {f.name for f in description.state} != {s.name for s in states}:
        raise ExportError("the model's description and its program name different states: export again")


def _type(proto: Any, name: str) -> Type:
    from coremltools.proto import MIL_pb2

    kind = proto.WhichOneof("type")
    if kind == "stateType":
        inner = _type(proto.stateType.wrappedType, name)
        return Type(inner.dtype, inner.shape, True)
    if kind != "tensorType":
        raise ExportError(f"{name} is of {kind}, which the MIL interpreter does not know")
    tensor = proto.tensorType
    if len(tensor.dimensions) != max(tensor.rank, 0) or tensor.rank > MOST_RANK:
        raise ExportError(f"{name} has rank {tensor.rank} and {len(tensor.dimensions)} dimensions")
    if any(d.WhichOneof("dimension") != "constant" for d in tensor.dimensions):
        raise ExportError(f"{name} has a dimension that varies: the MIL interpreter runs fixed shapes")
    shape = tuple(int(d.constant.size) for d in tensor.dimensions)
    if math.prod(shape) > MOST_ELEMENTS:
        raise ExportError(f"{name} has shape {list(shape)}, more than {MOST_ELEMENTS} elements")
    number = MIL_pb2.DataType.Name(tensor.dataType)
    return Type(TEXT if number == "STRING" else dtype(number), shape)


# The type of strings; no tensor has it.
TEXT = DType("STRING", torch.uint8, 0, 0)


def _operation(proto: Any) -> Operation:
    outputs = tuple(Named(v.name, _type(v.type, v.name)) for v in proto.outputs)
    where = f"{proto.type} → {', '.join(v.name for v in outputs)}"
    if proto.blocks:
        raise ExportError(f"operation {where}: control flow, which the MIL interpreter does not run")
    # In programs for systems before iOS 18, the parameters of a compressed constant are attributes.
    parameters = sorted(set(proto.attributes) - {"name"}) if proto.type.startswith("constexpr_") else []
    extra = sorted(
        set(proto.attributes) - {"name", "val" if proto.type == "const" else "name", *parameters}
        | set(proto.inputs).intersection(parameters)
    )
    if extra or (
        proto.type == "const" and ("val" not in proto.attributes or len(outputs) != 1 or proto.inputs)
    ):
        raise ExportError(
            f"operation {where}: attributes {extra or sorted(proto.attributes)}, which the MIL interpreter "
            "does not know"
        )
    value = _constant(proto.attributes["val"], where) if proto.type == "const" else None
    bound = {
        name: tuple(_binding(b, f"{where}, {name}") for b in argument.arguments)
        for name, argument in proto.inputs.items()
    }
    bound |= {name: (_constant(proto.attributes[name], f"{where}, {name}"),) for name in parameters}
    return Operation(proto.type, bound, outputs, value)


def _binding(proto: Any, where: str) -> Bound:
    return str(proto.name) if proto.WhichOneof("binding") == "name" else _constant(proto.value, where)


def _constant(proto: Any, where: str) -> Constant:
    type_ = _type(proto.type, where)
    if proto.WhichOneof("value") == "blobFileValue":
        return Stored(type_, str(proto.blobFileValue.fileName), int(proto.blobFileValue.offset))
    if proto.WhichOneof("value") != "immediateValue" or proto.immediateValue.WhichOneof("value") != "tensor":
        raise ExportError(f"{where}: a constant must be a tensor for the MIL interpreter")
    return _immediate(proto.immediateValue.tensor, type_, where)


def _immediate(tensor: Any, type_: Type, where: str) -> Tensor | Text:
    field, count = tensor.WhichOneof("value"), math.prod(type_.shape)
    if field is None:
        raise ExportError(f"{where}: a constant without a value: export again")
    values = getattr(tensor, field).values
    if type_.dtype is TEXT:
        if field != "strings" or len(values) != 1:
            raise ExportError(f"{where}: {len(values)} strings where one is known: export again")
        return Text(str(values[0]))
    if field == "bytes":
        if type_.dtype.name == "BOOL" or len(values) != (count * type_.dtype.bits + 7) // 8:
            raise ExportError(
                f"{where}: {len(values)} bytes are not {count} × {type_.dtype.name}: export again"
            )
        return unpack(np.frombuffer(values, np.uint8), type_.dtype, count).reshape(type_.shape)
    if len(values) != count or field not in ("floats", "ints", "bools"):
        raise ExportError(
            f"{where}: {len(values)} {field} are not {count} × {type_.dtype.name}: export again"
        )
    return torch.tensor(list(values), dtype=type_.dtype.held).reshape(type_.shape)
