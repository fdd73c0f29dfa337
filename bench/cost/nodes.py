"""Data classes for a graph whose shapes are all known: tensors, operators, and the graph itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from gamer.index.errors import GamerError

MS = "com.microsoft"
# Bits of one element by onnx.TensorProto's data types; strings are left out, as they have no fixed size.
BITS = {
    1: 32,
    2: 8,
    3: 8,
    4: 16,
    5: 16,
    6: 32,
    7: 64,
    9: 8,
    10: 16,
    11: 64,
    12: 32,
    13: 64,
    16: 16,
    17: 8,
    18: 8,
    19: 8,
    20: 8,
    21: 4,
    22: 4,
}
Attribute = int | float | str | tuple[int, ...] | tuple[float, ...]


class GraphError(GamerError):
    """A graph that cannot be counted. The message names the file, the node, and what to do."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor.

    `stored`: the bytes that reading all of it moves; for a weight, the bytes as the artifact stores it, even
    after a DequantizeLinear. `data`: the elements where they are known (small constants, the cache's length),
    else None.
    """

    name: str
    shape: tuple[int, ...]
    dtype: int
    constant: bool
    stored: int
    data: NDArray[Any] | None = None

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class Node:
    """An operator with its tensors; an optional tensor that is left out is None.

    `op` is "MatMul", or with its domain "com.microsoft:MatMulNBits".
    """

    name: str
    op: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value | None, ...]
    attributes: Mapping[str, Attribute]
    quantized: frozenset[str]  # outputs that only a QuantizeLinear reads

    def input(self, at: int) -> Value:
        value = self.inputs[at] if at < len(self.inputs) else None
        if value is None:
            raise GraphError(
                f"{self.op} {self.name!r} has no input {at}: the graph is damaged, export it again"
            )
        return value

    def output(self) -> Value:
        value = next((v for v in self.outputs if v is not None), None)
        if value is None:
            raise GraphError(f"{self.op} {self.name!r} has no output: the graph is damaged, export it again")
        return value

    def number(self, name: str, default: int) -> int:
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default

    def numbers(self, name: str) -> tuple[int, ...]:
        value = self.attributes.get(name, ())
        return tuple(x for x in value if isinstance(x, int)) if isinstance(value, tuple) else ()


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes in order of execution, and the graph's inputs and outputs.

    `past`: positions in a decoder's cache before this run.
    """

    path: Path
    nodes: tuple[Node, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    past: int


def stored_bytes(dtype: int, shape: Iterable[int]) -> int:
    return -(-math.prod(shape) * BITS.get(dtype, 0) // 8)
