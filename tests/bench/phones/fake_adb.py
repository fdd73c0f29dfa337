"""A stand-in for `adb`: phones are folders, `am start` measures at once, and what `adb` says is as adb says
it.

$FAKE_PHONES has a folder for each phone: `phone.json` (state, properties, free_kb, installed, gone_after),
`files` (what /data/local/tmp is), `app` (the app's files). What `run-as` is given runs in `own`,
whose `files` those are. `album`: what the app saw of the album when it was started. `am start` writes
the JSON of `measurement.json`, or runs $FAKE_RUNNER with the bundle, the album ("" for none) and the rounds,
and takes what it prints.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PHONES = Path(os.environ["FAKE_PHONES"])
PREFIX, OWN = "/data/local/tmp/", "/data/data/gamer.app.debug/files/"


class Phone:
    def __init__(self, serial: str) -> None:
        self.folder = PHONES / serial
        if not self.folder.is_dir():
            sys.exit(fail(f"error: device '{serial}' not found"))
        self.state: dict[str, Any] = json.loads((self.folder / "phone.json").read_text())
        self.app = self.folder / "app"

    def save(self) -> None:
        (self.folder / "phone.json").write_text(json.dumps(self.state))

    def at(self, path: str) -> Path:
        if path.startswith(OWN):
            return self.app / path.removeprefix(OWN)
        assert path.startswith(PREFIX), path  # nothing else of the phone is touched
        return self.folder / "files" / path.removeprefix(PREFIX)

    def install(self, words: list[str]) -> int:
        if refusal := self.state.get("refuses"):
            return fail(f"adb: failed to install {words[-1]}: Failure [{refusal}]")
        self.state["installed"] = hashlib.sha256(Path(words[-1]).read_bytes()).hexdigest()
        self.app.mkdir(exist_ok=True)
        (self.folder / "own").mkdir(exist_ok=True)
        if not (self.folder / "own/files").is_symlink():
            (self.folder / "own/files").symlink_to(self.app)
        self.save()
        return 0

    def uninstall(self, words: list[str]) -> int:
        self.state["installed"] = None
        shutil.rmtree(self.app)
        self.save()
        return 0

    def push(self, words: list[str]) -> int:
        left = self.state.get("gone_after")
        if left == 0:
            return fail(f"adb: error: failed to get feature set: device '{self.folder.name}' not found")
        self.state["gone_after"] = None if left is None else left - 1
        self.state["pushed"] = [*self.state.get("pushed", ()), words[1]]
        self.save()
        shutil.copy(words[0], self.at(words[1]))
        return 0

    def shell(self, words: list[str]) -> int:
        command = shlex.split(" ".join(words))  # the phone's shell splits again
        handler = getattr(self, "do_" + command[0].replace("-", "_"))
        return int(handler(command[1:]) or 0)

    def do_getprop(self, words: list[str]) -> None:
        for name, value in self.state["properties"].items():
            print(f"[{name}]: [{value}]")

    def do_df(self, words: list[str]) -> None:
        print("Filesystem 1K-blocks Used Available Use% Mounted on")
        print(f"/dev/block/dm-9 110000000 1 {self.state['free_kb']} 1% {self.state.get('mount', '/data')}")

    def do_pm(self, words: list[str]) -> int:
        if not self.state.get("installed"):
            return 1
        print("package:/data/app/gamer/base.apk")
        return 0

    def do_sha256sum(self, words: list[str]) -> None:
        print(f"{self.state['installed']}  {words[0]}")

    def do_sh(self, words: list[str]) -> int:
        folder = self.at(words[1].split()[1])
        if not folder.is_dir():
            return 1
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  ./{path.relative_to(folder)}")
        return 0

    def do_mkdir(self, words: list[str]) -> None:
        for name in words[1:]:
            self.at(name).mkdir(parents=True, exist_ok=True)

    def do_chmod(self, words: list[str]) -> None:
        assert words == ["-R", "a+rX", PREFIX + "gamer-bench"]

    def do_rm(self, words: list[str]) -> None:
        place = self.at(words[1])
        shutil.rmtree(place) if words[0] == "-rf" else place.unlink(missing_ok=True)

    def do_touch(self, words: list[str]) -> None:
        self.at(words[0]).touch()

    def do_ls(self, words: list[str]) -> int:
        print(words[0] if (there := self.at(words[0]).exists()) else "")
        return 0 if there else 1

    def do_pidof(self, words: list[str]) -> int:
        print("123" if self.state.get("runs") else "")
        return 0 if self.state.get("runs") else 1

    def do_am(self, words: list[str]) -> int:
        if words[0] == "force-stop":
            return 0
        at = words.index("-n") + 2
        extras = {words[n + 1]: words[n + 2] for n in range(at, len(words), 3)}
        self.state["started"] = extras
        self.state["album"] = self.at(extras["album"]).read_text("latin-1") if "album" in extras else None
        self.save()
        print("Status: ok")
        if self.state.get("crashes"):
            return 0
        if runner := os.environ.get("FAKE_RUNNER"):
            album = extras.get("album", "")
            given = [str(self.at(extras["bundle"])), album and str(self.at(album)), extras["rounds"]]
            done = subprocess.run([runner, *given], capture_output=True, text=True, check=True, timeout=500)
            measured = json.loads(done.stdout)
        else:
            measured = json.loads((PHONES / "measurement.json").read_text())
        (self.app / "progress.txt").write_text("text_tower, 1 of 20")
        (self.app / f"{extras['id']}.json").write_text(json.dumps(measured))
        return 0

    def do_run_as(self, words: list[str]) -> int:
        assert words[0] == "gamer.app.debug"
        if self.state.get("release"):
            return fail("run-as: package not debuggable: gamer.app.debug")
        return subprocess.run(words[1:], cwd=self.folder / "own", check=False).returncode


def fail(line: str) -> int:
    print(line, file=sys.stderr)
    return 1


def main(words: list[str]) -> int:
    if words == ["devices"]:
        print("List of devices attached")
        for folder in sorted(p for p in PHONES.iterdir() if p.is_dir()):
            state = json.loads((folder / "phone.json").read_text()).get("state", "device")
            print(f"{folder.name}\t{state}")
        return 0
    assert words[0] == "-s"
    sys.stdout.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    phone = Phone(words[1])
    return int(getattr(phone, words[2])(words[3:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
