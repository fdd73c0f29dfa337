"""/api/v1/uploads: takes a file from the page, and says how far the indexing of what came is.

The body is read here, a piece at a time: the Guard lets it through unread.
"""

from __future__ import annotations

from typing import Annotated

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import FastAPI, Query, Request
from starlette.requests import ClientDisconnect

from ..uploads import AT_ONCE, Receipt, UploadRefused, Uploads
from ..views import Uploaded, UploadState
from .guard import UPLOADS
from .problem import Refused, problems

PIECE_SECONDS = 10.0  # until the next piece must have come
FILE_SECONDS = 900.0
PIECE = 1 << 20  # bytes that are written at once
NOTHING = UploadState(False, 0, (), "idle", 0, 0, 0, 0, 0, (), None)
FileName = Annotated[
    str, Query(min_length=1, max_length=1000, description="the file's name; reduced to a safe one")
]
_BODY = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}


def add_uploads(api: FastAPI, uploads: Uploads | None) -> None:
    """Adds the routes. `uploads`: None if the server takes no files."""
    threads = CapacityLimiter(AT_ONCE)

    @api.get(UPLOADS, tags=["uploads"])
    async def upload_state() -> UploadState:
        """Whether files are taken, how large they may be, and how far the last indexing is."""
        return NOTHING if uploads is None else uploads.state

    @api.post(
        UPLOADS,
        responses=problems(404, 408, 413, 415, 503, 507),
        openapi_extra={"requestBody": _BODY},
        tags=["uploads"],
    )
    async def upload(request: Request, name: FileName) -> Uploaded:
        """Saves one picture, whose bytes are the body, and has it indexed soon afterwards."""
        if uploads is None:
            raise Refused(404, "no_uploads")
        declared = request.headers.get("content-length")
        try:
            with uploads.receiving(name, None if declared is None else int(declared)) as receipt:
                await _receive(request, receipt, threads)
                kept = await anyio.to_thread.run_sync(receipt.keep, limiter=threads)
        except (TimeoutError, ClientDisconnect):
            raise UploadRefused(408, "file_late") from None
        uploads.saved()
        return kept


async def _receive(request: Request, receipt: Receipt, threads: CapacityLimiter) -> None:
    """Raises UploadRefused, TimeoutError, ClientDisconnect."""
    pieces, waiting = request.stream(), bytearray()
    with anyio.fail_after(FILE_SECONDS):
        while True:
            with anyio.fail_after(PIECE_SECONDS):
                piece = await anext(pieces, None)
            waiting += piece or b""
            if waiting and (piece is None or len(waiting) >= PIECE):
                await anyio.to_thread.run_sync(receipt.write, bytes(waiting), limiter=threads)
                waiting.clear()
            if piece is None:
                return
