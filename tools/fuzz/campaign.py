"""Fuzzes several targets for a set time each and records what was run:
`python -m tools.fuzz.campaign OUT.json SECONDS [TARGET…]`, with every target if none is named.

One target runs after another, in processes of its own (`run.py`). OUT's folder keeps what makes the next
campaign go on from here: a corpus for each target under `corpora/`, and in OUT.json what all campaigns ran.
A finding ends a process: its input is kept under `findings/`, and another process goes on from the corpus for
the seconds that are left. Exit status 1 if anything was found.
"""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from gamer.bench import machine
from gamer.bench.files import write_atomically
from tools.fuzz.targets import TARGETS

_COUNTED = re.compile(r"^#(\d+)\s.*?cov: (\d+)", re.MULTILINE)
_PEAK = re.compile(r"^stat::peak_rss_mb:\s+(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Fuzzed:
    """What one target was put through, in all campaigns together. `seconds`: of the processor. `edges`: those
    of the project's bytecode that were reached. `most_mb`: the largest resident size.

    Of the last campaign alone: `commit`, and `findings`, the error of each process that ended early, once.
    """

    target: str
    commit: str
    seconds: int
    executions: int
    edges: int
    corpus: int
    most_mb: int
    findings: tuple[str, ...]


def fuzzed(name: str, seconds: int, kept: Path, found: Path) -> Fuzzed:
    """Runs one target until its seconds are over. `kept`: its corpus; `found`: for inputs that fail."""
    begin, used, executions, edges, most_mb = time.monotonic(), _processor_seconds(), 0, 0, 0
    findings: dict[str, None] = {}
    while (left := seconds - int(time.monotonic() - begin)) > 0:
        log = _run(name, left, kept, found)
        counted = [(int(run), int(edge)) for run, edge in _COUNTED.findall(log)]
        executions += max((run for run, _ in counted), default=0)
        edges = max(edges, *(edge for _, edge in counted), 0)
        most_mb = max(most_mb, *map(int, _PEAK.findall(log)), 0)
        if error := _error(log):
            findings[error] = None
            if not counted:  # it fails before its first input: another process would as well
                break
    corpus = len(list(kept.iterdir()))
    return Fuzzed(
        target=name,
        commit=machine.read().build_commit,
        seconds=int(_processor_seconds() - used),
        executions=executions,
        edges=edges,
        corpus=corpus,
        most_mb=most_mb,
        findings=tuple(findings),
    )


def after(before: dict[str, Any] | None, now: Fuzzed) -> Fuzzed:
    """One campaign added to the row that the campaigns before it left."""
    if before is None:
        return now
    return replace(
        now,
        seconds=before["seconds"] + now.seconds,
        executions=before["executions"] + now.executions,
        edges=max(before["edges"], now.edges),
        most_mb=max(before["most_mb"], now.most_mb),
    )


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(name: str, seconds: int, kept: Path, found: Path) -> str:
    command = [sys.executable, "-m", "tools.fuzz.run", name, str(seconds), str(kept)]
    done = subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"FUZZ_FINDINGS": f"{found}/{name}-"},
        check=False,
    )
    log = done.stderr.decode("utf-8", "replace")
    return log if done.returncode == 0 else f"{log}\nended with status {done.returncode}"


def _error(log: str) -> str | None:
    """The line that says what was found, Python's or libFuzzer's; None if the run ended by itself."""
    if "\nended with status " not in log:
        return None
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for at, line in enumerate(lines):
        if "Uncaught Python exception" in line:
            return lines[at + 1] if at + 1 < len(lines) else line
        if "ERROR: libFuzzer" in line:
            return line
    return lines[-1]


def main() -> None:
    if len(sys.argv) < 3 or not sys.argv[2].isdigit() or set(sys.argv[3:]) - set(TARGETS):
        sys.exit(
            f"usage: python -m tools.fuzz.campaign OUT.json SECONDS [TARGET…]; targets: {', '.join(TARGETS)}"
        )
    out, seconds, names = Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:] or list(TARGETS)
    found = out.parent / "findings"
    found.mkdir(parents=True, exist_ok=True)
    rows = {row["target"]: row for row in json.loads(out.read_text())["targets"]} if out.is_file() else {}
    for name in names:
        kept = out.parent / "corpora" / name
        kept.mkdir(parents=True, exist_ok=True)
        result = after(rows.get(name), fuzzed(name, seconds, kept, found))
        print(result, flush=True)
        rows[name] = asdict(result)
        table = {"machine": asdict(machine.read()), "targets": [rows[name] for name in sorted(rows)]}
        write_atomically(out, json.dumps(table, indent=1))
    sys.exit(any(rows[name]["findings"] for name in names))


if __name__ == "__main__":
    main()
