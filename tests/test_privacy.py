"""Commands run under strace, which sees native threads too: they open no socket except on loopback, and write
no file outside the folders they were given.

A trace holds every socket call and every file opened for writing, by any thread or child. The first test runs
a program that does both, so that a tracer that sees nothing is not mistaken for a program that does nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import pytest

GAMER = [sys.executable, "-m", "gamer.main"]
CALLS = "socket,connect,bind,sendto,sendmsg,sendmmsg,openat,open,creat,mkdir,mkdirat"
WRITES = re.compile(r'\b(?:openat|open|creat|mkdir|mkdirat)\((?:AT_FDCWD, )?"([^"]*)"(.*)')
# Unix sockets stay in this machine: the C library asks its own name cache for the user's name.
NETWORK = re.compile(
    r"\b(?:socket\((?!AF_UNIX)|connect\(\d+, \{sa_family=(?!AF_UNIX)|bind\(|send(?:to|msg|mmsg)\()"
)
UNFINISHED, RESUMED = " <unfinished ...>", re.compile(r"<\.\.\. \w+ resumed>(.*)")
DEVICES = ("/dev/", "/proc/self/", "/proc/")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home, and beside it the folder for temporary files."""
    (tmp_path / "home").mkdir()
    (tmp_path / "temporary").mkdir()
    return tmp_path / "home"


