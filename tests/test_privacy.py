"""Commands run under strace, which sees native threads too: they open no socket except on loopback, and write
no file outside the folders they were given.

A trace holds every socket call and every file opened for writing, by any thread or child. The first test runs
a program that does both, so that a tracer that sees nothing is not mistaken for a program that does nothing.
"""

from __future__ import annotations

import json
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

from gamer.runtime.telemetry import OPT_OUT
from tests.paths import ROOT
from tests.runtime.agent.leaving.mcp_messages import HELLO, READY

GAMER = [sys.executable, "-m", "gamer.main"]
OPENS = ("open", "openat", "openat2")
# Of a link, only the new name is written.
CHANGES = ("creat", "mkdir", "mkdirat", "rename", "renameat", "renameat2", "truncate")
LINKS = ("link", "linkat", "symlink", "symlinkat")
CALLS = ",".join(("socket,connect,bind,sendto,sendmsg,sendmmsg", *OPENS, *CHANGES, *LINKS))
# A path, and before it the folder that it is relative to, which `strace -y` names.
PATHS = re.compile(r'(?:(?:AT_FDCWD|\d+)<([^>]*)>, )?"([^"]*)"')
# A message without an address goes where `connect`, which is judged itself, or the other end of a pair is.
NETWORK = re.compile(
    r"\b(?:socket\((?!AF_UNIX)|connect\(\d+(?:<[^>]*>)?, \{sa_family=(?!AF_UNIX)|bind\("
    r"|sendto\((?!.*, NULL, 0\))|send(?:msg|mmsg)\()"
)
# A Unix socket can lead to a daemon that asks the network: the name cache (nscd), which the C library looks
# for to learn the user's name, answers for hosts too. So no connection to one may succeed, but to the service
# that knows this machine's users and nothing else.
UNIX = re.compile(r'\bconnect\(\d+(?:<[^>]*>)?, \{sa_family=AF_UNIX(?:, sun_path=@?"([^"]*)")?')
HARMLESS_SOCKETS = ("/run/systemd/userdb/",)
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
        lacking = "what a process does is seen by strace alone: apt-get install strace"
        if os.environ.get("CI"):
            pytest.fail(lacking)  # where nobody looks, a skipped proof would pass for a proof
        pytest.skip(lacking)
    tried = subprocess.run([tracer, "-qq", "-o", os.devnull, "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"this platform forbids tracing: {tried.stderr.strip()}")
    return [tracer, "-f", "-y", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-o", str(log)]


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
            continue
        if " = -1 " in call:
            continue
        if ((unix := UNIX.search(call)) and not (unix[1] or "").startswith(HARMLESS_SOCKETS)) or any(
            not allowed(path, folders) for path in written(call)
        ):
            offending.append(call[:200])
    return offending


def written(call: str) -> list[Path]:
    """The paths that a call which succeeded creates, moves or opens for writing."""
    name, _, arguments = call.partition("(")
    paths = [Path(base or ".", path) for base, path in PATHS.findall(arguments)]
    if name in OPENS:
        return paths[:1] if re.search(r"O_(?:WRONLY|RDWR|CREAT)", arguments) else []
    return paths if name in CHANGES else paths[-1:] if name in LINKS else []


def allowed(path: Path, folders: Sequence[Path]) -> bool:
    inside = any(path.resolve().is_relative_to(folder.resolve()) for folder in folders)
    return inside or str(path).startswith(DEVICES)


def traced(
    command: Sequence[str], home: Path, folders: Sequence[Path], seconds: int = 300, typed: str = ""
) -> list[str]:
    """The offences of a command, which may write to `folders` and to the temporary folder. Fails where the
    command fails. `typed`: its standard input.
    """
    log = home.parent / "trace"
    done = subprocess.run(
        [*strace(log), *command],
        input=typed,
        capture_output=True,
        text=True,
        timeout=seconds,
        env=environment(home),
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
    ]
    assert "deviceid" in offending[2]


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


@pytest.mark.parametrize(
    "call",
    [
        'openat(5</home/me>, "deviceid", O_WRONLY|O_CREAT, 0666) = 6',
        'openat2(AT_FDCWD</home/me>, "deviceid", {flags=O_RDWR|O_CREAT, mode=0600}, 24) = 6',
        'rename("/given/a", "/home/me/a") = 0',
        'renameat2(AT_FDCWD</given>, "a", AT_FDCWD</home/me>, "a", 0) = 0',
        'link("/given/a", "/home/me/a") = 0',
        'symlinkat("/given/a", 4</home/me>, "a") = 0',
        'truncate("/home/me/a", 0) = 0',
        'connect(3<socket:[9]>, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = 0',
        "connect(3<socket:[9]>, {sa_family=AF_INET6, sin6_port=htons(443)}, 28) = -1 ENETUNREACH (x)",
    ],
)
def test_every_way_out_of_the_given_folders_is_an_offence(tmp_path: Path, call: str) -> None:
    log = tmp_path / "trace"
    log.write_text(f"11 {call}\n")
    assert offences(log, [Path("/given")]) == [call]


@pytest.mark.parametrize(
    "call",
    [
        'openat(5</given/folder>, "a", O_WRONLY|O_CREAT, 0666) = 6',
        'openat(5</home/me>, "a", O_RDONLY) = 6',
        'rename("/given/a", "/given/b") = 0',
        'symlink("/home/me/a", "/given/a") = 0',
        'connect(3, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT (No such file)',
    ],
)
def test_what_stays_in_the_given_folders_is_no_offence(tmp_path: Path, call: str) -> None:
    log = tmp_path / "trace"
    log.write_text(f"11 {call}\n")
    assert offences(log, [Path("/given")]) == []


def test_a_missing_tracer_fails_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="apt-get install strace"):
        strace(tmp_path / "trace")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        strace(tmp_path / "trace")


def test_nothing_outside_the_package_loads_onnxruntime_with_its_telemetry_on() -> None:
    """Importing any part of the package sets the switch; examples and tools set it themselves."""
    for folder in ("examples", "tools"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            loads = re.search(r"^ *(?:import|from) onnxruntime\b", text, re.MULTILINE)
            before = text[: loads.start()] if loads else ""
            assert not loads or "ORT_DISABLE_TELEMETRY" in before or "opt_out()" in before, path
    assert "export ORT_DISABLE_TELEMETRY := 1" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("part", ["door", "cli.search", "serve.cli", "agent.mcp_server", "models.text"])
def test_any_part_of_the_runtime_switches_telemetry_off_whatever_was_set(part: str) -> None:
    switched = dict.fromkeys(OPT_OUT, "on")
    code = f"import os, gamer.runtime.{part}; print([os.environ[name] for name in {list(OPT_OUT)}])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | switched
    )
    if "No module named 'mcp'" in done.stderr or "No module named 'fastapi'" in done.stderr:
        pytest.skip("needs the serve and mcp extras")
    assert done.stdout.strip() == str(list(OPT_OUT.values())), done.stderr


MCP = [HELLO, READY, {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
SEARCH = ["search", "ALBUM", "my cat last spring", "-b", "BUNDLE"]
COMMANDS: dict[str, tuple[list[str], str]] = {
    "search": (SEARCH, ""),
    "search with a language model": ([*SEARCH, "--refine", "llm"], ""),
    "search on executorch": ([*SEARCH, "--backend", "executorch"], ""),
    "search in mode paper": ([*SEARCH, "--mode", "paper", "--explain"], ""),
    "search in mode strict": ([*SEARCH, "--mode", "strict"], ""),
    "doctor": (["doctor", "BUNDLE"], ""),
    "index caption": (["index", "caption", "ALBUM", "-b", "BUNDLE"], ""),
    "index events": (["index", "events", "ALBUM", "--build", "-b", "BUNDLE"], ""),
    "people forget": (["people", "forget", "ALBUM", "--all", "-b", "BUNDLE"], ""),
    "things": (["things", "list", "ALBUM"], ""),
    "ask": (["ask", "ALBUM", "how many photos of my cat", "-b", "BUNDLE"], ""),
    "chat": (["chat", "ALBUM", "-b", "BUNDLE", "--plain"], "my sister is called Anna\n"),
    "memory": (["memory", "list", "ALBUM"], ""),
    "mcp": (["mcp", "ALBUM", "-b", "BUNDLE"], "".join(json.dumps(line) + "\n" for line in MCP)),
    "generate": (["generate", "BUNDLE", "my cat", "--max-new", "2"], ""),
    "bench latency": (
        ["bench", "latency", "ALBUM", "-b", "BUNDLE", "-r", "2", "--launches", "1", "-w", "0"],
        "",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_uses_no_network_and_writes_only_beside_its_album(
    bundle: Path, sample_album: Path, home: Path, name: str
) -> None:
    if name == "mcp":
        pytest.importorskip("mcp", reason="needs the mcp extra")
    album = home.parent / "albums" / "a.gamer"
    album.parent.mkdir()
    shutil.copy(sample_album, album)
    words, typed = COMMANDS[name]
    places = {"BUNDLE": str(bundle), "ALBUM": str(album)}
    command = [*GAMER, *(places.get(word, word) for word in words)]
    assert traced(command, home, [album.parent], typed=typed) == []


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
@pytest.mark.timeout(1_800)  # models are compared with torch on three targets, each call traced
@pytest.mark.parametrize(
    ("words", "targets"),
    [
        ("pocket --parts text,image", "onnx,executorch,coreml"),
        ("pocket --parts llm", "onnx"),
        # The packaged language model takes minutes on these two, which are handed a module whatever its size.
        ("-m CHECKPOINT", "executorch,coreml"),
    ],
)
def test_an_export_to_each_target_uses_no_network_and_writes_only_its_output(
    home: Path, words: str, targets: str
) -> None:
    out = home.parent / "out"
    out.mkdir()
    if "CHECKPOINT" in words:
        pytest.importorskip("transformers", reason="needs the export extra")
        from tests.export import tiny

        words = words.replace("CHECKPOINT", str(tiny.qwen2(home.parent / "checkpoint")))
    command = [*GAMER, "export", *words.split(), "--targets", targets, "-o", str(out / "model")]
    assert traced(command, home, [out], seconds=1_700) == []


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
    assert [p.parent.name for p in home.rglob("*") if p.is_file()] == ["selfcheck"]
    assert (cache / "selfcheck").is_dir()


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
                assert time.monotonic() < deadline, "the server did not start"
                assert server.poll() is None, "the server did not start"
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
    served = re.compile(
        r"socket\(AF_INET6?, "
        rf"SOCK_STREAM|bind\(.*sin_port=htons\({port}\), "
        r'sin_addr=inet_addr\("127\.0\.0\.1"\)|sendto\(.*, NULL, 0'
    )
    assert [
        call for call in offences(log, [home.parent / "temporary", albums]) if not served.search(call)
    ] == []
    assert not re.search(r"\bconnect\(\d+.*AF_INET", log.read_text(errors="replace")), (
        "a server connects to nobody"
    )
    assert list(home.rglob("*")) == []
