"""`python -m tools.conformance.committed [SUITE...]`: rewrites the committed fixtures from the Python
reference.

These fixtures need no bundle.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from tools.conformance import (
    album_suites,
    bundle_suites,
    cue_suites,
    gloss_suites,
    graph_suites,
    pixel_suites,
    ranking_suites,
    token_suites,
    tree_suites,
)
from tools.conformance.fixture import COMMITTED, Suite

WRITERS: dict[str, Callable[[Path], list[Suite]]] = {
    "tokenizers": token_suites.committed,
    "pixels": pixel_suites.committed,
    "trees": tree_suites.committed,
    "graphs": graph_suites.committed,
    "cues": cue_suites.committed,
    "albums": album_suites.committed,
    "rankings": ranking_suites.committed,
    "glosses": gloss_suites.committed,
    "bundles": bundle_suites.committed,
}


def main(names: list[str]) -> None:
    for name in names or list(WRITERS):
        for suite in WRITERS[name](COMMITTED):
            path = suite.write(COMMITTED)
            print(f"{path.name}: {len(suite.cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
