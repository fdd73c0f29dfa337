"""The parameters of an operation, as its function reads them: tensors or plain values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import torch
from torch import Tensor

from ...errors import ExportError
from .program import Named, Operation, Stored, Text

Result: TypeAlias = "Tensor | tuple[Tensor, ...]"


class Values(Protocol):
    """Access to constants, inputs, results and states by name (see Memory)."""

    def get(self, bound: str | Tensor | Stored) -> Tensor: ...

    def wide(self, bound: str | Tensor | Stored) -> Tensor: ...

    def text(self, name: str) -> str | None: ...

    def constant(self, name: str) -> bool: ...

    def states(self) -> dict[str, Tensor]: ...


class Arguments:
    """The parameters of one operation, and the `outputs` that it declares.

    `tensor` returns a value in its declared type. `wide` returns fp16 as fp32, in which operations compute
    before their result is rounded. ValueError is raised for a parameter that is missing or of another kind.
    """

    def __init__(self, operation: Operation, values: Values) -> None:
        self.operation, self.values = operation, values
        self.outputs: tuple[Named, ...] = operation.outputs
        # Plain values of constants, which are read once.
        self._plain: dict[str, Tensor | str] = {}

    def has(self, name: str) -> bool:
        return name in self.operation.inputs

    def _bound(self, name: str) -> str | Tensor | Stored | Text:
        values = self.operation.inputs.get(name, ())
        if len(values) != 1:
            raise ValueError(f"parameter {name} must have one value, not {len(values)}")
        return values[0]

    def tensor(self, name: str) -> Tensor:
        bound = self._bound(name)
        if isinstance(bound, Text):
            raise ValueError(f"parameter {name} is a string")
        return self.values.get(bound)

    def wide(self, name: str) -> Tensor:
        bound = self._bound(name)
        if isinstance(bound, Text):
            raise ValueError(f"parameter {name} is a string")
        return self.values.wide(bound)

    def wide_or_none(self, name: str) -> Tensor | None:
        return self.wide(name) if self.has(name) else None

    def tensors(self, name: str) -> list[Tensor]:
        """All values of a parameter that takes several."""
        return [self.values.get(b) for b in self.operation.inputs.get(name, ()) if not isinstance(b, Text)]

    def wides(self, name: str) -> list[Tensor]:
        return [self.values.wide(b) for b in self.operation.inputs.get(name, ()) if not isinstance(b, Text)]

    def _value(self, name: str) -> Tensor | str:
        if name in self._plain:
            return self._plain[name]
        bound = self._bound(name)
        text = (
            bound.text
            if isinstance(bound, Text)
            else self.values.text(bound)
            if isinstance(bound, str)
            else None
        )
        value = self.tensor(name) if text is None else text
        if not isinstance(bound, str) or self.values.constant(bound):
            self._plain[name] = value
        return value

    def ints(self, name: str, default: Sequence[int] | None = None) -> list[int]:
        """An integer vector; a scalar becomes a vector of length 1."""
        if default is not None and not self.has(name):
            return list(default)
        value = self._value(name)
        if isinstance(value, str) or value.is_floating_point():
            raise ValueError(f"parameter {name} is not of integers")
        return [int(v) for v in value.reshape(-1).tolist()]

    def int_(self, name: str, default: int | None = None) -> int:
        values = self.ints(name, None if default is None else [default])
        if len(values) != 1:
            raise ValueError(f"parameter {name} must have one element, not {len(values)}")
        return values[0]

    def flags(self, name: str, default: Sequence[bool]) -> list[bool]:
        return [bool(v) for v in self.ints(name, [int(d) for d in default])]

    def flag(self, name: str, default: bool) -> bool:
        return bool(self.int_(name, int(default)))

    def number(self, name: str, default: float | None = None) -> float:
        if default is not None and not self.has(name):
            return default
        value = self._value(name)
        if isinstance(value, str) or value.numel() != 1:
            raise ValueError(f"parameter {name} must be one number")
        return float(value.item())

    def text(self, name: str, default: str | None = None) -> str:
        if default is not None and not self.has(name):
            return default
        value = self._value(name)
        if not isinstance(value, str):
            raise ValueError(f"parameter {name} must be a string")
        return value

    def state_name(self, name: str) -> str:
        """The name of the state that is bound to a parameter."""
        bound = self._bound(name)
        if not isinstance(bound, str) or bound not in self.values.states():
            raise ValueError(f"parameter {name} must be a state")
        return bound

    def expect(self, shape: Sequence[int]) -> tuple[int, ...]:
        """`shape` as a tuple. Raises ValueError unless the operation declares this shape for its output.

        Called before a result is allocated, so that a file cannot cause an allocation beyond the shapes it
        declares, which are checked on reading.
        """
        if tuple(shape) != self.outputs[0].type.shape:
            raise ValueError(f"gives shape {list(shape)}, but declares {list(self.outputs[0].type.shape)}")
        return tuple(int(n) for n in shape)


Function = Callable[[Arguments], Result]


def same_kind(x: Tensor, y: Tensor) -> None:
    """Raises ValueError unless both operands have the same type: MIL has no type promotion."""
    if x.dtype != y.dtype:
        raise ValueError(f"operands are {x.dtype} and {y.dtype}")


def axis_of(axis: int, rank: int) -> int:
    """`axis`, which may be negative, as 0..rank - 1. Raises ValueError if there is no such axis."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of rank {rank}")
    return axis % rank


def unknown(operation: Operation, known: str) -> None:
    """Raises ExportError if the operation has parameters not in `known`, names separated by spaces."""
    extra = sorted(set(operation.inputs) - set(known.split()))
    if extra:
        names = ", ".join(v.name for v in operation.outputs)
        raise ExportError(
            f"operation {operation.type} → {names}: parameter {', '.join(extra)}, which the MIL interpreter "
            "does not know"
        )


def floats(x: Tensor) -> Tensor:
    """`x`. Raises ValueError if it is not of floats."""
    if not x.is_floating_point():
        raise ValueError(f"the operand must be of floats, not {x.dtype}")
    return x


def rows(x: Tensor) -> Tensor:
    """Integers of any width as int64, as torch takes indices. Raises ValueError for floats and booleans."""
    if x.is_floating_point() or x.dtype == torch.bool:
        raise ValueError(f"indices are {x.dtype}")
    return x.long()
