"""Comparing two latency runs: noise is no change, a slower run is recognised, a slowdown within the bound is
no regression, and malformed files are refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.latency import compare, imported
from gamer.runtime.errors import RuntimeFailure

pytest.importorskip("scipy", reason="needs the bench extra")


def run(samples: dict[str, list[int]], device: str = "Pixel 8") -> dict[str, Any]:
    rows = [
        {
            "layer": "component",
            "step": name,
            "n": len(s),
            "avg_ns": float(np.mean(s)),
            "stddev_ns": 0.0,
            "p50_ns": float(np.median(s)),
            "p90_ns": 1.0,
            "samples_ns": s,
            "extra": "left alone",
        }
        for name, s in samples.items()
    ]
    return {
        "schema": "gamer-latency/1",
        "device": device,
        "os": "Android 16",
        "backend": "onnx",
        "bundle_sha256": "a",
        "thermal": None,
        "rows": rows,
    }


def saved(path: Path, raw: object) -> Path:
    path.write_text(json.dumps(raw))
    return path


def noisy(seed: int, scale: float = 1.0, n: int = 60) -> list[int]:
    """A skewed distribution with stalls, as timings are."""
    random = np.random.default_rng(seed)
    return [
        int(scale * 1e6 * (1 + 0.05 * abs(x)) * (5 if stall < 0.05 else 1))
        for x, stall in zip(random.standard_normal(n), random.random(n), strict=True)
    ]


def compared(
    a: dict[str, list[int]], b: dict[str, list[int]], bound: float, tmp_path: Path
) -> compare.Comparison:
    return compare.compare(
        imported.read(saved(tmp_path / "a.json", run(a))),
        imported.read(saved(tmp_path / "b.json", run(b))),
        bound,
    )


def test_noise_with_stalls_is_not_called_a_change(tmp_path: Path) -> None:
    """Two runs of the same work, with twenty rows each: no row is called a change, with stalls or without."""
    result = compared(
        {f"r{n}": noisy(n) for n in range(20)}, {f"r{n}": noisy(100 + n) for n in range(20)}, 0.0, tmp_path
    )
    assert [c.verdict for c in result.changes] == ["same"] * 20
    assert not result.regressions


def test_a_difference_between_processes_is_not_called_a_change(tmp_path: Path) -> None:
    """Each run has five processes of different speeds. Compared sample by sample the two runs differ clearly,
    compared process by process they do not. A true change beyond the processes' spread is still found."""
    random = np.random.default_rng(0)

    def processes(scale: float) -> list[int]:
        return [
            int(scale * 1e6 * (1 + 0.1 * speed + 0.002 * x))
            for speed in random.standard_normal(5)
            for x in random.standard_normal(20)
        ]

    def with_launches(x: dict[str, Any], launches: list[int]) -> dict[str, Any]:
        return x | {"rows": [row | {"launches": launches} for row in x["rows"]]}

    a, b = (
        run({f"r{n}": processes(1) for n in range(10)}),
        run({f"r{n}": processes(3 if n == 0 else 1) for n in range(10)}),
    )
    wrong = []
    for launches in ([], [20] * 5):
        left, right = (
            imported.read(saved(tmp_path / f"{name}.json", with_launches(x, launches)))
            for name, x in (("a", a), ("b", b))
        )
        verdicts = [c.verdict for c in compare.compare(left, right, 0.0).changes]
        assert verdicts[0] == "slower"
        wrong.append(sum(v != "same" for v in verdicts[1:]))
    assert wrong[1] <= 1 < wrong[0]
    with pytest.raises(RuntimeFailure, match=r"rows\[0\]\.launches"):
        imported.read(saved(tmp_path / "c.json", with_launches(a, [1])))


