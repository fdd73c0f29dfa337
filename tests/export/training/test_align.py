"""What a person's own searches teach: the weight they choose, and a whole training through the command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gamer.export.training.align import Searches, library_of
from gamer.export.training.pairs import Search
from gamer.index.opened import OpenedLog
from gamer.main import main
from gamer.runtime.models import query_adapter as files
from gamer.runtime.search.engine import Engine
from tests.albums import engine_of, note

# Walks of three photos each, whose names no memory says; their memories tell them not apart.
WALKS = ("bear", "crystal", "glen", "pine", "empire", "leelanau", "betsie", "platte")
TIMES = ("morning", "noon", "evening")
ROWS: list[dict[str, object]] = [
    {
        "id": f"{walk}-{n}",
        "taken_at": f"2024-0{month}-01T1{n}:00:00",
        "memories": note("sand and water"),
    }
    for month, walk in enumerate(WALKS, 1)
    for n in range(len(TIMES))
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_of(tmp_path, ROWS) as opened:
        yield opened


def of_walks(*numbers: int) -> list[Search]:
    return [Search(f"{walk} {walk}{TIMES[n]}", (f"{walk}-{n}",)) for n in numbers for walk in WALKS]


def test_searches_that_find_one_another_are_given_weight(engine: Engine) -> None:
    searches = Searches(engine, lambda what, done, of: None)
    learned = of_walks(0, 1)
    weight = searches.weight(learned, False)
    assert weight > 0
    before = searches.recall(of_walks(2), False, None, "before")
    after = searches.recall(of_walks(2), False, searches.opened(learned, weight), "after")
    assert after > before


def test_searches_that_say_nothing_of_one_another_weigh_nothing(engine: Engine) -> None:
    searches = Searches(engine, lambda what, done, of: None)
    apart = [Search(f"name{n}", (str(row["id"]),)) for n, row in enumerate(ROWS)]
    assert searches.weight(apart, False) == 0


def test_photos_that_the_album_has_not_are_passed_over(engine: Engine) -> None:
    library, known = library_of(engine.album, [Search("a", ("gone",)), Search("b", ("gone", "bear-0"))])
    assert [(one.query, len(rows)) for one, rows in known] == [("b", 1)]
    assert library.photos == len(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize("keeps", [True, False])
def test_a_training_is_adopted_if_later_searches_find_more(bundle: Path, tmp_path: Path, keeps: bool) -> None:
    album, file, lines = tmp_path / "walks.gamer", tmp_path / "searches.jsonl", tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    asked = [{"query": one.query, "photos": [*one.photos, "gone"]} for one in of_walks(0, 1, 2)]
    file.write_text("".join(json.dumps(row) + "\n" for row in asked))
    commands = CliRunner()
    built = commands.invoke(main, ["index", "build", str(lines), "-b", str(bundle), "-o", str(album)])
    assert built.exit_code == 0
    if keeps:
        OpenedLog(album).keep()
    result = commands.invoke(
        main,
        ["train", "pocket", "-a", str(album), "--align", "--queries", str(file), "-b", str(bundle), "--json"],
    )
    figures = json.loads(result.stdout[result.stdout.index("{") :])
    adapter, log = files.path_beside(album), OpenedLog(album)
    assert figures["installed"] is adapter.is_file() is (figures["after"] > figures["before"])
    assert log.kept is keeps
    if keeps:
        assert figures["installed"]
        assert files.read(adapter).header.earlier == figures["earlier"] > 0
        assert ("bear bearmorning", "bear-0") in {(entry.query, entry.photo) for entry in log.read()}
    else:
        assert figures["earlier"] == 0
