"""The server compared with its own OpenAPI schema: schemathesis makes valid and invalid requests, and checks
every answer against the schema.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from gamer.bench.serving import serving
from gamer.index import Album
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import SCHEMA, create_app
from gamer.runtime.serve.server.settings import ServerSettings
from tests.runtime.serve.conftest import NO_LIMIT

pytestmark = pytest.mark.slow
OPERATIONS = (
    ("post", "/api/v1/search"),
    ("get", "/api/v1/similar"),
    ("post", "/api/v1/ask"),
    ("get", "/api/v1/stats"),
    ("get", "/api/v1/overview"),
    ("get", "/api/v1/timeline"),
    ("get", "/api/v1/photos"),
    ("get", "/api/v1/titles"),
    ("get", "/api/v1/people"),
    ("get", "/api/v1/people/{person}"),
    ("delete", "/api/v1/people/{person}"),
    ("put", "/api/v1/people/{person}/name"),
    ("post", "/api/v1/people/{person}/merged"),
    ("post", "/api/v1/people/{person}/split"),
    ("get", "/api/v1/faces/{face}"),
    ("get", "/api/v1/uploads"),
    ("post", "/api/v1/uploads"),
    ("get", "/api/v1/albums"),
    ("post", "/api/v1/favourites"),
    ("post", "/api/v1/exports"),
    ("get", "/api/v1/collections"),
    ("post", "/api/v1/collections"),
    ("put", "/api/v1/collections/{key}"),
    ("delete", "/api/v1/collections/{key}"),
    ("get", "/api/v1/exports/{key}/photos.zip"),
    ("get", "/api/v1/exports/{key}/photos.txt"),
    ("get", "/api/v1/photos/{row}"),
    ("post", "/api/v1/photos/{row}/opened"),
    ("get", "/api/v1/photos/{row}/thumbnail"),
    ("get", "/api/v1/photos/{row}/image"),
    ("get", "/api/v1/photos/{row}/motion"),
    ("post", "/api/v1/chat"),
    ("get", "/api/v1/memories"),
    ("post", "/api/v1/memories"),
    ("get", "/api/v1/memories/{memory}"),
    ("patch", "/api/v1/memories/{memory}"),
    ("delete", "/api/v1/memories/{memory}"),
    ("get", "/api/v1/health"),
    ("post", "/api/v1/session"),
    ("get", "/v1/models"),
    ("post", "/v1/chat/completions"),
)


@pytest.fixture(scope="module")
def promised(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The schema of a server with a copy of the sample album, to which memories are added."""
    path = tmp_path_factory.mktemp("fuzzed") / "album.gamer"
    shutil.copy(engine.album.path, path)
    with Album.open(path) as album:
        app = create_app(Engine(engine.models, album), ServerSettings(rate=NO_LIMIT))
        with serving(app) as address:
            yield schemathesis.openapi.from_url(address + SCHEMA)


def test_every_route_is_in_the_schema_and_in_the_list_to_fuzz(promised: Any) -> None:
    routes = {(method, path) for path, methods in promised.raw_schema["paths"].items() for method in methods}
    assert routes == set(OPERATIONS)


@pytest.mark.parametrize(
    ("method", "path", "mode"),
    [
        *((method, path, GenerationMode.POSITIVE) for method, path in OPERATIONS),
        *(
            (method, path, GenerationMode.NEGATIVE)
            for method, path in OPERATIONS
            if any(
                part in path
                for part in (
                    "search",
                    "similar",
                    "ask",
                    "photos",
                    "memories",
                    "timeline",
                    "titles",
                    "people/",
                    "faces",
                    "favourites",
                    "exports",
                    "collections/",
                )
            )
        ),
    ],
)
def test_every_answer_follows_the_schema(promised: Any, method: str, path: str, mode: GenerationMode) -> None:
    operation = promised[path][method.upper()]

    @settings(
        max_examples=60,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def fuzz(case: Any) -> None:
        if isinstance(case.body, dict) and case.body.get("refine") == "llm":
            case.body["refine"] = "fast"  # the language model takes a second a query, and has its own tests
        if isinstance(case.body, dict) and "completions" in path:
            case.body |= {"max_tokens": 1, "max_completion_tokens": 1, "stream": False}
        answer = case.call(timeout=60)
        # A body or an address beyond the server's bound is refused before it is read: with statuses of the
        # schema that the check does not know. That the user has the last word of a dialogue is more than a
        # schema can say; so is how many bytes a memory's text has, and which kinds need a key.
        unaware = {413: [negative_data_rejection], 414: [negative_data_rejection]}
        if "completions" in path:
            unaware[400] = [positive_data_acceptance]
        if "memories" in path:
            unaware[422] = [positive_data_acceptance]
        case.validate_response(answer, excluded_checks=unaware.get(answer.status_code, []))

    fuzz()
