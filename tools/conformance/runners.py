"""`python -m tools.conformance.runners --bundle B --album A`: runs the quickstart's queries with each port's
command line and compares the answers with Python's.

Prints one line for each query and port: whether the top five hits and the trace are the same, and the port's
own milliseconds.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gamer.runtime.search.engine import Engine
from tools.conformance.replay import differences
from tools.conformance.suites import model_suites
from tools.conformance.table import LIMIT_S, ROOT, absent, environment

COMMANDS = {"Kotlin": "android_demo/core/runner.sh", "Swift": "ios_demo/PhotoCore/runner.sh"}
QUERIES = (
    "coffee I photographed last spring",
    "my cat asleep on the sofa",
    "photos from 2021 but not in May",
)
DAY = model_suites.NOW[:10]


def asked(port: str, bundle: Path, album: Path, query: str) -> Any:
    """The JSON of the port's search. Raises as `printed` does."""
    return printed(port, [str(bundle), str(album), query, "--now", DAY], [bundle, album.parent])


def printed(port: str, arguments: Sequence[str], bound: Sequence[Path]) -> Any:
    """The JSON that the port's command prints for `arguments`. `bound`: as of `environment`.

    Raises subprocess.SubprocessError, OSError, ValueError.
    """
    done = subprocess.run(
        [COMMANDS[port], *arguments],
        cwd=ROOT,
        env=environment(bound),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout)


def compare(ports: Sequence[str], bundle: Path, album: Path) -> int:
    """Prints the lines and returns the number of failures."""
    engine, failures = Engine.open(bundle, album), 0
    for query in QUERIES:
        answer = engine.search(query, 5, now=datetime.fromisoformat(DAY))
        wanted = json.loads(json.dumps(model_suites.told(answer)))
        print(
            f"Python  {query!r}: {', '.join(hit['id'] for hit in wanted['hits'])}; "
            f"{sum(answer.trace.milliseconds.values()):.1f} ms"
        )
        for port in ports:
            failures += _compare_port(port, bundle, album, query, wanted)
    engine.close()
    return failures


def _compare_port(port: str, bundle: Path, album: Path, query: str, wanted: Any) -> bool:
    try:
        raw = asked(port, bundle, album, query)
        problem = next(differences(wanted, model_suites.compared(raw, 5), 5 * model_suites.TOLERANCE), "")
        spent = f"{sum(raw['trace']['milliseconds'].values()):.1f} ms"
    except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
        problem, spent = f"{error} {getattr(error, 'stderr', '') or ''}"[:400], ""
    print(f"{port:<8}{query!r}: {problem or 'the same top five and trace'}; {spent}", flush=True)
    return bool(problem)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--album", type=Path, required=True)
    arguments = parser.parse_args()
    failures = compare(
        [port for port in COMMANDS if not absent(port)], arguments.bundle.resolve(), arguments.album.resolve()
    )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