def test_only_a_slowdown_beyond_the_bound_is_a_regression(tmp_path: Path) -> None:
    a, b = (
        {"x": noisy(1), "y": noisy(2), "few": [1, 2]},
        {"x": noisy(3, 1.3), "y": noisy(4, 0.5), "few": [9, 9], "new": noisy(5)},
    )
    result = compared(a, b, 0.10, tmp_path)
    x, y, few = result.changes
    assert (x.verdict, x.regression) == ("slower", True)
    assert x.low <= x.ratio <= x.high
    assert x.ratio == pytest.approx(1.3, abs=0.05)
    assert (y.verdict, y.regression) == ("faster", False)
    assert few.verdict == "too few samples"
    assert result.only_b == ("component: new",)
    within = compared(a, b, 0.50, tmp_path).changes[0]
    assert (within.verdict, within.regression) == ("slower", False)


def test_stalls_alone_are_no_regression(tmp_path: Path) -> None:
    stalled = noisy(1)
    stalled[:10] = [50_000_000] * 10
    assert not compared({"x": noisy(2)}, {"x": stalled}, 0.05, tmp_path).regressions


def test_compare_exits_1_on_a_regression_and_2_on_a_malformed_bound(tmp_path: Path) -> None:
    a, slow = (
        saved(tmp_path / "a.json", run({"x": noisy(1)})),
        saved(tmp_path / "b.json", run({"x": noisy(2, 2.0)}, "Pixel 9")),
    )
    same = CliRunner().invoke(bench, ["compare", str(a), str(a), "--bound", "10%", "--json"])
    assert same.exit_code == 0
    assert json.loads(same.output)["changes"][0]["ratio"] == 1.0
    worse = CliRunner().invoke(bench, ["compare", str(a), str(slow), "--bound", "10%"])
    assert worse.exit_code == 1
    assert "device differs: Pixel 8 and Pixel 9" in worse.output
    assert CliRunner().invoke(bench, ["compare", str(slow), str(a)]).exit_code == 0
    assert CliRunner().invoke(bench, ["compare", str(a), str(a), "--bound", "ten"]).exit_code == 2
    assert CliRunner().invoke(bench, ["compare", str(a), str(tmp_path / "none.json")]).exit_code == 1


@pytest.mark.parametrize(("text", "value"), [("10%", 0.1), ("0.25", 0.25), (" 5 % ", 0.05)])
def test_a_bound_is_read_from_a_percentage_or_a_share(text: str, value: float) -> None:
    assert compare.share(text) == pytest.approx(value)


@pytest.mark.parametrize(
    "change",
    [
        {"device": None},
        {"rows": {}},
        {"rows": [[]]},
        {"rows": [{"layer": "x"}]},
        {"thermal": 3},
        {"rows": [{"layer": 1}]},
    ],
)
def test_a_malformed_result_is_refused_by_the_name_of_its_file(
    tmp_path: Path, change: dict[str, object]
) -> None:
    with pytest.raises(RuntimeFailure, match=r"b\.json"):
        imported.read(saved(tmp_path / "b.json", run({"x": [1, 2]}) | change))


def test_a_run_of_several_numbers_of_threads_is_not_compared(tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match=r"b\.json: holds a run for each of several --threads"):
        imported.read(saved(tmp_path / "b.json", {"runs": [run({"x": [1, 2]})] * 2}))


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda x: st.lists(x, max_size=3),
)


@settings(max_examples=100, deadline=None)
@given(JUNK, st.sampled_from(["n", "avg_ns", "p50_ns", "samples_ns", "layer", "step"]))
def test_a_row_with_an_odd_value_is_refused_or_read_as_integers(
    tmp_path_factory: pytest.TempPathFactory, value: object, name: str
) -> None:
    raw = run({"x": [1, 2]})
    raw["rows"][0][name] = value
    path = saved(tmp_path_factory.mktemp("i") / "x.json", raw)
    try:
        result = imported.read(path)
    except RuntimeFailure:
        return
    assert all(type(s) is int for s in result.rows[0].samples_ns)
    assert result.rows[0].p50_ns >= 0
