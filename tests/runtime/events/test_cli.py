"""`gamer index events` and `gamer index event`: what is printed, and one line for an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.main import main
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from tests.fakes import fake_models


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    models = fake_models()
    monkeypatch.setattr(Models, "open", lambda *_, **__: models)
    source = tmp_path / "a.jsonl"
    rows = [{"id": name, "taken_at": f"2025-05-0{day}T10:00:00"} for day, name in ((1, "a"), (1, "b"))]
    memories = [{"source": "note", "text": "swans on a lake"}]
    source.write_text("\n".join(json.dumps({**row, "memories": memories}) for row in rows))
    return str(build(source, models, tmp_path / "a.gamer").path)


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["index", *arguments])
    return done.exit_code, done.output


def test_events_are_made_listed_and_changed(
    album: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("GAMER_BUNDLE", raising=False)
    monkeypatch.chdir(tmp_path)
    code, said = run("events", album)
    assert code == 1
    assert "no bundle found near the album: name it with -b" in said
    assert len(said.splitlines()) == 1
    code, said = run("events", album, "-b", "x", "--json")
    (made,) = json.loads(said)["events"]
    assert code == 0
    assert made["photos"] == ["a", "b"]
    assert "vector" not in made
    assert json.loads(said)["built"]["events"] == 1
    code, said = run("event", "split", album, made["id"], "b", "-b", "x", "--json")
    first, second = json.loads(said)["events"]
    assert (first["photos"], second["photos"]) == (["a"], ["b"])
    assert (
        run("event", "rename", album, second["id"], "Swans", "-b", "x")[1].rstrip().endswith("Swans (edited)")
    )
    code, said = run("event", "merge", album, second["id"], first["id"], "-b", "x")
    assert code == 0
    assert "Swans" in said
    code, said = run("events", album)
    assert said.split()[1:4] == ["2025-05-01", "2", "Swans"]
    code, said = run("event", "rename", album, "ev_0", "x", "-b", "x")
    assert code == 1
    assert "no event 'ev_0'" in said
