"""Error responses: one JSON object, with one line that tells the user what to do.

They are RFC 9457 problems, but under /v1/, where clients of OpenAI's API ask, they have the shape that those
read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

# A schema is then built once, and not for each error of each route: nearly half of the time of create_app.
from pydantic.dataclasses import dataclass as model
from starlette.exceptions import HTTPException
from starlette.responses import Response

from gamer.index.errors import GamerError

from ... import texts
from ..words import say

MEDIA_TYPE = "application/problem+json"
OPENAI = "/v1/"
Values = Mapping[str, str | int]
Problems = dict[int | str, dict[str, Any]]
FAILED = "the server failed; its terminal says why"
_log = logging.getLogger(__name__)
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@model(frozen=True)
class Problem:
    """The body of an error response.

    `title`: the status in words. `detail`: what is wrong and what to do, in English. `code` and `given`: of
    the page's message for it, `problem.CODE`; "" where it has none. `type` is always about:blank: no error
    has a meaning beyond its status.
    """

    type: str
    title: str
    status: int
    detail: str
    code: str = ""
    given: Values = field(default_factory=dict)


@dataclass(frozen=True)
class OpenAIError:
    """`type`: the kind of error. `param`, `code`: always null, since the message says it all."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


@model(frozen=True)
class OpenAIProblem:
    """The body of an error response under /v1/."""

    error: OpenAIError


@dataclass(frozen=True)
class Refusal:
    """An error response before it is known which shape its client reads."""

    status: int
    detail: str
    headers: Mapping[str, str] | None = None
    code: str = ""
    given: Values = field(default_factory=dict)

    def response(self, path: str) -> Response:
        """The response to a request of `path`. OpenAI's API has 400 for what is 422 elsewhere."""
        if not path.startswith(OPENAI):
            said = one_line(self.detail)
            title = HTTPStatus(self.status).phrase
            given = {
                key: one_line(text) if isinstance(text, str) else text for key, text in self.given.items()
            }
            body = json.dumps(asdict(Problem("about:blank", title, self.status, said, self.code, given)))
            return Response(body, self.status, dict(self.headers or {}), MEDIA_TYPE)
        status = 400 if self.status == 422 else self.status
        body = json.dumps(asdict(openai_problem(status, self.detail)))
        return Response(body, status, dict(self.headers or {}), "application/json")


class Refused(HTTPException):
    """An error that the page says in its language, by the message `problem.CODE` with the values `given`."""

    def __init__(
        self, status: int, code: str, headers: Mapping[str, str] | None = None, **given: str | int
    ) -> None:
        super().__init__(status, say("en", f"problem.{code}", **given), headers)
        self.refusal = Refusal(status, self.detail, headers, code, given)

    def __str__(self) -> str:
        return self.detail


def openai_problem(status: int, detail: str) -> OpenAIProblem:
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return OpenAIProblem(OpenAIError(one_line(detail), kind))


def problems(*codes: int) -> Problems:
    """The error responses of a route, for the schema: those of every one, and those of the given statuses."""
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    response = {"model": Problem, "content": {MEDIA_TYPE: schema}}
    return {code: dict(response) for code in (400, 403, 414, 421, 422, 429, 500, *codes)}


def end_of(what: str, error: Exception, album: Path) -> str:
    """What to say of an error that ends an answer which has begun; one of the program itself is logged."""
    if isinstance(error, GamerError):
        return one_line(without_folder(str(error), album))
    _log.error("%s failed", what, exc_info=error)
    return FAILED


def without_folder(text: str, path: Path) -> str:
    """`text` with the file's name alone wherever it names `path`: folders must not leave this machine."""
    return text.replace(str(path.resolve()), path.name).replace(str(path), path.name)


def one_line(detail: str) -> str:
    """At most 500 characters, without control characters."""
    return texts.one_line(detail, 500)
