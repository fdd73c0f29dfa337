"""An engine over the photos of a module of tests, with made-up models."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gamer.runtime.search.engine import Engine
from tests.fakes import fake_models
from tests.runtime.agent.small_album import engine_over


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Over the module's PHOTOS, and its EVENTS if it has some."""
    folder, events = tmp_path_factory.mktemp("album"), getattr(request.module, "EVENTS", ())
    with engine_over(fake_models(), folder, request.module.PHOTOS, events) as opened:
        yield opened
