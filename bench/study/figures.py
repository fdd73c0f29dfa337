"""How every committed result is made, and the driver that makes them again, in parts that resume.

A part is one file of bench/results, and a process of its own. A part whose file is of this commit is passed
over, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from .. import machine
from . import staleness
from .studies import COMMANDS, STUDIES

_JSON = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
# File → the words after `gamer bench`, or a program of tools/ with its own words, where {bundle}, {album},
# {data} and {cache} are the caller's.
FIGURES: dict[str, str] = _JSON["made"]
# Results of what no command here makes alone: trained checkpoints, other bundles, other tools.
ELSEWHERE: dict[str, str] = _JSON["elsewhere"]

TOOLS = "tools."


@dataclass(frozen=True)
class Part:
    """What became of a file. `outcome`: "current", "made", or why not."""

    file: str
    outcome: str

    @property
    def fails(self) -> bool:
        return self.outcome not in ("current", "made")


def words_of(file: str) -> str:
    """The words after `gamer bench` that made a file of bench/results, "" for one that none made."""
    return {**FIGURES, **ELSEWHERE}.get(file, "")


def results(study: str) -> tuple[str, ...]:
    """The files in bench/results that a study made."""
    made = (*FIGURES, *ELSEWHERE)
    return tuple(file for file in made if words_of(file).split()[:2] == ["study", study])


def measured(file: str) -> tuple[str, ...]:
    """The paths of the repository that a result depends on; empty where nobody says."""
    words = words_of(file).split()
    if words[:1] == ["study"]:
        return STUDIES[words[1]].measures
    return COMMANDS.get(words[0], ()) if words else ()


def state(file: str) -> str:
    """Whether a committed result is older than the code that it measures; see staleness."""
    paths = measured(file)
    return staleness.state(staleness.RESULTS / file, paths) if paths else staleness.UNKNOWN


def all_parts(
    given: Mapping[str, str], folder: Path, tell: Callable[[str], None], commit: str | None = None
) -> Iterator[Part]:
    """Makes every file of FIGURES in `folder` that is not of `commit`, by default this checkout's.

    `given`: what "bundle", "album", "data" and "cache" stand for; a part that wants another is left out.
    """
    now = commit or machine.read().build_commit
    for file, words in FIGURES.items():
        wanted = {name for _, name, _, _ in Formatter().parse(words) if name}
        if staleness.commit_of(folder / file) == now != "unknown":
            yield Part(file, "current")
        elif missing := wanted - given.keys():
            yield Part(file, f"left out: give {min(missing)}")
        else:
            tell(file)
            yield Part(file, _make([word.format(**given) for word in words.split()], folder / file))


def _make(words: list[str], out: Path) -> str:
    program, environment = ["gamer", "bench", *words], dict(os.environ)
    if words[0].startswith(TOOLS):  # which are the repository's, not the package's
        program, environment["PYTHONPATH"] = words, str(staleness.ROOT)
    command = [sys.executable, "-m", *program, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return "made" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["failed"])[-1]
