"""Runs one fuzz target, guided by coverage: `python -m tools.fuzz.run TARGET SECONDS [FOLDER]`.

Needs atheris (`fuzz` extra; wheels for Linux, Python 3.11 to 3.13). FOLDER keeps the corpus that
grows; without it the run forgets. An input that fails is left in the working folder (or under the prefix
FUZZ_FINDINGS of the environment), its trace is printed, and the exit status is not 0. The seeds are only
read.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import atheris  # type: ignore[import-not-found,import-untyped,unused-ignore]

# The project, and the readers of files in Python that it hands the bytes to.
INSTRUMENTED = ["gamer", "tools.fuzz", "gguf", "PIL"]

with atheris.instrument_imports(include=INSTRUMENTED):
    from tools.fuzz.targets import MAX_BYTES, SEEDS, TARGETS


def main() -> None:
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in TARGETS or not sys.argv[2].isdigit():
        sys.exit(f"usage: python -m tools.fuzz.run TARGET SECONDS [FOLDER]; targets: {', '.join(TARGETS)}")
    name, seconds = sys.argv[1:3]
    with atheris.instrument_imports(include=INSTRUMENTED):
        for seed in sorted((SEEDS / name).iterdir()):
            TARGETS[name](seed.read_bytes())  # imports what a target imports only when it is called
    corpus = Path(sys.argv[3] if len(sys.argv) == 4 else tempfile.mkdtemp(prefix="corpus"))
    corpus.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", f"-max_len={MAX_BYTES}", "-timeout=10", "-rss_limit_mb=2048"]
    options = [*limits, f"-artifact_prefix={os.environ.get('FUZZ_FINDINGS', './')}", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, str(corpus), str(SEEDS / name)], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
