"""One request to an OpenAI-compatible chat endpoint: bounded in time and size, and to the named host alone.

Python's own HTTP client is enough: it follows no redirect, reads no proxy from the environment and sends
nothing that is not written here. The key comes from the environment, and no error repeats it or a body.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from gamer.index.json_checked import parse, read_as

from ...errors import RuntimeFailure

KEY = "GAMER_API_KEY"  # environment variable
DEFAULT_ENDPOINT = "http://127.0.0.1:11434/v1"  # where local servers of language models usually listen
MAX_ANSWER = 2_000_000  # bytes
TIMEOUT = 120.0  # seconds of one request, from the first byte sent to the last one read
MAX_BACKOFF = 10.0  # seconds
_PATH = "/chat/completions"
_HINTS = {401: "check {key}", 403: "check {key}", 404: "check the endpoint's address and the model's name"}


class EndpointError(RuntimeFailure):
    """The endpoint gave no usable answer; the message is one line that names its host and never its words.

    `status`: of HTTP, where it refused; else 0.
    """

    def __init__(self, line: str, status: int = 0) -> None:
        super().__init__(line)
        self.status = status


@dataclass(frozen=True)
class Endpoint:
    """`url`: up to and without "/chat/completions". `timeout`, `backoff`: seconds; see TIMEOUT. `key`: the
    environment variable that holds its key.

    Raises RuntimeFailure for an address that is none, or a model without a name.
    """

    url: str
    model: str
    timeout: float = TIMEOUT
    backoff: float = 2.0
    key: str = KEY

    def __post_init__(self) -> None:
        if not self.model.strip() or not self.model.isprintable() or len(self.model) > 200:
            raise RuntimeFailure("give the name of the endpoint's model")
        try:
            parts = urlsplit(self.url)
            usable = bool(parts.hostname) and parts.port != 0
        except ValueError:
            usable = False
        plain = self.url.isascii() and self.url.isprintable() and " " not in self.url
        if not (usable and plain) or parts.scheme not in ("http", "https"):
            raise RuntimeFailure(f"the endpoint must be an address such as {DEFAULT_ENDPOINT}")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise RuntimeFailure(
                f"the endpoint's address holds more than host and path; a key goes into {self.key}"
            )

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def is_local(self) -> bool:
        """Whether the address is of the loopback interface, so that nothing leaves the machine."""
        name = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(name).is_loopback
        except ValueError:
            return name == "localhost"

    def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The first choice's message. Tries once more after status 429 or 5xx. Raises EndpointError."""
        body = json.dumps({"model": self.model, **request}).encode()
        status, wait, data = self._post(body)
        if status == 429 or status >= 500:
            time.sleep(wait)
            status, _, data = self._post(body)
        if 300 <= status < 400:
            raise EndpointError(f"{self.host}: redirects elsewhere; name the address that answers itself")
        if status != 200:
            hint = _HINTS.get(status, "try again later" if status == 429 or status >= 500 else "")
            hint = hint.format(key=self.key)
            line = f"{self.host}: refused with status {status}" + (f"; {hint}" if hint else "")
            raise EndpointError(line, status)
        if len(data) > MAX_ANSWER:
            raise EndpointError(f"{self.host}: the answer is longer than {MAX_ANSWER} bytes")
        try:
            message: dict[str, Any] = read_as(dict[str, Any], parse(data)["choices"][0]["message"])
        except (ValueError, LookupError, TypeError):
            raise EndpointError(f"{self.host}: the answer must be a chat completion in JSON") from None
        return message

    def _post(self, body: bytes) -> tuple[int, float, bytes]:
        """(status, seconds to wait before another try, at most MAX_ANSWER + 1 bytes of the answer)."""
        parts, headers = urlsplit(self.url), self._headers()
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=self.timeout)
        late = threading.Event()
        timer: threading.Timer | None = None
        try:
            connection.connect()
            # A socket's own timeout begins anew with each byte; this one ends the request as a whole.
            timer = threading.Timer(self.timeout, _cut, (connection.sock, late))
            timer.daemon = True
            timer.start()
            connection.request("POST", parts.path.rstrip("/").removesuffix(_PATH) + _PATH, body, headers)
            response = connection.getresponse()
            data = response.read(MAX_ANSWER + 1)
            if late.is_set():
                raise TimeoutError
            return response.status, self._wait(response.getheader("Retry-After")), data
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise EndpointError(f"{self.host}: no answer within {self.timeout:g} seconds") from None
            raise EndpointError(f"{self.host}: cannot be reached ({type(error).__name__})") from None
        finally:
            if timer is not None:
                timer.cancel()
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "gamer"}
        key = os.environ.get(self.key, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EndpointError(f"{self.key} holds characters that no key has")
        return headers | ({"Authorization": f"Bearer {key}"} if key else {})

    def _wait(self, retry_after: str | None) -> float:
        asked = float(retry_after) if retry_after and retry_after.isdecimal() else 0.0
        return min(max(self.backoff, asked), MAX_BACKOFF)


def words_of(message: Mapping[str, Any]) -> str:
    """A message's words; of content in parts, its texts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        content = "\n".join(part for part in parts if isinstance(part, str))
    text = content if isinstance(content, str) else ""
    return text.encode("utf-8", "replace").decode()  # JSON may hold half a surrogate pair


def _cut(connected: socket.socket, late: threading.Event) -> None:
    late.set()
    with suppress(OSError):  # it may have ended by itself
        # Of the plain socket: an encrypted one would first take its own state apart under the reader.
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
