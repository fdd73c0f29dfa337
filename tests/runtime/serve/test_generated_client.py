"""A client is generated from the server's own schema, as an app developer would, and finds photos with it."""

from __future__ import annotations

import importlib
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openapi_python_client", reason="needs the dev extra")

from gamer.runtime.serve.app import SCHEMA


def test_a_client_generated_from_the_schema_searches_and_is_refused(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema, folder = tmp_path / "openapi.json", tmp_path / "gamer_client"
    with urllib.request.urlopen(served + SCHEMA, timeout=30) as answer:
        schema.write_bytes(answer.read())
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none"]
    files = ["--path", str(schema), "--output-path", str(folder)]
    done = subprocess.run([*command, *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    package: Any = importlib.import_module("gamer_client")
    models: Any = importlib.import_module("gamer_client.models")
    search: Any = importlib.import_module("gamer_client.api.search.search")
    similar: Any = importlib.import_module("gamer_client.api.search.similar_photos")
    with package.Client(base_url=served) as client:
        found = search.sync(client=client, body=models.SearchRequest(query="my cat", k=3))
        assert found.answer.hits[0].id == "chelsea"
        assert len(found.answer.hits) == 3
        alike = similar.sync(client=client, photo="chelsea", k=4)
        assert len(alike.photos) == 4
        assert alike.asked.id == "chelsea"
        refused = similar.sync_detailed(client=client, photo="nowhere")
        assert refused.status_code == 404
        assert refused.parsed.detail.startswith("no photo")
