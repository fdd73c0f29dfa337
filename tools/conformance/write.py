"""`python -m tools.conformance.write`: writes fixtures, with what the Python reference answers.

`committed [SUITE...]`: the inputs are those in the files, to which a case is added by its `id` and `in`. An
error that is new is written whole: cut it to the part that all languages say. `generated -o DIR`: strings for
the tokenizers, boxes for a tree, queries for cues and in other languages; each seed gives others. `bundle
--bundle B --album A -o DIR`: those that need an exported bundle.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from tools.conformance.fixture import COMMITTED, Suite, answered, read
from tools.conformance.registry import ANSWERS, RENEWED
from tools.conformance.suites import cue_suites, gloss_suites, model_suites, token_suites, tree_suites
from tools.conformance.words import strings

COUNT = 1000


def committed(names: Iterable[str]) -> Iterable[Suite]:
    for name in names:
        suite = read(COMMITTED / f"{name}.json")
        renewed = RENEWED[name](suite) if name in RENEWED else suite
        yield answered(renewed, ANSWERS[name], COMMITTED)


def generated(seed: int, count: int = COUNT) -> list[Suite]:
    asked = [
        token_suites.asked(kind, COMMITTED / "tokenizers" / f"{kind}.json", strings(count, seed * 10 + n))
        for n, kind in enumerate(token_suites.KINDS)
    ]
    asked += [suites.generated(seed, count) for suites in (tree_suites, gloss_suites, cue_suites)]
    return [answered(suite, ANSWERS[suite.name], COMMITTED) for suite in asked]


def of_bundle(bundle: Path, album: Path, stage: Path) -> list[Suite]:
    asked = model_suites.of_bundle(bundle.resolve(), album.resolve(), stage)
    return [answered(suite, ANSWERS[suite.name], COMMITTED) for suite in asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", choices=("committed", "generated", "bundle"))
    parser.add_argument("suites", nargs="*", help="Committed suites; all by default.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bundle", type=Path)
    parser.add_argument("--album", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=COMMITTED)
    given = parser.parse_args()
    if given.which == "committed":
        suites = committed(given.suites or sorted(path.stem for path in COMMITTED.glob("*.json")))
    elif given.output == COMMITTED or (given.which == "bundle" and not (given.bundle and given.album)):
        parser.error(f"{given.which} needs -o DIR{', --bundle and --album' * (given.which == 'bundle')}")
    elif given.which == "generated":
        suites = generated(given.seed)
    else:
        suites = of_bundle(given.bundle, given.album, given.output.resolve() / "glossed")
    for suite in suites:
        path = suite.write(given.output)
        print(f"{path}: {len(suite.cases)} cases, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
