"""An endpoint that is away, slow, wrong or hostile ends a task with one line; nobody else is told the key."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from gamer.runtime.agent.loop import Outcome
from gamer.runtime.agent.openai_mind import OpenAiMind
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.language.endpoint import KEY, MAX_ANSWER, Endpoint, EndpointError
from gamer.runtime.search.engine import Engine
from tests.paths import ROOT
from tests.runtime.agent.fake_endpoint import (
    FINAL,
    SECRET,
    Fake,
    Reply,
    drips,
    raw,
    says,
    silent,
    solve,
)
from tests.runtime.agent.leaving.secrets_album import engine_in
from tests.test_architecture import imports


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_in(tmp_path_factory.mktemp("album")) as opened:
        yield opened


def _keeps_the_trace(outcome: Outcome, line: str) -> None:
    assert line in outcome.ended
    assert "\n" not in outcome.ended
    assert len(outcome.steps) == 1
    assert outcome.photos
    assert not outcome.answer.found


FIRST = says("look", ("filter", {}))


@pytest.mark.parametrize(
    ("reply", "line"),
    [
        (raw(b"<html>hello"), "must be a chat completion"),
        (raw(b'{"choices": []}'), "must be a chat completion"),
        (raw(b"[" * 100_000), "must be a chat completion"),
        (raw(b"\xff\xfe"), "must be a chat completion"),
        (raw(b'{"choices": [{"message": "' + b"x" * (MAX_ANSWER + 9) + b'"}]}'), f"longer than {MAX_ANSWER}"),
        (says(None, ("search", {"text": "x" * 10_000_000})), f"longer than {MAX_ANSWER}"),
        (raw(b"", 302, Location="http://127.0.0.1:9/elsewhere"), "redirects elsewhere"),
        (raw(SECRET.encode(), 401), f"status 401; check {KEY}"),
        (raw(SECRET.encode(), 400), "status 400"),
        (raw(b"", 404), "the model's name"),
    ],
)
def test_a_useless_answer_ends_the_task_with_one_line(
    engine: Engine, fake: Fake, monkeypatch: pytest.MonkeyPatch, reply: Reply, line: str
) -> None:
    monkeypatch.setenv(KEY, SECRET)
    outcome = solve(engine, fake, FIRST, reply)
    _keeps_the_trace(outcome, line)
    assert SECRET not in outcome.ended
    assert len(fake.requests) == 2


@pytest.mark.parametrize("reply", [drips, silent])
def test_a_slow_endpoint_ends_the_task_in_time(engine: Engine, fake: Fake, reply: Reply) -> None:
    began = time.monotonic()
    _keeps_the_trace(solve(engine, fake, FIRST, reply, timeout=0.6), "no answer within 0.6 seconds")
    assert time.monotonic() - began < 8


def test_an_endpoint_that_is_away_ends_the_task(engine: Engine, fake: Fake) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        fake.url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    outcome = solve(engine, fake, FIRST)
    assert "cannot be reached" in outcome.ended
    assert outcome.steps == ()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_endpoint_is_asked_once_more(engine: Engine, fake: Fake, status: int) -> None:
    outcome = solve(engine, fake, FIRST, raw(b"", status), says(FINAL))
    assert outcome.ended == "answer"
    assert len(fake.requests) == 3
    fake.requests.clear()
    _keeps_the_trace(solve(engine, fake, FIRST, raw(b"", status)), f"status {status}; try again later")
    assert len(fake.requests) == 3


# The key and the address


def test_the_key_is_in_no_error_log_or_representation(
    engine: Engine, fake: Fake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(KEY, SECRET + "\nX-Other: 1")
    outcome = solve(engine, fake, says(FINAL))
    assert "no key has" in outcome.ended
    assert SECRET not in outcome.ended
    assert not fake.requests
    monkeypatch.setenv(KEY, SECRET)
    outcome = solve(engine, fake, FIRST, says(FINAL))
    toolbox = Toolbox(engine, leaving=True)
    assert SECRET not in caplog.text + repr(outcome) + repr(OpenAiMind(toolbox, Endpoint(fake.url, "m")))


def test_without_a_key_none_is_sent(engine: Engine, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # a proxy would see everything
    assert solve(engine, fake, says(FINAL)).ended == "answer"
    assert "Authorization" not in fake.requests[0][1]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:1234",
        "file:///etc/passwd",
        "ftp://host/v1",
        "http://",
        "http://user:pass@host/v1",
        "http://host/v1?key=abc",
        "http://host:99999/v1",
        "http://host/\r\nX: 1",
        "http://[::1/v1",
    ],
)
def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(RuntimeFailure) as refused:
        Endpoint(url, "model")
    assert "pass" not in str(refused.value).replace("passwd", "")
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://localhost/v1/", True),
        ("http://[::1]:8080", True),
        ("https://example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("http://192.168.0.7/v1", False),
    ],
)
def test_an_address_says_whether_it_is_this_machine_s(url: str, local: bool) -> None:
    assert Endpoint(url, "model").is_local is local


def test_a_path_may_hold_the_whole_address(engine: Engine, fake: Fake) -> None:
    fake.url += "/chat/completions"
    assert solve(engine, fake, says(FINAL)).ended == "answer"
    assert fake.requests[0][0] == "/v1/chat/completions"


@pytest.mark.parametrize("model", ["", "  ", "x" * 201, "a\nb"])
def test_a_model_has_a_name(model: str) -> None:
    with pytest.raises(RuntimeFailure, match="name of the endpoint's model"):
        Endpoint("http://localhost/v1", model)


def test_an_error_of_the_endpoint_is_one_of_the_runtime() -> None:
    assert issubclass(EndpointError, RuntimeFailure)


NETWORK = {"http", "urllib", "socket", "ssl", "ftplib", "smtplib", "asyncio", "httpx", "requests", "aiohttp"}


def test_no_other_module_of_agents_indexing_or_models_can_reach_a_network() -> None:
    """So `web_search`, which is a name and a refusal, has nothing that it could ask."""
    reaching = {
        f"{path.parent.name}/{path.name}"
        for folder in ("agent", "indexing", "models")
        for path in (ROOT / "runtime" / folder).rglob("*.py")
        if any(level == 0 and name.split(".")[0] in NETWORK for name, level in imports(path))
    }
    assert reaching == {"language/endpoint.py"}
