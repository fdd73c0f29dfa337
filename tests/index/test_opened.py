"""What was searched and opened: kept only if asked for, deleted by one command, read whatever is in it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.index import Opened, OpenedLog
from gamer.index.opened import MAX_BYTES, MAX_QUERY


def test_nothing_is_kept_until_it_is_asked_for(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    assert not log.add("my cat", "IMG_1.jpg") and not log.kept and log.read() == ()
    assert not list(tmp_path.iterdir())
    log.keep()
    assert log.kept and log.path.stat().st_mode & 0o777 == 0o600
    assert log.add("my cat", "IMG_1.jpg", at=5) and log.add("日の出", "b", at=3)
    assert log.read() == (Opened(3, "日の出", "b"), Opened(5, "my cat", "IMG_1.jpg"))
    log.keep()
    assert len(log.read()) == 2


def test_deleting_leaves_nothing_and_keeps_no_more(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    log.keep()
    log.add("my cat", "IMG_1.jpg")
    assert log.delete() == 1 and not list(tmp_path.iterdir())
    assert not log.add("my cat", "IMG_1.jpg") and log.delete() == 0


@given(st.lists(st.binary(max_size=60), max_size=20), st.text(max_size=30))
def test_lines_that_are_none_are_left_out(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], query: str
) -> None:
    log = OpenedLog(tmp_path_factory.mktemp("opened") / "a.gamer")
    hostile = [
        b'{"at": true, "query": "a", "photo": "b"}',
        b'{"at": 1, "query": 2, "photo": "b"}',
        b"[" * 5000,
    ]
    log.path.write_bytes(b"\n".join([*lines, *hostile]) + b"\n")
    log.add(query, "here", at=9)
    found = [entry for entry in log.read() if entry.photo == "here"]
    assert found == ([Opened(9, query, "here")] if query.strip() else [])


def test_long_queries_are_cut_and_a_full_log_takes_no_more(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    log.keep()
    assert log.add("x" * 5000, "p") and len(log.read()[0].query) == MAX_QUERY
    with log.path.open("ab") as file:
        file.truncate(MAX_BYTES)
    assert not log.add("my cat", "p") and log.path.stat().st_size == MAX_BYTES


def test_the_command_says_keeps_and_deletes(tmp_path: Path) -> None:
    album = tmp_path / "a.gamer"

    def run(*more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gamer.main", "index", "opened", str(album), *more]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    missing = run()
    assert missing.returncode == 1 and "no such album" in missing.stderr
    album.write_bytes(b"")
    assert json.loads(run("--json").stdout) == {"kept": False, "entries": 0, "deleted": 0}
    assert run("--keep").returncode == 0
    OpenedLog(album).add("my cat", "p")
    assert run().stdout.startswith("1 opened photos in ") and run("--keep", "--delete").returncode == 1
    assert "1 entries deleted; what is opened is not kept" in run("--delete").stdout
    assert not OpenedLog(album).kept
