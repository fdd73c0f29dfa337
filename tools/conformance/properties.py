"""`python -m tools.conformance.properties [--seed N] -o DIR`: writes generated fixtures: strings for the
tokenizers, boxes for a tree, queries for cues and in other languages.

Each seed gives different inputs; every port must answer as the reference does.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from gamer.index.space.kdtree import build
from tools.conformance import cue_suites, gloss_suites, token_suites
from tools.conformance.fixture import COMMITTED, Case, Suite, base64_of
from tools.conformance.queries import generated
from tools.conformance.tree_suites import answer, cube_json, points, random_cube
from tools.conformance.words import strings

COUNT = 1000


def suites(seed: int, count: int = COUNT) -> list[Suite]:
    out = []
    for n, kind in enumerate(token_suites.KINDS):
        path = COMMITTED / "tokenizers" / f"{kind}.json"
        out.append(token_suites.suite(kind, path, str(path), strings(count, seed * 10 + n)))
    gazetteer = COMMITTED / "gazetteer.sqlite"
    return [
        *out,
        _boxes(seed, count),
        gloss_suites.suite(gloss_suites.generated(seed, count), COMMITTED),
        cue_suites.suite(
            list(dict.fromkeys(generated(count * 5 // 4, seed)))[:count],
            gazetteer,
            str(gazetteer),
            extras=False,
        ),
    ]


def _boxes(seed: int, count: int) -> Suite:
    rng, blob = random.Random(seed), build(points(200, seed), 8).to_bytes()
    cube_lists = [[random_cube(rng) for _ in range(rng.choice([1, 1, 2, 5]))] for _ in range(count)]
    cases = [
        Case(
            f"{n:04d}",
            {"op": "cubes", "tree": "main", "cubes": [cube_json(cube) for cube in cubes]},
            answer(blob, cubes),
        )
        for n, cubes in enumerate(cube_lists)
    ]
    return Suite("kdtree", tuple(cases), {"trees": {"main": base64_of(blob)}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    for suite in suites(arguments.seed):
        path = suite.write(arguments.output)
        print(f"{path}: {len(suite.cases)} cases")


if __name__ == "__main__":
    main()
