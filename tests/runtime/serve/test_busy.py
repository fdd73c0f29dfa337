"""A server that searches still answers: searches run off the event loop."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from gamer.bench.serving import serving
from gamer.index import Album
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.server.settings import ServerSettings
from tests.albums import built, note
from tests.fakes import fake_models
from tests.runtime.serve.conftest import NO_LIMIT


def test_health_answers_while_a_search_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = built(tmp_path, [{"id": "a.jpg", "memories": note("the harbour")}])
    begun, may_end, statuses = threading.Event(), threading.Event(), list[int]()

    def heavy(self: Engine, *arguments: Any, **options: Any) -> Any:
        begun.set()
        assert may_end.wait(60)
        raise ValueError("this search finds nothing")

    monkeypatch.setattr(Engine, "search", heavy)
    engine = Engine(fake_models(), Album.open(path))
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:

        def search() -> None:
            asked = urllib.request.Request(
                f"{address}/api/v1/search",
                b'{"query": "harbour"}',
                {"Content-Type": "application/json", "Origin": address},
            )
            try:
                urllib.request.urlopen(asked, timeout=60).close()
            except urllib.error.HTTPError as error:
                statuses.append(error.code)

        asking = threading.Thread(target=search)
        asking.start()
        try:
            assert begun.wait(30)
            with urllib.request.urlopen(f"{address}/api/v1/health", timeout=30) as answer:
                assert json.load(answer)["status"] == "ok"
                assert not may_end.is_set()
        finally:
            may_end.set()
            asking.join(60)
    assert statuses
    engine.close()
