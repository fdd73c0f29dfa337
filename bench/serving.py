"""Runs the real server in a thread, for measurements and tests of what is served."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp

from gamer.runtime.serve.server.listen import server
from gamer.runtime.serve.server.settings import bind


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Runs the real server on a free port of 127.0.0.1; gives its address without a slash at the end."""
    listener = bind("127.0.0.1", 0)
    http_server = server(app)
    thread = threading.Thread(target=http_server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        while not http_server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        http_server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()
