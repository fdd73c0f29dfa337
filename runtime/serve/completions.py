"""POST /v1/chat/completions and GET /v1/models: the bundle's language model behind OpenAI's chat API.

What a client may ask is a part of that API; any other field is refused, so that nothing is ignored in
silence. An answer is generated in a thread of its own small pool, one at a time, and ends when the client
has gone.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from anyio import CapacityLimiter
from fastapi import FastAPI, HTTPException
from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from ..errors import BundleError, RuntimeFailure
from ..models.language.chat import MAX_NEW, MAX_TEXT, Chat, Message, Role, Wish
from ..models.language.llm import Generation, Piece
from ..models.language.sampling import Sampling
from .server.guard import CHAT
from .server.problem import FAILED, OpenAIProblem, openai_problem
from .server.stream import Tell, WorkStream
from .views import Body, number

if TYPE_CHECKING:
    from ..models.models import Models

MODELS = "/v1/models"
WAITING = 4  # requests that hold a thread; one of them is answered, the others wait for it
MAX_MESSAGES = 1_000
EVENTS = "text/event-stream"
_FINISHED = {"end": "stop", "stop": "stop"}  # any other end is one of room: "length"
_log = logging.getLogger(__name__)


def only(default: object) -> BeforeValidator:
    """Takes a setting's default, which clients send unasked, and refuses what would change the answer."""

    def check(value: object) -> object:
        if value is None or value == default:
            return value
        said = json.dumps(value)[:60]
        raise PydanticCustomError(
            "unsupported",
            "this server cannot do {said}: leave it out, or give {default}",
            {"said": said, "default": json.dumps(default)},
        )

    return BeforeValidator(check)


Text = Annotated[str, Field(max_length=MAX_TEXT)]
StopText = Annotated[str, Field(min_length=1, max_length=200)]
Count = Annotated[int, Field(ge=1, le=1 << 17), BeforeValidator(number)]


class TextPart(Body):
    type: Literal["text"]
    text: Text


class ChatMessage(Body):
    """`content`: a text, or parts of one. `name`: who speaks; not told to the model."""

    role: Literal["system", "developer", "user", "assistant"]
    content: Text | Annotated[list[TextPart], Field(min_length=1, max_length=100)]
    name: Annotated[str, Field(max_length=100)] | None = None

    def message(self) -> Message:
        role: Role = "system" if self.role == "developer" else self.role
        parts = self.content
        return Message(role, parts if isinstance(parts, str) else "".join(part.text for part in parts))


class StreamOptions(Body):
    include_usage: bool = False


class ChatRequest(Body):
    """`model`: one that GET /v1/models names, or none. `seed`: without one, one is drawn.

    `max_completion_tokens` is the newer name of `max_tokens`. `user` is not used. The penalties, `n` and
    `logprobs` take OpenAI's defaults alone.
    """

    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=MAX_MESSAGES)]
    model: Annotated[str, Field(max_length=500)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    temperature: Annotated[float, Field(ge=0, le=2), BeforeValidator(number)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1), BeforeValidator(number)] | None = None
    stop: StopText | Annotated[list[StopText], Field(max_length=16)] | None = None
    seed: Annotated[int, Field(ge=0, lt=1 << 63), BeforeValidator(number)] | None = None
    stream: bool = False
    stream_options: StreamOptions | None = None
    n: Annotated[Literal[1] | None, only(1)] = None
    frequency_penalty: Annotated[float | None, only(0)] = None
    presence_penalty: Annotated[float | None, only(0)] = None
    logprobs: Annotated[bool | None, only(False)] = None
    user: Annotated[str, Field(max_length=500)] | None = None

    def wish(self) -> Wish:
        stop = [self.stop] if isinstance(self.stop, str) else self.stop or []
        seed = secrets.randbelow(1 << 63) if self.seed is None else self.seed
        sampling = Sampling(self.temperature or 0.0, 0, self.top_p or 1.0, seed)
        return Wish(self.max_completion_tokens or self.max_tokens or MAX_NEW, sampling, tuple(stop))


@dataclass(frozen=True)
class ChatTurn:
    content: str
    role: Literal["assistant"] = "assistant"


@dataclass(frozen=True)
class Choice:
    """`finish_reason`: "stop" if the model or a stop string ended it, "length" if there was no more room."""

    message: ChatTurn
    finish_reason: str
    index: int = 0
    logprobs: None = None


