"""The statistics of timings, the stopwatch that changes no result, and whole runs of `gamer bench latency`.

No time is asserted.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.bench import tables
from gamer.bench.latency import cold, launch, machine_state, samples, steps
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

NOW = datetime(2026, 11, 21)
JOB = cold.Job("", "", "onnx", 1, "fast", ("cat",), now="", warmup=0, rounds=2, delay=0.0)
ROUNDS = st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=5), min_size=1, max_size=12)


def test_a_timing_holds_its_mean_median_99th_percentile_and_samples() -> None:
    timing = samples.timing("x", "y", range(1, 101))
    assert timing.avg_ns == 50.5
    assert timing.p50_ns == 50.5
    assert timing.p99_ns == pytest.approx(99.01)
    assert len(timing.samples_ns) == 100


@settings(max_examples=40, deadline=None)
@given(st.lists(ROUNDS, min_size=1, max_size=4))
def test_a_median_lies_in_its_interval(launches: list[list[list[int]]]) -> None:
    row = samples.row("cube", "", "search", launches)
    flat = [s for rounds in launches for part in rounds for s in part]
    assert row.n == len(flat) == len(row.samples_ns) == sum(row.launches)
    assert row.p50_ns == np.median(flat)
    assert 0 < row.p50_low_ns <= row.p50_ns * (1 + 1e-9)
    assert row.p50_ns <= row.p50_high_ns * (1 + 1e-9)
    assert row.p50_ns <= row.p90_ns <= row.p95_ns <= row.p99_ns


def test_the_interval_of_a_median_widens_where_rounds_differ() -> None:
    """The machine has two speeds that alternate by round: drawn one by one, the samples would give a narrow
    interval that half of the rounds contradict.
    """
    rounds = [[100] * 10 if turn % 2 else [200] * 10 for turn in range(6)]
    low, high = samples.median_interval(rounds)
    assert (low, high) == (100, 200)
    steady = samples.median_interval([[100, 101, 102]] * 6)
    assert steady == (101, 101)


def test_an_interval_misses_the_true_median_in_at_most_a_tenth_of_runs() -> None:
    """Each round has its own shift, as on a busy machine: the 95 % interval misses the true median in at most
    a tenth of 200 runs.
    """
    random, missed = np.random.default_rng(0), 0
    for _ in range(200):
        rounds = [
            [int(1e6 + 1e5 * shift + 1e4 * x) for x in random.standard_normal(6)]
            for shift in random.standard_normal(20)
        ]
        low, high = samples.median_interval(rounds, draws=300)
        missed += not low <= 1e6 <= high
    assert missed <= 20


def test_nine_of_ten_second_medians_lie_in_the_interval_of_the_first_run() -> None:
    """Each process, round and sample has its own speed: of 200 pairs of runs, at most a tenth of the second
    medians lie outside the first run's interval."""
    pytest.importorskip("scipy", reason="needs the bench extra")
    random, missed = np.random.default_rng(0), 0

    def run() -> list[list[list[int]]]:
        return [
            [
                [
                    int(1e6 * np.exp(0.05 * process + 0.03 * turn + 0.02 * x))
                    for x in random.standard_normal(6)
                ]
                for turn in random.standard_normal(4)
            ]
            for process in random.standard_normal(5)
        ]

    for _ in range(200):
        first, second = samples.row("a", "", "", run()), samples.row("a", "", "", run())
        missed += not first.p50_low_ns <= second.p50_ns <= first.p50_high_ns
    assert missed <= 20


def test_a_share_is_computed_from_pairs_of_samples() -> None:
    share, low, high = samples.share_interval([102, 204, 306], [100, 200, 300])
    assert share == pytest.approx(0.02)
    assert low == pytest.approx(0.02)
    assert high == pytest.approx(0.02)


def test_a_machine_state_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(machine_state, "CPU", tmp_path)
    monkeypatch.setattr(machine_state, "ZONES", tmp_path / "none")
    nothing = machine_state.read()
    assert (nothing.frequency_mhz, nothing.temperature_c, nothing.throttled) == (
        None,
        None,
        None,
    )
    assert machine_state.thermal(nothing, nothing) is None
    (tmp_path / "cpu0" / "cpufreq").mkdir(parents=True)
    (tmp_path / "cpu0" / "cpufreq" / "scaling_cur_freq").write_text("2300000\n")
    (tmp_path / "cpu0" / "thermal_throttle").mkdir()
    (tmp_path / "cpu0" / "thermal_throttle" / "core_throttle_count").write_text("3")
    now = machine_state.read()
    assert now.frequency_mhz == 2300
    assert now.throttled == 3
    assert machine_state.thermal(now, now) == "nominal"
    assert machine_state.thermal(now, replace(now, throttled=4)) == "throttled"


def test_tables_are_written_as_csv_json_json_lines_and_markdown(capsys: pytest.CaptureFixture[str]) -> None:
    sheet = tables.Sheet("T", ("name", "ms"), (("a|b", "1.50"), ("c", None)))
    records: list[tables.Record] = [{"name": "a|b", "samples_ns": [1, 2]}, {"name": 'c,"d', "samples_ns": []}]
    for form in tables.FORMATS:
        tables.emit(form, [sheet], ["a note"], records, {"all": records})
        text = capsys.readouterr().out
        if form == "csv":
            rows = list(csv.DictReader(io.StringIO(text)))
            assert [row["name"] for row in rows] == ["a|b", 'c,"d']
            assert json.loads(rows[0]["samples_ns"]) == [
                1,
                2,
            ]
        elif form != "md":
            assert json.loads(text.splitlines()[-1]) == {"json": {"all": records}, "jsonl": records[-1]}[form]
        else:
            assert text.endswith("a note\n")
            assert "{" not in text
            assert r"| a\|b | 1.50 |" in text
            assert "|------|-----:|" in text


