"""`gamer doctor`: one screen for people, one JSON object for programs, and an exit code."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from unittest import mock

import pytest

from gamer.runtime.doctor import EXTRAS
from tests.console import gamer
from tests.paths import ROOT


def doctor(*arguments: str, cache: Path) -> subprocess.CompletedProcess[str]:
    with mock.patch.dict(os.environ, GAMER_CACHE=str(cache), COLUMNS="120"):
        return gamer("doctor", *arguments)


def test_every_extra_that_adds_something_of_its_own_is_looked_for() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    # coreml: a part of export on macOS; quickstart, all: of others; fuzz: for those who work on the project
    assert set(EXTRAS) == set(declared) - {"coreml", "quickstart", "all", "fuzz"}
    for extra, package in EXTRAS.items():
        assert any(package in need.lower().replace("-", "_") for need in declared[extra]), extra


def test_doctor_without_a_bundle_describes_the_machine(tmp_path: Path) -> None:
    done = doctor(cache=tmp_path)
    assert done.returncode == 0, done.stderr
    for word in (
        "processor",
        "engines",
        "onnxruntime",
        "extras",
        "FTS5",
        "telemetry",
        "off: ORT_DISABLE_TELEMETRY=1",
        "gamer doctor BUNDLE",
    ):
        assert word in done.stdout
    report = json.loads(doctor("--json", cache=tmp_path).stdout)
    assert report["sqlite_fts5"]
    assert report["components"] == []
    assert report["processor"]["features"]


@pytest.mark.slow
def test_doctor_shows_a_bundle_component_by_component(bundle: Path, tmp_path: Path) -> None:
    done = doctor(str(bundle), cache=tmp_path)
    assert done.returncode == 0, done.stderr
    rows: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        if line.strip().startswith(("image_", "text_", "llm_", "dpe_")):
            rows.setdefault(line.split()[0], []).append(line)
    assert len(rows) == 8
    parity, placement = rows["image_tower"][:2]  # the table of parity, then that of what ran where
    assert "int8, " in parity
    assert "CPUExecutionProvider" in placement
    assert "int4, " in rows["llm_decoder"][0]
    assert "MB for all of the bundle" in done.stdout
    assert "Worst cosine with torch" in done.stdout
    report = json.loads(doctor(str(bundle), "--json", cache=tmp_path).stdout)
    assert all(c["here"] >= c["threshold"] and not c["problem"] for c in report["components"])
    assert report["needs_mb"] > 170


@pytest.mark.slow
def test_doctor_names_a_damaged_component_and_exits_1(bundle: Path, tmp_path: Path) -> None:
    copy = tmp_path / "bundle"
    shutil.copytree(bundle, copy, ignore=shutil.ignore_patterns("executorch", "coreml"))
    data = bytearray((copy / "onnx" / "dpe_router.onnx").read_bytes())
    data[-1] ^= 1
    (copy / "onnx" / "dpe_router.onnx").write_bytes(bytes(data))
    done = doctor(str(copy), "--json", cache=tmp_path)
    assert done.returncode == 1
    problems = {c["role"]: c["problem"] for c in json.loads(done.stdout)["components"] if c["problem"]}
    assert list(problems) == ["dpe_router"]
    assert "it changed since export" in problems["dpe_router"]
    assert doctor(str(tmp_path / "nowhere"), cache=tmp_path).returncode == 1
