"""`gamer index build | add | update` with the real models and real files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from tests.console import gamer

pytestmark = pytest.mark.slow


def picture(path: Path, shade: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 48), (shade, 255 - shade, 128)).save(path)


def test_a_folder_is_indexed_searched_extended_pruned_and_updated(bundle: Path, tmp_path: Path) -> None:
    folder, album = tmp_path / "Фото", tmp_path / "a.gamer"
    for i in range(4):
        picture(folder / f"{i}.jpg", i * 60)
    (folder / "0.jpg.supplemental-metadata.json").write_text(
        json.dumps({"description": "the red lamp in Graz", "imageViews": "1"})
    )
    (folder / "clip.mp4").write_bytes(b"")
    built = gamer("index", "build", folder, "-b", bundle, "-o", album)
    assert built.returncode == 0, built.stderr
    assert "4 photos indexed" in built.stdout, built.stderr
    assert "clip.mp4" in built.stderr, built.stderr
    answer = json.loads(gamer("search", album, "red lamp", "-b", bundle, "--json", "-k", "1").stdout)
    assert answer["hits"][0]["id"] == "0.jpg"
    (folder / "trip").mkdir()
    (folder / "0.jpg").rename(folder / "trip" / "0.jpg")
    (folder / "3.jpg").unlink()
    picture(folder / "new.jpg", 33)
    done = gamer("index", "add", album, folder, "-b", bundle)
    assert done.returncode == 0, done.stderr
    assert "1 added, 0 encoded again, 1 moved, 2 unchanged, 1 gone, 1 skipped; 5 photos" in done.stdout
    assert "gone: 3.jpg" in done.stderr
    assert "gamer index remove" in done.stderr
    moved = json.loads(gamer("search", album, "red lamp", "-b", bundle, "--json", "-k", "1").stdout)["hits"][
        0
    ]
    assert moved["id"] == "0.jpg"
    assert moved["path"] == str(folder / "trip" / "0.jpg")
    pruned = json.loads(gamer("index", "add", album, folder, "-b", bundle, "--prune", "--json").stdout)
    assert (pruned["missing"], pruned["photos"], pruned["unchanged"]) == (["3.jpg"], 4, 4)
    assert gamer("index", "update", album, "1.jpg", "-b", bundle).stdout.endswith(
        "1 photos encoded again with " + str(bundle) + ", 0 not readable\n"
    )
    assert json.loads(gamer("index", "verify", album, "--json").stdout)["clean"]
    assert gamer("index", "add", album, folder, "-b", bundle, "--strict").returncode == 1  # the video


def test_copies_are_recognised_at_indexing_and_listed(bundle: Path, tmp_path: Path) -> None:
    folder, album = tmp_path / "photos", tmp_path / "a.gamer"
    folder.mkdir()
    photo = Image.radial_gradient("L").convert("RGB")
    photo.save(folder / "a.jpg")
    photo.resize((128, 128)).save(folder / "sent on.jpg", quality=60)
    picture(folder / "Screenshot_1.png", 90)
    built = gamer("index", "build", folder, "-b", bundle, "-o", album).stdout
    assert "copies and burst shots: 1 (" in built
    assert f"screenshots whose text was not read: 1 (gamer export pocket --parts ocr -o {bundle}" in built
    listed = gamer("index", "copies", album).stdout
    assert listed.splitlines()[:2] == ["a.jpg", "  sent on.jpg"]
    assert json.loads(gamer("index", "copies", album, "--json").stdout) == {
        "groups": [["a.jpg", "sent on.jpg"]]
    }


def test_each_error_of_the_index_commands_is_one_line(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for args in (
        ("add", tmp_path / "none.gamer", tmp_path / "empty", "-b", bundle),
        ("add", tmp_path / "none.gamer", tmp_path / "nowhere", "-b", bundle),
        ("update", tmp_path / "none.gamer", "-b", bundle),
        ("build", tmp_path / "empty", "-b", bundle, "-o", tmp_path / "x.gamer"),
    ):
        done = gamer("index", *args)
        assert done.returncode == 1, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr
        assert "gamer index" in done.stderr, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_an_interrupted_build_says_how_to_continue_and_continues(bundle: Path, tmp_path: Path) -> None:
    for i in range(400):
        picture(tmp_path / "photos" / f"{i:03}.jpg", i % 250)
    out = tmp_path / "a.gamer"
    command = [
        sys.executable,
        "-m",
        "gamer.main",
        "index",
        "build",
        str(tmp_path / "photos"),
        "-b",
        str(bundle),
        "-o",
        str(out),
    ]
    # A shell starts background processes with SIGINT ignored, and their children inherit that.
    default_sigint = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_sigint
    )
    building = tmp_path / "a.gamer.building-wal"
    deadline = time.monotonic() + 120
    while (
        not (building.exists() and building.stat().st_size > 200_000)
        and running.poll() is None
        and time.monotonic() < deadline
    ):
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    assert "run the same command again to go on" in errors
    assert not out.exists()
    done = json.loads(gamer("index", "build", tmp_path / "photos", "-b", bundle, "-o", out, "--json").stdout)
    assert done["photos"] == 400
    assert done["resumed"] >= 64
    assert done["seen"] == 400 - done["resumed"]
    assert json.loads(gamer("index", "verify", out, "--json").stdout)["clean"]


def test_a_build_stays_within_a_gigabyte(bundle: Path, tmp_path: Path) -> None:
    """Indexes a picture of 108 megapixels, one of 200 and a truncated one, in one process with the models.

    A separate process starts the build as its only child, so that the peak memory of its children is that of
    the build.
    """
    Image.new("RGB", (12_000, 9_000), (90, 120, 30)).save(tmp_path / "108.png", compress_level=1)
    Image.new("L", (16_320, 12_240), 90).save(tmp_path / "200.jpg")
    shutil.copy(tmp_path / "200.jpg", tmp_path / "cut.jpg")
    os.truncate(tmp_path / "cut.jpg", 5_000)
    code = f"""
import resource, subprocess, sys
args = ["index", "build", {str(tmp_path)!r}, "-b", {str(bundle)!r}, "-o", {str(tmp_path / "a.gamer")!r}]
done = subprocess.run([sys.executable, "-m", "gamer.main", *args], capture_output=True, text=True)
print(done.stdout, done.stderr, file=sys.stderr)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    returned, peak = map(int, done.stdout.split())
    assert returned == 0, done.stderr
    assert "2 photos indexed" in done.stderr, done.stderr
    assert peak < 1_000_000, f"{peak} kB"


def test_an_update_takes_the_answers_of_the_language_model_from_the_cache(
    bundle: Path, tmp_path: Path
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(
        '{"id": "1", "memories": '
        '[{"source": "note", "text": "ben bought a red lamp in graz for 49 euros"}]}\n'
    )
    first = gamer("index", "build", source, "-b", bundle, "-o", tmp_path / "a.gamer", "--extract", "llm")
    assert first.returncode == 0, first.stderr
    cache = tmp_path / "a.gamer.extract"
    answers = cache.read_bytes()
    again = gamer("index", "update", tmp_path / "a.gamer", "-b", bundle, "--extract", "llm")
    assert again.returncode == 0, again.stderr
    assert cache.read_bytes() == answers
