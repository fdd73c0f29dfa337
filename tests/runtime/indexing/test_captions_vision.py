"""Captions by a model that sees: what it is sent, what is made of its words, and what a failure leaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.index import Album, Memory, Photo
from gamer.main import main
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing import captions
from gamer.runtime.indexing.captions import MAX_CAPTION, Captioned, caption_album
from gamer.runtime.indexing.captions_vision import MAX_REFUSED, VisionCaptioner
from gamer.runtime.models.language.endpoint import Endpoint
from gamer.runtime.models.models import Models
from gamer.runtime.models.vision import KEY, Vision
from tests.fakes import fake_models
from tests.runtime.agent.fake_endpoint import Fake, Reply, drips, raw, says, silent
from tests.runtime.agent.pictures import BLUE, GREY, SERIAL, album_of_pictures, camera_picture, colours, sent
from tests.runtime.agent.small_album import engine_over, photo


def album(folder: Path, photos: list[Photo]) -> Path:
    engine = engine_over(fake_models(), folder, photos)
    engine.close()
    return engine.album.path


def days(folder: Path, count: int) -> list[Photo]:
    """Photos with pictures and nothing else, a day apart."""
    return [
        photo(
            f"p{n}",
            f"2026-05-{n + 1:02}T10:00:00",
            path=camera_picture(folder / f"{n}.jpg", BLUE, (99, n + 9)),
        )
        for n in range(count)
    ]


def run(path: Path, fake: Fake, *replies: Reply, timeout: float = 20.0) -> Captioned:
    fake.replies = replies or fake.replies
    captioner = VisionCaptioner(
        Vision(Endpoint(fake.url, "eyes", timeout, backoff=0.01, key=KEY)),
        path.with_name(path.name + ".captions"),
    )
    try:
        return caption_album(path, fake_models(), captioner)
    finally:
        captioner.close()


def written(path: Path) -> dict[str, list[str]]:
    """The captions of each photo that has any."""
    with Album.open(path) as opened:
        assert opened.verify() == []
        photos = opened.photos(range(len(opened)))
    said = {p.id: [m.text for m in p.memories if m.source == "caption"] for p in photos}
    return {name: texts for name, texts in said.items() if texts}


def test_a_photo_that_nobody_described_is_captioned_from_its_pixels(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, album_of_pictures(tmp_path))
    done = run(path, fake, says("I saw a grey field."))
    assert written(path) == {"boat": ["I saw a grey field."]}
    assert (done.captioned, done.written, done.nothing_known) == (1, 2, 5)
    assert [(Path(skip.where).name, skip.reason) for skip in done.skips] == [
        ("gone.jpg", "its file is missing"),
        ("broken.jpg", "its file cannot be read as a picture"),
    ]


def test_nothing_but_the_copy_and_earlier_captions_is_sent(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, album_of_pictures(tmp_path))
    run(path, fake, says("I saw a grey field."))
    assert colours(fake) == [GREY]  # neither of what must stay, nor of what a person described
    for data, image in sent(fake):
        assert SERIAL.encode() not in data
        assert len(image.getexif()) == 0
        assert max(image.size) <= 512
    for word in ("Zebulon", "boats in the harbour", "lamp", ".jpg", "2026"):
        assert word not in fake.traffic


def test_the_three_captions_before_are_told_and_no_other_memory(tmp_path: Path, fake: Fake) -> None:
    photos = days(tmp_path, 6)
    stays = (Memory("caption", 'the "secret" one'), Memory("people", "Zebulon", sharing="low"))
    photos[4] = replace(photos[4], memories=(Memory("chat", "see you at nine"),))
    photos[3] = replace(photos[3], memories=stays)
    path = album(tmp_path, photos)
    run(path, fake, says("I saw one."), says('I saw "two".'), says("I saw three."), says("I saw six."))
    assert written(path)["p5"] == ["I saw six."]
    assert written(path)["p3"] == [stays[0].text]
    told = [body["messages"][1]["content"][0]["text"].splitlines() for _, _, body in fake.requests]
    assert [len(lines) for lines in told] == [1, 3, 4, 3]
    assert told[2][1:3] == [
        '- "I saw one."',
        "- \"I saw 'two'.\"",
    ]
    assert told[3][1] == '- "I saw three."'  # of the three before, one is a chat and one must stay
    assert "secret" not in fake.traffic
    assert "see you" not in fake.traffic


@pytest.mark.parametrize(
    ("said", "caption"),
    [
        ('"I saw a dog."', "I saw a dog."),
        ("I saw\r\na \x1b[2Jdog\u202e\x00.", "I saw a [2Jdog ."),
        ("x" * 9_000, "x" * MAX_CAPTION),
        ("\ud800 \u2028", "?"),
    ],
)
def test_a_caption_is_one_bounded_printable_line(tmp_path: Path, fake: Fake, said: str, caption: str) -> None:
    path = album(tmp_path, days(tmp_path, 1))
    run(path, fake, raw(json.dumps({"choices": [{"message": {"content": said}}]}).encode()))
    assert written(path) == {"p0": [caption]}


def test_no_words_are_no_caption_and_are_asked_for_again(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, days(tmp_path, 1))
    assert run(path, fake, says("\n")).nothing_known == 1
    assert written(path) == {}
    assert run(path, fake, says("I saw it.")).captioned == 1
    assert len(fake.requests) == 2


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (raw(b"hello"), "must be a chat completion"),
        (raw(b"", 404), "the model's name"),
        (drips, "no answer within 0.6 seconds"),
        (silent, "no answer within 0.6 seconds"),
    ],
)
def test_a_failure_keeps_what_was_captioned_and_the_next_run_goes_on(
    tmp_path: Path, fake: Fake, reply: Reply, line: str
) -> None:
    path = album(tmp_path, days(tmp_path, 4))
    with pytest.raises(RuntimeFailure) as failed:
        run(path, fake, says("I saw one."), says("I saw two."), reply, timeout=0.6)
    assert line in str(failed.value)
    assert "captions kept: 2" in str(failed.value)
    assert "\n" not in str(failed.value)
    assert written(path) == {"p0": ["I saw one."], "p1": ["I saw two."]}
    fake.requests.clear()
    done = run(path, fake, says("I saw three."), says("I saw four."))
    assert (done.captioned, done.written, len(fake.requests)) == (2, 2, 2)
    assert "I saw two." in fake.traffic
    assert written(path)["p3"] == ["I saw four."]


def test_a_picture_that_the_endpoint_refuses_is_skipped(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, days(tmp_path, 4))
    done = run(path, fake, raw(b"", 400), raw(b"", 422), says("I saw three."), raw(b"", 400))
    assert written(path) == {"p2": ["I saw three."]}
    assert len(fake.requests) == 4
    assert [Path(skip.where).name for skip in done.skips] == ["0.jpg", "1.jpg", "3.jpg"]
    assert "refused with status 400" in done.skips[0].reason


def test_an_endpoint_that_refuses_every_picture_ends_the_run(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, days(tmp_path, 5))
    with pytest.raises(RuntimeFailure, match="refused with status 400; captions kept: 0"):
        run(path, fake, raw(b"", 400))
    assert len(fake.requests) == MAX_REFUSED


@pytest.mark.slow
def test_ctrl_c_ends_the_command_in_one_line(bundle: Path, tmp_path: Path, fake: Fake) -> None:
    engine = engine_over(Models.open(bundle), tmp_path, days(tmp_path, 2))
    engine.close()
    fake.replies = [says("I saw one."), silent]
    asked = [
        "index",
        "caption",
        str(engine.album.path),
        "-b",
        str(bundle),
        "--by",
        "vision",
        "--model",
        "eyes",
    ]
    # A shell starts background processes with SIGINT ignored, and their children inherit that.
    default_sigint = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    running = subprocess.Popen(
        [sys.executable, "-m", "gamer", *asked, "--endpoint", fake.url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_sigint,
    )
    deadline = time.monotonic() + 60
    while len(fake.requests) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    out, errors = running.communicate(timeout=60)
    line = "gamer index caption: interrupted; run the same command again to go on\n"
    assert (running.returncode, out, errors) == (130, "", line)
    assert written(engine.album.path) == {"p0": ["I saw one."]}


def test_ctrl_c_keeps_what_was_captioned(tmp_path: Path) -> None:
    path, seen = album(tmp_path, days(tmp_path, 3)), list[str]()

    def interrupted(photo: Photo, before: Sequence[Photo]) -> str:
        if seen:
            raise KeyboardInterrupt
        seen.append(photo.id)
        return "I saw it."

    with pytest.raises(KeyboardInterrupt):
        caption_album(path, fake_models(), interrupted)
    assert written(path) == {"p0": ["I saw it."]}


def test_an_album_that_is_built_again_asks_nothing_twice(tmp_path: Path, fake: Fake) -> None:
    photos = days(tmp_path, 3)
    path = album(tmp_path, photos)
    run(path, fake, says("I saw one."), says("I saw two."), says("I saw three."))
    before = written(path)
    path.unlink()
    album(tmp_path, photos)
    assert run(path, fake).captioned == 3
    assert len(fake.requests) == 3
    assert written(path) == before
    path.unlink()
    album(tmp_path, [replace(p, sharing="low") for p in photos])  # what is kept is not told of what must stay
    assert run(path, fake).captioned == 0


def test_a_cache_that_is_none_is_named(tmp_path: Path, fake: Fake) -> None:
    path = album(tmp_path, days(tmp_path, 1))
    path.with_name(path.name + ".captions").write_bytes(b"no database " * 100)
    with pytest.raises(RuntimeFailure, match=r"captions: cannot keep the model.s answers .*; move it away"):
        run(path, fake, says("I saw one."))
    assert not fake.requests


def test_a_caption_of_what_must_stay_must_stay_itself(tmp_path: Path) -> None:
    """The template says names and labels: also those that only a marked memory holds."""
    marked = Memory("people", "Zebulon", sharing="low")
    path = album(tmp_path, [replace(p, memories=(marked,)) for p in days(tmp_path, 1)])
    caption_album(path, fake_models(), captions.BY_TEMPLATE)
    with Album.open(path) as opened:
        (caption,) = [m for m in opened.photo(0).memories if m.source == "caption"]
    assert "Zebulon" in caption.text
    assert caption.sharing == "low"


@pytest.mark.slow
def test_the_command_asks_the_endpoint_that_it_is_given(bundle: Path, tmp_path: Path, fake: Fake) -> None:
    models = Models.open(bundle)
    path = engine_over(models, tmp_path, days(tmp_path, 2)).album.path
    asked = ["index", "caption", str(path), "-b", str(bundle)]
    fake.replies = [says("I saw one."), raw(b"", 401)]
    call = [*asked, "--by", "vision", "--model", "eyes", "--endpoint", fake.url, "--side", "64"]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(
        f"gamer index caption: {fake.url[7:-3]}: refused with status 401; check {KEY}; captions k"
    )
    assert [image.size[0] for _, image in sent(fake)] == [64, 64]
    fake.replies = [says("I saw two.")]
    done = CliRunner().invoke(main, call)
    assert done.stdout == f"{path}: 1 photos captioned, 1 had a text, 0 were not seen\n"
    assert written(path) == {"p0": ["I saw one."], "p1": ["I saw two."]}
    for wrong, line in (
        (["--by", "vision"], "--by vision needs the name of a model: give --model"),
        (["--model", "eyes"], "--model and --endpoint are asked by --by vision alone: give it, too"),
    ):
        done = CliRunner().invoke(main, [*asked, *wrong])
        assert (done.exit_code, done.stderr) == (1, f"gamer index caption: {line}\n")
