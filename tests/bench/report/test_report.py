"""The report in a headless Chromium at a phone's width, with every plot drawn from made-up results, and the
refusal of files that are no results.

$GAMER_SHOTS names a folder for the pictures, for a person to look at.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.cli.bench import bench
from gamer.bench.cost import ops
from gamer.bench.cost.ceilings import Ceilings, Rate
from gamer.bench.cost.fallbacks import ExecutedNode
from gamer.bench.latency import samples
from gamer.bench.report import plots, report, result_plots
from gamer.runtime.bundle.manifest import Budget, BudgetPoint
from gamer.runtime.errors import RuntimeFailure

pytest.importorskip("jinja2", reason="needs the bench extra")
EVIL = "<script>alert(1)</script>"
RATES = tuple(Rate(p, 1, g) for p, g in (("fp32", 10.0), ("int8", 40.0), ("int4", 20.0)))
HERE = Ceilings(2, RATES, 5.0, 10.0, 100.0, 1.0, 1.0, 0.0, {})
MACHINE = {"cores": 2, "python": "3", "build_commit": "abc", "cpu_info": "x"}


def latency() -> dict[str, Any]:
    layers = ("cube", "kdtree", "refine", "graph", "vectors", "all", "search")
    rows = [
        samples.row(name, "", "search", [[[10**6 * n, 2 * 10**6 * n]]]) for n, name in enumerate(layers, 1)
    ]
    rows += [
        samples.row("cube", "cue parse", "search", [[[5 * 10**5]]]),
        samples.row("component", "image_tower", EVIL, [[[10**7]]], 385_000_000, "image_tower"),
    ]
    cold, over = (
        {"all_ms": 900, "peak_rss_mb": 120},
        dict.fromkeys(
            ("trace", "trace_low", "trace_high", "stopwatch", "stopwatch_low", "stopwatch_high"), 0.01
        ),
    )
    head = {
        "schema": "gamer-latency/1",
        "device": "Xeon",
        "backend": "onnx",
        "bundle": "pocket",
        "album": "a",
        "photos": 19,
        "n_threads": 2,
    }
    more = {
        "refined_by": "fast",
        "queries": ["q"],
        "rounds": 2,
        "cold": cold,
        "overhead": over,
        "machine": MACHINE,
        "when": "now",
    }
    return {**head, **more, "rows": [asdict(r) for r in rows]}


def operators() -> dict[str, Any]:
    nodes = [
        ExecutedNode("/l.0/MatMul", "MatMulNBits", "l.0", 50.0, 10**6, 10**5, "int4"),
        ExecutedNode("Gelu", "Gelu", "l.0", 5.0, 0, 0, ""),
    ]
    groups = ops.groups(nodes, lambda n: n.op, HERE, False)
    table = ops.Table(
        "llm_decode",
        "one token",
        "llm_decoder",
        "int4",
        10**7,
        10**6,
        10**5,
        20.0,
        3,
        70.0,
        60.0,
        groups,
        groups,
        tuple(nodes),
        (),
    )
    return {"bundle": "pocket", "ceilings": asdict(HERE), "tables": [asdict(table)], "executorch": ""}


def others() -> list[dict[str, Any]]:
    component = {
        "name": "image_tower",
        "role": "image_tower",
        "quant": "int8",
        "unit": "image",
        "parameters": 4 * 10**6,
        "macs": 385 * 10**6,
    }
    component |= {
        "weight_bytes": 10**7,
        "activation_bytes": 3 * 10**7,
        "intensity": 20.0,
        "file_bytes": 10**7,
    }
    sums = [{"unit": "query", "of": "2 × text", "macs": 10**8, "bytes": 10**7}]
    flops = {
        "bundle": "pocket",
        "recipe": "pocket",
        "quant": "int8",
        "components": [component],
        "sums": sums,
        "routing": [],
        "candidates": [],
    }
    scores = {
        "recall5": {"mean": 0.9, "low": 0.88, "high": 0.92},
        "map5": {"mean": 0.8, "low": 0.7, "high": 0.9},
    }
    methods = [
        {"method": "ours", "scores": scores, "p50_ms": 10.0},
        {"method": EVIL, "scores": scores, "p50_ms": 1.0},
    ]
    quality = {"dataset": "lihua", "bundle": "pocket int8", "reference": "ours", "methods": methods}
    p95 = {"p95_ms": 2.0}
    sizes = [
        {
            "photos": 10**n,
            "search": p95,
            "search_encoding": p95,
            "album_open_ms": n,
            "add_one": p95,
            "tree_ms": 0.1,
            "mask_ms": 0.2,
        }
        for n in (3, 4, 5)
    ]
    index = {"sizes": sizes, "dim": 384, "queries": []}
    task = {
        "device": "Pixel 8",
        "bundle": "pocket",
        "cpu_ms": 20.0,
        "joules": 0.1,
        "energy": "B",
        "memory_mb": 80.0,
    }
    tasks = [
        task | {"task": "query, refined by rules"},
        task | {"task": "query, refined by the language model", "cpu_ms": 300.0},
    ]
    checked = {
        "bundle": "pocket",
        "component": "c",
        "on": "o",
        "measured_ms": 1.0,
        "predicted_ms": 0.9,
        "error": -0.1,
        "calibrated_error": 0.0,
    }
    device = {"checked": [checked], "outlooks": [], "tasks": tasks}
    return [flops, quality, index, device]


def page(tmp_path: Path) -> Path:
    files = []
    for n, document in enumerate((latency(), operators(), *others())):
        (tmp_path / f"{n}.json").write_text(json.dumps(document))
        files.append(str(tmp_path / f"{n}.json"))
    done = CliRunner().invoke(bench, ["report", *files, "--html", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    return tmp_path / "r.html"


def test_the_readmes_table_is_computed_from_result_files(tmp_path: Path) -> None:
    """The time comes from the latency run where it has the row, else from the profile of the operators; the
    expected shares are computed by hand.
    """
    (tmp_path / "o.json").write_text(json.dumps(operators()))
    (tmp_path / "l.json").write_text(json.dumps(latency()))
    alone = CliRunner().invoke(bench, ["report", str(tmp_path / "o.json"), "--json"])
    (row,) = json.loads(alone.output)["rows"]
    assert (row["component"], row["parameters"], row["macs"], row["bytes"], row["ms"]) == (
        "llm_decode",
        10**7,
        10**6,
        10**5,
        0.06,
    )
    assert row["gflops"] == pytest.approx(2 * 10**6 / 60e-6 / 1e9)
    assert row["roofline"] == pytest.approx(20 / 60)
    timed = latency()
    timed["rows"].append(asdict(samples.row("component", "llm_decode", "one token", [[[80_000]]])))
    (tmp_path / "l.json").write_text(json.dumps(timed))
    both = CliRunner().invoke(bench, ["report", str(tmp_path / "o.json"), str(tmp_path / "l.json")])
    assert both.exit_code == 0, both.output
    assert "| llm_decode, one token " in both.output
    assert "25%" in both.output
    assert "{" not in both.output
    assert "cube" not in both.output  # layers are the table of `bench latency`
    nothing = CliRunner().invoke(bench, ["report", str(tmp_path / "l.json")])
    assert nothing.exit_code == 1
    assert "bench ops" in nothing.output


def test_a_report_of_every_result_is_self_contained_and_escapes_html(tmp_path: Path) -> None:
    text = page(tmp_path).read_text(encoding="utf-8")
    assert text.count("<svg") == 6  # layers, roofline, quality by time and by size, growth, phones
    assert EVIL not in text
    assert "&lt;script&gt;" in text
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert "http" not in text.replace("http://www.w3.org", "")


def test_a_report_fits_the_width_of_a_phone_in_light_and_in_dark(tmp_path: Path) -> None:
    chrome = pytest.importorskip("gamer.bench.chrome", reason="needs websockets")
    binary = chrome.find()
    if binary is None:
        pytest.skip("no Chromium here")
    file = page(tmp_path)
    with chrome.browser(binary) as tab:
        for dark in (False, True):
            tab.look(390, 844, dark)
            tab.open(file.as_uri(), "document.querySelectorAll('svg').length === 6")
            assert tab.ask("document.documentElement.scrollWidth") <= 390
            assert tab.ask(
                "[...document.querySelectorAll('svg')].every(s => s.getBoundingClientRect().width > 300)"
            )
            # No part of a drawing lies outside its frame, and no text is too small to read.
            outside = "b.right > f.right + 2 || b.bottom > f.bottom + 2 || b.left < f.left - 2"
            children = (
                f"[...s.children].filter(c => {{ const b = c.getBoundingClientRect(); return {outside} "
                "}).map(c => c.outerHTML)"
            )
            each = f"s => {{ const f = s.getBoundingClientRect(); return {children} }}"
            assert tab.ask(f"[...document.querySelectorAll('svg')].flatMap({each})") == []
            assert (
                tab.ask(
                    "Math.min(...[...document.querySelectorAll('svg text')].map(t => "
                    "t.getBoundingClientRect().height))"
                )
                >= 9
            )
            if os.environ.get("GAMER_SHOTS"):
                tab.picture(
                    Path(os.environ["GAMER_SHOTS"]) / f"report-390{'-dark' if dark else ''}.png",
                    full_page=True,
                )
        assert not tab.complaints()


def test_a_file_that_is_no_result_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for text in ("", "[]", "{}", '{"a": 1}', '{"runs": []}', '{"runs": [1]}', "[" * 100_000):
        path.write_text(text)
        with pytest.raises(RuntimeFailure, match=r"x\.json"):
            report.read(path)
    broken = latency()
    del broken["rows"][0]["p50_ns"]
    path.write_text(json.dumps(broken))
    done = CliRunner().invoke(bench, ["report", str(path), "--html", str(tmp_path / "r.html")])
    assert done.exit_code == 1
    assert "measure it again" in done.output
    assert not (tmp_path / "r.html").exists()


def test_a_result_of_several_threads_is_a_run_for_each(tmp_path: Path) -> None:
    two = [latency(), latency() | {"n_threads": 1}]
    (path := tmp_path / "x.json").write_text(json.dumps({"runs": two}))
    assert [one["n_threads"] for one in report.read(path)] == [2, 1]


@pytest.mark.parametrize("threads", ["00641234", "1,01", "65", "0", "1,1", "", "²"])
def test_numbers_of_threads_are_from_1_to_64_and_differ(tmp_path: Path, threads: str) -> None:
    done = CliRunner().invoke(bench, ["latency", "-b", str(tmp_path), "--threads", threads])
    assert done.exit_code == 2
    assert "one number from 1 to 64" in done.output


@given(st.lists(st.floats(1e-6, 1e9), min_size=1, max_size=20), st.booleans())
def test_an_axis_covers_its_values_with_1_to_16_ticks(values: list[float], log: bool) -> None:
    axis = plots.axis("x", values, log)
    assert axis.low <= min(values) * (1 + 1e-9)
    assert axis.high >= max(values) * (1 - 1e-9)
    assert 1 <= len(axis.ticks()) <= 16
    assert all(axis.low - 1e-9 <= t * (1 + 1e-9) and t <= axis.high * (1 + 1e-9) for t in axis.ticks())
    assert all(0 <= axis.at(v, 0, 100) <= 100 for v in values)


def test_chosen_bits_are_drawn_over_their_curve_with_uniform_bits_named() -> None:
    curve = (BudgetPoint(18_000_000, 0.04), BudgetPoint(23_000_000, 0.0009), BudgetPoint(45_000_000, 0.0))
    uniform = (BudgetPoint(23_100_000, 0.006, "int8"), BudgetPoint(19_000_000, 0.02, "int4/32"))
    budget = Budget("text_tower", "onnx", curve, uniform, BudgetPoint(23_000_000, 0.001))
    drawn = result_plots.bits(budget)
    assert "int8</text>" in drawn
    assert "int4/32</text>" in drawn
    across = [float(x) for x in re.findall(r'<circle cx="([\d.]+)"', drawn)]
    assert across[:3] == sorted(across[:3])
    assert across[3] == pytest.approx(across[5], abs=5)  # int8 and the choice have nearly the same bytes
    assert "nan" not in drawn
