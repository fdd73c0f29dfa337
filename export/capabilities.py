"""What targets and engines have, as one file of data (capabilities.json): by operator, precision and shape.

`writers`: the quantizations and the sizes of blocks that this exporter writes for a target. `kernels`: kinds
of ONNX Runtime's kernels. `engines`: what engines take that cannot run here; each names its source and the
date on which it was read, and what it says of an artifact is a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gamer.index.json_checked import read, read_as

FILE = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Writer:
    """Quantizations of a target, or of a backend of ExecuTorch.

    `blocks`: numbers of weights that may share a scale. `searched`: what a search for bits chooses from.
    `since_ios18`: quantizations that older systems cannot read.
    """

    quants: tuple[str, ...]
    blocks: tuple[int, ...]
    searched: tuple[str, ...] = ()
    since_ios18: tuple[str, ...] = ()


@dataclass(frozen=True)
class Takes:
    """Limits of an operator: ranks of its first input, and inputs that must be constants; empty for none."""

    rank: tuple[int, ...] = ()
    constant: tuple[int, ...] = ()


@dataclass(frozen=True)
class Engine:
    """What an engine takes of a target's graphs.

    `operators`: those that it has, all if empty. `types`: element types of results that it computes, all if
    empty. `fixed_shapes`: it takes no graph whose shapes vary. `change`: what to do about an operator that
    it leaves.
    """

    name: str
    target: str
    date: str
    source: str
    fixed_shapes: bool
    types: tuple[str, ...]
    operators: dict[str, Takes]
    change: dict[str, str]


@dataclass(frozen=True)
class Capabilities:
    writers: dict[str, Writer]
    kernels: dict[str, tuple[str, ...]]
    engines: tuple[Engine, ...]


@lru_cache(maxsize=1)
def capabilities() -> Capabilities:
    """The content of the file."""
    table: Capabilities = read_as(Capabilities, read(FILE))
    return table


def writer(target: str, backend: str = "") -> Writer:
    """What the exporter writes for a target; `backend`: of ExecuTorch."""
    return capabilities().writers[f"{target}/{backend}" if backend else target]
