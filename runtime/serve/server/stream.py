"""A response whose body is made by a thread, sent as it comes, and ended when the client goes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Any

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from anyio.streams.memory import MemoryObjectReceiveStream
from pydantic import TypeAdapter
from starlette.responses import JSONResponse
from starlette.types import Message, Receive, Scope, Send

NDJSON = "application/x-ndjson"
Tell = Callable[[bytes], None]
# What makes a body: it tells each part, and returns soon after the event is set that the client has gone.
Work = Callable[[Tell, threading.Event], None]
# The same of lines, which it tells as objects.
LineWork = Callable[[Callable[[Any], None], threading.Event], None]


class WorkStream(JSONResponse):
    """Sends the parts that `work` tells from a thread, as they come.

    The status is sent with the first part, so that an error before it has a status of its own. Being a
    JSONResponse, it has its parts' model in the OpenAPI schema. Starlette's StreamingResponse is not used,
    since it does not notice that the client has gone while a step takes long.
    """

    def __init__(
        self, work: Work, threads: CapacityLimiter, status_code: int = 200, media_type: str | None = None
    ) -> None:
        super().__init__(None, status_code, media_type=media_type)
        del self.headers["content-length"]
        self._work, self._threads = work, threads

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone, failures = threading.Event(), list[Exception]()
        sender, parts = anyio.create_memory_object_stream[bytes](inf)
        events = asyncio.get_running_loop()

        def put(part: bytes) -> None:
            if not gone.is_set():
                sender.send_nowait(part)

        def tell(part: bytes) -> None:
            # Does not wait for the event loop, which may have ended with the server.
            with suppress(RuntimeError):
                events.call_soon_threadsafe(put, part)

        async def work() -> None:
            with sender:
                try:
                    await anyio.to_thread.run_sync(self._work, tell, gone, limiter=self._threads)
                except Exception as error:
                    failures.append(error)  # raised below: a task group would wrap it

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()
            group.cancel_scope.cancel()

        try:
            async with anyio.create_task_group() as group:
                group.start_soon(work)
                group.start_soon(watch)
                try:
                    await self._send(parts, send)
                finally:
                    gone.set()
                    group.cancel_scope.cancel()
        finally:
            parts.close()
        if failures:
            raise failures[0]

    async def _send(self, parts: MemoryObjectReceiveStream[bytes], send: Send) -> None:
        started = False
        async for part in parts:
            if not started:
                await send(
                    {
                        "type": "http.response.start",
                        "status": self.status_code,
                        "headers": self.raw_headers,
                    }
                )
                started = True
            await send(_body(part, more=True))
        if started:
            await send(_body(b"", more=False))


class LineStream(WorkStream):
    """Sends the lines of JSON that `work` tells from a thread, as they come; the last one ends the answer."""

    media_type = NDJSON

    def __init__(
        self,
        work: LineWork,
        threads: CapacityLimiter,
        line: TypeAdapter[Any],
    ) -> None:
        def lines(tell: Tell, gone: threading.Event) -> None:
            work(lambda said: tell(line.dump_json(said) + b"\n"), gone)

        super().__init__(lines, threads)


def _body(data: bytes, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}
