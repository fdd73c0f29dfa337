"""`gamer ask` through the shell: what a person reads, what a program reads, and how it fails."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from gamer.runtime.models.models import Models

from .small_album import engine_over, photo

PHOTOS = [
    photo("kite", "2025-06-01T12:00:00", "a red kite flying in the sky"),
    photo("ice", "2025-06-01T14:00:00", "two cones of strawberry ice cream"),
    photo("piano", "2025-06-05T14:00:00", "grandfather playing\nthe piano"),
]


@pytest.fixture(scope="module")
def album(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine = engine_over(Models.open(bundle), tmp_path_factory.mktemp("ask"), PHOTOS)
    engine.close()
    return engine.album.path


def gamer(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gamer", *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


def test_a_person_reads_steps_and_then_the_answer_with_its_files(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the photo right after the red kite", "-b", bundle)
    assert (done.returncode, done.stderr) == (0, "")
    steps, answer = done.stdout.split("\n1 photo\n")
    assert "Find the anchor, “the red kite”." in steps and "left: 24 calls, 5 views, 29 turns" in steps
    assert answer == "  2025-06-01T14:00:00  two cones of strawberry ice cream  ice\n"


def test_a_program_reads_a_line_for_each_step_and_the_outcome(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "when did grandfather play?", "-b", bundle, "--as", "sentence", "--json")
    *steps, outcome = map(json.loads, done.stdout.splitlines())
    assert [step["tool"] for step in steps] == ["search"] and steps[0]["left"]["calls"] == 24
    assert outcome["sentence"] == "5 June 2025" and outcome["photos"][0]["file"] == "piano"
    assert (outcome["mind"], outcome["end"], outcome["ended"]) == ("rules", "sentence", "answer")


def test_a_used_up_budget_is_said_and_what_was_found_is_shown(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the photo right after the red kite", "-b", bundle, "--calls", 1)
    assert done.returncode == 0
    assert done.stderr == "gamer ask: the budget is used up; this is what was found\n"
    assert "a red kite" in done.stdout


def test_the_bundles_language_model_chooses_steps_under_its_grammar(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the red kite", "-b", bundle, "--mind", "llm", "--json")
    assert done.returncode == 0, done.stderr
    *steps, outcome = map(json.loads, done.stdout.splitlines())
    assert outcome["mind"] == "llm" and all(step["tool"] in ("search", "filter") for step in steps)
    words = {step["arguments"].get("text", "red kite") for step in steps}
    assert all(word in "the red kite" for word in words)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["  "], "gamer ask: the question is empty: ask something about the photos\n"),
        (["x" * 100_001], "gamer ask: the question has 100001 characters: give at most 100000\n"),
        (
            ["a kite", "--endpoint", "http://127.0.0.1:1/v1"],
            "gamer ask: --endpoint needs the name of a model: give --model\n",
        ),
    ],
)
def test_a_wrong_question_gives_one_line(album: Path, bundle: Path, arguments: list[str], error: str) -> None:
    done = gamer("ask", album, *arguments, "-b", bundle)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", error)


def test_a_missing_album_is_named(tmp_path: Path, bundle: Path) -> None:
    done = gamer("ask", tmp_path / "none.gamer", "a kite", "-b", bundle)
    assert done.returncode == 1 and "no such album" in done.stderr and len(done.stderr.splitlines()) == 1
