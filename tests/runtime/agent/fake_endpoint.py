"""A made-up chat endpoint on the loopback interface that keeps its traffic, and tasks that ask it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from gamer.index import image_id
from gamer.runtime.agent import loop
from gamer.runtime.agent.loop import Budget, End, Outcome
from gamer.runtime.agent.openai_mind import OpenAiMind
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.models.language.endpoint import Endpoint
from gamer.runtime.search.engine import Engine

SECRET = "sk-the-key-of-the-test"
AMPLE = Budget()
Reply = Callable[[BaseHTTPRequestHandler], None]


def says(content: str | None = None, *calls: tuple[str, Any]) -> Reply:
    """A completion with words, calls or both; arguments that are no text are written as JSON."""
    wishes = [
        {
            "id": f"c{at}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for at, (name, given) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content} | ({"tool_calls": wishes} if wishes else {})
    return raw(json.dumps({"choices": [{"message": message}]}).encode())


def raw(body: bytes, status: int = 200, **headers: str) -> Reply:
    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return reply


def drips(handler: BaseHTTPRequestHandler) -> None:
    """An answer that never ends: a byte at a time, so that no single read is late."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def silent(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(3)


@dataclass
class Fake:
    """Answers requests in turn, the last reply again and again. `requests`: head and body of each."""

    url: str = ""
    replies: Sequence[Reply] = ()
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def traffic(self) -> str:
        return "\n".join(
            path + json.dumps(head) + json.dumps(body, ensure_ascii=False)
            for path, head, body in self.requests
        )

    def told(self) -> list[str]:
        """What the tools answered, as the model was shown it in the last request."""
        return [m["content"] for m in self.requests[-1][2]["messages"] if m["role"] == "tool"]


FINAL = f"The final answer is: [{image_id('harbour')}, {image_id('boat')}]"


@contextmanager
def serving() -> Iterator[Fake]:
    state = Fake()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            state.requests.append((self.path, dict(self.headers), body))
            reply = state.replies[min(len(state.requests), len(state.replies)) - 1]
            with suppress(OSError):  # a client that hangs up, as it should
                reply(self)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    state.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    yield state
    server.shutdown()
    server.server_close()


def solve(
    engine: Engine,
    fake: Fake,
    *replies: Reply,
    end: End = "set",
    question: str = "where are the boats?",
    budget: Budget = AMPLE,
    context: int = 8_192,
    timeout: float = 20.0,
) -> Outcome:
    fake.replies = replies
    toolbox = Toolbox(engine, leaving=True)
    mind = OpenAiMind(toolbox, Endpoint(fake.url, "small", timeout, backoff=0.01), context)
    return loop.run(mind, toolbox, question, end, budget)
