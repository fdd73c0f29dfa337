"""The `gamer` command: its help, exit codes 1 and 2 with a one-line message, and its JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from gamer.main import COMMANDS, SECTIONS, main
from tests.console import gamer


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), ("export", "verify", "index", "search", "bench")),
        (("search",), ("--explain", "--refine", "--mode", "--json", "last spring")),
        (("index",), ("build", "stats", "verify")),
        (("index", "build"), ("JSONL", "--bundle", "HEIC")),
    ],
)
def test_help_lists_the_commands_and_the_options(args: tuple[str, ...], words: tuple[str, ...]) -> None:
    done = gamer(*args, "--help")
    assert done.returncode == 0
    for word in words:
        assert word in done.stdout


@pytest.mark.parametrize(
    "args",
    [
        ("serach", "x"),
        ("search",),
        ("search", "a.gamer", "cat", "-k", "0"),
        ("search", "a.gamer", "cat", "--mode", "magic"),
        ("search", "a.gamer", "cat", "--nonsense"),
        ("similar", "a.gamer"),
        ("similar", "a.gamer", "cat.jpg", "-k", "0"),
        ("index", "build", "somewhere"),
    ],
)
def test_wrong_arguments_exit_2_with_one_line_that_points_to_the_help(args: tuple[str, ...]) -> None:
    done = gamer(*args)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "(see gamer" in done.stderr


def test_a_missing_argument_is_told_with_all_that_the_command_takes() -> None:
    done = gamer("search", "coffee last spring")
    assert "Missing argument 'QUERY': gamer search [OPTIONS] ALBUM QUERY (see gamer" in done.stderr


def test_an_unknown_command_lists_the_choices() -> None:
    """In a process of its own, as all are started."""
    names = "export, verify, pack, unpack, train, index, search, similar, ask, generate, bench"
    command = [sys.executable, "-m", "gamer.main", "serach"]
    assert names in subprocess.run(command, capture_output=True, text=True, timeout=120).stderr


@pytest.mark.parametrize(
    "args",
    [
        ("search", "absent.gamer", "cat", "-b", "absent"),
        ("similar", "absent.gamer", "cat.jpg"),
        ("index", "stats", "absent.gamer"),
        ("index", "verify", "absent.gamer"),
        ("index", "build", "absent", "-b", "absent", "-o", "x.gamer"),
    ],
)
def test_a_failed_job_exits_1_with_one_line(args: tuple[str, ...]) -> None:
    done = gamer(*args)
    assert done.returncode == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stderr.startswith("gamer ")


def test_a_file_that_is_no_album_is_named_in_the_error_and_left_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.gamer"
    path.write_text("hello")
    done = gamer("index", "stats", str(path))
    assert done.returncode == 1
    assert "notes.gamer" in done.stderr
    assert path.read_text() == "hello"


def test_export_of_an_unknown_recipe_or_target_exits_2_and_lists_the_known_ones() -> None:
    pytest.importorskip("torch", reason="needs the export extra")
    done = gamer("export", "gamer-9000", "-o", "x")
    assert done.returncode == 2
    assert "pocket" in done.stderr
    done = gamer("export", "pocket", "--targets", "tflite", "-o", "x")
    assert done.returncode == 2
    assert "onnx, executorch, coreml" in done.stderr


@pytest.mark.slow
def test_a_jsonl_is_indexed_searched_explained_and_verified(bundle: Path, tmp_path: Path) -> None:
    """A line that does not fit the format is reported with its number; the other lines are indexed."""
    source = tmp_path / "mine.jsonl"
    lines = [
        {
            "id": "a",
            "taken_at": "2026-04-02T10:00:00",
            "memories": [{"source": "note", "text": "a cup of coffee with Anna"}],
        },
        {
            "id": "b",
            "taken_at": "2025-12-24T19:00:00",
            "memories": [{"source": "note", "text": "the Christmas tree in the hall"}],
        },
        {"id": "c", "lat": 999, "lon": 0, "memories": []},
        {"id": "d", "memories": [{"source": "note", "text": "coffee machine, 119 euros"}]},
    ]
    source.write_text("\n".join([*(json.dumps(line) for line in lines), "{not json"]) + "\n")
    album = tmp_path / "mine.gamer"
    built = gamer("index", "build", str(source), "-b", str(bundle), "-o", str(album))
    assert built.returncode == 0, built.stderr
    assert "3 photos indexed" in built.stdout
    assert "2 skipped" in built.stdout
    assert "mine.jsonl:3" in built.stderr
    assert "mine.jsonl:5" in built.stderr
    strict = gamer("index", "build", str(source), "-b", str(bundle), "-o", str(album), "--strict", "--json")
    assert strict.returncode == 1
    assert json.loads(strict.stdout)["photos"] == 3
    searched = gamer(
        "search",
        str(album),
        "coffee in spring 2026",
        "-b",
        str(bundle),
        "-k",
        "3",
        "--json",
        "--now",
        "2026-11-21",
    )
    answer = json.loads(searched.stdout)
    # "d" has no time, so the cue does not change its score. "b" has a time outside the cue, which lowers it.
    assert [hit["id"] for hit in answer["hits"]] == ["a", "d", "b"]
    assert (
        answer["hits"][0]["parts"]["cue"]
        > 0
        == answer["hits"][1]["parts"]["cue"]
        > answer["hits"][2]["parts"]["cue"]
    )
    explained = gamer(
        "search", str(album), "coffee in spring 2026", "-b", str(bundle), "--explain", "--now", "2026-11-21"
    )
    for layer in ("cube", "kdtree", "refine", "graph", "vectors"):
        assert layer in explained.stdout
    assert json.loads(gamer("index", "verify", str(album), "--json").stdout) == {
        "clean": True,
        "problems": [],
        "repaired": [],
    }
    assert json.loads(gamer("index", "stats", str(album), "--json").stdout)["photos"] == 3


@pytest.mark.slow
def test_indexing_a_folder_without_a_readable_photo_fails_and_writes_no_file(
    bundle: Path, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    done = gamer(
        "index", "build", str(tmp_path / "photos"), "-b", str(bundle), "-o", str(tmp_path / "x.gamer")
    )
    assert done.returncode == 1
    assert "no photo could be taken" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["photos"]


@pytest.mark.slow
def test_verify_with_hashes_only_accepts_the_exported_bundle(bundle: Path) -> None:
    done = gamer("verify", str(bundle), "--hashes-only", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["recipe"] == "pocket"


def test_the_help_shows_every_command_in_one_line_and_fits_a_screen() -> None:
    assert sorted(name for names in SECTIONS.values() for name in names) == sorted(COMMANDS)
    lines = gamer("--help").stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert all(any(line.split()[:1] == [name] for line in lines) for name in COMMANDS)


def test_there_are_at_most_sixty_commands_with_at_most_170_options() -> None:
    """An option that several commands share is one to learn, and counts once."""

    def every(command: click.Command) -> Iterator[click.Command]:
        if not isinstance(command, click.Group):
            yield command
            return
        context = click.Context(command)
        for name in command.list_commands(context):
            if one := command.get_command(context, name):
                yield from every(one)

    commands = list(every(main))
    options = {
        opt for one in commands for param in one.params for opt in param.opts[:1] if opt.startswith("-")
    }
    assert len(commands) <= 60
    assert len(options) <= 170
