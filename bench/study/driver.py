"""Runs a study: checks what it was given, measures, and adds to the result what every result file carries."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from .. import machine
from ..tables import Sheet, sheet
from . import figures, settings, staleness
from .declaration import COUNTS, Run, Study, Tell
from .settings import SettingError
from .studies import STUDIES

_NAMES = {"data": "DATA", "bundles": "-b BUNDLE", "album": "-a ALBUM"}
_TIMES = {"": "", "?": " or none", "1": "", "+": " or more", "*": ", any number"}


@dataclass(frozen=True)
class StudyResult:
    """`document`: the result as its file holds it. `parts`: what is printed."""

    document: dict[str, Any]
    parts: Sequence[Sheet | str]


def find(name: str) -> Study:
    """Raises SettingError for a name that no study has."""
    if name not in STUDIES:
        raise SettingError(f"no study {name!r}; choose one of: {', '.join(STUDIES)}")
    return STUDIES[name]


def run(
    study: Study,
    *,
    data: tuple[Path, ...] = (),
    bundles: tuple[Path, ...] = (),
    album: Path | None = None,
    cache: Path | None = None,
    given: Sequence[str] = (),
    quick: bool = False,
    threads: int = 1,
    tell: Tell = lambda text: None,
) -> StudyResult:
    """`given`: texts KEY=VALUE. `cache`: a folder that keeps what is made, made if it is not there.

    Raises SettingError for what the study does not take, ImportError for a missing package, and what the
    measurement raises.
    """
    check(study, {"data": len(data), "bundles": len(bundles), "album": int(album is not None)})
    work = study.work()
    chosen = settings.read(work.settings, given, quick=quick)
    with _home(cache) as home:
        result = work.measure(Run(chosen, bundles, data, album, home, threads, tell))
    document = {
        "machine": asdict(machine.read()),
        "command": command(study, data, bundles, album, chosen),
        **asdict(result),
        "when": datetime.now().astimezone().isoformat(timespec="seconds"),
    }
    return StudyResult(document, work.tables(result))


def check(study: Study, counts: dict[str, int]) -> None:
    """Raises SettingError if a study takes more or fewer of `counts` ("data", "bundles", "album")."""
    for what, count in counts.items():
        least, most = COUNTS[getattr(study, what)]
        if not least <= count <= most:
            wanted = "is not taken" if not most else f"is wanted{_TIMES[getattr(study, what)]}"
            raise SettingError(f"{study.name}: {_NAMES[what]} {wanted}, {count} given")


def command(
    study: Study, data: Sequence[Path], bundles: Sequence[Path], album: Path | None, chosen: Any
) -> str:
    """The command as result files record it: without folders, which would disclose local paths."""
    words = [path.name for path in data] + [f"-b {bundle.name}" for bundle in bundles]
    words += [f"-a {album.name}"] if album else []
    return " ".join(
        ["gamer bench study", study.name, *words, *(f"--set {one}" for one in settings.differing(chosen))]
    )


def listing() -> Sheet:
    """All studies, with their results and whether these are older than the code."""
    return sheet(
        "Studies",
        STUDIES.values(),
        {
            "study": lambda study: study.name,
            "measures": lambda study: study.what,
            "takes": takes,
            "result": lambda study: ", ".join(figures.results(study.name)) or "none",
            "beside the code": state,
        },
    )


def takes(study: Study) -> str:
    counts = {what: getattr(study, what) for what in _NAMES}
    return "; ".join(f"{_NAMES[what]}{_TIMES[count]}" for what, count in counts.items() if count)


def state(study: Study) -> str:
    """Of the oldest of a study's committed results; see staleness."""
    return staleness.worst(map(figures.state, figures.results(study.name)))


@contextmanager
def _home(cache: Path | None) -> Iterator[Path]:
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
        yield cache
        return
    with tempfile.TemporaryDirectory(prefix="gamer-study-") as aside:
        yield Path(aside)
