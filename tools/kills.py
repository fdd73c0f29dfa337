"""Kills every command that changes an album at its system calls, and looks at what is left:
`python -m tools.kills OUT.json BUNDLE PHOTOS.jsonl [KILLS] [SEED]`.

A command runs once to its end, under strace, which counts the calls by which it changes files. Then it runs
again and again on the album as it was before, and is killed at one of these calls, drawn with a seed. The
album that is left must verify, the same command must then finish, and what it leaves must be what the
unharmed run left: the same photos, the same files. Needs strace, and a system that can fork.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from gamer import main as gamer
from gamer.bench import machine
from gamer.bench.files import write_atomically
from gamer.index import Album
from gamer.index.album.export_jsonl import export_jsonl

# The calls that change files, or make what was written last.
CALLS = (
    "write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate,rename,renameat,renameat2,unlink,"
    "unlinkat,link,linkat,mkdir,mkdirat,chmod,fchmod,fcntl"
)
ALBUM, MORE, OUTPUT = "a.gamer", "more.jsonl", "out.jsonl"
MOST_SECONDS = 120  # of a command; it then prints where it stands and ends with an error
TRACER_OF_ANY, ANY = 0x59616D61, -1  # prctl: strace is no ancestor of the command that it is to follow


@dataclass(frozen=True)
class Command:
    """`words`: those after `gamer`, with names in braces (Case). `done`: part of its error if it is run on an
    album on which it had ended.
    """

    words: str
    done: str = ""


# Imported before the forks, each of which would import them again.
PREPARED = (
    "index.cli", "runtime.cli.events", "runtime.cli.index", "runtime.cli.memory", "runtime.cli.things",
    "runtime.indexing.build", "runtime.indexing.captions", "runtime.models.models",
)  # fmt: skip
COMMANDS = {
    "build": Command("index build {more} -b {bundle} -o {album}"),
    "add": Command("index add {album} {more} -b {bundle}"),
    "update": Command("index update {album} -b {bundle}"),
    "caption": Command("index caption {album} -b {bundle}"),
    "events": Command("index events {album} --build -b {bundle}"),
    "remove": Command("index remove {album} {photo}", "no photo with id"),
    "prefer": Command("index prefer {album} {photo} {other}"),
    "merge": Command("index merge {album} Anna Berta", "one entity already"),
    "split": Command("index split {album} Carla", "no alias"),
    "compact": Command("index compact {album}"),
    "repair": Command("index verify {album} --repair"),
    "export-jsonl": Command("index export-jsonl {album} -o {out}"),
    "event rename": Command("index event rename {album} {event} Outing"),
    "things merge": Command("things merge {album} th1 th2", "are one thing already"),
    "things forget": Command("things forget {album} th1", "there is no thing"),
    "opened delete": Command("index opened {album} --delete"),
    "opened keep": Command("index opened {album} --keep"),
    "memory add": Command("memory add {album} Tea --key drink"),
    "memory edit": Command("memory edit {album} m1 Lisbon"),
    "memory forget": Command("memory forget {album} m1", "m1"),
    "memory forget all": Command("memory forget {album} --all"),
    "memory personality": Command("memory personality {album} on"),
    "memory export": Command("memory export {album} {out} --all"),
    "memory update": Command("memory update {album} -b {bundle}"),
}


@dataclass(frozen=True)
class Case:
    """What the commands are run on: a folder with the album and the file to add, and the bundle, if any.

    `photos`: the ids of two photos of the album; `event`: of its first event, if it has any.
    """

    folder: Path
    photos: tuple[str, str]
    event: str = ""
    bundle: Path | None = None

    def arguments(self, command: Command, folder: Path) -> list[str]:
        names = {"{album}": ALBUM, "{more}": MORE, "{out}": OUTPUT}
        known = {word: str(folder / name) for word, name in names.items()}
        known |= {"{photo}": self.photos[0], "{other}": self.photos[1], "{bundle}": str(self.bundle)}
        known["{event}"] = self.event
        return [known.get(word, word) for word in command.words.split()]


@dataclass(frozen=True)
class Killed:
    """How often a command was killed, and how many calls it had to be killed at. `finished`: runs that made
    fewer calls than the first and ended unharmed.
    """

    command: str
    calls: int
    kills: int
    finished: int


@dataclass(frozen=True)
class Run:
    """A command's exit status, or minus the signal that ended it; the names of its calls; what it said."""

    status: int
    calls: tuple[str, ...]
    said: str


