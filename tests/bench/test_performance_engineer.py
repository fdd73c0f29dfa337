"""A performance engineer at the shell: what the commands of `gamer bench` take, and what tables and JSON say.

Commands that would measure for minutes are given recorded files or made-up measurements. No time is asserted.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_type_hints

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from gamer.bench.cli.bench import bench
from gamer.bench.cost import ceilings
from gamer.bench.index import ann, ann_peers
from gamer.bench.latency import launch, samples, steps, tables
from gamer.bench.latency.measure import Latency
from gamer.bench.phones import device
from gamer.bench.report.recorded import recorded
from gamer.bench.study.declaration import Study
from gamer.bench.study.figures import FIGURES
from gamer.bench.study.studies import STUDIES
from gamer.main import INDEX_COMMANDS
from gamer.main import main as gamer
from gamer.runtime.search.options import SILENT, Observer
from tests.bench.phones.test_device import HERE, runs
from tests.paths import ROOT

RESULTS = ROOT / "bench" / "results"
# What it writes is no measurement: an album's JSONL.
NO_RESULT = {"sample"}
SHEETS = {"latency", "flops", "ops", "device", "compare", "report"}


def commands(group: click.Group, *words: str) -> Iterator[tuple[str, click.Command]]:
    """Every command below `group`, by the words that a user types."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


def run(*words: object) -> Result:
    return CliRunner().invoke(bench, [str(word) for word in words])


def flags(command: click.Command) -> dict[str, click.Option]:
    return {flag: p for p in command.params if isinstance(p, click.Option) for flag in p.opts}


def test_every_bench_command_has_help_and_writes_and_prints_its_result_in_the_same_way() -> None:
    for name, command in commands(bench):
        shown, given = run(name, "--help"), flags(command)
        assert shown.exit_code == 0, name
        assert command.help, name
        if name in NO_RESULT:
            assert "--json" not in given, name
            continue
        assert given["-o"].opts == ["-o", "--output"], name
        assert given["-o"].type.name == "path", name
        assert given["--json"].is_flag, name
        assert "--json" in shown.output, name
        assert ("--format" in given) == (name in SHEETS), name


def test_o_is_the_file_or_folder_that_is_written_in_every_command_of_gamer() -> None:
    found = dict(commands(gamer))
    assert len(found) > 40
    assert {f"index {name}" for name in INDEX_COMMANDS} <= {
        *found,
        "index event",
        "index",
    }
    for name, command in found.items():
        given = flags(command)
        for flag in ("-o", "--output"):
            if flag in given:
                assert "-o" in given[flag].opts, name
                assert given[flag].type.name == "path", name
        if "--format" in given:
            assert isinstance(given["--format"].type, click.Choice), name
            assert list(given["--format"].type.choices) == ["md", "csv", "json", "jsonl"], name


def test_the_result_is_one_object_with_json_and_a_table_without(tmp_path: Path) -> None:
    """Of `bench compare` and `bench report`, on recorded runs."""
    a, b = RESULTS / "latency-pocket.json", RESULTS / "latency-pocket-again.json"
    for words in (("compare", a, b), ("report", RESULTS / "ops-pocket.json", a)):
        out = tmp_path / f"{words[0]}.json"
        shown, as_json = run(*words, "-o", out), run(*words, "--json")
        assert shown.exit_code == as_json.exit_code == 0, shown.output
        assert json.loads(as_json.output) == json.loads(out.read_text())
        assert as_json.output == run(*words, "--format", "json").output
        assert shown.output.startswith("### ")
        assert "{" not in shown.output
        assert run(*words, "-o", tmp_path).exit_code == 1  # a folder cannot be the file
        assert run(*words, "--format", "csv").output.count("\n") > 5


def test_a_report_writes_and_prints_json_of_a_page_and_of_a_folder_too(tmp_path: Path) -> None:
    page, out = tmp_path / "r.html", tmp_path / "r.json"
    for words in (("report", RESULTS / "latency-pocket.json", "--html", page), ("report", RESULTS)):
        as_json = run(*words, "-o", out, "--json")
        assert as_json.exit_code == 0
        assert json.loads(as_json.output) == json.loads(out.read_text())
    refused = run("report", RESULTS, "--format", "csv")
    assert refused.exit_code == 1
    assert "leave out --format csv" in refused.output


