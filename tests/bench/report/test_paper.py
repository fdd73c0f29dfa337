"""`bench paper` draws each table and figure from results; what it says of the paper is in the one file."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.published import ABSENT, FILE, PAPER
from gamer.bench.report import paper
from gamer.bench.report.parts import Part
from gamer.bench.retrieval import delta, replay
from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.study.declaration import NoSettings, Run
from tests.bench.retrieval.data_sets import write

RESULTS = Path(__file__).resolve().parents[3] / "bench" / "results"
SCORES = st.fixed_dictionaries({d: st.floats(0, 1) for d in (0.3, 0.5, 0.7)})


def test_delta_is_the_best_of_the_others_and_the_smallest_of_equal_ones() -> None:
    scores = {"a": {0.3: 1.0, 0.5: 0.0}, "b": {0.3: 0.0, 0.5: 0.4}, "c": {0.3: 0.2, 0.5: 0.6}}
    assert delta.chosen(scores) == 0.3  # means 0.4 and 1/3
    assert delta.chosen(scores, "a") == 0.5
    assert delta.chosen(scores, "b") == 0.3
    assert delta.chosen({"a": {0.3: 0.5, 0.5: 0.5}}, "a") == 0.3


@given(SCORES, SCORES, SCORES, SCORES)
def test_a_users_own_queries_have_no_say_in_the_users_delta(
    own: dict[float, float], other: dict[float, float], second: dict[float, float], third: dict[float, float]
) -> None:
    rest = {"second": second, "third": third}
    assert delta.chosen({"me": own, **rest}, "me") == delta.chosen({"me": other, **rest}, "me")


NAMES = [*(f"Table {n}" for n in range(1, 12)), *(f"Figure {n}" for n in range(3, 7))]


@pytest.fixture(scope="module")
def drawn() -> list[Part]:
    return paper.parts(RESULTS)


def test_every_table_and_figure_is_drawn_with_what_differs(drawn: list[Part]) -> None:
    assert [part.name for part in drawn] == NAMES
    for part in drawn:
        assert part.differs.endswith(".")
        assert part.sheets
        assert all(len(row) == len(one.columns) for one in part.sheets for row in one.rows), part.name
    assert {part.name for part in drawn if part.plots} == set(NAMES[-4:]) - {"Figure 6"}  # of one user


def test_a_cell_of_the_paper_holds_what_the_one_file_says_or_a_dash(drawn: list[Part]) -> None:
    raw = {float(one) for one in re.findall(r"\d+(?:\.\d+)?", FILE.read_text(encoding="utf-8"))}
    cells = 0
    for part in drawn:
        for one in part.sheets:
            whole = one.title.startswith("The paper")
            theirs = [n for n, name in enumerate(one.columns) if whole or name.startswith("the paper")]
            if one.columns[: len(paper._PRINTED)] == paper._PRINTED:
                theirs = list(range(2, len(paper._PRINTED)))
            shown = " ".join(str(row[n]) for row in one.rows for n in theirs)
            numbers = {float(n) for n in re.findall(r"\d+\.\d+", shown)}
            computed = one.title == "The parts of the paper's Table 1"
            assert computed or numbers <= raw, (one.title, numbers - raw)
            cells += len(numbers)
    assert cells > 150


def test_the_papers_rows_stand_beside_ours(drawn: list[Part]) -> None:
    (quality, _), (unseen, ours) = drawn[0].sheets, drawn[1].sheets
    rows = {row[7]: row for row in quality.rows}
    assert rows["bm25"][:2] == ("BM25", "–")
    assert rows["bm25"][4] == "86.6 / 69.4"
    assert rows["rrf"][:7] == (ABSENT,) * 7
    assert len(unseen.rows) == len(PAPER.table_2)
    assert ours.rows[-1][:4] == ("mean", "3064", "39.5", "41.5")  # docs/findings.md
    without = {row[0]: row[1] for one in drawn[3].sheets[:2] for row in one.rows}
    assert without["no layer 2"] == "84.5 / 81.5"
    assert without["Eq. 3-4, without the loss of Layer-2"] == "89.1 / 87.5"


def test_a_page_has_every_part_and_asks_for_nothing(tmp_path: Path) -> None:
    out, saved = tmp_path / "paper.html", tmp_path / "paper.json"
    done = CliRunner().invoke(bench, ["paper", "--html", str(out), "-o", str(saved)])
    assert done.exit_code == 0
    assert done.output.strip() == str(out)
    text = out.read_text(encoding="utf-8")
    assert [line.split(":")[0].split(">")[1] for line in text.splitlines() if line.startswith("<h2")] == NAMES
    assert "<script" not in text
    assert "src=" not in text
    assert "http" not in text
    assert text.count("<polyline") > 15
    assert [one["name"] for one in json.loads(saved.read_text())] == NAMES


def test_what_has_no_result_is_drawn_with_the_papers_figures_alone(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"none of quality-\*.json, .*: write them with `gamer bench"):
        paper.parts(tmp_path)
    shutil.copy(RESULTS / "replay.json", tmp_path)
    few = paper.parts(tmp_path)
    assert [part.name for part in few] == NAMES
    assert len(few[0].sheets[0].rows) == len(PAPER.table_1)
    (tmp_path / "alpha.json").write_text("{}")
    with pytest.raises(DatasetError, match="another version"):
        paper.parts(tmp_path)
    (tmp_path / "alpha.json").write_text("{")
    with pytest.raises(DatasetError, match=r"alpha\.json: cannot be read"):
        paper.parts(tmp_path)


@pytest.mark.slow
def test_bench_delta_measures_every_delta_and_chooses_for_each_user(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "delta.json"
    command = ["study", "delta", str(write(tmp_path / "small")), "-b", str(bundle), "--cache", str(tmp_path)]
    done = CliRunner().invoke(bench, [*command, "--set", "queries=3", "--output", str(out)])
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text())
    (one,) = result["sets"]
    deltas = [row["delta"] for row in one["rows"]]
    assert set(delta.DELTAS) <= set(deltas)
    assert deltas == sorted(deltas)
    assert one["queries"] == 6
    nodes = [row["nodes"] for row in one["rows"]]
    assert nodes == sorted(nodes, reverse=True)  # fewer nodes are over a greater δ
    assert set(one["chosen"]) == {"ann", "bob"}
    assert set(one["chosen"].values()) <= set(deltas)
    assert 0 <= one["nested_recall5"] <= 1


@pytest.mark.slow
def test_the_papers_example_finds_the_last_time_at_the_airport(bundle: Path) -> None:
    replayed = replay.measure(Run(NoSettings(), (bundle,), threads=2)).replayed
    assert {row.query for row in replayed} == set(replay.QUERIES)
    first, chair = (next(r for r in replayed if r.query == query) for query in replay.QUERIES)
    assert first.hits[0] == "airport-2024"
    assert any("last time" in cue for cue in first.cues)
    assert chair.hits[0] == "chair"
    assert any(name == "IKEA" for name, _ in chair.entities)
