"""`gamer ask` through the shell: what a person reads, what a program reads, and how it fails."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from gamer.index import image_id
from gamer.runtime.memory.pictures import Pictures
from gamer.runtime.models.models import Models
from tests.console import gamer

from .fake_endpoint import FINAL, says, serving, silent
from .pictures import GREY, album_of_pictures, colours
from .small_album import engine_over, photo

PHOTOS = [
    photo("kite", "2025-06-01T12:00:00", "a red kite flying in the sky"),
    photo("ice", "2025-06-01T14:00:00", "two cones of strawberry ice cream"),
    photo("piano", "2025-06-05T14:00:00", "grandfather playing\nthe piano"),
    photo("chair", "2025-07-01T14:00:00", "Chelsea took my chair again", ("label", "tiger cat, tabby")),
]


@pytest.fixture(scope="module")
def album(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    engine = engine_over(Models.open(bundle), tmp_path_factory.mktemp("ask"), PHOTOS)
    engine.close()
    return engine.album.path


@pytest.fixture(scope="module")
def pictures(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    engine = engine_over(Models.open(bundle), folder, album_of_pictures(folder))
    engine.close()
    return engine.album.path


def started(*arguments: object) -> subprocess.Popen[str]:
    # A shell starts background processes with SIGINT ignored, and their children inherit that.
    default_sigint = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-m", "gamer", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_sigint
    )


def test_a_person_reads_steps_and_then_the_answer_with_its_files(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the photo right after the red kite", "-b", bundle)
    assert (done.returncode, done.stderr) == (0, "")
    steps, answer = done.stdout.split("\n1 photo\n")
    assert "Find the anchor, “the red kite”." in steps
    assert "left: 24 calls, 5 views, 29 turns" in steps
    assert answer == "  2025-06-01T14:00:00  two cones of strawberry ice cream  ice\n"


def test_beside_what_the_album_does_not_say_are_three_photos_at_most(bundle: Path, tmp_path: Path) -> None:
    stones = [photo(f"stone-{n}", f"2025-06-0{n}T09:00:00", f"grey stone number {n}") for n in range(1, 6)]
    engine = engine_over(Models.open(bundle), tmp_path, [*PHOTOS, *stones])
    engine.close()
    words = ("ask", engine.album.path, "how much did the sofa cost?", "-b", bundle)
    said = gamer(*words).stdout
    assert "does not seem to say" in said
    assert len([line for line in said.splitlines() if line.startswith("  2025-")]) == 3
    outcome = json.loads(gamer(*words, "--json").stdout.splitlines()[-1])
    assert not outcome["found"]
    assert len(outcome["photos"]) > 3


def test_where_no_photo_is_sure_the_likeliest_are_shown(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "all photos of the nuclear submarine", "-b", bundle, "--json")
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["sentence"] == "The album does not seem to have “nuclear submarine”."
    assert not outcome["found"]
    assert 1 <= len(outcome["photos"]) <= 3


def test_a_conversation_shows_no_photo_that_is_not_sure(bundle: Path, tmp_path: Path) -> None:
    engine = engine_over(Models.open(bundle), tmp_path, PHOTOS)
    said = Pictures(engine).answer("all photos of the nuclear submarine", datetime(2026, 1, 1))
    assert said.text.startswith("The album does not seem to have")
    assert said.photos == ()
    engine.close()


def test_a_program_reads_a_line_for_each_step_and_the_outcome(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "when did grandfather play?", "-b", bundle, "--json")
    *steps, outcome = map(json.loads, done.stdout.splitlines())
    assert [step["tool"] for step in steps] == ["search"]
    assert steps[0]["left"]["calls"] == 24
    assert outcome["sentence"] == "5 June 2025"
    assert outcome["photos"][0]["file"] == "piano"
    assert (outcome["mind"], outcome["end"], outcome["ended"]) == ("rules", "sentence", "answer")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("Which animal took my chair?", "tiger cat"),
        ("Was the kite before the strawberry ice cream?", "The kite first"),
        ("Which was first, the piano or the two cones?", "The two cones first"),
    ],
)
def test_an_animal_is_named_by_the_picture_and_of_two_things_the_first(
    album: Path, bundle: Path, question: str, sentence: str
) -> None:
    done = gamer("ask", album, question, "-b", bundle, "--json")
    assert json.loads(done.stdout.splitlines()[-1])["sentence"] == sentence


def test_a_used_up_budget_is_said_and_what_was_found_is_shown(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the photo right after the red kite", "-b", bundle, "--calls", 1)
    assert done.returncode == 0
    assert done.stderr == "gamer ask: the budget is used up; this is what was found\n"
    assert "a red kite" in done.stdout


def test_the_bundles_language_model_chooses_steps_under_its_grammar(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, "the red kite", "-b", bundle, "--mind", "llm", "--json")
    assert done.returncode == 0, done.stderr
    *steps, outcome = map(json.loads, done.stdout.splitlines())
    assert outcome["mind"] == "llm"
    assert all(step["tool"] in ("search", "filter") for step in steps)
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
        (
            ["a kite", "--vision", "http://127.0.0.1:1/v1"],
            "gamer ask: --vision needs the name of a model: give --vision-model\n",
        ),
        (
            ["a kite", "--vision", "nowhere", "--vision-model", "eyes"],
            "gamer ask: the endpoint must be an address such as http://127.0.0.1:11434/v1\n",
        ),
    ],
)
def test_a_wrong_question_gives_one_line(album: Path, bundle: Path, arguments: list[str], error: str) -> None:
    done = gamer("ask", album, *arguments, "-b", bundle)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", error)


def test_a_question_that_a_terminal_garbled_is_answered_in_json(album: Path, bundle: Path) -> None:
    done = gamer("ask", album, os.fsdecode(b"\xff"), "-b", bundle, "--json")
    assert "not valid UTF-8" in json.loads(done.stdout)["ended"]
    assert "Traceback" not in done.stderr


def test_a_missing_album_is_named(tmp_path: Path, bundle: Path) -> None:
    done = gamer("ask", tmp_path / "none.gamer", "a kite", "-b", bundle)
    assert done.returncode == 1
    assert "no such album" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("where", ["the mind thinks", "a call runs"])
@pytest.mark.parametrize("as_json", [False, True], ids=["read", "json"])
def test_ctrl_c_ends_the_task_with_the_trace_so_far(
    pictures: Path, bundle: Path, where: str, as_json: bool
) -> None:
    """Both wait for an endpoint: the mind for the next turn, the call for a model that sees."""
    view = ("view", {"prompt": "what is it?", "ids": [image_id("boat")]})
    with serving() as mind, serving() as eyes:
        mind.replies = [says("Look around.", ("filter", {})), silent if "mind" in where else says("", view)]
        eyes.replies, waited = [silent], mind if "mind" in where else eyes
        asked = ["ask", pictures, "what is grey?", "-b", bundle, "--model", "m", "--endpoint", mind.url]
        seeing = ["--vision-model", "eyes", "--vision", eyes.url]
        running = started(*asked, *seeing, *(["--json"] if as_json else []))
        deadline = time.monotonic() + 60
        while len(waited.requests) < (2 if waited is mind else 1) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    if as_json:
        *steps, outcome = map(json.loads, out.splitlines())
        assert [step["tool"] for step in steps] == ["filter"]
        assert outcome["ended"] == "interrupted"
        assert outcome["steps"] == 1
        assert len(outcome["photos"]) == 6
        assert errors == ""
    else:
        assert errors == "gamer ask: interrupted\n"
        assert "· Look around.\n  photos of all times: " in out
        assert "these photos were found last" in out
        assert "boat.jpg" in out


def test_view_is_answered_by_the_model_that_sees(pictures: Path, bundle: Path) -> None:
    """And by nobody elsewhere unless it is named."""
    wish = ("view", {"prompt": "which is grey?", "ids": [image_id("boat")]})
    asked = ["ask", pictures, "what is grey?", "-b", bundle, "--json"]
    with serving() as mind, serving() as eyes:
        mind.replies, eyes.replies = [says("", wish), says(FINAL)] * 2, [says('The "boat".')]
        away = [*asked, "--model", "m", "--endpoint", mind.url]
        assert gamer(*away).returncode == 0
        assert not eyes.requests
        done = gamer(*away, "--vision-model", "eyes", "--vision", eyes.url, "--vision-side", 64)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout.splitlines()[0])["result"]["data"]
        assert seen == "seen: \"The 'boat'.\""
        assert colours(eyes) == [GREY]
