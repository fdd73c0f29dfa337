"""The configuration of uvicorn."""

from __future__ import annotations

import uvicorn
from starlette.types import ASGIApp

GRACE_SECONDS = 5  # for requests in progress when the server is stopped


def server(app: ASGIApp) -> uvicorn.Server:
    """A server for HTTP/1.1 only, with every limit that uvicorn offers set."""
    config = uvicorn.Config(
        app,
        http="h11",
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
    return uvicorn.Server(config)
