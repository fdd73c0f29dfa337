"""Error responses as RFC 9457 problems: one JSON object, with one line that tells the user what to do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from http import HTTPStatus

from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


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


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    text = " ".join("".join(c if c.isprintable() else " " for c in detail).split())[:500]
    body = json.dumps(asdict(Problem("about:blank", HTTPStatus(status).phrase, status, text)))
    return Response(body, status, dict(headers or {}), MEDIA_TYPE)
