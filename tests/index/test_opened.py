"""What was searched and opened: kept only if asked for, deleted by one command, read whatever is in it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.index import Album, AlbumWriter, Opened, OpenedLog
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.leaving import open_leaving
from gamer.index.cli import opened, remove
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.opened import MAX_BYTES, MAX_QUERY
from gamer.index.records import TITLE
from gamer.runtime.cli.memory import forget
from tests.console import gamer
from tests.index.retelling import Retelling

SECRET = "Zanzibar-Quokka-4711"


def test_nothing_is_kept_until_it_is_asked_for(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    assert not log.add("my cat", "IMG_1.jpg")
    assert not log.kept
    assert log.read() == ()
    assert not list(tmp_path.iterdir())
    log.keep()
    assert log.kept
    assert log.path.stat().st_mode & 0o777 == 0o600
    assert log.add("my cat", "IMG_1.jpg", at=5)
    assert log.add("日の出", "b", at=3)
    assert log.read() == (Opened(3, "日の出", "b"), Opened(5, "my cat", "IMG_1.jpg"))
    log.keep()
    assert len(log.read()) == 2


def test_deleting_leaves_nothing_and_keeps_no_more(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    log.keep()
    log.add("my cat", "IMG_1.jpg")
    assert log.delete() == 1
    assert not list(tmp_path.iterdir())
    assert not log.add("my cat", "IMG_1.jpg")
    assert log.delete() == 0


def test_deleting_takes_out_the_titles_that_were_learned_of_it(album_path: Path) -> None:
    with Album.open(album_path) as album:
        photo, dim = album.ids()[0], album.meta.dim
    with AlbumWriter.extend(album_path) as writer:
        writer.set_channel(TITLE, {photo: np.ones((1, dim), np.float32)})
    assert CliRunner().invoke(opened, [str(album_path), "--delete"]).exit_code == 0
    with Album.open(album_path) as album:
        assert TITLE not in album.channels()
        assert album.verify() == []


def test_what_is_forgotten_leaves_the_file_and_later_searches_are_kept(tmp_path: Path) -> None:
    log = OpenedLog(tmp_path / "a.gamer")
    assert log.forget(queries=None) == 0
    assert not list(tmp_path.iterdir())
    log.keep()
    for at, (query, photo) in enumerate([("my cat", "a"), ("the doctor", "b"), ("日の出", "c")]):
        log.add(query, photo, at=at)
    assert log.forget(photos=["a"]) == 1
    assert log.forget(queries=["the doctor"]) == 1
    assert log.read() == (Opened(2, "日の出", "c"),)
    assert b"doctor" not in log.path.read_bytes()
    assert log.add("later", "d", at=9)
    assert log.forget(queries=None) == 2
    assert log.kept
    assert log.path.read_bytes() == b""
    assert log.path.stat().st_mode & 0o777 == 0o600


def test_removing_a_photo_deletes_the_searches_that_led_to_it(album_path: Path) -> None:
    log = OpenedLog(album_path)
    log.keep()
    log.add("my dog", "dog.jpg", at=1)
    log.add("a chair", "chair.jpg", at=2)
    done = CliRunner().invoke(remove, [str(album_path), "dog.jpg"])
    assert done.exit_code == 0, done.output
    assert [entry.photo for entry in log.read()] == ["chair.jpg"]


def test_what_was_searched_goes_into_no_export_and_to_no_assistant(album_path: Path, tmp_path: Path) -> None:
    log = OpenedLog(album_path)
    log.keep()
    log.add(SECRET, "dog.jpg", at=1)
    with Album.open(album_path) as album, open_leaving(album, Retelling()) as view:
        export_jsonl(album, tmp_path / "out.jsonl", everything=True)
        assert SECRET not in (tmp_path / "out.jsonl").read_text(encoding="utf-8")
        assert SECRET.encode() not in view.path.read_bytes()
        assert view.path == album_path or not OpenedLog(view.path).kept


def test_forgetting_a_turn_deletes_the_search_with_its_words(album_path: Path) -> None:
    log = OpenedLog(album_path)
    log.keep()
    with MemoryStore.open(album_path) as store:
        store.add_turns([Turn("u1", "kitchen", "me", 1_000, SECRET)])
    for at, query in enumerate([SECRET, "my cat", "tea"]):
        log.add(query, "dog.jpg", at=at)
    assert CliRunner().invoke(forget, [str(album_path), "t1"]).exit_code == 0
    assert [entry.query for entry in log.read()] == ["my cat", "tea"]
    assert CliRunner().invoke(forget, [str(album_path), "--all"]).exit_code == 0
    assert log.read() == ()
    assert log.kept


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
    assert log.add("x" * 5000, "p")
    assert len(log.read()[0].query) == MAX_QUERY
    with log.path.open("ab") as file:
        file.truncate(MAX_BYTES)
    assert not log.add("my cat", "p")
    assert log.path.stat().st_size == MAX_BYTES


def test_the_command_says_keeps_and_deletes(tmp_path: Path) -> None:
    album = tmp_path / "a.gamer"
    run = partial(gamer, "index", "opened", album)
    missing = run()
    assert missing.returncode == 1
    assert "no such album" in missing.stderr
    album.write_bytes(b"")
    assert json.loads(run("--json").stdout) == {"kept": False, "entries": 0, "deleted": 0}
    assert run("--keep").returncode == 0
    OpenedLog(album).add("my cat", "p")
    assert run().stdout.startswith("1 opened photos in ")
    assert run("--keep", "--delete").returncode == 1
    assert "1 entries deleted; what is opened is not kept" in run("--delete").stdout
    assert not OpenedLog(album).kept
