"""iPhones, by Xcode's `devicectl`: the debug build is installed and launched with an argument that says
what to do.

The folder BENCH in the app's Documents has the files; the app writes its JSON there, and removes the files
when it is done, unless it is told to keep them: devicectl copies, and deletes nothing.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gamer.index import json_checked
from gamer.index.json_checked import JsonError, read_as
from gamer.runtime.errors import RuntimeFailure

from .connected import Job, Phone, Tell, result, run, suits

BUNDLE_ID, BENCH = "org.example.gamer", "Documents/bench"
PUSHED = "bundle/pushed.txt"  # names and SHA-256 of the files that are there; it goes when the bundle goes
GONE = ("not connected", "unavailable", "disconnected", "was not found", "timed out", "connection")


@dataclass(frozen=True)
class _Properties:
    name: str = ""
    osVersionNumber: str = ""


@dataclass(frozen=True)
class _Hardware:
    productType: str = ""
    marketingName: str = ""
    platform: str = "iOS"


@dataclass(frozen=True)
class _Connection:
    tunnelState: str = "connected"  # "unavailable": paired once, and not here


@dataclass(frozen=True)
class _Device:
    identifier: str
    connectionProperties: _Connection = _Connection()
    deviceProperties: _Properties = _Properties()
    hardwareProperties: _Hardware = _Hardware()


@dataclass(frozen=True)
class _Devices:
    devices: tuple[_Device, ...]


@dataclass(frozen=True)
class _Listed:
    result: _Devices


@dataclass(frozen=True)
class IPhone(Phone):
    """A phone that `devicectl list devices` lists. `model`: Apple's identifier, such as iPhone16,1."""

    poll, ended = 5.0, "unlock the phone, and look at the console in Xcode"
    serial: str
    name: str
    model: str

    @property
    def names(self) -> tuple[str, ...]:
        return self.name or self.serial, self.model

    def measure(self, job: Job, tell: Tell) -> Any:
        suits(("onnx", "coreml"), job.settings, self)
        if job.settings.ops:
            raise RuntimeFailure(
                f"{self.names[0]}: operators are told by Android's app alone; Xcode's report times a model "
                "on an iPhone, and --import reads it"
            )
        tell(f"{self.names[0]}: installing the app")
        was_there = self._has_app()
        self._call("install", "app", str(job.app), seconds=300)
        text = self.read(f"{job.number}.json")
        if not text:
            self._push(job, tell)
            self._launch(job)
            text = self.wait(job, tell)
        self._write(f"{job.number}.json", "")  # one measurement's, an error no less
        made = result(text, self.names[0])
        if not (job.settings.keep or was_there):
            self._call("uninstall", "app", BUNDLE_ID)
        return made

    def _has_app(self) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            listed = Path(folder, "apps.json")
            self._call("info", "apps", "--bundle-id", BUNDLE_ID, "--json-output", str(listed), check=False)
            try:
                return bool(json.loads(listed.read_text(encoding="utf-8"))["result"]["apps"])
            except (OSError, ValueError, KeyError, TypeError):
                return False

    def _push(self, job: Job, tell: Tell) -> None:
        """One copy of a folder; PUSHED is the last file of a whole one."""
        whole = "".join(f"{file.sha256}  {file.name}\n" for file in job.files)
        there = self.read(PUSHED)
        if there == whole:
            return
        if there:  # a copy that ends halfway is not taken for what was there
            self._write(PUSHED, "")
        with tempfile.TemporaryDirectory() as folder:
            tell(f"{self.names[0]}: copying {job.bytes >> 20} MB")
            for file in job.files:
                place = Path(folder, "bench", file.name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.path, place)
            self._copy_to(Path(folder, "bench"), BENCH)
        self._write(PUSHED, whole)

    def _write(self, name: str, text: str) -> None:
        """devicectl deletes nothing: an empty file is one that is not there, to `_read`."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "file")
            place.write_text(text, encoding="utf-8")
            self._copy_to(place, f"{BENCH}/{name}")

    def _copy_to(self, here: Path, there: str) -> None:
        self._call("copy", "to", *_CONTAINER, "--source", str(here), "--destination", there, seconds=1800)

    def _launch(self, job: Job) -> None:
        request = json.dumps(job.request("bench", "bench") | {"keep": job.settings.keep})
        self._call("process", "launch", "--terminate-existing", BUNDLE_ID, "--", "-bench", request)

    def is_running(self) -> bool:
        """devicectl does not tell: an app that ended is one that hangs."""
        return True

    def read(self, name: str) -> str:
        """The text of a file of the app; "" if it is empty or not there."""
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "file")
            self._call(
                "copy",
                "from",
                *_CONTAINER,
                "--source",
                f"{BENCH}/{name}",
                "--destination",
                str(place),
                check=False,
            )
            return place.read_text(encoding="utf-8") if place.is_file() else ""

    def _call(self, *words: str, seconds: float = 120, check: bool = True) -> None:
        """Raises RuntimeFailure for a phone that is gone; with `check` for every failure."""
        done = run(["xcrun", "devicectl", "device", *words[:2], "--device", self.serial, *words[2:]], seconds)
        if not done.returncode:
            return
        failed = f"{done.stderr}\n{done.stdout}".strip()
        if check or any(sign in failed.lower() for sign in GONE):
            why = next(
                (line for line in failed.splitlines() if "ERROR" in line or "rror" in line), failed[:200]
            )
            raise RuntimeFailure(
                f"{self.names[0]} ({self.serial}): {' '.join(words[:2])} failed "
                f"({why.strip()[:200]}): connect and "
                "unlock it, and run the same command: it goes on where it was"
            )


_CONTAINER = ("--domain-type", "appDataContainer", "--domain-identifier", BUNDLE_ID)


def phones(serial: str = "") -> Sequence[IPhone]:
    """Those that are connected, or the one of this serial.

    Raises RuntimeFailure for a list that cannot be read.
    """
    if shutil.which("xcrun") is None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder, "devices.json")
        done = run(["xcrun", "devicectl", "list", "devices", "--json-output", str(listed)], 60)
        if done.returncode:
            return ()  # a Mac without Xcode 15
        try:
            found: _Listed = read_as(_Listed, json_checked.read(listed), "devicectl", extra=True)
        except JsonError as error:
            raise RuntimeFailure(f"{error}: Xcode 15 or later is needed") from None
    return tuple(
        IPhone(one.identifier, one.hardwareProperties.marketingName, one.hardwareProperties.productType)
        for one in found.result.devices
        if one.hardwareProperties.platform == "iOS"
        and one.connectionProperties.tunnelState != "unavailable"
        and serial in ("", one.identifier)
    )
