"""The command in "is not installed" messages: it works from a clone, and by name without one."""

from __future__ import annotations

import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from gamer.index import installing
from gamer.index.installing import install
from tests.paths import ROOT


def test_from_a_clone_the_command_installs_the_clone() -> None:
    assert shlex.split(install("clips")) == [sys.executable, "-m", "pip", "install", "-e", f"{ROOT}[clips]"]
    assert shlex.split(install())[-1] == str(ROOT)


def test_without_a_clone_it_installs_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installing, "_ROOT", tmp_path)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert shlex.split(install("clips"))[-1] == f"{project['name']}[clips]"
    assert "clips" in project["optional-dependencies"]