@dataclass(frozen=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


@dataclass(frozen=True)
class Completion:
    """The response, or with `stream` the sum of its events."""

    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: Usage
    object: Literal["chat.completion"] = "chat.completion"


@dataclass(frozen=True)
class ModelCard:
    """`id`: the source of the weights, and an adapter's name after a colon.

    `created`: 0, since a bundle does not say when it was made.
    """

    id: str
    created: int = 0
    object: Literal["model"] = "model"
    owned_by: Literal["gamer"] = "gamer"


@dataclass(frozen=True)
class ModelList:
    data: tuple[ModelCard, ...]
    object: Literal["list"] = "list"


@dataclass(frozen=True)
class _Answering:
    """What every part of one answer says."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(12)}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, done: Generation) -> bytes:
        choice = Choice(ChatTurn(done.text), _finish(done))
        completion = Completion(self.id, self.created, self.model, (choice,), _usage(done))
        return json.dumps(asdict(completion)).encode()

    def event(self, delta: dict[str, str], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return self._chunk({"choices": [choice]})

    def usage(self, done: Generation) -> bytes:
        return self._chunk({"choices": [], "usage": asdict(_usage(done))})

    def _chunk(self, rest: dict[str, Any]) -> bytes:
        head = {"id": self.id, "object": "chat.completion.chunk", "created": self.created}
        return _event(head | {"model": self.model} | rest)


class Service:
    """The language model of one bundle. `wanted` raises HTTPException 404 if it cannot be talked to."""

    def __init__(self, models: Models) -> None:
        self._models = models

    @cached_property
    def chat(self) -> Chat:
        return Chat(self._models)

    @cached_property
    def chats(self) -> dict[str, Chat]:
        """By name: the model as it is first, then with each of its adapters, as MODEL:ADAPTER."""
        adapted = [Chat(self._models, name) for name in self._models.adapters]
        return {chat.name: chat for chat in (self.chat, *adapted)}

    def wanted(self, model: str | None = None) -> Chat:
        if self._models.manifest.language is None:
            raise HTTPException(404, "the bundle has no language model: serve one that has")
        if not self.chat.has_template:
            raise HTTPException(404, "the bundle's language model has no chat template: export it again")
        if model is None:
            return self.chat
        if model not in self.chats:
            raise HTTPException(
                404, f"no model {model!r}: this server has {', '.join(map(repr, self.chats))}"
            )
        return self.chats[model]


def add_chat(api: FastAPI, models: Models) -> None:
    """Adds both routes. Without a language model that reads dialogues they give 404."""
    threads, service = CapacityLimiter(WAITING), Service(models)
    codes = (400, 401, 403, 404, 408, 413, 414, 421, 422, 429, 500, 503)
    problems: dict[int | str, dict[str, Any]] = {code: {"model": OpenAIProblem} for code in codes}

    @api.get(MODELS, responses=problems, tags=["language model"])
    async def list_models() -> ModelList:
        """The bundle's language model, and the same with each of its adapters."""
        service.wanted()
        return ModelList(tuple(ModelCard(name) for name in service.chats))

    @api.post(
        CHAT,
        status_code=200,
        response_class=WorkStream,
        response_model=Completion,
        responses=problems,
        tags=["language model"],
    )
    async def complete_chat(asked: ChatRequest) -> WorkStream:
        """The model's answer to a dialogue, as OpenAI's API gives it; with `stream`, in events."""
        chat = service.wanted(asked.model)
        work = partial(_stream if asked.stream else _whole, chat, asked)
        return WorkStream(work, threads, media_type=EVENTS if asked.stream else None)


def _whole(chat: Chat, asked: ChatRequest, tell: Tell, gone: threading.Event) -> None:
    done = chat.generate(_ids(chat, asked), asked.wish(), cancel=gone)
    tell(_Answering(chat.name).whole(done))


def _stream(chat: Chat, asked: ChatRequest, tell: Tell, gone: threading.Event) -> None:
    """Tells an event for each piece. Raises only what goes wrong before the first."""
    answer, begun = _Answering(chat.name), False

    def begin() -> None:
        nonlocal begun
        if not begun:
            tell(answer.event({"role": "assistant", "content": ""}))
        begun = True

    def piece(said: Piece) -> None:
        begin()
        if said.text:
            tell(answer.event({"content": said.text}))

    try:
        done = chat.generate(_ids(chat, asked), asked.wish(), piece, gone)
    except Exception as error:
        if not begun:  # no status has been sent: the error handlers give one
            raise
        tell(_event(asdict(_failed(error))))
        return
    begin()
    tell(answer.event({}, _finish(done)))
    if asked.stream_options is not None and asked.stream_options.include_usage:
        tell(answer.usage(done))
    tell(b"data: [DONE]\n\n")


def _ids(chat: Chat, asked: ChatRequest) -> tuple[int, ...]:
    return chat.ids([message.message() for message in asked.messages])


def _failed(error: Exception) -> OpenAIProblem:
    if isinstance(error, RuntimeFailure):
        return openai_problem(503 if isinstance(error, BundleError) else 400, str(error))
    _log.error("an answer failed", exc_info=error)
    return openai_problem(500, FAILED)


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def _finish(done: Generation) -> str:
    return _FINISHED.get(done.ended, "length")


def _usage(done: Generation) -> Usage:
    return Usage(done.prompt_tokens, len(done.ids), done.prompt_tokens + len(done.ids))
