"""A headless Chromium, driven over its DevTools protocol: open a page, press keys, ask the document, take a
picture. For tests alone.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
KEYS = {
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowDown": (40, ""),
    "ArrowUp": (38, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
    "/": (191, "/"),
}


def find() -> str | None:
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._next = socket, 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: object) -> dict[str, Any]:
        self._next += 1
        self._socket.send(json.dumps({"id": self._next, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._next:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def open(self, address: str, until: str) -> None:
        """Goes there and waits until the JavaScript expression is true."""
        self.call("Page.navigate", url=address)
        self.wait(until)

    def wait(self, until: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.ask(f"(() => {{ try {{ return Boolean({until}) }} catch {{ return false }} }})()"):
            assert time.monotonic() < end, (
                f"never true: {until}; the page says: {self.ask('document.body.innerText')}"
            )
            time.sleep(0.05)

    def ask(self, expression: str) -> Any:
        """What the expression gives, as JSON."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str) -> None:
        code, text = KEYS[key]
        common = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, whole: bool = False) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Everything that the console, the network and the policy (CSP) had against the page."""
        self.call("Runtime.evaluate", expression="0")
        out = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                out.append(json.dumps(params["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                out.append(params["entry"]["text"])
        return out


@contextmanager
def browser(binary: str) -> Iterator[Page]:
    # Root in a container has no sandbox to offer; the page under test is our own.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--hide-scrollbars",
        ]
        process = subprocess.Popen(
            [binary, *arguments, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = _port(Path(profile) / "DevToolsActivePort")
            targets = json.loads(urlopen(f"http://127.0.0.1:{port}/json", timeout=30).read())
            address = next(t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page")
            with connect(address, max_size=64 << 20) as socket:
                page = Page(socket)
                for domain in ("Page", "Runtime", "Log", "Network"):
                    page.call(f"{domain}.enable")
                yield page
        finally:
            process.terminate()
            process.wait(20)


def _port(path: Path) -> int:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if path.is_file() and (text := path.read_text()):
            return int(text.split()[0])
        time.sleep(0.1)
    raise AssertionError("chromium did not start")
