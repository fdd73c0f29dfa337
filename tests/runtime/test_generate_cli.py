"""`gamer generate`: text as it comes, JSON, standard input, Ctrl-C, and one line for errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from gamer.runtime.cli.console import passage
from tests.console import gamer

generate = partial(gamer, "generate")


def test_a_models_text_cannot_control_the_terminal() -> None:
    assert passage("a\tb\nc\x1b[2Jd\r\x07é 👩‍👧") == "a\tb\nc\ufffd[2Jd\ufffd\ufffdé 👩‍👧"
    turned = passage("\u202egpj.exe \u2066x\u2069 \u2028\udc80 שלום")
    assert turned == "\ufffdgpj.exe \ufffdx\ufffd \ufffd\ufffd שלום"


def test_help_names_the_options() -> None:
    told = generate("--help").stdout
    for word in ("--system", "--raw", "--max-new", "--temperature", "--seed", "--stop", "--json", "Ctrl-C"):
        assert word in told


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("absent", "hi"), 1, "absent"),
        (("absent", "hi", "--stop", ""), 1, "no empty stop string"),
        (("absent", "hi", "--temperature", "nan"), 1, "temperature"),
        (("absent",), 2, "PROMPT"),
        (("absent", "hi", "--max-new", "0"), 2, "--max-new"),
    ],
)
def test_what_is_wrong_is_one_line(args: tuple[str, ...], code: int, words: str) -> None:
    done = generate(*args)
    (line,) = done.stderr.splitlines()
    assert done.returncode == code
    assert words in line
    assert done.stdout == ""


@pytest.mark.slow
def test_a_question_is_answered_in_text_and_in_json(chat_bundle: Path) -> None:
    asked = (str(chat_bundle), "What is the capital of France?", "--max-new", "24")
    spoken, counted = generate(*asked, "-v"), generate(*asked, "--json")
    assert spoken.returncode == counted.returncode == 0
    told = json.loads(counted.stdout)
    assert spoken.stdout == told["text"] + "\n"
    assert "Paris" in told["text"]
    assert set(told) == {
        *("text", "ended", "prompt_tokens", "new_tokens", "first_token_ms", "tokens_per_second"),
    }
    assert told["first_token_ms"] > 0
    assert told["tokens_per_second"] > 0
    assert counted.stderr == ""
    assert f"{told['prompt_tokens']} tokens of prompt" in spoken.stderr


@pytest.mark.slow
def test_the_prompt_comes_from_standard_input_and_a_stop_is_cut_off(chat_bundle: Path) -> None:
    question = "What is the capital of France?"
    done = generate(str(chat_bundle), "-", "--stop", "Paris", "--json", given=f"{question}\n")
    same = generate(str(chat_bundle), question, "--stop", "Paris", "--json")
    told = json.loads(done.stdout)
    assert told["ended"] == "stop"
    assert "Paris" not in told["text"]
    assert told["text"] == json.loads(same.stdout)["text"]
    assert "prompt is empty" in generate(str(chat_bundle), "-").stderr


@pytest.mark.slow
def test_a_seed_repeats_a_text_and_another_gives_another(bundle: Path) -> None:
    raw = (str(bundle), "Once upon a time", "--raw", "--max-new", "12", "--temperature", "1")
    first, again, other = (generate(*raw, "--seed", seed).stdout for seed in ("1", "1", "2"))
    assert first == again != other


@pytest.mark.slow
def test_what_needs_a_template_says_so(bundle: Path, tmp_path: Path) -> None:
    assert "leave --raw out" in generate(str(bundle), "hi", "--raw", "--system", "x").stderr
    long = generate(str(bundle), "word " * 5_000, "--raw")
    assert long.returncode == 1
    assert "do not fit" in long.stderr
    assert long.stderr.count("\n") == 1


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_said(bundle: Path) -> None:
    asked = [str(bundle), "Once upon a time", "--raw", "--max-new", "500"]
    command = [sys.executable, "-m", "gamer.main", "generate", *asked]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert process.stdout is not None
        first = process.stdout.read(1)
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert first
        assert rest.endswith(b"\n")
        assert errors == b""
    finally:
        process.kill()
        process.wait(10)
