"""A saved ExecuTorch program as plain data: the delegates that it calls, with which values, and the operators
that it leaves to the portable kernels.

The file is read with executorch's own flatbuffer classes.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ExportError

# Bounds on a Core ML delegate: bytes at its end that may hold the tree of files, and files in that tree.
MOST_TAIL, MOST_FILES = 1 << 20, 64
FILE = 0  # the kind of a tree's node that is a file


@dataclass(frozen=True)
class Call:
    """One call of a delegate: `values` are the indices of its inputs, then of its outputs."""

    backend: str
    data: bytes
    values: tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """The single method of a file. `inputs`, `outputs`: value indices.

    `left`: operators left to the portable kernels → the number of their calls. `memory`: bytes of the buffers
    that are planned for values which are no constants.
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    calls: tuple[Call, ...]
    left: dict[str, int]
    memory: int = 0

    @property
    def backends(self) -> tuple[str, ...]:
        return tuple(sorted({call.backend for call in self.calls}))


def read(path: Path) -> Program:
    """The program of a .pte file. Raises ExportError for a file that is not a program of a single method."""
    from executorch.exir._serialize._program import deserialize_pte_binary

    try:
        program: Any = deserialize_pte_binary(path.read_bytes()).program
        (plan,) = program.execution_plan
        instructions: list[Any] = [i.instr_args for chain in plan.chains for i in chain.instructions]
        calls = tuple(_call(program, plan, i) for i in instructions if hasattr(i, "delegate_index"))
        names = (plan.operators[i.op_index] for i in instructions if hasattr(i, "op_index"))
        left = Counter(f"{o.name}.{o.overload}" if o.overload else str(o.name) for o in names)
        memory = sum(map(int, plan.non_const_buffer_sizes))
        return Program(tuple(plan.inputs), tuple(plan.outputs), calls, dict(sorted(left.items())), memory)
    except OSError as error:
        raise ExportError(f"{path}: cannot be read ({error.strerror}): export again") from None
    except Exception as error:  # flatbuffers' errors have no common type
        raise ExportError(
            f"{path}: not an ExecuTorch program ({(str(error) or repr(error)).splitlines()[0][:100]}): "
            "export again"
        ) from None


def _call(program: Any, plan: Any, instruction: Any) -> Call:
    delegate = plan.delegates[instruction.delegate_index]
    data = program.backend_delegate_data[delegate.processed.index].data
    return Call(str(delegate.id), bytes(data), tuple(int(v) for v in instruction.args))


def describe(program: Program) -> str:
    """A line for display: the program's delegates, and the operators left to the portable kernels."""
    calls = Counter(call.backend for call in program.calls)
    delegates = ", ".join(f"{count} × {name}" for name, count in sorted(calls.items())) or "no delegate"
    left = ", ".join(f"{name} × {count}" for name, count in program.left.items())
    return (
        f"loads as {delegates}, "
        f"{f'left to portable kernels: {left}' if left else 'nothing left to portable kernels'}"
    )


def unfold(data: bytes, folder: Path) -> None:
    """Unpacks the folder that Core ML's backend packed into `data`, to `folder`.

    `data` holds the bytes of the files, then the tree of files as JSON, with its bytes reversed. Raises
    ExportError for data that cannot be unpacked.
    """
    try:
        tree, _ = json.JSONDecoder().raw_decode(data[-MOST_TAIL:][::-1].decode("utf-8", "replace"))
        pending, count = [(len(tree["nodes"]) - 1, folder)], 0  # the root comes last
        while pending:
            index, path = pending.pop()
            count += 1
            if count > MOST_FILES:
                raise ValueError("too many files")
            pending += _unfold(tree["nodes"][index], data, path)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise ExportError(
            f"a Core ML delegate does not unfold ({(str(error) or repr(error)).splitlines()[0][:100]}): "
            "export again"
        ) from None


def _unfold(node: Any, data: bytes, path: Path) -> list[tuple[int, Path]]:
    """Writes a node of the tree to `path`, a file or a folder; returns (node index, path) of its children.

    Raises ValueError for bytes outside `data` and for unsafe file names.
    """
    if node["kind"] == FILE:
        begin, size = int(node["dataRegion"]["offset"]), int(node["dataRegion"]["size"])
        if not 0 <= begin <= begin + size <= len(data):
            raise ValueError(f"{path.name}: outside the delegate")
        path.write_bytes(data[begin : begin + size])
        return []
    path.mkdir(exist_ok=True)
    for name in node["children"]:
        if not name or name in (".", "..") or set(name) & set("/\\\0"):
            raise ValueError(f"a file called {name!r}")
    return [(int(child), path / name) for name, child in node["children"].items()]
