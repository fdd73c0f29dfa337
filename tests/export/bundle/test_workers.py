"""Worker processes: results come as they are ready, the first failure ends the other workers, and none
outlives its parent.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs the export extra")
from gamer.export import cli
from gamer.export.bundle import workers, write
from gamer.export.errors import ExportError
from gamer.export.progress import bar
from gamer.export.settings import Settings
from tests.export.bundle.jobs import SLOW, job
from tests.paths import ROOT


def test_results_come_with_their_tasks_and_printed_text_goes_to_the_log(tmp_path: Path) -> None:
    tasks = [(str(n), str(tmp_path)) for n in range(5)]
    results = dict(workers.run(job, tasks, 2, str(tmp_path / "log")))
    assert {task: text.split(" by ")[0] for task, text in results.items()} == {
        task: task[0] for task in tasks
    }
    assert len({text.split(" by ")[1] for text in results.values()}) <= 2
    assert (tmp_path / "log").read_text().count("chatter") == 5


def test_with_one_job_at_a_time_each_task_has_its_own_process(tmp_path: Path) -> None:
    results = dict(workers.run(job, [("a", str(tmp_path)), ("b", str(tmp_path))], 1, str(tmp_path / "log")))
    assert len({text.split(" by ")[1] for text in results.values()}) == 2


@pytest.mark.parametrize(
    ("task", "says"),
    [("fails", "cosine 0.5"), ("dies", "a worker was killed"), ("odd", "RuntimeError: first line$")],
)
def test_a_failure_is_raised_and_ends_the_other_workers(tmp_path: Path, task: str, says: str) -> None:
    tasks = [("slow", str(tmp_path)), (task, str(tmp_path)), ("slow", str(tmp_path))]
    with pytest.raises(ExportError, match=says):
        list(workers.run(job, tasks if task == "fails" else tasks[1:], 2, str(tmp_path / "log")))
    marks = list(tmp_path.glob("slow-*"))
    if task == "fails":
        # This task fails only once the first slow task runs, and no worker is free for the second one.
        assert len(marks) == 1
    # The other two tasks fail at once, perhaps before the slow one has started: then there is no mark.
    for mark in marks:
        with pytest.raises(ProcessLookupError):
            os.kill(int(mark.name.removeprefix("slow-")), 0)


@pytest.mark.slow
def test_a_killed_parent_leaves_no_worker(tmp_path: Path) -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.export.bundle.jobs import job
from gamer.export.bundle import workers
if __name__ == "__main__":
    list(workers.run(job, [("slow", {str(tmp_path)!r})], 2, {str(tmp_path / "log")!r}))
"""
    (tmp_path / "parent.py").write_text(code)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "parent.py")])
    deadline = time.monotonic() + 60
    while not (marks := list(tmp_path.glob("slow-*"))) and time.monotonic() < deadline:
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    worker = Path("/proc") / marks[0].name.removeprefix("slow-")
    while (
        worker.exists()
        and "Z" not in (worker / "stat").read_text().split()[2]
        and time.monotonic() < deadline
    ):
        time.sleep(0.05)
    assert time.monotonic() < deadline, "the worker went on"


def test_progress_is_shown_while_the_output_of_converters_is_redirected(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with bar() as progress, workers.quiet(str(tmp_path / "log")):
        os.write(2, b"a converter's noise")
        progress.console.print("prompt caches")
    assert "prompt caches" in (told := capfd.readouterr().err)
    assert "noise" not in told


def test_a_step_that_takes_long_is_said_again_where_no_terminal_shows_the_bar(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gamer.export.progress.EVERY", 0.01)
    with bar() as progress:
        task = progress.add_task("reading the checkpoints", total=None)
        progress.update(task, description="exporting llm_decoder for onnx")
        told, deadline = "", time.monotonic() + SLOW
        again = r"exporting llm_decoder for onnx: since \d+ s\n"
        while len(re.findall(again, told)) < 2 and time.monotonic() < deadline:
            told += capfd.readouterr().err
    assert time.monotonic() < deadline
    capfd.readouterr()
    time.sleep(0.05)
    assert not capfd.readouterr().err


def test_what_runs_is_told_whenever_it_changes(tmp_path: Path) -> None:
    told: list[list[tuple[str, str]]] = []
    tasks = [(str(n), str(tmp_path)) for n in range(3)]
    list(workers.run(job, tasks, 1, str(tmp_path / "log"), lambda running: told.append(list(running))))
    assert told == [[task] for task in tasks]


def test_the_clock_of_an_export_runs_until_its_bundle_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown, part = bar(), SimpleNamespace(bytes=1, parity=None, export_seconds=1.0)

    def export(settings: object, targets: object, out: Path, jobs: int, report: Any, *_: object) -> bool:
        for text in ("text_tower for onnx", "image_tower for onnx"):
            report(text, part)
        report("contracts of the artifacts", None)
        return shown.finished

    monkeypatch.setattr(write, "tasks", lambda *_: ["text_tower", "image_tower"])
    monkeypatch.setattr(write, "export", export)
    monkeypatch.setattr(cli, "bar", lambda: shown)
    monkeypatch.setattr(cli, "parity_text", lambda _: "")
    assert not cli.export_with_bar(Settings("pocket"), ("onnx",), tmp_path, 1)
    assert [task.completed for task in shown.tasks] == [2]
