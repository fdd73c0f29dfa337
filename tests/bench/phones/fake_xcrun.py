"""A stand-in for `xcrun devicectl`: an iPhone is a folder, whose app measures when it is launched.

$FAKE_PHONES/iphone has `Documents` and `phone.json` (installed, gone_after, busy); what it is asked is kept
in `calls`.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

PHONE = Path(os.environ["FAKE_PHONES"]) / "iphone"
LISTED = {
    "identifier": "UDID-1",
    "connectionProperties": {"transportType": "wired"},
    "deviceProperties": {"name": "Somebody's phone", "osVersionNumber": "26.1"},
    "hardwareProperties": {"marketingName": "iPhone 15 Pro", "productType": "iPhone16,1", "platform": "iOS"},
}


def option(words: list[str], name: str) -> str:
    return words[words.index(name) + 1]


def main(words: list[str]) -> int:
    assert words[0] == "devicectl"
    state: dict[str, Any] = json.loads((PHONE / "phone.json").read_text())
    state["calls"] = [*state.get("calls", ()), words[1:4]]
    if words[1:3] == ["list", "devices"]:
        Path(option(words, "--json-output")).write_text(json.dumps({"result": {"devices": [LISTED]}}))
        return 0
    left = state.get("gone_after")
    if left == 0:
        print("ERROR: The specified device was not found.", file=sys.stderr)
        return 1
    state["gone_after"] = None if left is None else left - 1
    done = ask(words[2:], state)
    (PHONE / "phone.json").write_text(json.dumps(state))
    return done


def ask(words: list[str], state: dict[str, Any]) -> int:
    verb = words[:2]
    assert option(words, "--device") == "UDID-1"
    if verb == ["info", "apps"]:
        apps = [{"bundleIdentifier": "org.example.gamer"}] if state.get("installed") else []
        Path(option(words, "--json-output")).write_text(json.dumps({"result": {"apps": apps}}))
    elif verb == ["install", "app"]:
        state["installed"] = True
    elif verb == ["uninstall", "app"]:
        state["installed"] = False
        shutil.rmtree(PHONE / "Documents")
    elif verb == ["copy", "to"]:
        source, place = Path(option(words, "--source")), PHONE / option(words, "--destination")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, place, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, place)
    elif verb == ["copy", "from"]:
        place = PHONE / option(words, "--source")
        if not place.is_file():
            print("ERROR: The file does not exist.", file=sys.stderr)
            return 1
        shutil.copy(place, option(words, "--destination"))
    elif verb == ["process", "launch"]:
        request = json.loads(option(words, "-bench"))
        state["started"] = request
        measured = (PHONE.parent / "measurement.json").read_text()
        (PHONE / "Documents/bench" / f"{request['id']}.json").write_text(measured)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
