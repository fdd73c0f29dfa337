"""Connections that are opened and say nothing, or too little: they end, and others are served meanwhile."""

from __future__ import annotations

import contextlib
import http.client
import logging
import socket
import time
import urllib.request

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from gamer.bench.serving import serving
from gamer.runtime.serve.server import listen


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("served")(scope, receive, send)


def ask(address: str) -> str:
    with urllib.request.urlopen(address + "/", timeout=5) as response:
        return str(response.read().decode())


def ended(connection: socket.socket, within: float) -> bool:
    """Whether the server closes the connection within so many seconds."""
    connection.settimeout(within)
    try:
        return connection.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "])
def test_a_connection_without_complete_headers_is_closed_and_a_request_is_served(
    monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(listen, "HEADER_SECONDS", 0.3)
    with serving(app) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as silent:
            silent.sendall(sent)
            assert ask(address) == "served"
            assert ended(silent, within=10)


def test_headers_that_come_one_byte_at_a_time_do_not_extend_their_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listen, "HEADER_SECONDS", 0.3)
    with serving(app) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as slow:
            for _ in range(200):
                with contextlib.suppress(ConnectionError):
                    slow.sendall(b"G")
                time.sleep(0.02)
                if ended(slow, within=0.01):
                    return
    raise AssertionError("a connection that never ends its headers was kept for 4 s")


def test_a_client_may_hold_only_so_many_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "CONNECTIONS_A_CLIENT", 4)
    with serving(app) as address, contextlib.ExitStack() as stack:
        host, port = address.removeprefix("http://").split(":")
        held = [stack.enter_context(socket.create_connection((host, int(port)))) for _ in range(12)]
        closed = [ended(connection, within=0.5) for connection in held]
        assert closed.count(False) == 4
        for connection in held:
            connection.close()
        time.sleep(0.2)
        assert ask(address) == "served"


def test_one_connection_serves_one_request_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listen, "HEADER_SECONDS", 1.0)
    with serving(app) as address:
        client = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
        for _ in range(3):
            client.request("GET", "/")
            assert client.getresponse().read() == b"served"
            time.sleep(0.6)
        client.close()


def test_a_warning_that_strangers_cause_is_said_once_a_minute() -> None:
    now = [0.0]
    seldom = listen.Seldom(lambda: now[0])

    def shown(text: str, level: int = logging.WARNING) -> bool:
        return seldom.filter(logging.LogRecord("uvicorn.error", level, "", 0, text, None, None))

    assert [shown("Invalid HTTP request received.") for _ in range(3)] == [True, False, False]
    assert shown("another warning")
    assert [shown("a failure", logging.ERROR) for _ in range(2)] == [True, True]
    now[0] = 61.0
    assert shown("Invalid HTTP request received.")
