"""Every command of the README's table is played: here as a user types it, or by a test that is named here.

A row of the table that is in neither list fails.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.console import gamer
from tests.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE = README.split("## Commands")[1].split("\n## ")[0]
# Those of minutes: (file, function) of the test that plays them through the shell or click.
ELSEWHERE = {
    "export": ("tests/export/test_app_developer.py", "test_his_own_model_from_a_missed_bar"),
    "verify": ("tests/export/test_app_developer.py", "test_his_own_model_from_a_missed_bar"),
    "train": ("tests/export/training/test_train_cli.py", "test_a_checkpoint_is_trained_and_exported"),
    "serve": ("tests/runtime/serve/test_serve_cli.py", "def test_"),
    "people": (
        "tests/runtime/indexing/test_people.py",
        "test_the_command_lists_shows_and_refuses_in_one_line",
    ),
    "mcp": ("tests/runtime/agent/leaving/test_mcp.py", "def test_"),
}
# Command → arguments, and what the output must hold. ALBUM and BUNDLE stand for their paths.
PLAYED: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "pack": ((("BUNDLE", "-o", "FILE", "--targets", "onnx", "--without", "llm,dpe"), "MB"),),
    "index": (
        (("stats", "ALBUM"), "19"),
        (("verify", "ALBUM"), "clean"),
    ),
    "search": ((("ALBUM", "coffee with Anna", "-b", "BUNDLE", "-k", "3", "--explain"), "coffee"),),
    "similar": ((("ALBUM", "chelsea", "-k", "3"), "similar to chelsea, by what the pictures show"),),
    "ask": ((("ALBUM", "what else did I photograph on the day of the motorcycle", "-b", "BUNDLE"), ""),),
    "memory": (
        (("add", "ALBUM", "The spare key is under the blue pot"), "m1"),
        (("list", "ALBUM"), "blue pot"),
    ),
    "things": ((("ALBUM", "--build", "-n", "3"), "horse"),),
    "chat": ((("ALBUM", "-b", "BUNDLE"), "Noted."),),
    "generate": ((("BUNDLE", "The sky is", "--raw", "--max-new", "4"), ""),),
    "bench": ((("compare", "RESULT", "AGAIN"), "cube"),),
    "doctor": ((("BUNDLE",), "onnxruntime"),),
}


def commands() -> list[str]:
    """The first words after `gamer` in the first column of the table, each once, in order."""
    first = [line.split("|")[1] for line in TABLE.splitlines() if line.startswith("| `")]
    return list(dict.fromkeys(name for cell in first for name in re.findall(r"`gamer (\w+)", cell)))


@pytest.mark.parametrize("command", commands())
def test_every_command_of_the_table_is_played(command: str) -> None:
    if command in PLAYED:
        return
    assert command in ELSEWHERE, f"no test plays `gamer {command}`"
    file, function = ELSEWHERE[command]
    text = (ROOT / file).read_text(encoding="utf-8")
    assert function in text
    assert f'"{command}"' in text


@pytest.mark.slow
@pytest.mark.parametrize("command", PLAYED)
def test_a_command_of_the_table_does_what_it_says(
    command: str, bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    album = tmp_path / "album.gamer"
    shutil.copy(sample_album, album)
    given = {
        "ALBUM": str(album),
        "BUNDLE": str(bundle),
        "FILE": str(tmp_path / "pocket.zip"),
        "RESULT": str(ROOT / "bench" / "results" / "latency-pocket.json"),
        "AGAIN": str(ROOT / "bench" / "results" / "latency-pocket-again.json"),
    }
    for arguments, wanted in PLAYED[command]:
        done = subprocess.run(
            [sys.executable, "-m", "gamer", command, *(given.get(word, word) for word in arguments)],
            input="I live in Porto.\n" if command == "chat" else None,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip(), done.stdout
        assert wanted in done.stdout, done.stdout
        assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_json_of_a_search_is_one_object(bundle: Path, sample_album: Path) -> None:
    done = gamer("search", sample_album, "my cat", "-b", bundle, "--json")
    assert json.loads(done.stdout)["hits"][0]["id"] == "chelsea"