def test_runs_of_several_numbers_of_threads_are_compared() -> None:
    one = recorded(Latency, json.loads((RESULTS / "latency-pocket.json").read_text()))
    first, *others = one.rows
    slower = replace(first, p50_ns=2 * first.p50_ns)
    table = tables.by_threads(
        [replace(one, n_threads=2), replace(one, n_threads=1, rows=(slower, *others[:-1]))]
    )
    assert table.columns[2:] == ("2 threads, p50 ms", "1 thread, p50 ms", "fastest with")
    ms = f"{first.p50_ns / 1e6:.3f}", f"{2 * first.p50_ns / 1e6:.3f}"
    assert table.rows[0] == (first.name, first.on, *ms, 2)
    assert table.rows[-1][3:] == (None, 2)  # the second run lacks it
    for threads in ("0", "1,1", "65", "2,x", ""):
        assert run("latency", "-b", "nowhere", "--threads", threads).exit_code == 2


STUDIED = {file: words.split() for file, words in FIGURES.items() if words.startswith("study ")}


@pytest.mark.parametrize("file", STUDIED)
def test_a_table_is_no_wall_of_json_and_json_is_what_the_file_gets(
    file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Of every study whose result is committed, on that result."""
    name = STUDIED[file][1]
    raw, work = json.loads((RESULTS / file).read_text()), STUDIES[name].work()
    result = recorded(get_type_hints(work.measure)["return"], raw)
    monkeypatch.setattr(Study, "work", lambda study: replace(work, measure=lambda run: result))
    given = {name: str(tmp_path / name) for name in ("bundle", "album", "data", "cache")}
    asked = [word.format(**given) for word in STUDIED[file]]
    out = tmp_path / "out.json"
    shown, as_json = run(*asked, "-o", out), run(*asked, "--json")
    assert shown.exit_code == as_json.exit_code == 0, shown.output
    document = json.loads(out.read_text())
    assert {**document, "when": ""} == {**json.loads(as_json.stdout), "when": ""}
    assert {key: document[key] for key in asdict(result)} == json.loads(json.dumps(asdict(result)))
    gone = {"delta", "own_delta"}  # of ablations, before delta was a study of its own
    assert {*raw} - {*document} <= gone
    assert str(tmp_path) not in document["command"]
    assert shown.stdout.strip()
    assert '": ' not in shown.stdout


def test_compare_says_in_plain_words_what_p_and_the_interval_are() -> None:
    files = (RESULTS / "latency-pocket.json", RESULTS / "latency-pocket-again.json")
    for text in (run("compare", *files).output, run("compare", "--help").output):
        plain = re.sub(r"\s+", " ", text)
        for word in ("95 %:", "change of the median", "bootstrap", "p: how likely", "Mann-Whitney", "Holm"):
            assert word in plain, word
        assert "slower or faster only" in plain
    assert "Mann-Whitney" not in run("compare", *files, "--json").output


# bench ann: engines that are not installed


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without hnswlib and faiss."""
    missing = {"hnswlib", "faiss"}
    monkeypatch.setattr(ann_peers, "find_spec", lambda name: None if name in missing else find_spec(name))


def test_engines_that_are_not_installed_are_left_out_before_anything_is_built(
    bare: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ann_peers, "EFFORTS", (64,))
    quick = [word for one in ("vectors=120", "dim=16", "queries=10") for word in ("--set", one)]
    out = tmp_path / "ann.json"
    done = run("study", "ann", *quick, "-o", out)
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text())
    assert [one["algorithm"] for one in result["left_out"]] == ["hnswlib", "faiss"]
    assert {b["algorithm"] for b in result["built"]} >= {"gamer", "usearch"}
    for one, extra in zip(result["left_out"], ("hnswlib", "bench"), strict=True):
        assert f"[{extra}]" in one["why"]
        assert f"{one['algorithm']} is left out: {one['why']}" in done.stderr
        assert f"{one['algorithm']}: left out, {one['why']}" in done.stdout


def test_an_engine_that_was_named_and_is_not_installed_is_an_error_at_once(
    bare: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ann, "measure", lambda *_: pytest.fail("built, though an engine is missing"))
    done = run("study", "ann", "--set", "peer=usearch,hnswlib")
    assert done.exit_code == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert "hnswlib is not installed" in done.stderr
    assert "[hnswlib]" in done.stderr


def test_every_engine_says_what_it_needs() -> None:
    assert set(ann_peers.NEEDS) == set(ann_peers.PEERS)


# bench latency: a step is part of its layer


class Engine:
    """Its searches take the same steps each time; with a stopwatch they take longer, as on a busy machine.

    `now` is the clock, in nanoseconds. Every other search anchors, and then the layer is longer.
    """

    def __init__(self) -> None:
        self.now = 0

    def search(self, query: str, observer: Observer = SILENT, **_: object) -> Any:
        begin, watched = self.now, not isinstance(observer, type(SILENT))
        with self._step(observer, "cue parse"):
            self.now += 900_400 if watched else 300_400
        if query == "last spring":
            with self._step(observer, "anchors"):
                self.now += 5_000_000
        took = {"cube": round((self.now - begin) / 1e6, 3)}
        self.now += 100_000
        trace = type("Trace", (), {"milliseconds": took})()
        return type("Answer", (), {"trace": trace})()

    @contextmanager
    def _step(self, observer: Observer, name: str) -> Iterator[None]:
        with observer.step("cube", name):
            yield


