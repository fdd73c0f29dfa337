"""`gamer serve` as a process: one line for what goes wrong, an answer on its port, no socket beyond it, a
clean stop.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.paths import ROOT

pytest.importorskip("fastapi", reason="needs the serve extra")
SERVE = [sys.executable, "-m", "gamer.main", "serve"]


def fails(*args: str, **environment: str) -> str:
    """The one line of a failed start."""
    done = subprocess.run(
        [*SERVE, *args], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 1, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("gamer serve: "), done.stderr
    return done.stderr


def test_help_names_the_options_and_their_defaults() -> None:
    done = subprocess.run([*SERVE, "--help"], capture_output=True, text=True, timeout=60)
    for word in ("--host", "--port", "--token", "GAMER_TOKEN", "127.0.0.1", "8765"):
        assert word in done.stdout


def test_the_server_does_not_start_beyond_loopback_without_a_token() -> None:
    assert "--token" in fails("absent.gamer", "-b", "absent", "--host", "0.0.0.0")
    assert "16 or more" in fails("absent.gamer", "-b", "absent", "--host", "0.0.0.0", "--token", "short")
    assert "absent" in fails(
        "absent.gamer", "-b", "absent", "--host", "0.0.0.0", GAMER_TOKEN="correct-horse-battery"
    )


def test_a_server_needs_an_album_or_one_bundle(tmp_path: Path) -> None:
    assert "name an album, or a bundle" in fails()
    assert "absent" in fails("-b", "absent")
    (tmp_path / "manifest.json").write_text("{}")
    assert "name one of them" in fails(str(tmp_path), "-b", "other")
    assert "not an album: name it with -b" in fails("a.gamer", str(tmp_path))
    assert "or several" in fails("a.gamer", "b.gamer", "--upload", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("named", [(), ("-b",)], ids=["bundle", "-b bundle"])
def test_a_bundle_alone_answers_as_openais_api_does(chat_bundle: Path, named: tuple[str, ...]) -> None:
    command = [*SERVE, *named, str(chat_bundle), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert "no album, at http://127.0.0.1:" in first, first
        asked = {"messages": [{"role": "user", "content": "What is the capital of France?"}], "n": 1}
        body = json.dumps(asked | {"max_tokens": 16, "frequency_penalty": 0}).encode()
        address = f"{first.split(' at ')[1].split()[0]}v1/chat/completions"
        with urlopen(Request(address, body, {"Content-Type": "application/json"}), timeout=60) as answer:
            assert "Paris" in json.load(answer)["choices"][0]["message"]["content"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert errors.strip() == "gamer serve: stopped"
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.slow
def test_a_missing_album_a_taken_port_or_an_unknown_host_is_one_line(
    bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    assert "absent.gamer" in fails(str(tmp_path / "absent.gamer"), "-b", str(bundle))
    (tmp_path / "notes.gamer").write_text("hello")
    assert "notes.gamer" in fails(str(tmp_path / "notes.gamer"), "-b", str(bundle))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "choose another with --port" in fails(
            str(sample_album), "-b", str(bundle), "--port", str(taken.getsockname()[1])
        )
    assert "no such address" in fails(
        str(sample_album),
        "-b",
        str(bundle),
        "--host",
        "no-such-host.invalid",
        "--token",
        "correct-horse-battery",
    )


# A process in which a socket may listen on, and speak with, 127.0.0.1 alone.
FENCED = """
import socket, sys
class Fenced(socket.socket):
    def connect(self, address):
        raise AssertionError(f"connect {address}")
    connect_ex = connect
    def bind(self, address):
        assert self.family == socket.AF_INET and address[0] == "127.0.0.1", address
        return super().bind(address)
socket.socket = Fenced
asked = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    assert host == "127.0.0.1", host
    return asked(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
from gamer.main import run
sys.argv = ["gamer", *sys.argv[1:]]
run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_the_server_searches_on_loopback_alone_and_stops_cleanly(
    bundle: Path, sample_album: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    album, secret = tmp_path / "album.gamer", "the key lies under the third stone"
    shutil.copy(sample_album, album)
    command = [
        sys.executable,
        "-u",
        "-c",
        FENCED,
        "serve",
        str(album),
        "-b",
        str(bundle),
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert "19 photos at http://127.0.0.1:" in first, first
        address = first.split(" at ")[1].split()[0]
        body = json.dumps({"query": "my cat"}).encode()
        with urlopen(
            Request(address + "api/v1/search", body, {"Content-Type": "application/json"}), timeout=60
        ) as answer:
            assert json.load(answer)["answer"]["hits"][0]["id"] == "chelsea"
            assert "server" not in answer.headers
        with urlopen(address + "api/v1/photos/0/thumbnail", timeout=60) as answer:
            assert answer.read(4) == b"RIFF"
        memories, kind = address + "api/v1/memories", {"Content-Type": "application/json"}
        with urlopen(Request(memories, json.dumps({"text": secret}).encode(), kind), timeout=60) as answer:
            row = json.load(answer)["id"]
        urlopen(Request(f"{memories}/{row}", method="DELETE"), timeout=60).close()
        process.send_signal(stop)
        _, errors = process.communicate(timeout=30)
        assert process.returncode == 0
        assert errors.strip() == "gamer serve: stopped"
        assert not [path for path in tmp_path.iterdir() if secret.encode() in path.read_bytes()]
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_page(tmp_path: Path) -> None:
    import zipfile

    from gamer.runtime.serve.app import STATIC

    root = ROOT
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", str(tmp_path), str(root)],
        check=True,
        capture_output=True,
        timeout=300,
    )
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    assert {f"gamer/runtime/serve/static/{name}" for name in STATIC} <= names
