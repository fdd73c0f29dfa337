"""Error responses: one JSON object, with one line that tells the user what to do.

They are RFC 9457 problems, but under /v1/, where clients of OpenAI's API ask, they have the shape that those
read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"
OPENAI = "/v1/"
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


@dataclass(frozen=True)
class Problem:
    """The body of an error response.

    `title`: the status in words. `detail`: what is wrong and what to do. `type` is always about:blank: no
    error has a meaning beyond its status.
    """

    type: str
    title: str
    status: int
    detail: str


@dataclass(frozen=True)
class OpenAIError:
    """`type`: the kind of error. `param`, `code`: always null, since the message says it all."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


@dataclass(frozen=True)
class OpenAIProblem:
    """The body of an error response under /v1/."""

    error: OpenAIError


@dataclass(frozen=True)
class Refusal:
    """An error response before it is known which shape its client reads."""

    status: int
    detail: str
    headers: Mapping[str, str] | None = None

    def response(self, path: str) -> Response:
        """The response to a request of `path`. OpenAI's API has 400 for what is 422 elsewhere."""
        if not path.startswith(OPENAI):
            return problem(self.status, self.detail, self.headers)
        status = 400 if self.status == 422 else self.status
        body = json.dumps(asdict(openai_problem(status, self.detail)))
        return Response(body, status, dict(self.headers or {}), "application/json")


def openai_problem(status: int, detail: str) -> OpenAIProblem:
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return OpenAIProblem(OpenAIError(one_line(detail), kind))


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    body = json.dumps(asdict(Problem("about:blank", HTTPStatus(status).phrase, status, one_line(detail))))
    return Response(body, status, dict(headers or {}), MEDIA_TYPE)


def without_folder(text: str, path: Path) -> str:
    """`text` with the file's name alone wherever it names `path`: folders must not leave this machine."""
    return text.replace(str(path.resolve()), path.name).replace(str(path), path.name)


def one_line(detail: str) -> str:
    """At most 500 characters, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in detail).split())[:500]
