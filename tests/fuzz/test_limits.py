"""No input costs more than 2 s of processor time per megabyte, or 500 MB of memory (tools/fuzz/limits.py)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import pytest

from tools.fuzz import limits
from tools.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(os, "fork"), reason="limits are those of Linux"
)
SMALL = 20_000


@pytest.mark.quick
@pytest.mark.parametrize("target", [name for name, target in TARGETS.items() if not target.needs])
def test_hostile_inputs_are_cheap(target: str, fresh_process: ProcessPoolExecutor) -> None:
    costs = fresh_process.submit(limits.sweep, target, SMALL).result()
    assert [cost for cost in costs if cost.problem] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_hostile_inputs_of_a_megabyte_are_cheap(target: str, fresh_process: ProcessPoolExecutor) -> None:
    if needs := TARGETS[target].needs:
        pytest.importorskip(needs)
    costs = fresh_process.submit(limits.sweep, target, limits.MEGABYTE).result()
    assert [cost for cost in costs if cost.problem] == []


FEEDS: dict[str, Callable[[bytes], object]] = {
    "more than 500 MB": lambda data: bytes(600 << 20),
    "an error of the wrong kind": lambda data: {b"": 0}[data],
    "more than 1 s per MB": lambda data: [0 for _ in iter(int, 1)],
}


def noticed(name: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MOST_SECONDS", 1)
        patch.setitem(TARGETS, "xmp", Target(FEEDS[name]))
        return limits._cost("xmp", "one", b"a").problem


@pytest.mark.parametrize("problem", FEEDS)
def test_an_input_beyond_a_limit_is_noticed(problem: str, fresh_process: ProcessPoolExecutor) -> None:
    assert fresh_process.submit(noticed, problem).result() == problem
