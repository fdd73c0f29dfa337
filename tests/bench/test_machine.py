"""What is said of a machine beside what was measured on it."""

from __future__ import annotations

import os

import pytest

from gamer.bench import machine
from gamer.bench.cli.options import Outlet


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
