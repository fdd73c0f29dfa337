"""The architecture: which way imports run, what the wheel holds, and that a search never loads torch."""

from __future__ import annotations

import ast
import graphlib
import os
import pkgutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.paths import ROOT

ROOMS = ("index", "runtime", "export", "bench")  # lowest first: a room imports itself and those before it
HEAVY = {"torch", "torchao", "executorch", "coremltools", "transformers", "onnxscript"}
# Modules that a search by text does not need and that would slow down each start.
IDLE = {f"gamer.runtime.models.language.{name}" for name in ("llm", "decoder", "grammar")} | {
    "gamer.runtime.models.image",
    "gamer.index.entities.extract",
    "gamer.index.album.writing.writer",
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
def test_a_room_imports_only_itself_and_the_rooms_below_it(room: str) -> None:
    allowed = ROOMS[: ROOMS.index(room) + 1]
    for path in modules(room):
        for name, level in imports(path):
            parts = name.split(".")
            if level == 0 and parts[0] == "gamer" and len(parts) > 1:
                assert parts[1] in allowed, f"{path}: {name} is above {room}"
            assert level > 0 or parts[0] not in ROOMS, f"{path}: bare import {name}"


@pytest.mark.parametrize("room", ["index", "runtime", "bench"])
def test_only_export_imports_torch_and_the_other_heavy_libraries(room: str) -> None:
    for path in modules(room):
        for name, level in imports(path):
            assert level > 0 or name.split(".")[0] not in HEAVY, f"{path}: imports {name}"


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("gamer", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def targets(path: Path, known: set[str]) -> Iterator[str]:
    """The project's own modules that a file imports, wherever the import stands in it."""
    package = name_of(path if path.name == "__init__.py" else path.parent / "__init__.py").split(".")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield from [full] if full in known else [base] if base in known else []


def graph(unit: Callable[[str], str]) -> dict[str, set[str]]:
    """Which unit imports which: modules, or the folders that hold them."""
    files = {name_of(path): path for room in ROOMS for path in modules(room)}
    edges: dict[str, set[str]] = {unit(name): set() for name in files}
    for name, path in files.items():
        edges[unit(name)] |= {unit(other) for other in targets(path, set(files))} - {unit(name)}
    return edges


def folder_of(name: str) -> str:
    """The folder of a room that holds the module ("gamer.index.album"), or the module itself if none does."""
    parts = name.split(".")
    inside = len(parts) > 2 and (ROOT.joinpath(*parts[1:3])).is_dir()
    return ".".join(parts[:3]) if inside else name


@pytest.mark.parametrize("unit", [str, folder_of], ids=["modules", "folders"])
def test_nothing_imports_itself_in_a_circle(unit: Callable[[str], str]) -> None:
    # A room's own `__init__` is left out: it imports what the room offers; nothing in the room imports it.
    edges = {name: others for name, others in graph(unit).items() if name.count(".") > 1}
    tuple(graphlib.TopologicalSorter(edges).static_order())  # raises CycleError with the circle


def test_no_string_names_a_room_above() -> None:
    """An import by name must not reach a room that an import statement may not reach."""
    for room in ROOMS:
        above = tuple(f"gamer.{other}" for other in ROOMS[ROOMS.index(room) + 1 :])
        for path in modules(room):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
                    assert not node.value.startswith(above), f"{path}: {node.value}"


def test_only_the_backends_import_a_heavy_library_by_name() -> None:
    """ExecuTorch's Python runtime takes torch's tensors; nothing else outside export/ may import torch."""
    for room in ("index", "runtime", "bench"):
        for path in modules(room):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, (ast.Name, ast.Attribute))
                    and "import_module" in ast.dump(node.func)
                ):
                    argument = next(iter(node.args), None)
                    heavy = isinstance(argument, ast.Constant) and str(argument.value).split(".")[0] in HEAVY
                    assert not heavy or path.parent.name == "backends", path


@pytest.mark.parametrize("part", (*ROOMS, "tests", "tools"))
def test_no_folder_has_more_than_twenty_modules(part: str) -> None:
    folders = {path.parent for path in modules(part)}
    assert {folder: count for folder in folders if (count := len([*folder.glob("*.py")])) > 20} == {}


def test_every_folder_of_modules_is_a_package() -> None:
    """setuptools takes only folders with an `__init__.py`: the others would be missing from the wheel."""
    for room in ROOMS:
        assert (ROOT / "src" / "gamer" / room).resolve() == ROOT / room
        for path in modules(room):
            assert (path.parent / "__init__.py").is_file(), path.parent