def searched(monkeypatch: pytest.MonkeyPatch, queries: tuple[str, ...]) -> list[samples.Row]:
    engine = Engine()
    for module in (time, steps):
        monkeypatch.setattr(module, "perf_counter_ns", lambda: engine.now)
    searches = launch._Searches(engine, queries, "fast", None)  # type: ignore[arg-type]
    for _ in range(3):
        searches.run()
    assert len(searches.plain) == len(searches.stepped) > 0
    raw = [r for r in searches.rows(0) if any(r.rounds)]
    return [samples.row(r.layer, r.step, r.on, [r.rounds]) for r in raw]


def test_no_step_takes_longer_than_its_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {(r.layer, r.step): r for r in searched(monkeypatch, ("cat", "dog"))}
    parent, child = rows["cube", ""], rows["cube", "cue parse"]
    assert all(c <= p for c, p in zip(child.samples_ns, parent.samples_ns, strict=True))
    order = [rows[layer, ""].p50_ns for layer in ("cube", "all", "search")]
    assert order == sorted(order)
    assert not tables.longer_than_parents(list(rows.values()))


def test_a_step_that_few_searches_take_is_named_where_its_median_is_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = searched(monkeypatch, ("cat", "dog", "last spring"))
    (note,) = tables.longer_than_parents(rows)
    assert note.startswith("cube: anchors has a longer median (5.000 ms)")
    assert "3 of 9 searches" in note


# bench device: intervals


def test_a_phones_time_has_an_interval_that_is_made_of_this_machines_errors() -> None:
    exact = device.calibrate(runs(1.0), HERE)[1]
    low, high = device.ratio_interval(exact) or (0, 0)
    assert 0.9 < low <= high < 1.1
    wide = [
        replace(c, measured_ms=c.calibrated_ms * ratio)
        for c, ratio in zip(exact, (0.5, 1, 1, 2), strict=True)
    ]
    low, high = device.ratio_interval(wide) or (0, 0)
    logs = np.log([0.5, 1, 1, 2])
    half = 3.182 * np.std(logs, ddof=1) * (1 + 1 / 4) ** 0.5  # Student's t, three degrees of freedom
    assert (low, high) == pytest.approx((np.exp(-half), np.exp(half)), rel=1e-3)
    assert device.ratio_interval(exact[:1]) is None


def test_bench_device_prints_the_interval_and_what_it_is_made_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With made-up components whose times scatter around the prediction."""
    golden = ROOT / "tests" / "golden" / "manifest_v1.json"
    (tmp_path / "manifest.json").write_bytes(golden.read_bytes())
    made = [
        replace(part, bundle=tmp_path.name, step=step, best_ms=part.best_ms * ratio)
        for part, step, ratio in zip(
            runs(1.0),
            ("text_tower", "image_tower", "dpe_router", "llm_decode"),
            (0.8, 1.3, 1.0, 0.7),
            strict=True,
        )
    ]
    seconds = {f"{tmp_path.name}: {part.step}": part.best_ms / 1e3 for part in made}
    monkeypatch.setattr(device, "countable", lambda *_: made)
    monkeypatch.setattr(ceilings, "probes", lambda _: {})
    monkeypatch.setattr(ceilings, "best_of", lambda *_: seconds)
    monkeypatch.setattr(ceilings, "ceilings_of", lambda *_: HERE)
    out, page = tmp_path / "d.json", tmp_path / "d.html"
    done = run("device", "-b", tmp_path, "--device", "Pixel 8", "--budget", "3s,1.5GB", "-o", out)
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text())
    low, high = result["ratios"]
    assert low < 1 < high
    for row in (*result["outlooks"], *result["tasks"]):
        assert row["cpu_low_ms"] == pytest.approx(row["cpu_ms"] * low)
        assert row["cpu_high_ms"] == pytest.approx(row["cpu_ms"] * high)
    assert result["tasks"]
    assert f"{low:.2f} to {high:.2f} times the prediction" in done.output
    assert "calibrated on the others" in done.output
    assert done.output.count("| 95 %") == 3
    drawn = run("report", out, "--html", page)
    assert drawn.exit_code == 0, drawn.output
    assert f"{result['tasks'][0]['cpu_low_ms']:.0f} … " in page.read_text(encoding="utf-8")
