"""Conformance fixtures: inputs and the Python reference's outputs, as JSON that ports in any language replay.

tests/golden/conformance/README.md describes the format. The reference has one function for each `op`, as the
ports have: what it answers to a case's input is written as the output, and compared with it in a replay.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index import AlbumError, FloatArray
from gamer.index.replacing import replacing
from gamer.runtime.errors import RuntimeFailure

FORMAT = 1
COMMITTED = Path(__file__).parents[2] / "tests" / "golden" / "conformance"
Given = dict[str, Any]
# op → what the reference answers to a case's input; "" for a suite whose cases have no op.
Answers = Mapping[str, Callable[[Given], Any]]
# (the suite's shared inputs, the folder of the fixtures, what closes what is opened) → the answers.
Opening = Callable[[Given, Path, ExitStack], Answers]


@dataclass(frozen=True)
class Case:
    """One input with its output, or with a part of its error's message."""

    id: str
    given: Given
    out: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Suite:
    name: str
    cases: tuple[Case, ...]
    shared: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 0.0

    def write(self, folder: Path) -> Path:
        names = [case.id for case in self.cases]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two cases of one id")
        path = folder / f"{self.name}.json"
        with replacing(path, folders=True) as aside:
            aside.write_text(self.text(), encoding="utf-8")
        return path

    def text(self) -> str:
        """The JSON, with one short line for each case, so that a change of one case changes one line."""
        short = (",", ":")
        cases = ",\n".join(
            json.dumps(_raw(case), ensure_ascii=False, separators=short) for case in self.cases
        )
        head = json.dumps(
            {"format": FORMAT, "suite": self.name, "tolerance": self.tolerance, "shared": self.shared},
            ensure_ascii=False,
        )
        return f'{head[:-1]}, "cases": [\n{cases}\n]}}\n'


def read(path: Path) -> Suite:
    """Raises ValueError for another format version."""
    raw = json.loads(path.read_text(encoding="utf-8"))
    if raw["format"] != FORMAT:
        raise ValueError(f"{path}: conformance format {raw['format']}, this program reads {FORMAT}")
    cases = tuple(Case(case["id"], case["in"], case.get("out"), case.get("error")) for case in raw["cases"])
    return Suite(raw["suite"], cases, raw["shared"], float(raw["tolerance"]))


def answered(suite: Suite, opening: Opening, folder: Path) -> Suite:
    """The suite as the reference answers it now. `folder`: to which the paths in it are relative."""
    with ExitStack() as stack:
        answers = opening(suite.shared, folder, stack)
        cases = tuple(_answered(case, answers[case.given.get("op", "")]) for case in suite.cases)
    return replace(suite, cases=cases)


def _answered(case: Case, answer: Callable[[Given], Any]) -> Case:
    """Its error is the part of the message that the case has; where it has none or another, the message."""
    try:
        return Case(case.id, case.given, answer(case.given))
    except (AlbumError, RuntimeFailure, ValueError) as error:
        assert "\n" not in str(error), f"{case.id}: an error of more than one line"
        part = case.error if case.error and case.error in str(error) else str(error)
        return Case(case.id, case.given, error=part)


def floats(values: Iterable[Any]) -> list[float]:
    """Each value as the shortest decimal that rounds to its float32."""
    return [float(str(np.float32(value))) for value in values]


def vector(values: Iterable[float]) -> FloatArray:
    return np.array(values, np.float32)


def edited(data: bytes, given: Given) -> bytes:
    """Damaged as a case's `edits` (offset, hexadecimal bytes) and `length` say, if it has them."""
    out = bytearray(data)
    for offset, digits in given.get("edits", ()):
        new = bytes.fromhex(digits)
        out[offset : offset + len(new)] = new
    return bytes(out[: given.get("length")])


def base64_of(data: bytes | NDArray[Any]) -> str:
    return base64.b64encode(data if isinstance(data, bytes) else data.tobytes()).decode()


def _raw(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "in": case.given,
        **({"error": case.error} if case.error is not None else {"out": case.out}),
    }
