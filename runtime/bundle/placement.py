"""Where the operations of an artifact ran, and where other engines would run them, as the manifest's data.

These are the entries only; export/placement/ writes them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operations:
    """Operations of one kind in one place.

    `where`: an execution provider of ONNX Runtime, a delegate of ExecuTorch, "portable", "ML program", or on
    a Mac the compute unit that Core ML plans: "CPU", "GPU" or "Neural Engine".
    `kernel`: in ONNX "quantized", "fused" (several operators in one) or "reference" (one operator as it is);
    elsewhere the type of the weights, or of the result, such as "qcint8" or "fp16". `count`: how many.
    """

    where: str
    kernel: str
    operator: str
    count: int


@dataclass(frozen=True)
class Left:
    """Operations that an engine is predicted to leave. `change`: what to do; "" if nothing is known."""

    operator: str
    count: int
    why: str
    change: str = ""


@dataclass(frozen=True)
class Prediction:
    """What an engine that did not run would take, by a table of what it has: no measurement.

    `taken` of `all` operations in `partitions` pieces; each further piece copies tensors out of the engine
    and back. `fixed`: dimensions that must get a size first: as the graph is, the engine takes nothing.
    `source`: the table's, with its date.
    """

    engine: str
    taken: int
    all: int
    partitions: int
    left: tuple[Left, ...]
    source: str
    fixed: tuple[str, ...] = ()

    def summary(self) -> str:
        """As a cell: "184 of 190 in 5*"; the star stands for dimensions that must be fixed first."""
        pieces = f" in {self.partitions}" if self.taken else ""
        return f"{self.taken} of {self.all}{pieces}{'*' if self.fixed else ''}"


@dataclass(frozen=True)
class Placement:
    """Where the operations of an artifact are on the exporting machine.

    `by`: what assigned them, with its version. `delegates`: calls of delegates in a run. `memory`: bytes of
    the buffers that ExecuTorch's memory plan has for activations; 0 elsewhere.
    """

    by: str
    operations: tuple[Operations, ...]
    predictions: tuple[Prediction, ...] = ()
    delegates: int = 0
    memory: int = 0

    def counts(self) -> dict[tuple[str, str], int]:
        """(where, kernel) → operations, in the order of the entries."""
        out = dict[tuple[str, str], int]()
        for one in self.operations:
            out[one.where, one.kernel] = out.get((one.where, one.kernel), 0) + one.count
        return out

    def summary(self) -> str:
        """The counts as a line: "CPUExecutionProvider: 36 quantized, 12 fused, 40 reference"."""
        places: dict[str, list[str]] = {}
        for (where, kernel), count in self.counts().items():
            places.setdefault(where, []).append(f"{count} {kernel}".rstrip())
        return "; ".join(f"{where}: {', '.join(parts)}" for where, parts in places.items())
