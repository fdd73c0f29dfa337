"""Threads where nobody says how many: no two that spin where other programs use the cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gamer.runtime.backends import free_cores
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.models.models import Models
from tests.paths import GOLDEN


@pytest.mark.parametrize(
    ("cores", "seconds", "busy", "own", "threads"),
    [
        (2, 1.0, 1.1, 1.0, 2),  # this process alone
        (2, 1.0, 2.0, 1.0, 1),  # and a whole other one
        (2, 1.0, 2.0, 0.1, 1),  # two others
        (8, 1.0, 4.0, 1.0, 2),  # three of eight
        (8, 1.0, 8.0, 0.5, 1),
        (2, 0.01, 0.02, 0.0, 2),  # too short to tell
        (1, 1.0, 0.0, 0.0, 1),
        (2, 1.0, 0.0, 0.9, 2),  # a system that does not say
    ],
)
def test_as_many_threads_as_cores_are_free_of_others(
    cores: int, seconds: float, busy: float, own: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    monkeypatch.setattr(free_cores, "_AT_START", (0.0, 0.0, 0.0))
    monkeypatch.setattr(free_cores, "_work", lambda: (seconds, busy, own))
    assert free_cores.threads() == threads


def test_the_work_of_all_processors_is_read_and_its_lack_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stat := tmp_path / "stat").write_text("cpu  100 10 20 9999 99 1 2 3 0 0\ncpu0 1\n", encoding="ascii")
    monkeypatch.setattr(free_cores, "_STAT", stat)
    assert free_cores._work()[1] == 136 / os.sysconf("SC_CLK_TCK")
    stat.unlink()
    assert free_cores._work()[1] == 0


def test_threads_that_were_given_are_those_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_cores, "threads", lambda: 1)
    manifest = mf.from_json((GOLDEN / "manifest_v3.json").read_text(encoding="utf-8"), "golden")
    assert Models(tmp_path, manifest, "onnx", 3).threads == 3
    assert Models(tmp_path, manifest, "onnx").threads == 1
