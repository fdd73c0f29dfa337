"""`python -m tools.conformance.replay DIR...`: replays every fixture in Python.

Asks the reference again; the tests of index/ and runtime/ compare it with plain implementations. Prints
SUITE<TAB>CASE<TAB>pass|fail<TAB>MESSAGE for each case; exits with 1 if any failed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.conformance.fixture import Suite, answered, read
from tools.conformance.registry import ANSWERS


def differences(wanted: Any, actual: Any, tolerance: float, at: str = "out") -> Iterator[str]:
    """Where two JSON values differ, in order; floats may differ by `tolerance`."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        if wanted.keys() != actual.keys():
            yield f"{at}: keys {sorted(actual)} where {sorted(wanted)} are wanted"
            return
        for key in wanted:
            yield from differences(wanted[key], actual[key], tolerance, f"{at}.{key}")
    elif isinstance(wanted, list | tuple) and isinstance(actual, list | tuple):
        if len(wanted) != len(actual):
            yield f"{at}: {len(actual)} where {len(wanted)} are wanted"
            return
        for n, (a, b) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(a, b, tolerance, f"{at}[{n}]")
    elif isinstance(wanted, float) and isinstance(actual, float | int) and not isinstance(actual, bool):
        if abs(wanted - actual) > tolerance:
            yield f"{at}: {actual} where {wanted} is wanted"
    elif isinstance(wanted, bool) != isinstance(actual, bool) or (
        wanted != actual
        and not (isinstance(wanted, int) and isinstance(actual, float) and abs(wanted - actual) <= tolerance)
    ):
        yield f"{at}: {actual!r} where {wanted!r} is wanted"


def replay(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """(suite, case, "pass" or "fail", message) for each case of the fixtures in `folder`."""
    for path in sorted(folder.glob("*.json")):
        suite = read(path)
        for case, problem in verdicts(suite, folder):
            yield suite.name, case, "fail" if problem else "pass", problem


def verdicts(suite: Suite, folder: Path) -> Iterator[tuple[str, str]]:
    """(case, difference) for each case of `folder`; the difference is "" if the case passes.

    Compares what is written with what the reference answers today.
    """
    now = answered(suite, ANSWERS[suite.name], folder)
    for case, fresh in zip(suite.cases, now.cases, strict=True):
        problem = (
            f"error {fresh.error!r} where {case.error!r} is wanted"
            if fresh.error != case.error
            else next(differences(case.out, fresh.out, suite.tolerance), "")
        )
        yield case.id, " ".join(problem.split())[:200]


def main(folders: list[str]) -> None:
    failed = 0
    for folder in folders:
        for line in replay(Path(folder)):
            failed += line[2] != "pass"
            print("\t".join(line))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
