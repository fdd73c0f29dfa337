"""Reads what other tools measured on a phone, as the measurement of one component.

- llama-bench (`-o json` or `jsonl`): a prompt is llm_prefill, generated tokens are llm_decode, a token each.
- Qualcomm AI Hub: the JSON of a profile job (`download_profile`); microseconds.
- Xcode's performance report of a Core ML model: the folder `.mlperf`, or the report.json in it; seconds.
- ExecuTorch's ETDump, as `Inspector` writes it: `to_dataframe().to_json(orient="records")` or `to_csv`, or
  `save_data_to_tsv`; the unit is in the names of the columns, milliseconds if not.

None of them names a component of a bundle, and only Xcode's a phone: `--import PHONE:COMPONENT=FILE` does.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from gamer.index import json_checked
from gamer.index.json_checked import Between, Items, JsonError, read_as
from gamer.runtime.errors import RuntimeFailure

from ..latency import imported
from ..latency.imported import MAX_BYTES, MAX_SAMPLES, Imported, ImportedRow, Operator, component_row

_Number = Annotated[float, Between(0)]
_Samples = Annotated[tuple[_Number, ...], Items(MAX_SAMPLES)]
EXECUTE = "Method::execute"  # ETDump's event of a whole run
UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
COREML_UNITS = ("cpu_only", "cpu_and_gpu", "all", "cpu_and_ne")  # by Apple's number of MLComputeUnits


@dataclass(frozen=True)
class Source:
    """A file to import. `phone`, `component`: what it is of, "" where the file says so itself."""

    path: Path
    phone: str = ""
    component: str = ""


@dataclass(frozen=True)
class _LlamaRow:
    n_prompt: Annotated[int, Between(0)]
    n_gen: Annotated[int, Between(0)]
    samples_ns: Annotated[tuple[_Number, ...], Items(MAX_SAMPLES, 1)]
    backends: str = ""
    model_filename: str = ""


@dataclass(frozen=True)
class _HubSummary:
    estimated_inference_time: _Number
    all_inference_times: _Samples = ()


@dataclass(frozen=True)
class _HubNode:
    type: str
    compute_unit: str = "CPU"
    execution_time: _Number | None = None


@dataclass(frozen=True)
class _Hub:
    execution_summary: _HubSummary
    execution_detail: tuple[_HubNode, ...] = ()


@dataclass(frozen=True)
class _XcodePredict:
    samples: Annotated[tuple[_Number, ...], Items(MAX_SAMPLES, 1)]


@dataclass(frozen=True)
class _XcodeResults:
    predict: _XcodePredict


@dataclass(frozen=True)
class _XcodeDevice:
    modelName: str = ""
    osNameAndVersionWithoutBuildNumber: str = ""


@dataclass(frozen=True)
class _Xcode:
    deviceResults: _XcodeResults
    computeUnit: Annotated[int, Between(0, len(COREML_UNITS) - 1)]
    deviceInfo: _XcodeDevice = _XcodeDevice()


def source(text: str) -> Source:
    """ "FILE", "PHONE:COMPONENT=FILE" or ":COMPONENT=FILE". Raises ValueError for a head without a colon."""
    head, equals, path = text.partition("=")
    if not equals or Path(text).exists():
        return Source(Path(text))
    phone, colon, component = head.rpartition(":")
    if not colon or not component or not path:
        raise ValueError(
            f"{text!r}: FILE or PHONE:COMPONENT=FILE is wanted, such as 'Pixel 8:text_tower=a.json'"
        )
    return Source(Path(path), phone, component)


def read(given: Source) -> tuple[Imported, ...]:
    """The measurements in a file, of the apps or of another tool. Raises RuntimeFailure."""
    path = given.path / "report.json" if given.path.is_dir() else given.path
    try:
        if path.suffix in (".csv", ".tsv"):
            return (_named(_etdump(_table(path), given), given),)
        raw = _lines(path) if path.suffix == ".jsonl" else json_checked.read(path, MAX_BYTES)
        for key in ("measurements", "runs"):  # of `bench device -o`; of `bench latency` by several --threads
            if isinstance(raw, dict) and key in raw:
                return _several(raw[key], f"{path}.{key}")
        if isinstance(raw, dict) and "rows" in raw:
            return (imported.checked(raw, str(path)),)
        return (_named(_foreign(raw, given, str(path)), given),)
    except JsonError as error:
        raise RuntimeFailure(f"{error}: export the report again") from None


def _several(raw: Any, at: str) -> tuple[Imported, ...]:
    if not isinstance(raw, list) or not raw:
        raise RuntimeFailure(f"{at}: must be a list of measurements that is not empty: measure again")
    return tuple(imported.checked(one, f"{at}[{number}]") for number, one in enumerate(raw))


def _foreign(raw: Any, given: Source, at: str) -> Imported:
    if isinstance(raw, dict) and "execution_summary" in raw:
        return _hub(read_as(_Hub, raw, at, extra=True), given)
    if isinstance(raw, dict) and "deviceResults" in raw:
        return _xcode(read_as(_Xcode, raw, at, extra=True), given)
    first = raw[0] if isinstance(raw, list) and raw and isinstance(raw[0], dict) else {}
    if "n_prompt" in first:
        return _llama(read_as(tuple[_LlamaRow, ...], raw, at, extra=True))
    if "event_name" in first:
        return _etdump(raw, given)
    raise RuntimeFailure(
        f"{at}: neither a measurement of an app or of `bench latency`, nor a report of llama-bench, AI Hub, "
        "Xcode or ETDump: see bench/README.md"
    )


def _named(made: Imported, given: Source) -> Imported:
    """With the phone that the caller named. Raises RuntimeFailure if phone or component are not known, and
    for no row.
    """
    if not made.rows:
        raise RuntimeFailure(
            f"{given.path}: none of its rows is of a prompt alone or of generated tokens alone: run "
            "llama-bench with -p and -n, without -pg"
        )
    device = given.phone or made.device
    if not device or any(not row.step for row in made.rows):
        raise RuntimeFailure(
            f"{given.path}: does not say what it was measured on: give it as PHONE:COMPONENT=FILE, such as "
            f"'Pixel 8:text_tower={given.path}'"
        )
    return replace(made, device=device)


def _made(backend: str, rows: Sequence[ImportedRow], operators: Sequence[Operator] = ()) -> Imported:
    return Imported("", "", backend, "", tuple(rows), operators=tuple(operators))


def _llama(rows: Sequence[_LlamaRow]) -> Imported:
    """A row that has both a prompt and generated tokens is neither component, and left out."""
    out = []
    for row in rows:
        if row.n_gen and not row.n_prompt:
            out.append(component_row("llm_decode", [ns / row.n_gen for ns in row.samples_ns]))
        elif row.n_prompt and not row.n_gen:
            out.append(component_row("llm_prefill", row.samples_ns, row.n_prompt))
    return _made(f"llama-bench: {rows[0].backends or 'unknown'}", out)


def _hub(report: _Hub, given: Source) -> Imported:
    summary = report.execution_summary
    microseconds = summary.all_inference_times or (summary.estimated_inference_time,)
    spent: dict[str, float] = {}
    for node in report.execution_detail:
        spent[node.compute_unit] = spent.get(node.compute_unit, 0) + (node.execution_time or 0)
    unit = max(spent, key=lambda name: spent[name]) if spent else "unknown"
    nodes = ((node.type, (node.execution_time or 0) * 1e3) for node in report.execution_detail)
    row = component_row(given.component, [us * 1e3 for us in microseconds])
    return _made(f"AI Hub: {unit}", [row], _operators(given.component, nodes))


def _xcode(report: _Xcode, given: Source) -> Imported:
    row = component_row(given.component, [s * 1e9 for s in report.deviceResults.predict.samples])
    info = report.deviceInfo
    made = _made(f"coreml:{COREML_UNITS[report.computeUnit]}", [row])
    return replace(made, device=info.modelName, os=info.osNameAndVersionWithoutBuildNumber)


def _etdump(events: Sequence[dict[str, Any]], given: Source) -> Imported:
    """Raises RuntimeFailure without the event of a whole run, or for a time that is none."""
    if not all(isinstance(event, dict) for event in events):
        raise RuntimeFailure(f"{given.path}: a row of an ETDump must be an object: export the report again")
    columns = {re.sub(r" \(.*\)$", "", name): name for event in events[:1] for name in event}
    unit = re.search(r"\((\w+)\)$", columns.get("p50", ""))
    if (name := unit[1] if unit else "ms") not in UNITS:
        raise RuntimeFailure(f"{given.path}: its times are in {name}: give Inspector target_time_scale MS")
    scale, (p50, p90) = UNITS[name], (columns.get(column, column) for column in ("p50", "p90"))
    try:
        whole = next(event for event in events if event.get("event_name") == EXECUTE)
        middle, high = float(whole[p50]) * scale, float(whole.get(p90, whole[p50])) * scale
        kept = [e for e in events if e.get("event_name") not in (EXECUTE, "OPERATOR_CALL", "DELEGATE_CALL")]
        inside = [e for e in kept if e.get("event_block_name", "Execute") == "Execute"]
        nodes = [(str(event["event_name"]), float(event[p50] or 0) * scale) for event in inside]
        times = [middle, high, *(ns for _, ns in nodes)]
        if middle <= 0 or not all(0 <= ns < math.inf for ns in times):
            raise ValueError
    except (StopIteration, KeyError, TypeError, ValueError):
        raise RuntimeFailure(
            f"{given.path}: an ETDump needs {EXECUTE} with a time above 0 in p50, and no time below 0"
        ) from None
    row = replace(component_row(given.component, [middle]), p90_ns=high)
    return _made("executorch", [row], _operators(given.component, nodes))


def _operators(step: str, nodes: Any) -> list[Operator]:
    times: dict[str, list[float]] = {}
    for name, ns in nodes:
        times.setdefault(name, []).append(ns)
    return [Operator(step, name, len(ns), sum(ns)) for name, ns in times.items()]


def _table(path: Path) -> list[dict[str, Any]]:
    text = _text(path)
    delimiter = "\t" if path.suffix == ".tsv" else ","
    rows: list[dict[Any, Any]] = list(csv.DictReader(io.StringIO(text), delimiter=delimiter))
    if number := next((n for n, row in enumerate(rows, 2) if None in row), 0):
        raise RuntimeFailure(f"{path}: row {number} has more cells than the first: export the report again")
    return rows


def _lines(path: Path) -> list[Any]:
    return [json_checked.parse(line) for line in _text(path).splitlines() if line.strip()]


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise RuntimeFailure(f"{path}: must be at most {MAX_BYTES >> 20} MB long")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RuntimeFailure(f"{path}: cannot be read ({error})") from None
