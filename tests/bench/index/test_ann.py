"""`gamer bench study ann` on a few vectors: recall against a plain sort, the size of each filter, and what is
reported as fastest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.index import ann
from gamer.index import FloatArray, RowArray


class Fixed:
    """A peer whose answers are known: the ten nearest rows that pass the filter, or only five of them."""

    name, version, how, indexsize = "fixed", "1", "", 0

    def __init__(self, right: bool, x: FloatArray) -> None:
        self._right, self._x = right, x

    def ways(self, share: float) -> dict[str, Sequence[int]]:
        return {"effort": [1, 2, 3]}

    def search(self, way: str, value: int, query: FloatArray, rows: RowArray | None) -> list[int]:
        chosen = np.arange(len(self._x)) if rows is None else rows
        best: list[int] = chosen[np.argsort(-(self._x[chosen] @ query), kind="stable")][:10].tolist()
        return best if self._right and value > 1 else best[:5]

    def close(self) -> None:
        pass


@pytest.mark.parametrize("share", [1.0, 0.1, 0.01])
def test_effort_rises_until_the_recall_is_reached(share: float) -> None:
    x, q = ann.clustered(300, 16, 12)
    filters, truth = ann._case(x, q, share)
    assert all(rows is None or len(rows) == max(1, round(300 * share)) for rows in filters)
    runs = list(ann._sweep(Fixed(True, x), q, share, filters, truth, 0.0))
    assert [run.knn >= 0.99 for run in runs] == ([False, True] if share > 0.01 else [True])
    assert [run.knn for run in ann._sweep(Fixed(False, x), q, share, filters, truth, 0.0)] == (
        [0.5] * 3 if share > 0.01 else [1.0]
    )


def test_a_run_reports_the_fastest_settings_that_reach_the_recall(tmp_path: Path) -> None:
    x, q = ann.clustered(1200, 64, 12)
    result = ann.measure("clustered", x, q, ["usearch"], (), tmp_path, lambda text: None)
    ours = [run for run in result.fastest if run.algorithm == "gamer"]
    assert {run.selectivity for run in ours} == set(ann.SELECTIVITIES)
    assert all(run.knn >= ann.RECALL for run in result.fastest)
    assert result.built[0].bytes_per_vector < 64 + 16 + 8 + 110
    assert result.file_bytes > result.built[0].indexsize


def test_bench_ann_writes_json_and_refuses_an_unknown_peer(tmp_path: Path) -> None:
    out = tmp_path / "ann.json"
    done = CliRunner().invoke(
        bench, ["ann", "-n", "300", "--dim", "16", "-q", "10", "--peer", "usearch", "--output", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["vectors"] == 300
    assert CliRunner().invoke(bench, ["ann", "--peer", "annoy"]).exit_code == 2
