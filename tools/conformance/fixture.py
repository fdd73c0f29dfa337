"""Conformance fixtures: inputs and the Python reference's outputs, as JSON that ports in any language replay.

tests/golden/conformance/README.md describes the format.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FORMAT = 1
COMMITTED = Path(__file__).parents[2] / "tests" / "golden" / "conformance"


@dataclass(frozen=True)
class Case:
    """One input with its output or error; exactly one of `out` and `error` is set."""

    id: str
    given: dict[str, Any]
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
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{self.name}.json"
        aside = path.with_suffix(".part")
        aside.write_text(self.text(), encoding="utf-8")
        return aside.replace(path)

    def text(self) -> str:
        """The JSON, with one line for each case, so that a change of one case changes one line."""
        cases = ",\n".join(json.dumps(_raw(case), ensure_ascii=False) for case in self.cases)
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


def floats(values: Iterable[Any]) -> list[float]:
    """Each value as the shortest decimal that rounds to its float32."""
    return [float(str(np.float32(value))) for value in values]


def base64_of(data: bytes | NDArray[Any]) -> str:
    return base64.b64encode(data if isinstance(data, bytes) else data.tobytes()).decode()


def _raw(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "in": case.given,
        **({"error": case.error} if case.error is not None else {"out": case.out}),
    }
