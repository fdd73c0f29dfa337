"""The figures of `gamer bench study agent` mean what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.agent import measure, scores, short_answers, tasks
from gamer.bench.agent.scores import set_f1, token_f1
from gamer.bench.agent.tasks import Scored, Task
from gamer.bench.cli.bench import bench
from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.study.declaration import Run
from gamer.runtime.models.language.llm import LanguageModel
from tests.bench.retrieval.data_sets import write_rows

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


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """An album data set, and a LoCoMo of one user whose questions have answers."""
    album, locomo = tmp_path / "data" / "album", tmp_path / "data" / "locomo"
    album.mkdir(parents=True)
    lines = [
        json.dumps({"id": name, "taken_at": when, "memories": [{"source": "note", "text": text}]})
        for name, when, text in CORPUS
    ]
    (album / "album.jsonl").write_text("\n".join(lines), encoding="utf-8")
    asked = [
        {"query_id": str(n), "query": text, "relevant": ids, "group": group}
        for n, (text, ids, group) in enumerate(QUERIES)
    ]
    write_rows(album / "album.queries.jsonl.gz", asked)
    write_rows(
        locomo / "ann.corpus.jsonl.gz",
        [{"id": i, "timestamp": when, "text": text} for i, when, text in CORPUS],
    )
    question = {"query_id": "1", "query": "When did I see the red kite?", "relevant": ["kite"]}
    write_rows(
        locomo / "ann.queries.jsonl.gz", [question | {"category": "temporal", "answer": "1 June 2025"}]
    )
    return tmp_path / "data"


@given(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)))
def test_f1_of_sets_is_the_harmonic_mean_of_precision_and_recall(found: set[int], relevant: set[int]) -> None:
    f1 = set_f1(found, relevant)
    assert 0 <= f1 <= 1
    assert (f1 == 1) == (found == relevant)
    assert f1 == set_f1(relevant, found)
    if found & relevant:
        precision, recall = len(found & relevant) / len(found), len(found & relevant) / len(relevant)
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_token_f1_ignores_case_articles_and_punctuation() -> None:
    assert token_f1("The red, KITE!", "a red kite") == 1.0
    assert token_f1("red", "red kite") == pytest.approx(2 / 3)
    assert token_f1("", "kite") == 0.0


def test_the_queries_of_a_group_are_evenly_spread_and_in_order(tmp_path: Path) -> None:
    asked = [{"query_id": str(n), "query": "?", "relevant": [], "group": "ab"[n % 3 == 0]} for n in range(12)]
    write_rows(tmp_path / "q.gz", asked)
    assert [one.id for one in tasks.album_tasks(tmp_path / "q.gz")] == [str(n) for n in range(12)]
    assert [one.id for one in tasks.album_tasks(tmp_path / "q.gz", 2)] == ["0", "1", "6", "7"]


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
    assert best == 1.0
    assert 0.2 < threshold <= 0.7
    assert [ids for _, ids in tasks.cut(results, threshold)] == [("a", "b"), ("d",)]


def test_a_user_counts_once_however_many_questions_it_has() -> None:
    def done(right: bool) -> tasks.Attempt:
        return tasks.Attempt(task("x"), ("x",) if right else (), "", True, "answer", (), (), 0.0)

    row = short_answers._sentences("made", "method", [[done(True)] * 3, [done(False)]])
    assert (row.questions, row.evidence) == (4, 0.5)


def test_the_whole_measurement_of_small_data_sets(bundle: Path, data: Path, tmp_path: Path) -> None:
    asked = ["agent", "--data", str(data), "--cache", str(tmp_path / "cache"), "-b", str(bundle), "--json"]
    only = [option for name in ("album", "locomo") for option in ("--only", name)]
    result = CliRunner().invoke(bench, [*asked, *only, "--output", str(tmp_path / "out.json")])
    assert result.exit_code == 0, result.output
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    rules = figures["albums"]["album"][0]
    assert rules["method"] == "rules"
    assert rules["groups"]["relation"]["exact"] == 1.0
    assert rules["groups"]["absent"]["refused"] == 1.0
    assert rules["calls"]["filter"] == 1
    said = {row["method"]: row for row in figures["sentences"]}
    assert said["rules"]["right"] == 1.0
    assert said["rules"]["evidence"] == 1.0
    assert said["one search, first 10"]["f1"] is None
    assert said["one search, first 10"]["usage"] is None
    used = said["rules"]["usage"]
    assert list(used["by_type"]) == ["when"]
    assert used["by_type"]["when"] == used["by_turn"][0]
    assert rules["classes"] == said["rules"]["classes"] == {}
    assert str(tmp_path) not in figures["command"]
    assert rules["mistakes"]["relation"] == {"right": 1}
    assert rules["differences"] is None
    assert rules["usage"]["by_turn"][0]["search"] == 3
    assert rules["usage"]["tokens"] == "none"


def test_a_folder_without_data_sets_is_named(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="none of album"):
        measure.measure(Run(measure.Settings(), (bundle,), (tmp_path,), home=tmp_path))


def asked(bundle: Path, data: Path, cache: Path, *settings: str) -> Any:
    """What the study prints as JSON over the small album, or its error."""
    given = [word for setting in ("only=album", *settings) for word in ("--set", setting)]
    words = ["study", "agent", str(data), "--cache", str(cache), "-b", str(bundle), "--json", *given]
    result = CliRunner().invoke(bench, words)
    return json.loads(result.stdout) if result.exit_code == 0 else result.stderr


def test_what_is_recorded_is_played_again_without_a_mind(
    bundle: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, tape = tmp_path / "cache", tmp_path / "tape.jsonl"
    live = asked(bundle, data, cache, "mind=llm", f"record={tape}", "runs=2")
    assert live["albums"]["album"][0]["usage"]["tokens"] == "counted"

    def gone(*_: object) -> None:
        raise AssertionError("a replay opens no language model")

    monkeypatch.setattr(LanguageModel, "generate", gone)
    played = asked(bundle, data, cache, f"replay={tape}", "runs=2")
    before, after = (figures["albums"]["album"][0] for figures in (live, played))
    for name in ("method", "groups", "calls", "mistakes"):
        assert before[name] == after[name]
    assert after["usage"]["read"] == before["usage"]["read"] > 0
    assert after["differences"] == 0
    assert played["differences"] == []
    assert played["runs"] == live["runs"]
    assert live["runs"]["album"][0]["identical"] == len(QUERIES)


def test_a_result_that_is_not_as_recorded_is_told(bundle: Path, data: Path, tmp_path: Path) -> None:
    cache, tape = tmp_path / "cache", tmp_path / "tape.jsonl"
    asked(bundle, data, cache, f"record={tape}")
    lines = [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]
    lines[1]["turns"][0] |= {"found": 0, "photos": []}
    tape.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    played = asked(bundle, data, cache, f"replay={tape}")
    assert len(played["differences"]) == played["albums"]["album"][0]["differences"] == 1
    assert played["differences"][0].startswith("album:1: turn 1, search: ")
    tape.write_text("".join(json.dumps(line) + "\n" for line in lines[:2]), encoding="utf-8")
    assert "no trace of album:2 by rules" in asked(bundle, data, cache, f"replay={tape}")


def test_a_trace_of_other_photos_is_refused(bundle: Path, data: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    asked(bundle, data, tmp_path / "cache", f"record={tape}")
    album = data / "album" / "album.jsonl"
    album.write_text(album.read_text(encoding="utf-8").replace("2025-07-01", "2025-07-02"), encoding="utf-8")
    assert "another album" in asked(bundle, data, tmp_path / "other", f"replay={tape}")


def test_ablations_take_away_what_a_mind_uses(bundle: Path, data: Path, tmp_path: Path) -> None:
    figures = asked(bundle, data, tmp_path / "cache", "ablate=true")
    rows = {row["change"]: row for row in figures["ablations"]}
    # Without searches nothing is found, without filters only the relation fails.
    assert rows["no search"]["exact"] == pytest.approx(1 / 3, abs=1e-4)
    assert rows["no search"]["changed"] == 2
    assert rows["no filter"]["changed"] == 1
    assert rows["no filter"]["delta"] < 0
    assert rows["with events"]["changed"] == 0
    assert rows["with events"]["interval"] == [0, 0]
    assert rows["no captions"]["why_not"] == "the album has none"
    assert rows["no condensing"]["exact"] is None
    assert rows["no condensing"]["why_not"] == "holds no dialogue"


def test_captions_are_taken_away_and_nothing_else(bundle: Path, data: Path, tmp_path: Path) -> None:
    album = data / "album" / "album.jsonl"
    text = album.read_text(encoding="utf-8").splitlines()
    text[1] = text[1].replace('"note"', '"caption"')
    album.write_text("\n".join(text), encoding="utf-8")
    figures = asked(bundle, data, tmp_path / "cache", "ablate=true")
    (row,) = [row for row in figures["ablations"] if row["change"] == "no captions (1)"]
    assert row["changed"] == 2
    assert row["delta"] < 0


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["mind=openai"], "belong together"),
        (["model=m"], "belong together"),
        (["endpoint=http://127.0.0.1:1/v1"], "give --set model"),
        (["replay=a", "record=b"], "leave out record"),
        (["mind=openai", "model=m", "endpoint=ftp://x"], "must be an address"),
    ],
)
def test_options_that_do_not_go_together(
    bundle: Path, data: Path, tmp_path: Path, options: list[str], says: str
) -> None:
    assert says in asked(bundle, data, tmp_path / "cache", *options)
