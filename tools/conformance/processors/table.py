"""`python -m tools.conformance.processors.table --bundle DIR`: one bundle and the committed fixtures on every
kind of processor, as one table.

ONNX Runtime, usearch, numkong and numpy pick their kernels by processor. This runs them where they choose
differently: here, on qemu-user's models of older x86 and of ARM64 phones, and on AVX-512 without VNNI
(masked.py). Correctness alone: no time is taken from an emulator. Exit code 1 where a component falls below
its threshold or a fixture differs; a processor that cannot be had here is named as not run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gamer.bench import machine
from tools.conformance.processors import masked

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
SITE = Path(sysconfig.get_paths()["platlib"])
PYTHON = str(
    getattr(sys, "_base_executable", sys.executable)
)  # qemu starts programs, not a virtual environment's links to them
NOT_RUN = 3  # setup.sh's exit code where it is not permitted


@dataclass(frozen=True)
class Kind:
    """A processor: `command` gives the argument list and environment that run a script on it; raises
    masked.Unavailable.
    """

    name: str
    command: Callable[[Path], tuple[list[str], dict[str, str]]]
    features: tuple[
        str, ...
    ]  # that the run must have seen, so that a row is of what its name says; () for whatever is here


def _tools() -> Path:
    return Path(os.environ.get("GAMER_TOOLS") or Path.home() / ".cache" / "gamer-tools") / "arm64"


def _paths(*more: Path) -> str:
    return os.pathsep.join(map(str, (ROOT / "src", ROOT, *more)))


def _here(folder: Path) -> tuple[list[str], dict[str, str]]:
    return [PYTHON], {"PYTHONPATH": _paths(SITE)}


def _x86(model: str) -> Callable[[Path], tuple[list[str], dict[str, str]]]:
    def command(folder: Path) -> tuple[list[str], dict[str, str]]:
        return [_qemu("x86_64"), "-cpu", model, PYTHON], {
            "PYTHONPATH": _paths(SITE),
            "OPENBLAS_CORETYPE": model.split("-")[0],
        }

    return command


def _arm(model: str) -> Callable[[Path], tuple[list[str], dict[str, str]]]:
    def command(folder: Path) -> tuple[list[str], dict[str, str]]:
        root = _tools() / "root"
        given = {
            "PYTHONHOME": f"{root}/usr",
            "PYTHONPATH": _paths(_tools() / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        passed = [part for name, value in given.items() for part in ("-E", f"{name}={value}")]
        return [
            _qemu("aarch64"),
            "-cpu",
            model,
            "-L",
            str(root),
            *passed,
            str(root / "usr/bin/python3.11"),
        ], {}

    return command


def _masked(folder: Path) -> tuple[list[str], dict[str, str]]:
    environment = masked.prepare(SITE, folder / "masked")
    environment["PYTHONPATH"] = os.pathsep.join((str(folder / "masked"), _paths(SITE)))
    return [PYTHON], environment


def _qemu(architecture: str) -> str:
    path = _tools() / "qemu" / "usr" / "bin" / f"qemu-{architecture}"
    if not path.exists():
        raise masked.Unavailable("qemu-user is not set up (tools/conformance/arm64/setup.sh)")
    return str(path)


KINDS = (
    Kind("this machine", _here, ()),
    Kind("x86-64, SSE4.2", _x86("Nehalem"), ("sse4.2",)),
    Kind("x86-64, AVX2", _x86("Haswell-noTSX"), ("sse4.2", "avx2")),
    Kind("x86-64, AVX-512", _masked, ("sse4.2", "avx2", "avx512")),
    Kind("ARM64, NEON", _arm("cortex-a53"), ("neon",)),
    Kind("ARM64, dot product", _arm("cortex-a76"), ("neon", "dotprod")),
)


def run(kind: Kind, bundle: Path, folder: Path, script: Path, seconds: int) -> dict[str, Any]:
    """What `script` (probe.py) reports of one processor.

    Raises masked.Unavailable, and RuntimeError where it fails or ran on another.
    """
    command, environment = kind.command(folder)
    out = folder / f"{KINDS.index(kind)}.json"
    settings = {**os.environ, **environment, "GAMER_CACHE": str(folder / "cache")}
    done = subprocess.run(
        [*command, str(script), str(bundle), str(out)],
        env=settings,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{kind.name}: "
            f"{(done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()[-1][:300]}"
        )
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if kind.features and tuple(found["features"]) != kind.features:
        raise RuntimeError(f"{kind.name}: the process saw {' '.join(found['features'])}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="Names of processors; all by default.")
    parser.add_argument("--output", type=Path, help="Write the JSON to this file.")
    given = parser.parse_args()
    if unknown := set(given.only) - {kind.name for kind in KINDS}:
        parser.error(
            f"unknown processor {min(unknown)!r}; choose from: {', '.join(kind.name for kind in KINDS)}"
        )
    setup = subprocess.run([str(HERE.parent / "arm64" / "setup.sh"), sys.executable])
    if setup.returncode not in (0, NOT_RUN):
        sys.exit(setup.returncode)
    rows, missing, failed = dict[str, dict[str, Any]](), dict[str, str](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        for kind in KINDS:
            if given.only and kind.name not in given.only:
                continue
            print(f"== {kind.name}", flush=True)
            try:
                rows[kind.name] = run(
                    kind, given.bundle.resolve(), Path(name), HERE / "probe.py", seconds=1800
                )
            except masked.Unavailable as error:
                missing[kind.name] = str(error)
            except RuntimeError as error:
                failed.append(str(error))
            except subprocess.TimeoutExpired as error:
                failed.append(f"{kind.name}: not done after {error.timeout:.0f} s")
    failed += [
        f"{name}: {role} has a worst cosine of {c['cosine']}, below {c['threshold']}"
        for name, row in rows.items()
        for role, c in row["components"].items()
        if not c["cosine"] >= c["threshold"]
    ]
    failed += [
        f"{name}: {suite}: {problem}"
        for name, row in rows.items()
        for suite, s in row["suites"].items()
        for problem in s["failures"]
    ]
    if rows:
        show(rows)
    for name, why in missing.items():
        print(f"!! {name}: NOT RUN: {why}", file=sys.stderr)
    print(
        "\n".join(failed)
        or "every component reaches its threshold, and every fixture is the same, on each of them"
    )
    if given.output:
        report = {
            "machine": asdict(machine.read()),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "rows": rows,
            "not_run": missing,
            "failed": failed,
        }
        given.output.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


def show(rows: dict[str, dict[str, Any]]) -> None:
    """Component × processor: worst cosine with torch; suite × processor: cases that are the same."""
    first = next(iter(rows.values()))
    names = list(rows)
    print("\n| worst cosine with torch | needs | " + " | ".join(names) + " |")
    print("|---|---:|" + "---:|" * len(names))
    for role, entry in first["components"].items():
        print(
            f"| {role} | {entry['threshold']} | "
            + " | ".join(f"{rows[n]['components'][role]['cosine']:.5f}" for n in names)
            + " |"
        )
    for suite in first["suites"]:
        same = (rows[n]["suites"][suite] for n in names)
        print(
            f"| fixtures: {suite} | all | "
            + " | ".join(f"{s['cases'] - len(s['failures'])} of {s['cases']}" for s in same)
            + " |"
        )


if __name__ == "__main__":
    main()