@pytest.mark.slow
def test_a_stopwatch_changes_no_answer(bundle: Path, sample_album: Path) -> None:
    engine, query, watch = (
        Engine.open(bundle, sample_album),
        "coffee I photographed last spring",
        steps.Stopwatch(),
    )
    plain = engine.search(query, now=NOW)
    timed = engine.search(query, now=NOW, observer=watch)
    spent = watch.lap()
    bare = engine.search(query, now=NOW, options=SearchOptions(timed=False))
    assert timed.hits == plain.hits == bare.hits
    assert set(bare.trace.milliseconds.values()) == {0.0}
    assert {layer for layer, _ in spent} == {*LAYERS, "answer"}
    assert ("refine", "text tower") in spent
    assert ("vectors", "re-rank") in spent
    assert all(value > 0 for value in spent.values())
    assert not watch.spent
    engine.search("my cat", now=NOW)
    assert not watch.spent
    engine.close()


def test_a_step_that_the_table_does_not_list_is_an_error() -> None:
    with pytest.raises(KeyError, match="does not list"), steps.Stopwatch().step("cube", "no such step"):
        pass


@pytest.mark.slow
def test_a_cold_start_that_fails_says_why(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match=r"cold start failed: .*no\.gamer"):
        cold.measure(replace(JOB, bundle=str(bundle), album=str(tmp_path / "no.gamer")), 1)


def test_a_measured_process_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    job = replace(JOB, bundle=str(tmp_path / "none"))
    with pytest.raises(RuntimeFailure, match=r"none: no manifest\.json here"):
        launch.measure(job, 2, lambda text: None)
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\necho first >&2; echo boom >&2; exit 3\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))
    with pytest.raises(RuntimeFailure, match=r"measured process ended with status 3: boom$"):
        launch.measure(job, 2, lambda text: None)


@pytest.mark.slow
def test_rounds_are_shared_out_among_processes(bundle: Path) -> None:
    messages = list[str]()
    results = launch.measure(replace(JOB, bundle=str(bundle), rounds=3), 2, messages.append)
    assert [[len(row.rounds) for row in one.rows if row.step == "text_tower"] for one in results] == [
        [2],
        [1],
    ]
    assert messages == [
        "process 1 of 2, round 1 of 2",
        "process 1 of 2, round 2 of 2",
        "process 2 of 2, round 1 of 1",
    ]
    assert all(one.peak_rss_mb > 0 and not one.bare for one in results)


@pytest.mark.slow
def test_bench_latency_writes_layers_steps_components_and_a_report(
    bundle: Path, sample_album: Path, tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "gamer.main",
        "bench",
        "latency",
        str(sample_album),
        "-b",
        str(bundle),
        "-r",
        "1",
        "-w",
        "0",
    ]
    command += [
        "-q",
        "my cat <b>&",
        "--html",
        str(tmp_path / "r.html"),
        "--output",
        str(tmp_path / "l.json"),
        "--delay",
        "0.01",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result == json.loads((tmp_path / "l.json").read_text())
    layers = {row["layer"]: row for row in result["rows"] if not row["step"]}
    assert list(layers) == ["cube", "kdtree", "refine", "graph", "vectors", "all", "search"]
    assert layers["search"]["avg_ns"] > layers["all"]["avg_ns"] > layers["refine"]["avg_ns"]
    assert {("cube", "cue parse"), ("refine", "text tower"), ("answer", "rows of hits")} <= {
        (row["layer"], row["step"]) for row in result["rows"]
    }
    for row in result["rows"]:
        if row["layer"] in layers and row["step"]:
            assert row["avg_ns"] <= layers[row["layer"]]["avg_ns"], row["step"]
    components = {row["step"]: row for row in result["rows"] if row["layer"] == "component"}
    wanted = {
        "image_tower",
        "text_tower",
        "tokenise",
        "dpe_router",
        "dpe_expert_0",
        "dpe",
        "llm_prefill",
        "llm_prefill_after_prefix",
        "llm_decode",
    }
    assert wanted <= set(components)
    assert all(row["samples_ns"] and row["p50_ns"] > 0 for row in components.values())
    counted = json.loads((bundle / "manifest.json").read_text())["components"]
    assert components["image_tower"]["macs"] == next(c["macs"] for c in counted if c["role"] == "image_tower")
    assert result["cold"]["command_ms"] > 0
    assert result["cold"]["all_ms"] > result["cold"]["first_ms"] > 0
    assert result["overhead"]["pairs"] == 4
    assert {m["model_sha256"] for m in result["models"]}
    assert result["before"].keys() == result["after"].keys()
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "my cat &lt;b&gt;&amp;" in page
    assert "<b>&amp;" not in page
    # Self-contained: no script, nothing fetched.
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)


@pytest.mark.slow
def test_bench_latency_without_an_album_measures_components_only(bundle: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "gamer.main",
        "bench",
        "latency",
        "-b",
        str(bundle),
        "-r",
        "1",
        "-w",
        "0",
        "--format",
        "csv",
        "--threads",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["layer"] for row in rows} == {"component"}
    assert {row["n_threads"] for row in rows} == {"1"}
    assert all(json.loads(row["samples_ns"]) for row in rows)
