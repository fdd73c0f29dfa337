"""The configuration of uvicorn, and the limits on connections that uvicorn does not have."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

GRACE_SECONDS = 5  # for requests in progress when the server is stopped
HEADER_SECONDS = 10.0  # from opening a connection, or from a request's first byte, to the end of its headers
REPEAT_SECONDS = 60.0  # between two warnings of the same words
CONNECTIONS_A_CLIENT = 32  # a browser opens six


class Seldom(logging.Filter):
    """Lets a warning through once in REPEAT_SECONDS: any stranger can cause it as often as they like."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock, self._last = clock, dict[str, float]()

    def filter(self, record: logging.LogRecord) -> bool:
        now, text = self._clock(), str(record.msg)
        shown = (
            record.levelno > logging.WARNING or now - self._last.get(text, -REPEAT_SECONDS) >= REPEAT_SECONDS
        )
        if shown:
            self._last[text] = now
        return shown


class LimitedConnection(H11Protocol):
    """A connection that is closed if its client sends no complete headers in time, or opens too many.

    Without these limits a client that connects and stays silent holds a place for as long as it likes, before
    any token is asked, and no place is left for others.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if self._of_same_client() > CONNECTIONS_A_CLIENT:
            transport.abort()
            return
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        self._set_deadline()
        super().data_received(data)
        if not self._awaits_headers():
            self._drop_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop_deadline()
        super().connection_lost(exc)

    def _of_same_client(self) -> int:
        address = self.client and self.client[0]
        clients = [getattr(other, "client", None) for other in self.connections]
        return sum(client is not None and client[0] == address for client in clients)

    def _awaits_headers(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _set_deadline(self) -> None:
        """Starts the time that the headers may take, unless it runs already."""
        if self._deadline is None and self._awaits_headers():
            self._deadline = asyncio.get_running_loop().call_later(HEADER_SECONDS, self.transport.abort)

    def _drop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def server(app: ASGIApp) -> uvicorn.Server:
    """A server for HTTP/1.1 only, with every limit that uvicorn offers set."""
    config = uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,  # queries are private
        server_header=False,
        proxy_headers=False,  # a header must not choose the client whose rate is limited
        limit_concurrency=128,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=32 << 10,
    )
    logging.getLogger("uvicorn.error").addFilter(Seldom())
    return uvicorn.Server(config)
