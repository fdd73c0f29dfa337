"""Continuous learning in the paper's numbers: which queries are learned from, and which are measured."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the export extra")

from gamer.bench.cli.bench import bench
from gamer.bench.trained import continued
from gamer.bench.trained.adapter import Person
from gamer.export.training.queries import Library
from tests.bench.retrieval.data_sets import write

PHOTOS = 100


@dataclass
class Album:
    def times(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.arange(PHOTOS, dtype=np.int64)[::-1]  # the first row is the latest


@dataclass
class User:
    album: Album


def person(count: int) -> Person:
    queries = tuple((str(n), (n, PHOTOS - 1)) for n in range(count))
    library = Library(np.zeros((0, 2), np.float32), np.zeros(0, np.int64), PHOTOS, queries)
    return Person("set", cast(Any, User(Album())), library)


def test_the_latest_queries_are_forty_at_a_time_in_order_of_their_photos() -> None:
    # All mean the earliest photo too, so the order of the queries stays; 95 are two times forty.
    first, second = continued._times(person(95), 9)
    assert [text for text, _ in first.queries] == [str(n) for n in range(15, 55)]
    assert [text for text, _ in second.queries] == [str(n) for n in range(55, 95)]
    assert len(continued._times(person(95), 1)) == 1
    assert continued._times(person(39), 9) == []
    alone = person(40)
    library = Library(
        alone.library.vectors, alone.library.owners, PHOTOS, tuple((str(n), (n,)) for n in range(40))
    )
    (by_time,) = continued._times(Person("set", alone.user, library), 9)
    assert [text for text, _ in by_time.queries] == [str(n) for n in range(39, -1, -1)]


@pytest.mark.slow
def test_data_with_too_few_queries_is_one_line(bundle: Path, tmp_path: Path) -> None:
    command = [
        "study",
        "continued",
        str(write(tmp_path / "few")),
        "-b",
        str(bundle),
        "--cache",
        str(tmp_path),
    ]
    done = CliRunner().invoke(bench, command)
    assert done.exit_code == 1
    assert "0 user has 40 queries: give data of two or more" in done.output