def kill(case: Case, name: str, times: int, chance: random.Random) -> Killed:
    """Kills the command `times` times. Raises AssertionError if a kill did any harm."""
    command, kills, finished = COMMANDS[name], 0, 0
    with tempfile.TemporaryDirectory(prefix="kills") as scratch:
        unharmed = _copied(case, Path(scratch) / "unharmed")
        first = run(case.arguments(command, unharmed), Path(scratch))
        assert first.status == 0, f"{name}: {first.said}"
        wanted, files = contents(unharmed / ALBUM), _files(unharmed)
        for _ in range(times):
            folder = _copied(case, Path(scratch) / "harmed")
            at = chance.randrange(len(first.calls))
            call = first.calls[at]
            turn = first.calls[: at + 1].count(call)
            harmed = run(
                case.arguments(command, folder), Path(scratch), f"inject={call}:signal=KILL:when={turn}"
            )
            where = f"{name}, killed at {call} number {turn}"
            kills += harmed.status == -signal.SIGKILL
            finished += harmed.status == 0
            assert harmed.status in (0, -signal.SIGKILL), f"{where}: {harmed.said}"
            contents(folder / ALBUM)  # it verifies
            again = run(case.arguments(command, folder), Path(scratch), traced=False)
            done = bool(command.done) and command.done in again.said
            assert again.status == 0 or done, f"{where}, then again: {again.said}"
            assert contents(folder / ALBUM) == wanted, f"{where}: other photos"
            assert _files(folder) == files or done, f"{where}: {_files(folder)}, not {files}"
            shutil.rmtree(folder)
    return Killed(name, len(first.calls), kills, finished)


def contents(path: Path) -> str:
    """The photos of an album and what is known of them, as JSON lines; the album is clean by `verify`."""
    with tempfile.TemporaryDirectory(prefix="kills") as folder, Album.open(path) as album:
        assert album.verify() == [], album.verify()
        export_jsonl(album, Path(folder) / OUTPUT)
        return (Path(folder) / OUTPUT).read_text(encoding="utf-8")


def _copied(case: Case, folder: Path) -> Path:
    shutil.copytree(case.folder, folder)
    return folder


def _files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def run(words: list[str], scratch: Path, harm: str = "", traced: bool = True) -> Run:
    """Runs a command in a fork of this process. `harm`: what strace shall do to one of its calls."""
    said, trace = scratch / "said", scratch / "trace"
    wait, go = os.pipe()
    child = os.fork()
    if not child:
        os.close(go)
        _command(words, said, wait)
    os.close(wait)
    tracer = _attached(child, trace, harm) if traced else None
    os.close(go)
    status = _ended(child)
    if tracer is not None:
        tracer.communicate(timeout=MOST_SECONDS)
    calls = _calls(trace, child) if traced else ()
    return Run(status, calls, said.read_text(encoding="utf-8", errors="replace")[-4_000:])


def _ended(child: int) -> int:
    """The exit status of a child. Kills it and raises TimeoutError if it does not even end itself in time."""
    process = os.pidfd_open(child)
    try:
        if not select.select([process], [], [], 2 * MOST_SECONDS)[0]:
            os.kill(child, signal.SIGKILL)
            raise TimeoutError(f"process {child} did not end in {2 * MOST_SECONDS} s")
    finally:
        os.close(process)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _calls(trace: Path, process: int) -> tuple[str, ...]:
    """The names of the calls that the process's own thread made, in their order."""
    lines = trace.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(found[1] for line in lines if (found := re.match(rf"{process} +(\w+)\(", line)))


