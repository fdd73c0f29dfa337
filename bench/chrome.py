"""Controls a headless Chromium over its DevTools protocol: opens pages, presses keys, evaluates JavaScript
and takes screenshots. Used by `bench study page` and by tests.
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
CTRL, SHIFT = 2, 8
KEYS = {
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    "ArrowDown": (40, ""),
    "ArrowUp": (38, ""),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
    "Home": (36, ""),
    "End": (35, ""),
    " ": (32, " "),
    "/": (191, "/"),
    "+": (187, "+"),
    "0": (48, "0"),
    "a": (65, "a"),
    "f": (70, "f"),
}


def find() -> str | None:
    """The path of an installed Chromium or Chrome, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


_LEFT = "navigated or closed"  # an error of the protocol


class Page:
    """A tab of the browser. `events`: the messages from the browser that answered no call."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._last_id = socket, 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Calls a method of the protocol and returns its result; an error of the protocol fails the test."""
        self._last_id += 1
        self._socket.send(json.dumps({"id": self._last_id, "method": method, "params": params}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            if message.get("id") == self._last_id:
                assert "error" not in message, message["error"]
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def look(self, width: int, height: int, dark: bool = False) -> None:
        """Sets the window's size in pixels and its colour scheme. Below 600 pixels it is a mobile device."""
        mobile = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )

    def open(self, address: str, until: str) -> None:
        """Loads the address and waits until the JavaScript expression `until` is true."""
        self.call("Page.navigate", url=address)
        self.wait(until)

    def wait(self, until: str, seconds: float = 30) -> None:
        """Waits until the JavaScript expression `until` is true; an exception counts as false.

        So does a page that is just left for another.
        """
        deadline = time.monotonic() + seconds
        asked = f"(() => {{ try {{ return Boolean({until}) }} catch {{ return false }} }})()"
        while not self._answered(asked):
            assert time.monotonic() < deadline, (
                f"never true: {until}; the page says: {self.ask('document.body.innerText')}"
            )
            time.sleep(0.05)

    def _answered(self, expression: str) -> bool:
        try:
            return bool(self.ask(expression))
        except AssertionError as error:
            if _LEFT not in str(error):
                raise
            return False

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression, or of the promise that it returns, converted through JSON."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key: str, modifiers: int = 0) -> None:
        """Presses and releases one of KEYS, with CTRL or SHIFT held."""
        code, text = KEYS[key]
        common = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        typed = {"text": text} if text and not modifiers else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, element: str, modifiers: int = 0) -> None:
        """Clicks the middle of what the JavaScript expression `element` gives, with CTRL or SHIFT held."""
        box = self.ask(
            f"(() => {{ const b = ({element}).getBoundingClientRect(); "
            "return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
                modifiers=modifiers,
            )

    def type(self, text: str) -> None:
        """Inserts text into the focused element."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path, full_page: bool = False) -> None:
        """Saves a screenshot as PNG: the visible part, or the full page."""
        screenshot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=full_page)
        path.write_bytes(base64.b64decode(screenshot["data"]))

    def complaints(self) -> list[str]:
        """The uncaught exceptions, and the errors and warnings in the browser's log.

        The log has failed requests and violations of the content security policy (CSP).
        """
        # An answered call means that the events sent before it have been read.
        self.call("Runtime.evaluate", expression="0")
        messages = []
        for event in self.events:
            params = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                messages.append(json.dumps(params["exceptionDetails"]))
            elif event["method"] == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                messages.append(params["entry"]["text"])
        return messages


@contextmanager
def browser(binary: str) -> Iterator[Page]:
    """Starts Chromium with an empty profile, gives its tab, and ends the process afterwards."""
    # As root in a container, Chromium's sandbox does not work; the pages under test are the project's.
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
            port = _wait_for_port(Path(profile) / "DevToolsActivePort")
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


def _wait_for_port(path: Path) -> int:
    """The port from the file that Chromium writes when its DevTools server has started."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if path.is_file() and (text := path.read_text()):
            return int(text.split()[0])
        time.sleep(0.1)
    raise AssertionError("chromium did not start")