def environment(home: Path) -> dict[str, str]:
    """An empty home, folders of its own for temporary files and verdicts, and none of the switches that the
    program has to set itself.

    torch writes TORCHINDUCTOR_CACHE_DIR into the environment of the process that runs these tests: the
    command gets none of that.
    """
    dropped = ("ORT_", "HF_", "XDG_", "RAY_", "DO_NOT_TRACK", "TORCH")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    scratch = str(home.parent / "temporary")
    return inherited | {
        "HOME": str(home),
        "TMPDIR": scratch,
        "SQLITE_TMPDIR": scratch,
        "GAMER_CACHE": scratch,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def strace(log: Path) -> list[str]:
    tracer = shutil.which("strace")
    if tracer is None:
        pytest.skip("what a process does is seen by strace alone: apt-get install strace")
    return [tracer, "-f", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", str(log)]


def calls(log: Path) -> list[str]:
    """The calls of a trace, one line each: strace splits a call in two where another thread's call comes
    between.
    """
    begun: dict[str, str] = {}
    complete = []
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        thread, call = line.split(maxsplit=1) if line[:1].isdigit() else ("", line)
        if call.endswith(UNFINISHED):
            begun[thread] = call.removesuffix(UNFINISHED)
        elif resumed := RESUMED.match(call):
            complete.append(begun.pop(thread, "") + resumed[1])
        else:
            complete.append(call)
    return complete + list(begun.values())


def offences(log: Path, folders: Sequence[Path]) -> list[str]:
    """Calls of a trace that use the network, or write outside `folders`."""
    offending = []
    for call in calls(log):
        if NETWORK.search(call):
            offending.append(call[:200])
        match = WRITES.search(call)
        if match is None or "= -1" in match[2]:
            continue
        writing = call.startswith(("creat", "mkdir")) or re.search(r"O_(?:WRONLY|RDWR|CREAT)", match[2])
        path = Path(match[1])
        inside = any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
        if writing and not inside and not str(path).startswith(DEVICES):
            offending.append(call[:200])
    return offending


def traced(command: Sequence[str], home: Path, folders: Sequence[Path], seconds: int = 300) -> list[str]:
    """The offences of a command, which may write to `folders` and to the temporary folder. Fails where the
    command fails.
    """
    log = home.parent / "trace"
    done = subprocess.run(
        [*strace(log), *command], capture_output=True, text=True, timeout=seconds, env=environment(home)
    )
    assert done.returncode == 0, done.stderr
    offending = offences(log, [home.parent / "temporary", *folders])
    assert list(home.rglob("*")) == [], "something was left in the person's home"
    return offending


def test_the_tracer_sees_a_thread_connect_and_a_file_written_to_the_home(home: Path) -> None:
    code = """
import pathlib, socket, threading
def call():
    with socket.socket() as s: s.connect_ex(("127.0.0.1", 9))
thread = threading.Thread(target=call); thread.start(); thread.join()
pathlib.Path.home().joinpath("deviceid").write_text("me")
"""
    log = home.parent / "trace"
    subprocess.run([*strace(log), sys.executable, "-S", "-c", code], check=True, env=environment(home))
    offending = offences(log, [home.parent / "temporary"])
    assert [call.split("(")[0] for call in offending] == [
        "socket",
        "connect",
        "openat",
    ] and "deviceid" in offending[2]


def test_a_call_that_strace_splits_in_two_is_judged_by_its_result(tmp_path: Path) -> None:
    log = tmp_path / "trace"
    log.write_text(
        '11 mkdir("/old", 0777 <unfinished ...>\n12 mkdir("/new", 0777 <unfinished ...>\n'
        "11 <... mkdir "
        "resumed>) = -1 EEXIST (File exists)\n12 "
        "<... mkdir resumed>) = 0\n13 "
        "connect(3, "
        "{sa_family=AF_INET} <unfinished ...>\n"
    )
    assert offences(log, [tmp_path]) == ['mkdir("/new", 0777) = 0', "connect(3, {sa_family=AF_INET}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [[], ["--refine", "llm"], ["--backend", "executorch"], ["--mode", "paper", "--explain"]],
    ids=" ".join,
)
def test_a_search_uses_no_network_and_writes_only_beside_its_album(
    bundle: Path, sample_album: Path, home: Path, more: list[str]
) -> None:
    album = home.parent / "albums" / "a.gamer"
    album.parent.mkdir()
    shutil.copy(sample_album, album)
    assert (
        traced(
            [*GAMER, "search", str(album), "my cat last spring", "-b", str(bundle), *more],
            home,
            [album.parent],
        )
        == []
    )


@pytest.mark.slow
def test_index_commands_use_no_network_and_write_only_in_the_folder_of_the_album(
    bundle: Path, sample_album: Path, home: Path
) -> None:
    out = home.parent / "albums"
    photos, album = out / "photos", str(out / "a.gamer")
    photos.mkdir(parents=True)
    from gamer.export.components import fixtures

    for path in fixtures.paths()[:3]:
        shutil.copy(path, photos)
    assert traced([*GAMER, "index", "build", str(photos), "-b", str(bundle), "-o", album], home, [out]) == []
    shutil.copy(fixtures.paths()[3], photos)
    for command in (
        ["add", album, str(photos), "-b", str(bundle)],
        ["verify", album],
        ["compact", album],
        ["stats", album],
    ):
        assert traced([*GAMER, "index", *command], home, [out]) == [], command


@pytest.mark.slow
def test_an_export_to_all_targets_uses_no_network_and_writes_only_its_output(home: Path) -> None:
    out = home.parent / "out"
    out.mkdir()
    command = [
        *GAMER,
        "export",
        "pocket",
        "--parts",
        "text",
        "--targets",
        "onnx,executorch,coreml",
        "-o",
        str(out / "pocket"),
    ]
    assert traced(command, home, [out], seconds=900) == []


@pytest.mark.slow
def test_a_self_check_writes_its_verdict_to_the_cache_alone(bundle: Path, home: Path) -> None:
    cache = home / ".cache" / "gamer"
    code = f"""
from pathlib import Path
from gamer.runtime.backends import processor
real = processor.kernels
processor.kernels = lambda backend: real(backend) + " of another day"
from gamer.runtime.models.models import Models
models = Models.open(Path({str(bundle)!r}))
models.session("text_tower")
assert models.verdicts["text_tower"].source == "measured"
"""
    log = home.parent / "trace"
    settings = {name: value for name, value in environment(home).items() if name != "GAMER_CACHE"}
    done = subprocess.run(
        [*strace(log), sys.executable, "-c", code], capture_output=True, text=True, env=settings
    )
    assert done.returncode == 0, done.stderr
    assert offences(log, [home.parent / "temporary", home / ".cache"]) == []
    assert [p.parent.name for p in home.rglob("*") if p.is_file()] == ["selfcheck"] and (
        cache / "selfcheck"
    ).is_dir()


@pytest.mark.slow
def test_the_server_listens_on_loopback_and_connects_to_nothing(
    bundle: Path, sample_album: Path, home: Path
) -> None:
    pytest.importorskip("fastapi", reason="needs the serve extra")
    albums = home.parent / "albums"
    albums.mkdir()
    shutil.copy(sample_album, albums / "a.gamer")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = home.parent / "trace"
    command = [*strace(log), *GAMER, "serve", str(albums / "a.gamer"), "-b", str(bundle), "--port", str(port)]
    server = subprocess.Popen(
        command,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=20) as page:
                    assert page.status == 200
                break
            except OSError:
                assert time.monotonic() < deadline and server.poll() is None, "the server did not start"
                time.sleep(0.2)
        asked = urllib.request.Request(
            f"http://127.0.0.1:{port}/api/v1/search",
            b'{"query": "my cat"}',
            {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"},
        )
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert b"chelsea" in answer.read()
    finally:
        os.killpg(server.pid, signal.SIGINT)
        server.communicate(timeout=30)
    # Allowed: its own socket, bound to loopback, and answers on connections that clients opened.
    allowed = re.compile(
        r"socket\(AF_INET6?, "
        rf"SOCK_STREAM|bind\(.*sin_port=htons\({port}\), "
        r'sin_addr=inet_addr\("127\.0\.0\.1"\)|sendto\(.*, NULL, 0'
    )
    assert [
        call for call in offences(log, [home.parent / "temporary", albums]) if not allowed.search(call)
    ] == []
    assert not re.search(r"\bconnect\(\d+.*AF_INET", log.read_text(errors="replace")), (
        "a server connects to nobody"
    )
    assert list(home.rglob("*")) == []
