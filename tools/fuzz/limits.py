"""Measures what hostile inputs cost: `python -m tools.fuzz.limits OUT.json [BYTES]`.

Each input is read in a process of its own, which the system ends beyond the limits: MOST_SECONDS of processor
time per megabyte (as much for a smaller input), MOST_MB of memory beyond what the program has when it starts.
Exit status 1 if an input went beyond. Needs a system that can fork.
"""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from gamer.bench import machine
from gamer.bench.files import write_atomically
from tools.fuzz.hostile import inputs
from tools.fuzz.targets import SEEDS, TARGETS

MOST_SECONDS, MOST_MB = 2, 500
MEGABYTE = 1 << 20
_BROKEN, _MEMORY = 3, 4  # exit statuses of the child


@dataclass(frozen=True)
class Cost:
    """`seconds`: of the processor. `mb`: the most memory beyond the program's. `problem`: what it broke."""

    target: str
    input: str
    bytes: int
    seconds: float
    mb: int
    problem: str = ""


def sweep(target: str, size: int) -> list[Cost]:
    """The cost of every hostile input of about `size` bytes for a target."""
    for seed in sorted((SEEDS / target).iterdir()):
        TARGETS[target](seed.read_bytes())  # imports what the target needs before memory is counted
    return [_cost(target, name, data) for name, data in inputs(target, size).items()]


def _cost(target: str, name: str, data: bytes) -> Cost:
    before = _pages(1)
    child = os.fork()
    if not child:
        _limited(target, data)
    _, status, used = os.wait4(child, 0)
    problem = _problem(os.waitstatus_to_exitcode(status))
    most = max(0, used.ru_maxrss * 1024 - before) // MEGABYTE
    return Cost(target, name, len(data), round(used.ru_utime + used.ru_stime, 2), most, problem)


def _limited(target: str, data: bytes) -> None:
    """The child: reads the input within the limits and ends."""
    seconds = math.ceil(MOST_SECONDS * max(1.0, len(data) / MEGABYTE))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    memory = _pages(0) + MOST_MB * MEGABYTE
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    status = _BROKEN
    try:
        TARGETS[target](data)
        status = 0
    except MemoryError:
        status = _MEMORY
    except BaseException as error:
        print(f"{target}: {error!r}"[:300], file=sys.stderr, flush=True)
    finally:
        os._exit(status)


def _problem(status: int) -> str:
    known = {0: "", _BROKEN: "an error of the wrong kind", _MEMORY: f"more than {MOST_MB} MB"}
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"more than {MOST_SECONDS} s per MB"
    return known.get(status, f"status {status}")


def _pages(field: int) -> int:
    """Bytes of this process: 0 of its address space, 1 in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[field]
    return int(pages) * resource.getpagesize()


def main() -> None:
    if len(sys.argv) not in (2, 3) or not all(word.isdigit() for word in sys.argv[2:]):
        sys.exit("usage: python -m tools.fuzz.limits OUT.json [BYTES]")
    size = int(sys.argv[2]) if len(sys.argv) == 3 else MEGABYTE
    costs = [cost for target in TARGETS for cost in sweep(target, size)]
    limits = {"seconds_a_mb": MOST_SECONDS, "mb": MOST_MB, "bytes": size}
    result = {"machine": asdict(machine.read()), "limits": limits, "costs": [asdict(cost) for cost in costs]}
    write_atomically(Path(sys.argv[1]), json.dumps(result, indent=1))
    beyond = [cost for cost in costs if cost.problem]
    for cost in beyond or sorted(costs, key=lambda cost: -cost.seconds)[:5]:
        print(cost)
    sys.exit(bool(beyond))


if __name__ == "__main__":
    main()
