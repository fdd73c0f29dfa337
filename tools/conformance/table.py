"""`python -m tools.conformance.table --bundle B --album A`: replays every fixture in Python, Kotlin and
Swift, and prints one table, cases × ports.

A case that a port skips, or does not print, counts as failed; a port that prints none, because something is
not installed, say, counts as one failure. `--lenient`: a port whose tools are not installed is left out, with
a warning; otherwise that fails too.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tools.conformance import write
from tools.conformance.fixture import COMMITTED, read

ROOT = Path(__file__).parents[2]
PORTS = {
    "Python": (sys.executable, "-m", "tools.conformance.replay"),
    "Kotlin": ("android_demo/core/replay.sh",),
    "Swift": ("ios_demo/PhotoCore/replay.sh",),
}
TOOLS = {
    "Kotlin": ("kotlin/compiler/lib/kotlin-compiler.jar", "mobile-setup-kotlin"),
    "Swift": ("swift/root/opt/ort/lib/libonnxruntime.so.1", "mobile-setup-swift"),
}
LIMIT_S = 900
Key = tuple[str, str]  # suite, case


@dataclass
class Tally:
    """One port's results for one folder of fixtures.

    `verdicts`: "pass", "fail" or "skip" for each case that it printed.
    """

    verdicts: dict[Key, str] = field(default_factory=dict)
    messages: dict[Key, str] = field(default_factory=dict)

    def passed(self, cases: Sequence[Key]) -> int:
        return sum(self.verdicts.get(case) == "pass" for case in cases)


def absent(port: str) -> str:
    """The make target that installs the port's tools, if they are missing; else ""."""
    file, target = TOOLS.get(port, ("", ""))
    home = Path(os.environ.get("GAMER_TOOLS") or Path.home() / ".cache" / "gamer-tools")
    return target if file and not (home / file).exists() else ""


def environment(bound: Sequence[Path]) -> dict[str, str]:
    """The environment variables for a port's program.

    They hold the paths outside the repository that it reads (`bound`), and the path of the ONNX Runtime
    library that the reference uses.
    """
    # Found without importing it: the library would load, and queue usage events.
    package = importlib.util.find_spec("onnxruntime")
    folder = Path(package.origin).parent if package and package.origin else Path()
    library = next(folder.glob("capi/libonnxruntime.so.*"), None)
    named = {} if library is None else {"GAMER_ORT": str(library)}
    return os.environ | {"PYTHONPATH": str(ROOT), "GAMER_BIND": ":".join(map(str, bound))} | named


def run(port: str, folder: Path, bound: Sequence[Path]) -> Tally:
    """Replays the fixtures of `folder` in one port. `bound`: paths outside the repository that it reads."""
    out = Tally()
    try:
        process = subprocess.run(
            [*PORTS[port], str(folder)],
            cwd=ROOT,
            env=environment(bound),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"{port}: {error}", file=sys.stderr)
        return out
    for line in process.stdout.splitlines():
        suite, case, verdict, *message = [*line.split("\t"), ""]
        if verdict in ("pass", "fail", "skip"):
            out.verdicts[suite, case], out.messages[suite, case] = verdict, message[0]
    if not out.verdicts:
        print(
            f"{port}: printed no case; it said:\n{(process.stdout + process.stderr)[-2000:]}", file=sys.stderr
        )
    return out


def cases_of(folder: Path) -> list[Key]:
    return [
        (suite.name, case.id)
        for path in sorted(folder.glob("*.json"))
        for suite in [read(path)]
        for case in suite.cases
    ]


def show(groups: dict[str, Path], bound: Sequence[Path], ports: Sequence[str]) -> int:
    """Prints the table and the first failures; returns their number. The ports replay side by side."""
    failures = 0
    print(f"{'fixtures':<12}{'suite':<16}{'cases':>6}" + "".join(f"{port:>9}" for port in ports))
    wrong: list[str] = []
    for group, folder in groups.items():
        cases = cases_of(folder)
        with ThreadPoolExecutor() as pool:
            replayed = {port: pool.submit(run, port, folder, bound) for port in ports}
        tallies = {port: replay.result() for port, replay in replayed.items()}
        for suite in dict.fromkeys(name for name, _ in cases):
            suite_cases = [case for case in cases if case[0] == suite]
            counts = {port: tally.passed(suite_cases) for port, tally in tallies.items()}
            failures += sum(
                len(suite_cases) - counts[port] for port, tally in tallies.items() if tally.verdicts
            )
            print(
                f"{group:<12}{suite:<16}{len(suite_cases):>6}"
                + "".join(f"{count:>9}" for count in counts.values()),
                flush=True,
            )
        silent = [port for port, tally in tallies.items() if not tally.verdicts]
        failures += len(silent)
        wrong += [f"{port}\t{group}\tprinted no case" for port in silent]
        for port, tally in tallies.items():
            if not tally.verdicts:
                continue
            not_passed = [case for case in cases if tally.verdicts.get(case) != "pass"]
            wrong += [
                f"{port}\t{'/'.join(c)}\t{tally.verdicts.get(c, 'not printed')}\t{tally.messages.get(c, '')}"
                for c in not_passed
            ]
    print(*wrong[:40], sep="\n")
    if len(wrong) > 40:
        print(f"and {len(wrong) - 40} more")
    return failures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--album", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lenient", action="store_true")
    parser.add_argument("--ports", default=",".join(PORTS))
    arguments = parser.parse_args()
    ports, missing = [], 0
    for port in arguments.ports.split(","):
        if target := absent(port):
            print(f"!! {port} IS NOT TESTED: its tools are not installed; run make {target}", file=sys.stderr)
            missing += 1
        else:
            ports.append(port)
    bundle, album = arguments.bundle.resolve(), arguments.album.resolve()
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        groups = {
            "committed": COMMITTED,
            "generated": Path(folder, "generated"),
            "bundle": Path(folder, "bundle"),
        }
        for suite in write.generated(arguments.seed):
            suite.write(groups["generated"])
        for suite in write.of_bundle(bundle, album, Path(folder, "glossed")):
            suite.write(groups["bundle"])
        failures = show(groups, [bundle, album.parent, Path(folder)], ports)
    print(f"{failures} failed" + (f"; {missing} ports not tested" if missing else ""))
    sys.exit(1 if failures or (missing and not arguments.lenient) else 0)


if __name__ == "__main__":
    main()
