"""Runs a program: the operations in order, each result converted to the type that the program declares.

Results declared as fp16 are rounded to fp16, and overflow to infinity as they would on the device. An unknown
operation, parameter or element type raises an error that names it, and so does a result whose shape or kind
of number differs from its declaration; nothing is skipped or guessed. Whatever can be checked before a run is
checked when the program is loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from gamer.runtime.backends.coreml_backend import MAIN

from ...errors import ExportError
from . import compressed, ops_elementwise, ops_network, ops_reduce, ops_shape
from .arguments import Arguments, Function, Result, unknown
from .dtypes import DType
from .memory import KEPT_BYTES, Memory
from .program import DATA, TEXT, Named, Operation, read

OPS: dict[str, tuple[Function, str]] = {
    **ops_elementwise.OPS,
    **ops_shape.OPS,
    **ops_reduce.OPS,
    **ops_network.OPS,
}
# The errors of torch and numpy for operands that do not fit each other, and for too little memory.
REFUSALS = (
    ValueError,
    RuntimeError,
    IndexError,
    TypeError,
    OverflowError,
    MemoryError,
    ZeroDivisionError,
    KeyError,
)


@dataclass(frozen=True)
class Step:
    """One operation ready to run. `last`: the names of the values that no later operation uses."""

    compute: Function
    arguments: Arguments
    last: tuple[str, ...]


class Interpreter:
    """A loaded function. `run` takes and returns tensors by name; states persist between calls until `reset`.

    `kept_bytes`: how many bytes of expanded constants are cached. `beside`: an interpreter of another
    function of the package, whose states are this one's, too.
    """

    def __init__(
        self,
        package: Path,
        kept_bytes: int = KEPT_BYTES,
        function: str = MAIN,
        beside: Interpreter | None = None,
    ) -> None:
        self.package, self.program = package, read(package, function)
        if beside is not None and self.program.states != beside.program.states:
            raise ExportError(f"{package}: {function} has other states than the program: export again")
        states: dict[str, Tensor] = {} if beside is None else beside._memory.states()
        self._memory: Memory = Memory(package / DATA, kept_bytes, states)
        self._steps = self._load()
        if beside is None:
            self.reset()

    def reset(self) -> None:
        """Sets all states to zero, as in a new state of Core ML."""
        for state in self.program.states:
            self._memory.add_state(state.name, torch.zeros(state.type.shape, dtype=state.type.dtype.held))

    def states(self) -> dict[str, Tensor]:
        """Copies of all states."""
        return {name: value.clone() for name, value in self._memory.states().items()}

    def set_states(self, values: dict[str, Tensor]) -> None:
        """Sets these states to copies of the values, in the states' types.

        Raises ExportError for a name or shape that is not that of a state.
        """
        states = self._memory.states()
        for name, value in values.items():
            if name not in states or value.shape != states[name].shape:
                raise ExportError(f"{self.package}: no state {name} of shape {list(value.shape)}")
            self._memory.add_state(name, value.to(states[name].dtype, copy=True))

    def run(
        self, inputs: dict[str, Tensor], see: Callable[[str, Tensor], None] | None = None
    ) -> dict[str, Tensor]:
        """The outputs by name. `inputs`: every input by name, of the declared shape and type. `see`: is given
        every value with its name, as it is computed.

        Raises ExportError for missing or unsuitable inputs, and for an operation that cannot be computed.
        """
        live = self._memory.live
        live.clear()
        for spec in self.program.inputs:
            if (
                spec.name not in inputs
                or tuple(inputs[spec.name].shape) != spec.type.shape
                or inputs[spec.name].dtype != spec.type.dtype.held
            ):
                raise ExportError(
                    f"{self.package}: input {spec.name} must be {spec.type.dtype.name} "
                    f"{list(spec.type.shape)}"
                )
            live[spec.name] = inputs[spec.name]
        with torch.inference_mode():
            for step in self._steps:
                operation = step.arguments.operation
                for output, value in zip(
                    operation.outputs, self._compute(step.compute, step.arguments), strict=True
                ):
                    live[output.name] = value
                    if see is not None:
                        see(output.name, value)
                for name in step.last:
                    live.pop(name, None)
            results = {name: self._memory.get(name).clone() for name in self.program.outputs}
        live.clear()
        return results

    def _load(self) -> list[Step]:
        """Checks all operations and stores the constants; returns the program's steps. Raises ExportError."""
        defined = {v.name for v in (*self.program.inputs, *self.program.states)}
        runnable: list[Operation] = []
        for operation in self.program.operations:
            self._check(operation, defined)
            defined |= {v.name for v in operation.outputs}
            if operation.type == "const" and operation.value is not None:
                self._memory.add_constant(operation.outputs[0].name, operation.value)
            elif operation.type in compressed.OPS:
                self._add_compressed(operation)
            else:
                runnable.append(operation)
        missing = [name for name in self.program.outputs if name not in defined]
        if missing:
            raise ExportError(f"{self.package}: nothing makes output {missing[0]!r}: export again")
        return self._schedule(runnable)

    def _schedule(self, operations: list[Operation]) -> list[Step]:
        last: dict[str, int] = {}
        for index, operation in enumerate(operations):
            for bound in (b for values in operation.inputs.values() for b in values if isinstance(b, str)):
                last[bound] = index
            for output in operation.outputs:
                last.setdefault(output.name, index)
        ending: dict[int, list[str]] = {}
        for name in set(last) - set(self.program.outputs):
            ending.setdefault(last[name], []).append(name)
        return [
            Step(OPS[o.type][0], Arguments(o, self._memory), tuple(ending.get(i, ())))
            for i, o in enumerate(operations)
        ]

    def _check(self, operation: Operation, defined: set[str]) -> None:
        where = f"{self.package}: operation {operation.type} → {', '.join(v.name for v in operation.outputs)}"
        if operation.type != "const" and operation.type not in OPS and operation.type not in compressed.OPS:
            raise ExportError(f"{where}: the MIL interpreter does not know {operation.type}")
        if operation.type != "const":
            unknown(operation, (compressed.OPS.get(operation.type) or OPS[operation.type])[1])
            if any(v.type.dtype is TEXT or v.type.state for v in operation.outputs):
                raise ExportError(f"{where}: gives no tensor")
        if duplicates := sorted({v.name for v in operation.outputs} & defined):
            raise ExportError(f"{where}: value {duplicates[0]!r} is made twice")
        for bound in (b for values in operation.inputs.values() for b in values):
            if isinstance(bound, str) and bound not in defined:
                raise ExportError(f"{where}: takes {bound!r}, which nothing before it makes")

    def _add_compressed(self, operation: Operation) -> None:
        arguments = Arguments(operation, self._memory)

        def expand(index: int) -> Callable[[], Tensor]:
            return lambda: self._compute(compressed.OPS[operation.type][0], arguments)[index]

        for index, output in enumerate(operation.outputs):
            self._memory.add_constant(output.name, expand(index))

    def _compute(self, compute: Function, arguments: Arguments) -> tuple[Tensor, ...]:
        operation = arguments.operation
        try:
            result: Result = compute(arguments)
            values = result if isinstance(result, tuple) else (result,)
            return tuple(_as_declared(v, o) for v, o in zip(values, operation.outputs, strict=True))
        except REFUSALS as error:
            names, reason = (
                ", ".join(v.name for v in operation.outputs),
                (str(error) or type(error).__name__).splitlines()[0][:200],
            )
            raise ExportError(f"{self.package}: operation {operation.type} → {names}: {reason}") from None


def _as_declared(value: Tensor, output: Named) -> Tensor:
    """`value` in the type that the program declares for the output, such as fp16.

    Raises ValueError for another shape, another kind of number, or numbers outside an unsigned type.
    """
    kind: DType = output.type.dtype
    if tuple(value.shape) != output.type.shape:
        raise ValueError(f"gives shape {list(value.shape)}, but declares {list(output.type.shape)}")
    if value.is_floating_point() != kind.floating or (value.dtype == torch.bool) != (kind.held == torch.bool):
        raise ValueError(f"gives {value.dtype}, but declares {kind.name}")
    if (
        kind.name.startswith("UINT")
        and value.numel()
        and not 0 <= int(value.min()) <= int(value.max()) < 1 << kind.bits
    ):
        raise ValueError(f"gives a number outside {kind.name}")
    return value.to(kind.held)
