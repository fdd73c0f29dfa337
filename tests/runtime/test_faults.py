"""A fault is reported in one line that names the file and what to do, and no search ever opens a socket."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gamer.index import Album
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine
from tests.console import gamer

pytestmark = pytest.mark.slow


SEARCH = [sys.executable, "-m", "gamer.main", "search"]


@pytest.fixture
def broken(bundle: Path, tmp_path: Path) -> Path:
    """A copy of the files of the bundle that a search reads, for the test to damage."""
    copy = tmp_path / "bundle"
    shutil.copytree(
        bundle,
        copy,
        ignore=shutil.ignore_patterns("executorch", "coreml", "llm_*.onnx", "dpe_*.onnx", "image_*.onnx"),
    )
    return copy


def flip(path: Path) -> None:
    """Change one byte in the middle; the size stays."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def rename(manifest: Path) -> None:
    """The manifest of a bundle with another text encoder."""
    raw = json.loads(manifest.read_text(encoding="utf-8"))
    raw["text_encoder"] = "another-encoder"
    manifest.write_text(json.dumps(raw), encoding="utf-8")


FAULTS: list[tuple[str, Callable[[Path], None], tuple[str, ...]]] = [
    ("onnx/text_tower.onnx", flip, ("text_tower.onnx", "SHA-256", "export again")),
    ("onnx/text_tower.onnx", cut, ("text_tower.onnx", "bytes", "export again")),
    ("onnx/text_tower.onnx", Path.unlink, ("text_tower.onnx", "missing", "copy the whole bundle")),
    ("text_tokenizer.json", flip, ("text_tokenizer.json", "SHA-256")),
    ("gazetteer.sqlite", cut, ("gazetteer.sqlite", "bytes")),
    ("gazetteer.sqlite", Path.unlink, ("gazetteer.sqlite", "missing")),
    ("manifest.json", cut, ("manifest.json", "must be JSON")),
    ("manifest.json", Path.unlink, ("no manifest.json", "gamer export")),
    ("manifest.json", rename, ("another-encoder", "gamer index update")),
]


@pytest.mark.parametrize(("name", "damage", "says"), FAULTS, ids=[f"{f[0]}-{f[1].__name__}" for f in FAULTS])
def test_a_faulty_bundle_fails_the_search_with_one_line_that_names_the_fault(
    broken: Path, sample_album: Path, name: str, damage: Callable[[Path], None], says: tuple[str, ...]
) -> None:
    damage(broken / name)
    done = gamer("search", str(sample_album), "my cat", "-b", str(broken))
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 1, done.stderr
    assert len(lines) == 1, done.stderr
    assert not done.stdout, done.stderr
    assert lines[0].startswith("gamer search: ")
    for words in says:
        assert words in lines[0]


def test_an_album_of_a_newer_version_fails_the_search_with_one_line_that_names_it(
    bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    newer = tmp_path / "newer.gamer"
    newer.write_bytes(sample_album.read_bytes())
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    done = gamer("search", str(newer), "my cat", "-b", str(bundle))
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "newer.gamer" in done.stderr
    assert "99" in done.stderr
    assert "update the program" in done.stderr


def test_a_photo_moved_away_is_still_found_and_reported_as_missing(bundle: Path, tmp_path: Path) -> None:
    """The album answers from its rows; the file may no longer be at the path that a row names."""
    from PIL import Image

    from gamer.runtime.indexing.build import build
    from gamer.runtime.models.models import Models

    Image.new("RGB", (320, 320), "red").save(tmp_path / "wall.jpg")
    line = {"id": "wall", "path": "wall.jpg", "memories": [{"source": "note", "text": "the red wall"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n")
    build(tmp_path / "a.jsonl", Models.open(bundle), tmp_path / "a.gamer")
    (tmp_path / "wall.jpg").rename(tmp_path / "elsewhere.jpg")
    done = gamer("search", str(tmp_path / "a.gamer"), "the red wall", "-b", str(bundle))
    assert done.returncode == 0
    assert "wall" in done.stdout
    assert len(done.stderr.strip().splitlines()) == 1
    assert "wall.jpg" in done.stderr
    assert "gamer index add" in done.stderr


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("x" * 100_001, "100001 characters"),
        ("   ", "empty"),
        ("\x1b\x07", None),
        ("x " * 50_000, None),
        ("\x1b[2Jcat\x07 in 2026", None),
    ],
    ids=["too long", "blank", "controls alone", "100,000 characters", "controls"],
)
def test_odd_queries_are_answered_or_refused_without_printing_control_characters(
    bundle: Path, sample_album: Path, query: str, says: str | None
) -> None:
    done = gamer("search", str(sample_album), query, "-b", str(bundle), "--explain")
    assert "\x1b[2J" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr
    if says is None:
        assert done.returncode == 0, done.stderr
        assert not done.stderr, done.stderr
    else:
        assert done.returncode == 1
        assert says in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


BARRED = """
import socket
class Refused(AssertionError):
    pass
def refuse(*arguments, **options):
    raise Refused("a socket was opened")
socket.socket.__init__ = refuse
socket.create_connection = socket.getaddrinfo = socket.gethostbyname = socket.socketpair = refuse
"""
QUERIES = (
    "my cat",
    "rocket launch in Florida last summer",
    "coffee two days after the rocket launch",
    "at home on a Sunday, not in Paris",
)


def test_the_search_command_opens_no_socket(bundle: Path, sample_album: Path, tmp_path: Path) -> None:
    """sitecustomize refuses sockets in the whole process, from its first import."""
    (tmp_path / "sitecustomize.py").write_text(BARRED)
    paths = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    env = {**os.environ, "PYTHONPATH": paths}
    probe = subprocess.run(
        [sys.executable, "-c", "import socket; socket.socket()"], env=env, capture_output=True, text=True
    )
    assert "a socket was opened" in probe.stderr
    for query in QUERIES:
        command = [*SEARCH, str(sample_album), query, "-b", str(bundle), "--explain", "--now", "2026-11-21"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=env)
        assert done.returncode == 0, done.stderr


def test_a_search_works_in_a_kernel_namespace_without_network(bundle: Path, sample_album: Path) -> None:
    """The namespace has no network interface, so that native code cannot reach the network either; skipped
    where the system allows no such namespace.
    """
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-rn", "true"], capture_output=True).returncode:
        pytest.skip("this system gives no network namespace to a plain user")
    asked = [str(sample_album), QUERIES[1], "-b", str(bundle), "--now", "2026-11-21"]
    command = [unshare, "-rn", *SEARCH, *asked]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "rocket" in done.stdout, done.stderr


def test_a_bundle_with_another_encoder_is_refused_with_the_command_that_encodes_again(
    broken: Path, sample_album: Path
) -> None:
    rename(broken / "manifest.json")
    with pytest.raises(RuntimeFailure, match="gamer index update") as caught:
        Engine.open(broken, sample_album)
    assert str(sample_album) in str(caught.value)
    assert str(broken) in str(caught.value)
    assert "\n" not in str(caught.value)
    with Album.open(sample_album) as album:
        assert album.meta.text_encoder in str(caught.value)
