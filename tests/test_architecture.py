"""The walls of the house: which way imports run, what the wheel holds, and that a search never wakes torch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

ROOMS = ("index", "runtime", "export", "bench")  # lowest first: a room imports itself and those before it
HEAVY = {"torch", "torchao", "executorch", "coremltools", "transformers", "onnxscript"}
# What a search by text has no use for, and would pay for at each start.
IDLE = {f"gamer.runtime.{name}" for name in ("llm", "decoder", "grammar", "image")} | {
    "gamer.index.entities.extract",
    "gamer.index.album.writer",
    "PIL",
    "fastapi",
}


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """(module, level) of every import statement, wherever it stands in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, 0) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level
            if node.level == 0 and node.module == "gamer":
                yield from ((f"gamer.{alias.name}", 0) for alias in node.names)


def modules(room: str) -> list[Path]:
    return sorted((ROOT / room).rglob("*.py"))


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for path in modules(room):
        for name, level in imports(path):
            parts = name.split(".")
            if level == 0 and parts[0] == "gamer" and len(parts) > 1:
                assert parts[1] in allowed, f"{path}: {name} is above {room}"
            assert level > 0 or parts[0] not in ROOMS, f"{path}: bare import {name}"


@pytest.mark.parametrize("room", ["index", "runtime", "bench"])
def test_only_export_knows_torch(room: str) -> None:
    for path in modules(room):
        for name, level in imports(path):
            assert level > 0 or name.split(".")[0] not in HEAVY, f"{path}: imports {name}"


def test_every_folder_of_modules_is_a_package() -> None:
    """setuptools takes the folders that hold an `__init__.py`: one without would vanish from the wheel."""
    for room in ROOMS:
        assert (ROOT / "src" / "gamer" / room).resolve() == ROOT / room
        for path in modules(room):
            assert (path.parent / "__init__.py").is_file(), path.parent


@pytest.mark.slow
def test_wheel_holds_every_module(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)], check=True, capture_output=True, timeout=300)
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    for room in ROOMS:
        for path in modules(room):
            assert "gamer/" + path.relative_to(ROOT).as_posix() in names
    assert {
        "gamer/bench/report/report.html",
        "gamer/bench/sample.jsonl",
        "gamer/export/planning/devices.json",
        "gamer/index/FORMAT.md",
        "gamer/runtime/cues/cue_rules.json",
    } <= names


def test_no_eval_no_pickle_no_shell() -> None:
    for room in ROOMS:
        for path in modules(room):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    assert node.func.id not in ("eval", "exec"), path
                if isinstance(node, ast.keyword) and node.arg in ("shell", "allow_pickle", "trust_remote_code"):
                    assert isinstance(node.value, ast.Constant) and node.value.value is False, path
            assert "pickle" not in {name.split(".")[0] for name, _ in imports(path)}, path


@pytest.mark.slow
def test_search_wakes_no_torch_and_no_network(bundle: Path, sample_album: Path) -> None:
    """In a process of its own, with sockets forbidden: the whole of a search on the ONNX backend."""
    code = f"""
import socket, sys
def refuse(*a, **k): raise AssertionError("a socket was opened")
socket.socket = refuse
socket.create_connection = refuse
from pathlib import Path
from gamer.runtime.engine import Engine
engine = Engine.open(Path({str(bundle)!r}), Path({str(sample_album)!r}))
assert engine.search("my cat").hits[0].id == "chelsea"
woken = sorted(m for m in sys.modules if m.split(".")[0] in {sorted(HEAVY)!r})
assert not woken, woken
idle = sorted(set(sys.modules) & set({sorted(IDLE)!r}))
assert not idle, idle
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
