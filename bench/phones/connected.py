"""Measures a phone on a cable: the app's debug build is installed, given a bundle, and asked for its times.

A cable (adb.py, devicectl.py) finds its phones and carries out a `Job`. What it pushes stays on the phone
until the measurement is here, so that the same command goes on where one ended; then all of it is removed
again, unless `keep` says otherwise. On Android the user's own app, its model and its album have another
package and are not touched; on an iPhone the debug build takes the place of an app `org.example.gamer`, which
keeps its model and its album.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gamer.export.planning import devices
from gamer.export.planning.devices import Profile
from gamer.runtime.bundle import manifest as mf
from gamer.runtime.bundle import packed
from gamer.runtime.errors import RuntimeFailure

from ..study.declaration import About

Tell = Callable[[str], None]
ALBUM = "album.gamer"  # an album's name on the phone
CONNECTED = "connected"  # as the name of a device: the one on the cable
TARGETS = {
    "onnx": "onnx",
    "xnnpack": "onnx",
    "nnapi": "onnx",
    "executorch": "executorch",
    "coreml": "coreml",
}
QUIET = 900.0  # seconds without progress after which the app counts as hung


@dataclass(frozen=True)
class Settings:
    """What `--set` says of a measurement on a connected phone."""

    serial: Annotated[str, About("the phone, where several are connected: as `adb devices` lists it")] = ""
    runner: Annotated[str, About("what runs the models", choices=tuple(TARGETS))] = "onnx"
    rounds: Annotated[int, About("counted rounds", least=1, most=1000)] = 20
    threads: Annotated[int, About("of the models; 0: as the app searches", least=0, most=16)] = 0
    ops: Annotated[bool, About("also the operators, by ONNX Runtime's profiler")] = False
    album: Annotated[Path | None, About("also the layers of searches in this album")] = None
    app: Annotated[Path | None, About("the debug build: an .apk, or an .app of Xcode")] = None
    keep: Annotated[bool, About("leave app and bundle on the phone, for the next run")] = False


@dataclass(frozen=True)
class File:
    """A file for the phone: its name there, below the job's folder."""

    name: str
    path: Path
    sha256: str


@dataclass(frozen=True)
class Job:
    """`number`: the same for the same bundle, album, app and settings. `files`: the manifest last."""

    settings: Settings
    app: Path
    files: tuple[File, ...]
    number: str

    @property
    def bytes(self) -> int:
        return sum(file.path.stat().st_size for file in self.files)

    def request(self, folder: str, own: str) -> dict[str, str | int | bool]:
        """What the app is told; `folder`: where it finds the files, `own`: where the album."""
        s = self.settings
        album = {"album": f"{own}/{ALBUM}"} if s.album else {}
        return {"id": self.number, "bundle": f"{folder}/bundle", **album, "runner": s.runner,
                "rounds": s.rounds, "threads": s.threads, "ops": s.ops}  # fmt: skip


class Phone(ABC):
    """One on a cable. `serial`: as its cable lists it; `poll`: seconds between two looks, since each takes a
    little of the phone's processor; `ended`: where to look if its app ended or hangs.
    """

    serial: str
    poll: ClassVar[float]
    ended: ClassVar[str]

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What it calls itself, for its profile."""

    @abstractmethod
    def measure(self, job: Job, tell: Tell) -> Any:
        """The JSON that the app wrote. Raises RuntimeFailure."""

    @abstractmethod
    def read(self, name: str) -> str:
        """A text that the app wrote; "" if it is empty or not there."""

    @abstractmethod
    def is_running(self) -> bool:
        """Whether the app runs, as far as the cable tells."""

    def wait(self, job: Job, tell: Tell) -> str:
        """What the app wrote. Raises RuntimeFailure if it ended or hangs."""
        said, since, running = "", time.monotonic(), True
        while True:
            if text := self.read(f"{job.number}.json"):
                return text
            if not running:
                raise self.failure(f"the app ended before it had measured (out of memory?): {self.ended}")
            running = self.is_running()
            if (now := self.read("progress.txt").strip()) != said:
                said, since = now, time.monotonic()
                tell(f"{self.names[0]}: {said}")
            if time.monotonic() - since > QUIET:
                raise self.failure(f"the app hangs at {said or 'its start'}: {self.ended}")
            time.sleep(self.poll)

    def failure(self, why: str) -> RuntimeFailure:
        return RuntimeFailure(f"{self.names[0]} ({self.serial}): {why}")


def find(cables: Sequence[Callable[[str], Sequence[Phone]]], serial: str) -> Phone:
    """The connected phone, or that of this serial. Raises RuntimeFailure for none, and for two without
    serial.
    """
    phones = [phone for cable in cables for phone in cable(serial)]
    if not phones:
        raise RuntimeFailure(
            f"no phone{f' {serial}' if serial else ''} is connected: connect one with a cable, "
            "switch on USB debugging, and allow this computer; adb (Android) or Xcode (iPhone) must "
            "be installed"
        )
    if len(phones) > 1:
        named = ", ".join(f"{phone.serial} ({phone.names[0]})" for phone in phones)
        raise RuntimeFailure(
            f"{len(phones)} phones are connected: {named}; name one: --set serial={phones[0].serial}"
        )
    return phones[0]


def profile(phone: Phone, known: Sequence[Profile]) -> Profile:
    """The phone's profile. Raises RuntimeFailure naming the nearest."""
    if found := devices.match(known, phone.names):
        return found
    raise RuntimeFailure(
        f"{phone.names[0]} ({', '.join(dict.fromkeys(phone.names[1:]))}) has no profile; the nearest is "
        f"{devices.nearest(known, phone.names[0])}. Describe it in a file and give that with --device "
        "(bench/README.md)"
    )


