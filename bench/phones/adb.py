"""Android phones, by `adb`: the debug app is installed beside the user's own and started without a screen
to touch.

The bundle lies in FOLDER, which every app may read; an album goes through `run-as` into the debug build's own
folder, which no other app reads. There the app writes its JSON, too.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from gamer.runtime.bundle.manifest import digest
from gamer.runtime.errors import RuntimeFailure

from .connected import ALBUM, File, Job, Phone, Tell, result, run, suits

PACKAGE, ENTRY = "gamer.app.debug", "gamer.app.MeasureActivity"
FOLDER = "/data/local/tmp/gamer-bench"
OWN = f"/data/data/{PACKAGE}"  # where `run-as` begins
BROUGHT = f"{FOLDER}/brought"  # is there while the app is one that a measurement brought
ABI, LEAST_SDK = "arm64-v8a", 26
SPARE = 200 << 20  # bytes that stay free on the phone
GONE = ("not found", "offline", "no devices", "closed", "device still", "disconnected", "transport")
REFUSALS = {
    "INSTALL_FAILED_NO_MATCHING_ABIS": f"the phone has no {ABI} processor, for which the app is built",
    "INSTALL_FAILED_OLDER_SDK": f"its Android is too old: {LEAST_SDK} (Android 8) is the least API level",
    "INSTALL_FAILED_INSUFFICIENT_STORAGE": "it is full: free some space",
    "INSTALL_FAILED_USER_RESTRICTED": "it did not allow the installation: confirm it on its screen",
    "INSTALL_FAILED_UPDATE_INCOMPATIBLE": f"another key signed what is there: adb uninstall {PACKAGE}",
    "No space left": "it is full: free some space",
}


@dataclass(frozen=True)
class Android(Phone):
    """A phone that `adb devices` lists."""

    poll, ended = 2.0, "see `adb logcat`"
    serial: str
    properties: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        told = self.properties.get
        maker, model = told("ro.product.manufacturer", ""), told("ro.product.model", "")
        return f"{maker} {model}".strip() or self.serial, model, told("ro.product.device", "")

    def measure(self, job: Job, tell: Tell) -> Any:
        suits(("onnx", "xnnpack", "nnapi", "executorch"), job.settings, self)
        missing = self._missing(job)
        tell(f"{self.names[0]}: installing the app")
        self._install(job)
        self._push(missing, tell)
        made = result(self._measured(job, tell), self.names[0])
        self._leave() if job.settings.keep else self._remove()
        return made

    def _measured(self, job: Job, tell: Tell) -> str:
        """What the app wrote, which is then removed: it is one measurement's, an error no less."""
        try:
            if not self.read(f"{job.number}.json"):
                self._bring(job)
                self._start(job)
            text = self.wait(job, tell)
        finally:  # an album is nobody's, whatever became of its measurement
            self._own(f"rm -f files/{ALBUM} files/{ALBUM}-* cache/measured.gamer*", check=False)
        self._own(f"rm -f files/{job.number}.json files/progress.txt")
        return text

    def _missing(self, job: Job) -> tuple[File, ...]:
        """The files that are not there yet, or differ. Raises RuntimeFailure for a phone that is too old, of
        another processor, or full.
        """
        told = self.properties.get
        sdk, abis = told("ro.build.version.sdk", ""), told("ro.product.cpu.abilist", "")
        if not sdk.isdigit() or int(sdk) < LEAST_SDK:
            raise self.failure(REFUSALS["INSTALL_FAILED_OLDER_SDK"])
        if ABI not in abis.split(","):
            raise self.failure(f"{REFUSALS['INSTALL_FAILED_NO_MATCHING_ABIS']} (it has {abis or 'none'})")
        there = self._digests()
        missing = tuple(f for f in job.files if f.name != ALBUM and there.get(f.name) != f.sha256)
        album = [file for file in job.files if file.name == ALBUM] * 2  # the app copies it
        needed = sum(f.path.stat().st_size for f in (*missing, *album)) + SPARE
        free = self._free()
        if free is not None and free < needed:
            raise self.failure(f"it is full: {free >> 20} MB are free, and {needed >> 20} MB are needed")
        return missing

    def _free(self) -> int | None:
        """Bytes; None where `df` does not tell."""
        cells = self.shell("df", "-k", "/data").strip().split("\n")[-1].split()[3:4]
        return int(cells[0]) << 10 if cells and cells[0].isdecimal() else None

    def _install(self, job: Job) -> None:
        """The same file is not installed again. An app that was not there is marked as BROUGHT before, so
        that a later run knows it.
        """
        path = self.shell("pm", "path", PACKAGE, check=False).strip().removeprefix("package:").split("\n")[0]
        if path:
            there = self.shell("sha256sum", path, check=False).split(" ")[0]
            if there == digest(job.app)[1]:
                return
        else:
            self.shell("mkdir", "-p", FOLDER)
            self.shell("touch", BROUGHT)
        self.adb("install", "-r", str(job.app), seconds=300)
        if not self.shell("run-as", PACKAGE, "id", check=False):
            raise self.failure(f"{job.app} is no debug build: nothing can be read of it")

    def _digests(self) -> dict[str, str]:
        """Name → SHA-256 of what is in the phone's folder."""
        listed = self.shell(
            "sh", "-c", f"cd {FOLDER} 2>/dev/null && find . -type f -exec sha256sum {{}} +", check=False
        )
        rows = (line.split(None, 1) for line in listed.splitlines() if "./" in line)
        return {name.strip().removeprefix("./"): digest for digest, name in rows}

    def _push(self, files: Sequence[File], tell: Tell) -> None:
        if folders := sorted({str(PurePosixPath(FOLDER, file.name).parent) for file in files}):
            self.shell("mkdir", "-p", *folders)
        for at, file in enumerate(files):
            tell(f"{self.names[0]}: file {at + 1} of {len(files)}, {file.name}")
            self.adb("push", str(file.path), f"{FOLDER}/{file.name}", seconds=600)
        if files:
            self.shell("chmod", "-R", "a+rX", FOLDER)

    def _bring(self, job: Job) -> None:
        for album in (file.path for file in job.files if file.name == ALBUM):
            self._own(f"mkdir -p files && cat > files/{ALBUM}", album)

    def _start(self, job: Job) -> None:
        kinds = {str: "--es", bool: "--ez", int: "--ei"}
        extras = [
            word
            for key, value in job.request(FOLDER, f"{OWN}/files").items()
            for word in (
                kinds[type(value)],
                key,
                str(value).lower() if isinstance(value, bool) else str(value),
            )
        ]
        started = self.shell("am", "start", "-S", "-W", "-n", f"{PACKAGE}/{ENTRY}", *extras)
        if "Error" in started:
            raise self.failure(f"the app does not start ({started.strip().splitlines()[-1][:200]})")

    def is_running(self) -> bool:
        return bool(self.shell("pidof", PACKAGE, check=False).strip())

    def read(self, name: str) -> str:
        return self.shell("run-as", PACKAGE, "cat", f"files/{name}", check=False)

    def _own(self, script: str, given: Path | None = None, check: bool = True) -> None:
        """Runs a script in the app's own folder; it reads the file `given`."""
        command = shlex.join(["run-as", PACKAGE, "sh", "-c", script])
        self.adb("shell", command, seconds=600, check=check, given=given)

    def _leave(self) -> None:
        """What is kept is the phone's own from now on."""
        self.shell("rm", "-f", BROUGHT)

    def _remove(self) -> None:
        if self.shell("ls", BROUGHT, check=False):
            self.adb("uninstall", PACKAGE)
        else:
            self.shell("am", "force-stop", PACKAGE)
            self._own("rm -f files/*.json", check=False)
        self.shell("rm", "-rf", FOLDER)

    def shell(self, *words: str, check: bool = True) -> str:
        """The phone's shell splits what it is given once more, so the words are quoted for it."""
        return self.adb("shell", shlex.join(words), check=check)

    def adb(self, *words: str, seconds: float = 60, check: bool = True, given: Path | None = None) -> str:
        """What adb prints; it reads the file `given`. Raises RuntimeFailure for a phone that is gone; with
        `check` for every failure.
        """
        done = run(["adb", "-s", self.serial, *words], seconds, given)
        failed = f"{done.stderr}\n{done.stdout}".strip()
        if (
            done.returncode
            and done.stderr.startswith(("adb: ", "error: "))
            and any(w in failed for w in GONE)
        ):
            raise self.failure(
                f"the phone is gone ({failed.splitlines()[0][:120]}): connect it, and run the same "
                f"command: it "
                "goes on where it was"
            )
        if done.returncode and check:
            known = next((why for sign, why in REFUSALS.items() if sign in failed), "")
            raise self.failure(known or f"adb {words[0]} failed ({(failed.splitlines() or ['?'])[-1][:200]})")
        return "" if done.returncode else done.stdout


def phones(serial: str = "") -> Sequence[Android]:
    """Those that are connected, or the one of this serial.

    Raises RuntimeFailure for one that does not trust this computer yet.
    """
    if shutil.which("adb") is None:
        return ()
    listed = [line.split() for line in run(["adb", "devices"], 30).stdout.splitlines()[1:] if line.strip()]
    meant = [row for row in listed if serial in ("", row[0])]
    for name, *state in meant:
        if state[:1] != ["device"]:
            raise RuntimeFailure(
                f"phone {name} is {' '.join(state)}: unlock it, and allow USB debugging for this computer"
            )
    return tuple(Android(name, _properties(name)) for name, *_ in meant)


def _properties(serial: str) -> dict[str, str]:
    """All of them: "[ro.product.model]: [Pixel 8]", a line each."""
    return dict(
        re.findall(r"^\[([^\]\n]{1,200})\]: \[([^\]\n]{0,500})\]", Android(serial).shell("getprop"), re.M)
    )
