"""Memories that a model writes for queries: what it learns from, and how what it writes is searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="needs the export extra")

from gamer.bench.cli.bench import bench
from gamer.bench.retrieval.baselines import dense
from gamer.bench.trained import generated
from gamer.export.components.language import Language
from gamer.export.training.writing import MEMORIES, Direction, Pair
from tests.bench.retrieval.data_sets import write

pytestmark = pytest.mark.slow


class FakeWriter:
    """In place of a writer: for each query the memory of the photo that it means, so that it must help."""

    learned: Sequence[Pair] = ()
    asked: Mapping[str, str] = {}

    def __init__(self, what: Direction, pairs: Sequence[Pair], texts: Mapping[str, str], *_: object) -> None:
        assert what is MEMORIES
        FakeWriter.learned, FakeWriter.asked = list(pairs), texts

    def nats(self, language: object, pairs: Sequence[Pair]) -> float:
        assert not {pair.title for pair in pairs} & {pair.title for pair in FakeWriter.learned}
        return 3.0

    def write(self, *_: object) -> dict[str, tuple[str, ...]]:
        return dict.fromkeys(FakeWriter.asked, ("a black motorcycle by the harbour",))


def test_memories_for_queries_that_were_not_learned_from_are_searched_in_every_way(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generated, "Writer", FakeWriter)
    monkeypatch.setattr(Language, "of", classmethod(lambda *_: Nowhere()))
    command = [
        "study",
        "generated",
        str(write(tmp_path / "few")),
        "-b",
        str(bundle),
        "--cache",
        str(tmp_path),
    ]
    done = CliRunner().invoke(bench, command)
    assert done.exit_code == 0, done.output
    assert all(way in done.output for way in ("with its words", "GAR, dense", "PA-CQR"))
    assert "learned from" in " ".join(done.output.split())
    assert "3.00 nats" in " ".join(done.output.split())
    assert FakeWriter.asked
    assert not {pair.title for pair in FakeWriter.learned} & set(FakeWriter.asked.values())


class Nowhere:
    def to(self, device: object) -> Nowhere:
        return self


@pytest.mark.parametrize(
    ("way", "helps"), [("GAR", True), ("GAR, dense", True), ("PA-CQR", True), ("dense", False)]
)
def test_a_way_finds_more_by_what_was_written(way: str, helps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def ranked(user: Any, text: str) -> list[str]:
        return ["wanted"] if "harbour" in text else ["other"]

    monkeypatch.setattr(dense, "rank", ranked)

    class Index:
        def scores(self, text: str) -> str:
            return text

    class User:
        def computed_once(self, make: Callable[..., object]) -> Index:
            return Index()

        def best(self, text: str, above: float) -> list[str]:
            return ranked(self, text)

    user: Any = User()
    assert ("wanted" in generated.WAYS[way](user, "boats", "by the harbour")) == helps
