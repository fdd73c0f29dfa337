"""`python -m tools.conformance.processors.table --bundle DIR`: runs one bundle and the committed fixtures on
every kind of processor, and prints one table.

ONNX Runtime, usearch, numkong and numpy pick their kernels by processor. This covers processors for which
they choose differently: this machine, qemu-user's models of older x86 and of ARM64 phones, and AVX-512
without VNNI (masked.py). It checks correctness only: no time is taken from an emulator. Exit code 1 if a
component falls below its threshold or a fixture differs; a processor that cannot be had here is reported as
not run.
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
from gamer.bench.tables import Sheet
from tools.conformance.processors import masked

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
SITE = Path(sysconfig.get_paths()["platlib"])
# The interpreter itself: qemu cannot start a virtual environment's link to it.
PYTHON = str(getattr(sys, "_base_executable", sys.executable))
NOT_RUN = 3  # setup.sh's exit code if the emulators cannot be set up on this system


@dataclass(frozen=True)
class Kind:
    """A kind of processor.

    `command`: gives the argument list and environment that run a script on it; raises masked.Unavailable.
    `features`: those that the process must detect, so that the row is really of this processor; () for any.
    """

    name: str
    command: Callable[[Path], tuple[list[str], dict[str, str]]]
    features: tuple[str, ...]


def _tools() -> Path:
    return Path(os.environ.get("GAMER_TOOLS") or Path.home() / ".cache" / "gamer-tools") / "arm64"


def _paths(*more: Path) -> str:
    return os.pathsep.join(map(str, (ROOT / "src", ROOT, *more)))


def _native(folder: Path) -> tuple[list[str], dict[str, str]]:
    return [PYTHON], {"PYTHONPATH": _paths(SITE)}


def _x86(model: str) -> Callable[[Path], tuple[list[str], dict[str, str]]]:
    def command(folder: Path) -> tuple[list[str], dict[str, str]]:
        return [_qemu("x86_64"), "-cpu", model, PYTHON], {
            "PYTHONPATH": _paths(SITE),
            "OPENBLAS_CORETYPE": model.split("-")[0],
        }

    return command


def arm(model: str = "") -> Callable[[Path], tuple[list[str], dict[str, str]]]:
    def command(folder: Path) -> tuple[list[str], dict[str, str]]:
        root = _tools() / "root"
        given = {
            "PYTHONHOME": f"{root}/usr",
            "PYTHONPATH": _paths(_tools() / "site"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        passed = [part for name, value in given.items() for part in ("-E", f"{name}={value}")]
        chosen = ["-cpu", model] if model else []
        python = str(root / "usr/bin/python3.11")
        return [_qemu("aarch64"), *chosen, "-L", str(root), *passed, python], {}

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
    Kind("this machine", _native, ()),
    Kind("x86-64, SSE4.2", _x86("Nehalem"), ("sse4.2",)),
    Kind("x86-64, AVX2", _x86("Haswell-noTSX"), ("sse4.2", "avx2")),
    Kind("x86-64, AVX-512", _masked, ("sse4.2", "avx2", "avx512")),
    Kind("ARM64, NEON", arm("cortex-a53"), ("neon",)),
    Kind("ARM64, dot product", arm("cortex-a76"), ("neon", "dotprod")),
)


def run(kind: Kind, bundle: Path, folder: Path, script: Path, seconds: int) -> dict[str, Any]:
    """The report of `script` (probe.py) from one kind of processor.

    Raises masked.Unavailable, and RuntimeError if it fails or detected another processor.
    """
    command, environment = kind.command(folder)
    out = folder / f"{KINDS.index(kind)}.json"
    settings = {**os.environ, **environment, "GAMER_CACHE": str(folder / "cache")}
    process = subprocess.run(
        [*command, str(script), str(bundle), str(out)],
        env=settings,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
    if process.returncode != 0:
        raise RuntimeError(
            f"{kind.name}: "
            f"{(process.stderr.strip() or process.stdout.strip() or 'no message').splitlines()[-1][:300]}"
        )
    report: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    if kind.features and tuple(report["features"]) != kind.features:
        raise RuntimeError(f"{kind.name}: the process saw {' '.join(report['features'])}")
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="Names of processors; all by default.")
    parser.add_argument("--output", type=Path, help="Write the JSON to this file.")
    arguments = parser.parse_args()
    if unknown := set(arguments.only) - {kind.name for kind in KINDS}:
        parser.error(
            f"unknown processor {min(unknown)!r}; choose from: {', '.join(kind.name for kind in KINDS)}"
        )
    setup = subprocess.run([str(HERE.parent / "arm64" / "setup.sh"), sys.executable])
    if setup.returncode not in (0, NOT_RUN):
        sys.exit(setup.returncode)
    rows, missing, failed = dict[str, dict[str, Any]](), dict[str, str](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        for kind in KINDS:
            if arguments.only and kind.name not in arguments.only:
                continue
            print(f"== {kind.name}", flush=True)
            try:
                rows[kind.name] = run(
                    kind, arguments.bundle.resolve(), Path(name), HERE / "probe.py", seconds=1800
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
        print(sheet(rows).markdown())
    for name, why in missing.items():
        print(f"!! {name}: NOT RUN: {why}", file=sys.stderr)
    print(
        "\n".join(failed)
        or "every component reaches its threshold, and every fixture is the same, on each of them"
    )
    if arguments.output:
        report = {
            "machine": asdict(machine.read()),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "rows": rows,
            "not_run": missing,
            "failed": failed,
        }
        arguments.output.write_text(json.dumps(report, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if failed else 0)


def sheet(rows: dict[str, dict[str, Any]]) -> Sheet:
    """Each component's worst cosine with torch, and each suite's passed cases, by processor."""
    (first, *_), kinds = rows.values(), tuple(rows)
    cosines = (
        (role, entry["threshold"], *(f"{row['components'][role]['cosine']:.5f}" for row in rows.values()))
        for role, entry in first["components"].items()
    )
    replayed = (
        (f"fixtures: {suite}", "all", *(_passed(row["suites"][suite]) for row in rows.values()))
        for suite in first["suites"]
    )
    return Sheet("Worst cosine with torch", ("component", "needs", *kinds), (*cosines, *replayed))


def _passed(suite: dict[str, Any]) -> str:
    return f"{suite['cases'] - len(suite['failures'])} of {suite['cases']}"


if __name__ == "__main__":
    main()
