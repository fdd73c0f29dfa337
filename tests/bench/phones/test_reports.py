"""Reports of other tools, in the forms in which they write them, as measurements of a component."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from gamer.bench.latency.imported import Imported
from gamer.bench.phones import reports
from gamer.runtime.errors import RuntimeFailure

LLAMA = [
    {"build_commit": "8cf427ff", "backends": "CPU", "model_filename": "m.gguf", "n_threads": 4, "n_prompt":
    512,
     "n_gen": 0, "n_depth": 0, "avg_ns": 72_000_000, "stddev_ns": 1, "samples_ns": [71_000_000, 73_000_000]},
    {"backends": "CPU", "n_prompt": 0, "n_gen": 128, "avg_ns": 1_280_000_000, "samples_ns": [1_280_000_000]},
    {"backends": "CPU", "n_prompt": 512, "n_gen": 128, "samples_ns": [1]},
]  # fmt: skip
HUB = {
    "execution_summary": {"estimated_inference_time": 4000, "estimated_inference_peak_memory": 1 << 20,
                          "all_inference_times": [4000, 5000, 6000], "first_load_time": 9, "warm_load_time":
                          3},
    "execution_detail": [
        {"name": "a", "type": "Conv", "compute_unit": "NPU", "execution_time": 900, "execution_cycles": 7},
        {"name": "b", "type": "Conv", "compute_unit": "NPU", "execution_time": 600},
        {"name": "c", "type": "Gather", "compute_unit": "CPU", "execution_time": 100},
    ],
}  # fmt: skip
XCODE = {
    "modelMetadata": {"fileName": "text_tower", "size": 1},
    "deviceInfo": {"modelName": "iPhone 16", "osNameAndVersionWithoutBuildNumber": "iOS 26.3.1"},
    "computeUnit": 0,
    "deviceResults": {"predict": {"samples": [0.004, 0.006], "numOperations": 3}},
}
ETDUMP = [
    ("Default", "Method::init", 9.0, 9.0),
    ("Execute", "native_call_convolution.out", 1.5, 1.6),
    ("Execute", "native_call_convolution.out", 0.5, 0.6),
    ("Execute", "OPERATOR_CALL", 2.1, 2.2),
    ("Execute", "Method::execute", 2.2, 2.4),
]


def read(path: Path, head: str = "Pixel 8:text_tower") -> Imported:
    (made,) = reports.read(reports.source(f"{head}={path}"))
    return made


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_llama_bench_gives_prompts_and_single_tokens(tmp_path: Path) -> None:
    lines = "\n".join(map(json.dumps, LLAMA))
    for path in (written(tmp_path / "a.json", LLAMA), written(tmp_path / "a.jsonl", lines)):
        made = read(path, "Pixel 8:llm")
        assert (made.device, made.backend, made.on_processor) == ("Pixel 8", "llama-bench: CPU", True)
        assert [(r.step, r.p50_ns, r.tokens) for r in made.rows] == [
            ("llm_prefill", 72e6, 512),
            ("llm_decode", 1e7, None),
        ]


def test_a_profile_of_ai_hub_gives_microseconds_and_what_ran_most(tmp_path: Path) -> None:
    made = read(written(tmp_path / "a.json", HUB))
    assert (made.rows[0].step, made.rows[0].p50_ns, made.rows[0].n) == ("text_tower", 5e6, 3)
    assert made.backend == "AI Hub: NPU"
    assert not made.on_processor
    assert [(o.operator, o.times, o.ns) for o in made.operators] == [("Conv", 2, 1.5e6), ("Gather", 1, 1e5)]
    summary = {"execution_summary": {"estimated_inference_time": 4000}}
    assert read(written(tmp_path / "b.json", summary)).rows[0].p50_ns == 4e6


def test_a_report_of_xcode_names_its_phone(tmp_path: Path) -> None:
    (tmp_path / "a.mlperf").mkdir()
    written(tmp_path / "a.mlperf/report.json", XCODE)
    made = read(tmp_path / "a.mlperf", ":text_tower")
    assert (made.device, made.os, made.rows[0].p50_ns) == ("iPhone 16", "iOS 26.3.1", 5e6)
    assert made.backend == "coreml:cpu_only"
    assert made.on_processor
    everywhere = read(written(tmp_path / "b.json", XCODE | {"computeUnit": 2}), ":text_tower")
    assert everywhere.backend == "coreml:all"
    assert not everywhere.on_processor


def test_an_etdump_gives_the_whole_run_and_its_operators(tmp_path: Path) -> None:
    names = ("event_block_name", "event_name", "p50 (ms)", "p90 (ms)")
    rows = [dict(zip(names, event, strict=True)) for event in ETDUMP]
    table = [",".join(names), *(",".join(map(str, event)) for event in ETDUMP)]
    for path in (
        written(tmp_path / "a.json", rows),
        written(tmp_path / "a.csv", "\n".join(table)),
        written(tmp_path / "a.tsv", "\n".join(table).replace(",", "\t")),
        written(tmp_path / "b.json", json.loads(json.dumps(rows).replace(" (ms)", ""))),
    ):
        made = read(path)
        assert (made.backend, made.rows[0].p50_ns, made.rows[0].p90_ns) == ("executorch", 2.2e6, 2.4e6)
        assert [(o.operator, o.times, o.ns) for o in made.operators] == [
            ("native_call_convolution.out", 2, 2e6)
        ]
    with pytest.raises(RuntimeFailure, match="Method::execute"):
        read(written(tmp_path / "c.json", rows[:1]))


def test_what_executorchs_own_inspector_writes_is_read(tmp_path: Path) -> None:
    inspector = pytest.importorskip("executorch.devtools.inspector", reason="needs the export extra")
    scale = inspector.TimeScale
    for unit, factor in ((scale.US, 1e3), (scale.MS, 1e6), (scale.CYCLES, None)):
        events = [
            inspector.Event(name=name, perf_data=inspector.PerfData([ms, ms]))
            for name, ms in (("Method::execute", 2.5), ("native_call_convolution.out", 1.5))
        ]
        block = inspector.EventBlock("Execute", events, source_time_scale=unit, target_time_scale=unit)
        table = block.to_dataframe(include_units=True)
        path = written(tmp_path / "a.json", table.to_json(orient="records"))
        if factor is None:
            with pytest.raises(RuntimeFailure, match="times are in cycles"):
                read(path)
            continue
        made = read(path)
        assert made.rows[0].p50_ns == 2.5 * factor
        assert made.operators[0].ns == 1.5 * factor


def test_a_result_of_bench_device_is_read_again(tmp_path: Path) -> None:
    row = {"layer": "component", "step": "a", "n": 1, "avg_ns": 1, "stddev_ns": 0, "p50_ns": 1, "p90_ns": 1,
           "samples_ns": [1]}  # fmt: skip
    run = {"device": "Pixel 8", "os": "x", "backend": "onnx", "bundle_sha256": "ab", "rows": [row]}
    for whole in ({"outlooks": [], "measurements": [run, run]}, {"runs": [run, run]}):
        path = written(tmp_path / "o.json", whole)
        assert [m.device for m in reports.read(reports.source(str(path)))] == ["Pixel 8"] * 2


@pytest.mark.parametrize(
    ("head", "content", "message"),
    [
        ("", HUB, "does not say what it was measured on"),
        (":text_tower", LLAMA, "does not say what it was measured on"),
        ("Pixel 8:a", {"x": 1}, "nor a report of llama-bench, AI Hub, Xcode or ETDump"),
        ("Pixel 8:a", [], "nor a report of llama-bench"),
        ("Pixel 8:a", "{", "must be JSON"),
        ("Pixel 8:a", [LLAMA[0] | {"samples_ns": []}], "samples_ns"),
        ("Pixel 8:a", XCODE | {"computeUnit": 9}, "computeUnit"),
        ("", {"measurements": None}, r"measurements: must be a list"),
        ("", {"measurements": []}, r"measurements: must be a list .* not empty"),
        ("", {"runs": [7]}, r"runs\[0\]: must be an object"),
        ("Pixel 8:llm", LLAMA[2:], "none of its rows is of a prompt alone"),
        ("Pixel 8:a", [{"event_name": "Method::execute", "p50": math.nan}], "time above 0"),
        ("Pixel 8:a", [{"event_name": "Method::execute", "p50": math.inf}], "time above 0"),
        ("Pixel 8:a", [{"event_name": "Method::execute", "p50": -1}], "time above 0"),
        ("Pixel 8:a", [{"event_name": "Method::execute", "p50": 1}, 7], "must be an object"),
    ],
)
def test_what_is_no_report_is_refused_in_a_line(
    tmp_path: Path, head: str, content: object, message: str
) -> None:
    path = written(tmp_path / "a.json", content)
    with pytest.raises(RuntimeFailure, match=message) as refused:
        reports.read(reports.source(f"{head}={path}" if head else str(path)))
    assert "\n" not in str(refused.value)


def test_a_table_with_a_row_too_long_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", "event_name,p50\nMethod::execute,1,2\n")
    with pytest.raises(RuntimeFailure, match="row 2 has more cells"):
        read(path)


def test_a_head_needs_a_component() -> None:
    with pytest.raises(ValueError, match="PHONE:COMPONENT=FILE is wanted"):
        reports.source("Pixel 8=a.json")