def suits(runners: Sequence[str], settings: Settings, phone: Phone) -> None:
    """Raises RuntimeFailure for a runner that the phone's app does not have."""
    if settings.runner not in runners:
        raise RuntimeFailure(
            f"{phone.names[0]}: its app has no {settings.runner}; one of {', '.join(runners)}"
        )


def job(bundle: Path, settings: Settings, app: Path) -> Job:
    """Raises BundleError for a bundle that is not whole or lacks the runner's target, RuntimeFailure for no
    app or album, and for operators of ExecuTorch.
    """
    if not app.exists():
        raise RuntimeFailure(
            f"{app}: no such app; build it: VARIANT=debug android_demo/build_apk.sh, or the debug "
            f"build in Xcode; "
            "or name it with --set app=PATH"
        )
    if settings.ops and settings.runner == "executorch":
        raise RuntimeFailure("runner=executorch: the app has no operators of executorch: leave out ops")
    if settings.album and not settings.album.is_file():
        raise RuntimeFailure(f"{settings.album}: no such album; name one with --set album=FILE")
    manifest = packed.chosen(mf.read(bundle), [TARGETS[settings.runner]], ())
    mf.check(bundle, manifest)
    files = [_file(f"bundle/{name}", bundle / name) for name in sorted(packed.names(bundle, manifest))]
    if settings.album:
        files.append(_file(ALBUM, settings.album))
    files.append(_file(f"bundle/{mf.MANIFEST_NAME}", bundle / mf.MANIFEST_NAME))
    parts = [file.sha256 for file in files] + [repr(settings), _digest(app)]
    number = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    return Job(settings, app, tuple(files), number)


def _file(name: str, path: Path) -> File:
    return File(name, path, mf.digest(path)[1])


def _digest(app: Path) -> str:
    """Of an .apk; an .app is a folder, of which the program is what a build changes.

    Raises RuntimeFailure for another folder.
    """
    program = app if app.is_file() else app / app.stem
    if not program.is_file():
        raise RuntimeFailure(f"{app}: not an app; name an .apk, or an .app of Xcode, with --set app=PATH")
    return mf.digest(program)[1]


def default_app(name: str) -> Path:
    """Where the project's own build puts a phone's debug app."""
    return Path(os.environ.get("GAMER_TOOLS", Path.home() / ".cache/gamer-tools")) / name


def run(
    command: Sequence[str], seconds: float, given: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A cable's command, which reads the file `given`. Raises RuntimeFailure if it does not end."""
    try:
        with (given or Path(os.devnull)).open("rb") as file:
            return subprocess.run(
                command,
                stdin=file,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=seconds,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise RuntimeFailure(
            f"{' '.join(command[:4])} … did not end within {seconds:.0f} s: connect the phone again, and run "
            "the same command: it goes on where it was"
        ) from None


def result(text: str, phone: str) -> Any:
    """The JSON that an app wrote. Raises RuntimeFailure with the error that it wrote instead."""
    try:
        made = json.loads(text)
    except ValueError:
        raise RuntimeFailure(f"{phone}: its measurement is not JSON: measure again") from None
    if isinstance(made, dict) and "error" in made:
        raise RuntimeFailure(f"{phone}: the app could not measure: {str(made['error'])[:300]}")
    return made
