"""`python -m tools.conformance.replay DIR...`: replays every fixture in Python.

Asks the reference again, and compares with an independent implementation (plain.py) where there is one.
Prints SUITE<TAB>CASE<TAB>pass|fail<TAB>MESSAGE for each case; exits with 1 if any failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from gamer.runtime.models.models import Models
from tools.conformance import (
    committed,
    cue_suites,
    gloss_suites,
    model_suites,
    plain,
    token_suites,
    tree_suites,
)
from tools.conformance.fixture import COMMITTED, Case, Suite, read


@cache
def _committed() -> dict[str, Suite]:
    return {suite.name: suite for writer in committed.WRITERS.values() for suite in writer(COMMITTED)}


def again(suite: Suite, folder: Path) -> Suite:
    """The suite as the reference would write it now."""
    if folder.resolve() == COMMITTED.resolve():
        return _committed()[suite.name]
    makers: dict[str, Callable[[Suite], Suite]] = dict.fromkeys(token_suites.KINDS, _tokens)
    makers |= {
        "kdtree": _boxes,
        "cues": _cues,
        "glosses": _glosses,
        "search": _searches,
        "search_glossed": _glossed,
    }
    if suite.name in makers:
        return makers[suite.name](suite)
    return _of_bundle(suite.shared["bundle"])[suite.name]


def _tokens(suite: Suite) -> Suite:
    path = Path(suite.shared["tokenizer"])
    return token_suites.suite(suite.name, path, str(path), [case.given["text"] for case in suite.cases])


def _boxes(suite: Suite) -> Suite:
    import base64

    from gamer.index.records import Cube

    blob = base64.b64decode(suite.shared["trees"]["main"])
    cases = (
        Case(c.id, c.given, tree_suites.answer(blob, [Cube(**cube) for cube in c.given["cubes"]]))
        for c in suite.cases
    )
    return Suite(suite.name, tuple(cases), suite.shared)


def _cues(suite: Suite) -> Suite:
    path = Path(suite.shared["gazetteer"])
    return cue_suites.suite([case.given["query"] for case in suite.cases], path, str(path), extras=False)


def _glosses(suite: Suite) -> Suite:
    return gloss_suites.suite({case.id: case.given for case in suite.cases}, COMMITTED)


def _searches(suite: Suite) -> Suite:
    queries = list(dict.fromkeys(case.given["query"] for case in suite.cases))
    return model_suites.search(Path(suite.shared["bundle"]), Path(suite.shared["album"]), queries)


def _glossed(suite: Suite) -> Suite:
    return model_suites.search_glossed(Path(suite.shared["bundle"]), Path(suite.shared["album"]))


@cache
def _of_bundle(bundle: str) -> dict[str, Suite]:
    path = Path(bundle)
    models = Models.open(path)
    images, prompts = model_suites.embed_image(path, models), model_suites.dpe(path, models)
    suites = (
        model_suites.embed_text(path, models, model_suites.TEXTS),
        images,
        prompts,
        model_suites.llm(path, models),
    )
    return {suite.name: suite for suite in suites}


def differences(wanted: Any, actual: Any, tolerance: float, at: str = "out") -> Iterator[str]:
    """Where two JSON values differ, in order; floats may differ by `tolerance`."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        if wanted.keys() != actual.keys():
            yield f"{at}: keys {sorted(actual)} where {sorted(wanted)} are wanted"
            return
        for key in wanted:
            yield from differences(wanted[key], actual[key], tolerance, f"{at}.{key}")
    elif isinstance(wanted, list | tuple) and isinstance(actual, list | tuple):
        if len(wanted) != len(actual):
            yield f"{at}: {len(actual)} where {len(wanted)} are wanted"
            return
        for n, (a, b) in enumerate(zip(wanted, actual, strict=True)):
            yield from differences(a, b, tolerance, f"{at}[{n}]")
    elif isinstance(wanted, float) and isinstance(actual, float | int) and not isinstance(actual, bool):
        if abs(wanted - actual) > tolerance:
            yield f"{at}: {actual} where {wanted} is wanted"
    elif isinstance(wanted, bool) != isinstance(actual, bool) or (
        wanted != actual
        and not (isinstance(wanted, int) and isinstance(actual, float) and abs(wanted - actual) <= tolerance)
    ):
        yield f"{at}: {actual!r} where {wanted!r} is wanted"


def replay(folder: Path) -> Iterator[tuple[str, str, str, str]]:
    """(suite, case, "pass" or "fail", message) for each case of the fixtures in `folder`."""
    for path in sorted(folder.glob("*.json")):
        suite = read(path)
        for case, problem in verdicts(suite, again(suite, folder), folder):
            yield suite.name, case, "fail" if problem else "pass", problem


def verdicts(suite: Suite, now: Suite, folder: Path) -> Iterator[tuple[str, str]]:
    """(case, difference) for each case; the difference is "" if the case passes.

    Compares `suite` as written in `folder` with `now`, what the reference writes today, and with plain.py.
    """
    fresh, opinion = {case.id: case for case in now.cases}, plain.opinion_of(suite.name)
    for case in suite.cases:
        yield case.id, " ".join(_problem(suite, case, fresh.get(case.id), folder, opinion).split())[:200]


def _problem(
    suite: Suite, case: Case, fresh: Case | None, folder: Path, opinion: plain.Opinion | None
) -> str:
    if fresh is None or (
        fresh.given != _lists(case.given, fresh.given) and not suite.name.startswith("search")
    ):
        return "the reference writes other inputs now: write the fixtures again"
    if fresh.error != case.error:
        return f"error {fresh.error!r} where {case.error!r} is wanted"
    for name, value in (
        ("reference", fresh.out),
        ("plain", opinion(suite, case, folder) if opinion else None),
    ):
        if value is not None and (difference := next(differences(case.out, value, suite.tolerance), "")):
            return f"{name}: {difference}"
    return ""


def _lists(given: Any, like: Any) -> Any:
    """`given` with tuples where `like` has them, since JSON has only lists."""
    if isinstance(given, dict) and isinstance(like, dict):
        return {key: _lists(value, like.get(key)) for key, value in given.items()}
    if isinstance(given, list) and isinstance(like, list | tuple) and len(given) == len(like):
        return type(like)(_lists(a, b) for a, b in zip(given, like, strict=True))
    return given


def main(folders: list[str]) -> None:
    failed = 0
    for folder in folders:
        for line in replay(Path(folder)):
            failed += line[2] != "pass"
            print("\t".join(line))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
