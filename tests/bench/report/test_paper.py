"""`bench paper` draws every table from result files, with no figure of the paper that the one file lacks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.published import ABSENT, PAPER
from gamer.bench.report import paper
from gamer.bench.retrieval import delta, replay
from gamer.bench.study.declaration import NoSettings, Run
from tests.bench.retrieval.data_sets import write

RESULTS = Path(__file__).resolve().parents[3] / "bench" / "results"
SCORES = st.fixed_dictionaries({d: st.floats(0, 1) for d in (0.3, 0.5, 0.7)})


def test_delta_is_the_best_of_the_others_and_the_smallest_of_equal_ones() -> None:
    scores = {"a": {0.3: 1.0, 0.5: 0.0}, "b": {0.3: 0.0, 0.5: 0.4}, "c": {0.3: 0.2, 0.5: 0.6}}
    assert delta.chosen(scores) == 0.3  # means 0.4 and 1/3
    assert delta.chosen(scores, "a") == 0.5 and delta.chosen(scores, "b") == 0.3
    assert delta.chosen({"a": {0.3: 0.5, 0.5: 0.5}}, "a") == 0.3


@given(SCORES, SCORES, SCORES, SCORES)
def test_a_users_own_queries_have_no_say_in_the_users_delta(
    own: dict[float, float], other: dict[float, float], second: dict[float, float], third: dict[float, float]
) -> None:
    rest = {"second": second, "third": third}
    assert delta.chosen({"me": own, **rest}, "me") == delta.chosen({"me": other, **rest}, "me")


def test_every_table_is_drawn_or_named_with_the_reason() -> None:
    text = paper.draw(RESULTS)
    for number in (1, 3, 4, 6, 7, 8, 9, 10, 11):
        assert f"# Table {number}: " in text
    assert "# Figure 3: " in text and "# Table 4, the losses" in text
    for name in ("the memory's likelihood", "Figures 4 to 6"):
        assert name in text.split("# What is not drawn")[1], name
    assert text.count("What differs: ") >= 7 and "names no hardware" in text


HEADS = (
    "the paper",
    "the paper, %",
    "the paper, Flickr",
    "the paper, Flickr, %",
    "the paper, average user",
)


def test_a_cell_of_the_paper_holds_what_the_one_file_says_or_a_dash() -> None:
    raw = set(re.findall(r"[\d.]+", json.dumps(PAPER.raw)))
    cubes = {str(a - b) for a, b in ((15, 3), (12, 6))}  # Table 10 prints by how much a layer reduces
    cells = 0
    for block in paper.draw(RESULTS).split("\n\n"):
        lines = [
            [cell.strip() for cell in line.split("|")[1:-1]]
            for line in block.splitlines()
            if line.startswith("|")
        ]
        if lines and lines[0][-1] in HEADS:
            for row in lines[2:]:
                cells += 1
                shown = re.findall(r"[\d.]+", row[-1])
                assert row[-1] in (ABSENT, "", *map(str, PAPER.layer_ms.values())) or shown
                assert {f"{float(one):g}" for one in shown} <= {
                    f"{float(one):g}" for one in raw | cubes if one.strip(".")
                }
    assert cells > 40


@pytest.mark.slow
def test_bench_delta_measures_every_delta_and_chooses_for_each_user(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "delta.json"
    command = ["study", "delta", str(write(tmp_path / "small")), "-b", str(bundle), "--cache", str(tmp_path)]
    done = CliRunner().invoke(bench, [*command, "--set", "queries=3", "--output", str(out)])
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text())
    (one,) = result["sets"]
    deltas = [row["delta"] for row in one["rows"]]
    assert set(delta.DELTAS) <= set(deltas) and deltas == sorted(deltas) and one["queries"] == 6
    nodes = [row["nodes"] for row in one["rows"]]
    assert nodes == sorted(nodes, reverse=True)  # fewer nodes are over a greater δ
    assert set(one["chosen"]) == {"ann", "bob"} and set(one["chosen"].values()) <= set(deltas)
    assert 0 <= one["nested_recall5"] <= 1


@pytest.mark.slow
def test_the_papers_example_finds_the_last_time_at_the_airport(bundle: Path) -> None:
    replayed = replay.measure(Run(NoSettings(), (bundle,), threads=2)).replayed
    assert {row.query for row in replayed} == set(replay.QUERIES)
    first, chair = (next(r for r in replayed if r.query == query) for query in replay.QUERIES)
    assert first.hits[0] == "airport-2024" and any("last time" in cue for cue in first.cues)
    assert chair.hits[0] == "chair" and any(name == "IKEA" for name, _ in chair.entities)