@pytest.mark.slow
def test_the_wheel_holds_every_module_and_the_data_files(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(ROOT)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    for room in ROOMS:
        for path in modules(room):
            assert "gamer/" + path.relative_to(ROOT).as_posix() in names
    assert {
        "gamer/bench/report/report.html",
        "gamer/bench/sample.jsonl",
        "gamer/export/bundle/place_names.json",
        "gamer/export/planning/devices.json",
        "gamer/index/FORMAT.md",
        "gamer/runtime/cues/cue_rules.json",
    } <= names


def test_no_module_uses_eval_exec_pickle_or_a_shell() -> None:
    for room in ROOMS:
        for path in modules(room):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for node in ast.walk(tree):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    assert node.func.id not in ("eval", "exec"), path
                if isinstance(node, ast.keyword) and node.arg in (
                    "shell",
                    "allow_pickle",
                    "trust_remote_code",
                ):
                    assert isinstance(node.value, ast.Constant), path
                    assert node.value.value is False, path
            assert "pickle" not in {name.split(".")[0] for name, _ in imports(path)}, path


def test_no_test_forks_its_own_process() -> None:
    """Its threads would leave locked what they hold, and the child could wait for ever (tests/forked.py)."""
    for path in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert (node.func.attr, *map(ast.unparse, node.args)) not in (
                    ("fork",),
                    ("get_context", "'fork'"),
                ), path


@pytest.mark.slow
def test_a_search_loads_no_torch_and_opens_no_socket(bundle: Path, sample_album: Path) -> None:
    """A whole search on the ONNX backend, in a separate process where sockets are forbidden."""
    code = f"""
import socket, sys
def refuse(*a, **k): raise AssertionError("a socket was opened")
socket.socket = refuse
socket.create_connection = refuse
from importlib.util import find_spec
from pathlib import Path
missing = [name for name in {sorted(IDLE)!r} if find_spec(name) is None]
assert not missing, missing
from gamer.runtime.search.engine import Engine
engine = Engine.open(Path({str(bundle)!r}), Path({str(sample_album)!r}))
assert engine.search("my cat").hits[0].id == "chelsea"
woken = sorted(m for m in sys.modules if m.split(".")[0] in {sorted(HEAVY)!r})
assert not woken, woken
idle = sorted(set(sys.modules) & set({sorted(IDLE)!r}))
assert not idle, idle
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr


def at_run_time(path: Path) -> Iterator[str]:
    """The project's modules that a file imports when it runs, not for types alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            above = name_of(path).split(".")[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


# What `gamer.Album` and `gamer.Bundle` offer, and what that is made of.
OFFERED = {
    "gamer.index.Album", "gamer.index.AlbumWriter", "gamer.index.OpenedLog", "gamer.index.memory.store",
    *(f"gamer.runtime.{name}" for name in (
        "search.engine", "models.models", "agent.toolbox", "agent.minds", "agent.loop.run",
        "indexing.build", "indexing.encode", "indexing.people", "indexing.captions", "events.build",
        "events.llm", "memory.chat", "memory.recall", "memory.by_hand", "memory.update", "memory.deciders",
    )),
}  # fmt: skip
MADE_ON_THE_DOOR = (
    "search",
    "similar",
    "ask",
    "mcp",
    "chat",
    "index",
    "copies",
    "events",
    "people",
    "memory",
    "things",
    "generate",
)


@pytest.mark.parametrize("command", MADE_ON_THE_DOOR)
def test_a_command_is_made_on_the_door_and_imports_nothing_deeper(command: str) -> None:
    path = ROOT / "runtime" / "cli" / f"{command}.py"
    assert OFFERED.isdisjoint(at_run_time(path))


@pytest.mark.parametrize("module", sorted(modules("runtime/serve")), ids=lambda path: path.stem)
def test_the_server_is_made_on_the_door_and_imports_nothing_deeper(module: Path) -> None:
    assert OFFERED.isdisjoint(at_run_time(module))


def test_what_the_door_offers_exists_under_these_names() -> None:
    for name in OFFERED:
        assert pkgutil.resolve_name(name)


# Where the time of day means something: a question's "yesterday", when something was said, shown or made, or
# a file was changed: one that was changed just now, or after now, is read.
DATED = {
    "export/bundle/rendering.py", "export/training/refinement/rlhf.py", "index/ingest/remembered.py",
    "index/opened.py", "runtime/cli/chat.py", "runtime/door/memory.py", "runtime/memory/by_hand.py",
    "runtime/search/engine.py", "runtime/serve/completions.py", "runtime/serve/talk.py",
}  # fmt: skip
WALL_CLOCKS = {"time.time", "time.time_ns", "datetime.now", "datetime.today", "datetime.utcnow", "date.today"}


def test_nothing_but_dates_hangs_on_a_clock_that_may_jump() -> None:
    """What is continued, locked, limited, timed or left over does not: the clock may be set while it runs."""
    asked = set()
    for room in ("export", "index", "runtime"):
        for path in modules(room):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
            if any(call.endswith(clock) for call in calls for clock in WALL_CLOCKS):
                asked.add(path.relative_to(ROOT).as_posix())
    assert asked == DATED
