"""The figures of `gamer bench agent` mean what they say."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.agent import measure, scores, tasks
from gamer.bench.agent.scores import set_f1, token_f1
from gamer.bench.agent.tasks import Scored, Task
from gamer.bench.cli import agent as command
from gamer.bench.retrieval.datasets import DatasetError

CORPUS = [
    ("dog", "2025-06-01T10:00:00", "a brown dog running on the beach"),
    ("kite", "2025-06-01T12:00:00", "a red kite flying in the sky"),
    ("ice", "2025-06-01T14:00:00", "two cones of strawberry ice cream"),
    ("tower", "2025-07-01T14:00:00", "the old clock tower of the town hall"),
]
QUERIES = [
    ("the red kite", ["kite"], "single"),
    ("what else I photographed on the day of the red kite", ["dog", "ice"], "relation"),
    ("a submarine under the ice of the pole", [], "absent"),
]


def task(relevant: str = "", **more: Any) -> Task:
    return Task("q", "a question", frozenset(relevant.split()), more.pop("group", "set"), **more)


def write_gz(path: Path, rows: list[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An album data set, and a LoCoMo of one user whose questions have answers."""
    album, locomo = tmp_path / "data" / "album", tmp_path / "data" / "locomo"
    album.mkdir(parents=True)
    locomo.mkdir()
    lines = [
        json.dumps({"id": name, "taken_at": when, "memories": [{"source": "note", "text": text}]})
        for name, when, text in CORPUS
    ]
    (album / "album.jsonl").write_text("\n".join(lines), encoding="utf-8")
    asked = [
        {"query_id": str(n), "query": text, "relevant": ids, "group": group}
        for n, (text, ids, group) in enumerate(QUERIES)
    ]
    write_gz(album / "album.queries.jsonl.gz", asked)
    write_gz(
        locomo / "ann.corpus.jsonl.gz",
        [{"id": i, "timestamp": when, "text": text} for i, when, text in CORPUS],
    )
    question = {"query_id": "1", "query": "When did I see the red kite?", "relevant": ["kite"]}
    write_gz(locomo / "ann.queries.jsonl.gz", [question | {"category": "temporal", "answer": "1 June 2025"}])
    return tmp_path / "data"


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_f1_of_sets_is_the_harmonic_mean_of_precision_and_recall(found: set[int], relevant: set[int]) -> None:
    f1 = set_f1(found, relevant)
    assert 0 <= f1 <= 1 and (f1 == 1) == (found == relevant) and f1 == set_f1(relevant, found)
    if found & relevant:
        precision, recall = len(found & relevant) / len(found), len(found & relevant) / len(relevant)
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_token_f1_ignores_case_articles_and_punctuation() -> None:
    assert token_f1("The red, KITE!", "a red kite") == 1.0
    assert token_f1("red", "red kite") == pytest.approx(2 / 3)
    assert token_f1("", "kite") == 0.0


def test_an_answer_is_right_when_it_holds_all_expected_words() -> None:
    assert scores.contains("It was on 13 May 2025.", "13 May 2025")
    assert not scores.contains("It was in May 2025.", "13 May 2025")
    assert not scores.contains("anything", "")


def test_the_baselines_threshold_is_the_best_of_all() -> None:
    results = [
        Scored(task("a b"), ("a", "b", "c"), (0.9, 0.8, 0.1)),
        Scored(task("d"), ("d", "e"), (0.7, 0.2)),
    ]
    threshold, best = tasks.best_cut(results, set_f1)
    assert best == 1.0 and 0.2 < threshold <= 0.7
    assert [ids for _, ids in tasks.cut(results, threshold)] == [("a", "b"), ("d",)]


def test_a_user_counts_once_however_many_questions_it_has() -> None:
    def done(right: bool) -> tasks.Done:
        return tasks.Done(task("x"), ("x",) if right else (), "", True, "answer", (), (), 0.0)

    row = measure._sentences("made", "method", [[done(True)] * 3, [done(False)]])
    assert (row.questions, row.evidence) == (4, 0.5)


def test_the_whole_measurement_of_small_data_sets(bundle: Path, data: Path, tmp_path: Path) -> None:
    asked = ["--data", str(data), "--cache", str(tmp_path / "cache"), "-b", str(bundle), "--json"]
    only = [option for name in ("album", "locomo") for option in ("--only", name)]
    result = CliRunner().invoke(command.agent, [*asked, *only, "--output", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    rules = figures["albums"]["album"][0]
    assert rules["method"] == "rules" and rules["groups"]["relation"]["exact"] == 1.0
    assert rules["groups"]["absent"]["refused"] == 1.0 and rules["calls"]["filter"] == 1
    said = {row["method"]: row for row in figures["sentences"]}
    assert said["rules"]["right"] == 1.0 and said["rules"]["evidence"] == 1.0
    assert said["one search, first 10"]["f1"] is None
    assert str(tmp_path) not in figures["command"]
    assert (tmp_path / "cache" / "trace-album.jsonl-rules.jsonl.gz").is_file()


def test_a_folder_without_data_sets_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="none of album"):
        measure.measure(bundle, tmp_path, ("rules",), (), 1, tmp_path / "cache", print, "")


def test_the_command_offers_the_data_sets_that_are_measured() -> None:
    assert command.DATA == measure.DATA
