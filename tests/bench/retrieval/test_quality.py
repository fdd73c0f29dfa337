"""`gamer bench quality` gives the numbers of the data sets' own scorer, and its file holds everything that
they are computed from.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.retrieval import metrics, quality
from gamer.index.json_checked import read_as
from tests.bench.retrieval.data_sets import write


@given(st.lists(st.sampled_from("abcdefgh"), max_size=15), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_places_hold_everything_that_the_scores_need(ranked: list[str], relevant: set[str]) -> None:
    places = metrics.places(ranked, sorted(relevant))
    unique = list(dict.fromkeys(ranked))
    assert places == tuple(n for n, i in enumerate(unique[:10], 1) if i in relevant)
    assert metrics.recall(places, len(relevant), 3) == len(set(unique[:3]) & relevant) / len(relevant)
    assert metrics.from_places(places, len(relevant)) == metrics.score(ranked, sorted(relevant))


def asked(user: str, places: list[dict[str, tuple[int, ...]]]) -> quality.ScoredUser:
    queries = tuple(quality.ScoredQuery(f"{user}{n}", user, 1, hits) for n, hits in enumerate(places))
    return quality.ScoredUser(user, 9, queries, {"ours": 1.0, "bm25": 1.0, "dense": 1.0}, {})


def test_judging_weighs_users_equally_and_corrects_for_the_number_of_methods() -> None:
    miss: tuple[int, ...] = ()
    first = asked("a", [{"ours": (1,), "bm25": miss, "dense": (1,)}] * 30)
    second = asked(
        "b", [{"ours": (1,), "bm25": miss, "dense": miss}, {"ours": miss, "bm25": miss, "dense": miss}]
    )
    ours, bm25, dense = quality.judge([first, second], ["ours", "bm25", "dense"], "ours")
    assert [row.scores["recall5"].mean for row in (ours, bm25, dense)] == [0.75, 0, 0.5]
    assert ours.scores["recall5"].p is None
    assert ours.users["b"].recall5 == 0.5
    p, corrected = bm25.scores["recall5"].p, bm25.scores["recall5"].p_holm
    assert p is not None
    assert corrected is not None
    assert corrected == pytest.approx(2 * p)
    assert corrected < 0.05
    assert dense.scores["recall5"].p_holm == pytest.approx(dense.scores["recall5"].p)
    assert (dense.scores["recall5"].p or 0) > 0.4
    assert ours.scores["recall5"].low <= 0.75 <= ours.scores["recall5"].high


@pytest.mark.parametrize("options", [("-m", "bm26"), ("-m", "bm25", "--reference", "ours")])
def test_an_unknown_method_or_reference_exits_2_and_names_the_methods(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    done = CliRunner().invoke(bench, ["quality", str(tmp_path), "-b", str(tmp_path), *options])
    assert done.exit_code == 2
    assert "bm25" in done.output


@pytest.mark.slow
def test_the_scorer_gives_the_same_numbers_and_the_file_can_be_judged_again(
    bundle: Path, shared_data: Path, tmp_path: Path
) -> None:
    write(tmp_path / "data" / "small")
    names = ("ours", "bm25", "rrf", "image")
    command = [
        "quality",
        str(tmp_path / "data" / "small"),
        "-b",
        str(bundle),
        "--cache",
        str(tmp_path / "cache"),
        "--runs",
        str(tmp_path / "runs"),
    ]
    command += ["--output", str(tmp_path / "q.json"), *(word for name in names for word in ("-m", name))]
    done = CliRunner().invoke(bench, command)
    assert done.exit_code == 0, done.output
    result = json.loads((tmp_path / "q.json").read_text())
    assert result["skipped"] == {"image": "no image vectors in these albums"}
    assert result["command"].startswith("gamer bench quality small -b")
    asked_again = tuple(read_as(quality.ScoredUser, one) for one in result["users"])
    again = quality.judge(asked_again, ["ours", "bm25", "rrf"], "ours")
    assert json.loads(json.dumps([asdict(row) for row in again])) == result["methods"]
    for row in again:
        scorer = [
            sys.executable,
            str(shared_data / "score.py"),
            str(tmp_path / "runs" / f"{row.method}.json"),
            "--data",
            str(tmp_path / "data"),
            "--json",
        ]
        theirs = json.loads(subprocess.run(scorer, capture_output=True, text=True, check=True).stdout)[
            "small"
        ]["macro"]
        for ours, name in (
            ("recall5", "recall@5"),
            ("map5", "map@5"),
            ("map5_std", "map@5_std"),
            ("recall10", "recall@10"),
            ("mrr10", "mrr@10"),
        ):
            assert row.scores[ours].mean == pytest.approx(theirs[name]), (row.method, ours)


@pytest.mark.slow
def test_an_interrupted_run_continues_and_another_command_ignores_its_parts(
    bundle: Path, tmp_path: Path
) -> None:
    folder, parts = write(tmp_path / "small"), tmp_path / "parts"

    def run(*names: str) -> quality.Quality:
        return quality.evaluate(
            bundle, folder, names, names[0], 1, tmp_path / "cache", messages.append, "", parts
        )[0]

    messages: list[str] = []
    first = run("dense", "image")
    assert messages[-1] == "bob: asking"
    assert len(list(parts.glob("*.json"))) == 2
    (parts / "small-bob.json").write_text("{")
    messages.clear()
    again = run("dense", "image")
    assert messages == ["bob: asking"]
    assert again.users[0] == first.users[0]
    assert again.methods[0].scores == first.methods[0].scores
    messages.clear()
    assert [row.method for row in run("dense", "bm25").methods] == ["dense", "bm25"]
    assert len(messages) == 2
