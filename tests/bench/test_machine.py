"""What is said of a machine beside what was measured on it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.bench import machine
from gamer.bench.cli.bench import bench
from gamer.bench.cli.options import Outlet
from gamer.bench.latency.imported import Imported, ImportedRow


def test_a_busy_machine_is_said_and_a_quiet_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert machine.busy(0.9) == ""
    assert "load 9.3 on 2 cores" in machine.busy(9.3)


@pytest.mark.parametrize("form", ["md", "json"])
def test_the_warning_stands_beside_the_result_and_not_in_it(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Outlet(None, form, load=1_000.0).show({"ms": 1}, lambda: print("a table"))
    shown = capsys.readouterr()
    assert "busy" in shown.err
    assert "busy" not in shown.out


def test_strict_measures_nothing_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "load", lambda: 1_000.0)
    for command in (["latency"], ["ops"], ["device"], ["study", "llm"]):
        done = CliRunner().invoke(bench, [*command, "-b", "nowhere", "--strict"])
        assert done.exit_code == 1
        assert "busy" in done.output
        assert "leave out --strict" in done.output


def test_compare_says_which_run_was_measured_on_a_busy_machine(tmp_path: Path) -> None:
    row = ImportedRow("search", "", 4, 1e6, 0.0, 1e6, 1e6, (1_000_000,) * 4)
    runs = [
        {**asdict(Imported("cpu", "x", "onnx", "", (row,))), "before": {"load_1min": load}}
        for load in (0.1, 5.0)
    ]
    for name, run in zip("ab", runs, strict=True):
        (tmp_path / name).write_text(json.dumps(run | {"machine": {"cores": 2, "system": "Linux"}}))
    named = [str(tmp_path / name) for name in "ab"]
    told = CliRunner().invoke(bench, ["compare", *named])
    assert told.exit_code == 0
    assert "B's machine was busy before it was measured (load 5.0 on 2 cores)" in told.output
    assert "A's machine" not in told.output
    assert "this machine" not in told.output
    refused = CliRunner().invoke(bench, ["compare", *named, "--strict"])
    assert refused.exit_code == 1
    assert "B's machine was busy" in refused.output