def _command(words: list[str], said: Path, wait: int) -> None:
    """The child: waits until the tracer is attached, runs the command, ends without returning."""
    status = 1
    try:
        _let_anybody_trace()
        while os.read(wait, 1):
            pass
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True, file=2)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8")
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
        sys.argv = ["gamer", *words]
        gamer.run()
        status = 0
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else int(exit_.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _let_anybody_trace() -> None:
    """Where Yama allows only ancestors to trace; elsewhere the call fails, which does no harm."""
    import ctypes

    ctypes.CDLL(None).prctl(TRACER_OF_ANY, ANY, 0, 0, 0)


def _attached(child: int, trace: Path, harm: str) -> subprocess.Popen[str]:
    """strace, once it follows the child and its threads."""
    tracer = subprocess.Popen(
        [
            "strace",
            "-f",
            "-p",
            str(child),
            "-e",
            f"trace={CALLS}",
            *(["-e", harm] * bool(harm)),
            "-o",
            str(trace),
        ],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert tracer.stderr is not None
    line = tracer.stderr.readline()
    if "attached" not in line:
        os.kill(child, signal.SIGKILL)
        raise RuntimeError(f"strace cannot follow a command here: {line.strip()}")
    return tracer


TOLD = "Anna met Berta and Carla. My red bag lay beside my blue mug."
PEOPLE = json.dumps({"id": "people.jpg", "memories": [{"source": "note", "text": TOLD}]}) + "\n"


def prepared(bundle: Path, photos: Path, folder: Path) -> Case:
    """A case of all commands: an album of half the photos, with merges, events and memories."""
    folder.mkdir()
    lines = [PEOPLE, *photos.read_text(encoding="utf-8").splitlines(keepends=True)]
    (folder / MORE).write_text("".join(lines), encoding="utf-8")
    half = folder.parent / "half.jsonl"
    half.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    _run_whole(f"index build {half} -b {bundle} -o {folder / ALBUM}", folder.parent)
    _run_whole(f"index events {folder / ALBUM} --build -b {bundle}", folder.parent)
    return furnished(folder, bundle)


def furnished(folder: Path, bundle: Path | None = None) -> Case:
    """A case of an album in `folder` that has the photo of PEOPLE: gives it an alias and a memory."""
    for name in PREPARED:
        importlib.import_module(f"gamer.{name}")
    _run_whole(f"index merge {folder / ALBUM} Anna Carla", folder.parent)
    _run_whole(f"memory add {folder / ALBUM} Porto --key home", folder.parent)
    with Album.open(folder / ALBUM) as opened:
        first, second = (photo.id for photo in opened.photos(range(2)))
        event = next((event.id for event in opened.events()), "")
    return Case(folder, (first, second), event, bundle)


def _run_whole(words: str, scratch: Path) -> None:
    done = run(words.split(), scratch, traced=False)
    assert done.status == 0, f"{words}: {done.said}"


def main() -> None:
    if len(sys.argv) not in (4, 5, 6) or not all(word.isdigit() for word in sys.argv[4:]):
        sys.exit("usage: python -m tools.kills OUT.json BUNDLE PHOTOS.jsonl [KILLS] [SEED]")
    out, bundle, photos = (Path(word).resolve() for word in sys.argv[1:4])
    kills, seed = (int(word) for word in (sys.argv[4:] + ["500", "4"][len(sys.argv) - 4 :]))
    chance, found = random.Random(seed), []
    with tempfile.TemporaryDirectory(prefix="kills") as scratch:
        case = prepared(bundle, photos, Path(scratch) / "case")
        for name in COMMANDS:
            found.append(kill(case, name, -(-kills // len(COMMANDS)), chance))
            print(found[-1], flush=True)
            result = {"machine": asdict(machine.read()), "seed": seed, "commands": [asdict(f) for f in found]}
            write_atomically(out, json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
