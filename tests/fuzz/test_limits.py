"""No input costs more than 2 s of processor time per megabyte, or 500 MB of memory (tools/fuzz/limits.py)."""

from __future__ import annotations

import os
import sys

import pytest

from tools.fuzz import limits
from tools.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(os, "fork"), reason="limits are those of Linux"
)
SMALL = 20_000


@pytest.mark.parametrize("target", [name for name in TARGETS if name != "gguf"])
def test_hostile_inputs_are_cheap(target: str) -> None:
    assert [cost for cost in limits.sweep(target, SMALL) if cost.problem] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_hostile_inputs_of_a_megabyte_are_cheap(target: str) -> None:
    if target == "gguf":
        pytest.importorskip("gguf")
    assert [cost for cost in limits.sweep(target, limits.MEGABYTE) if cost.problem] == []


def test_an_input_beyond_a_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_SECONDS", 1)
    monkeypatch.setattr(limits, "inputs", lambda target, size: {"one": b"a"})

    def problem(feed: object) -> str:
        monkeypatch.setitem(TARGETS, "xmp", Target(feed))  # type: ignore[arg-type]
        return limits._cost("xmp", "one", b"a").problem

    assert problem(lambda data: bytes(600 << 20)) == "more than 500 MB"
    assert problem(lambda data: {}[data]) == "an error of the wrong kind"
    assert problem(lambda data: [0 for _ in iter(int, 1)]) == "more than 1 s per MB"
