"""`gamer things`: an album in a command's place is listed; things are shown, merged, split and forgotten."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from gamer.index import AlbumWriter
from gamer.runtime.cli.things import things
from gamer.runtime.indexing.build import add, build
from tests.fakes import fake_models


@pytest.fixture
def album(tmp_path: Path) -> Path:
    lines = []
    for day, (name, text) in enumerate((("a", "my red bag"), ("b", "my red bag"), ("c", "a blue bag")), 1):
        memories = [{"source": "note", "text": text}]
        lines.append(json.dumps({"id": name, "taken_at": f"2026-05-0{day}T10:00:00", "memories": memories}))
    (tmp_path / "a.jsonl").write_text("\n".join(lines) + "\n")
    return build(tmp_path / "a.jsonl", fake_models(), tmp_path / "a.gamer").path


def run(*given: object) -> Result:
    return CliRunner().invoke(things, [str(one) for one in given])


def listed(album: Path) -> dict[str, Any]:
    done = run(album, "--json")
    assert done.exit_code == 0, done.output
    return {thing["id"]: thing for thing in json.loads(done.output)["things"]}


def test_a_build_fills_the_bank_and_an_album_alone_lists_it(album: Path) -> None:
    assert [(t["name"], t["days"]) for t in listed(album).values()] == [("red bag", 2), ("blue bag", 1)]
    assert "red bag (yours)" in run(album, "-n", 1).output
    shown = run("show", album, "th1").output
    assert "color        red (2)\n" in shown
    assert "photo        b" in shown
    assert "unspecified" in shown


def test_what_is_added_to_an_album_is_in_the_bank(album: Path, tmp_path: Path) -> None:
    memories = [{"source": "note", "text": "the blue bag, and my red bag"}]
    line = {"id": "d", "taken_at": "2026-05-09T10:00:00", "memories": memories}
    (tmp_path / "more.jsonl").write_text(json.dumps(line) + "\n")
    add(album, tmp_path / "more.jsonl", fake_models())
    assert {t["name"]: t["days"] for t in listed(album).values()} == {"red bag": 3, "blue bag": 2}
    with AlbumWriter.extend(album) as writer:
        writer.remove(["a", "c", "d"])
    assert {t["name"]: t["days"] for t in listed(album).values()} == {"red bag": 1}


def test_things_are_merged_split_and_forgotten(album: Path) -> None:
    assert run("merge", album, "th1", "th2").exit_code == 0
    assert listed(album)["th1"]["photos"] == ["a", "b", "c"]
    assert json.loads(run("show", album, "th2", "--json").output)["id"] == "th1"
    assert "color        red (2), blue (1)\n" in run("show", album, "th1").output
    assert run("split", album, "th1").exit_code == 0
    assert set(listed(album)) == {"th1", "th2"}
    assert run("split", album, "th1", "b").exit_code == 0
    assert listed(album)["th3"]["photos"] == ["b"]
    assert run("forget", album, "th3", "th2").output == "forgotten: th3 th2\n"
    assert set(listed(album)) == {"th1"}
    assert run(album, "--build").exit_code == 0
    assert set(listed(album)) == {"th1"}


@pytest.mark.parametrize(
    "given", [("show", "th9"), ("show", "9"), ("merge", "th1", "x"), ("forget", "th"), ("split", "th2")]
)
def test_a_mistake_is_one_line(album: Path, given: tuple[str, ...]) -> None:
    done = run(given[0], album, *given[1:])
    assert done.exit_code == 1
    assert len(done.output.strip().splitlines()) == 1


def test_an_album_without_things_says_so(tmp_path: Path) -> None:
    (tmp_path / "n.jsonl").write_text('{"id": "a", "memories": [{"source": "note", "text": "am See"}]}\n')
    path = build(tmp_path / "n.jsonl", fake_models(), tmp_path / "n.gamer").path
    assert "no things" in run(path).output
