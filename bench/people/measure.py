"""Measures the search for people on a folder of pictures that the caller brings: one folder for each person.

Of each picture the largest face counts, as the folder's person; other faces in it are of nobody known. The
pictures are read where they are, and no name of theirs is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from gamer.index import FloatArray, IngestError, load_pixels
from gamer.index.people.grouping import THRESHOLD, group
from gamer.index.records import RowArray
from gamer.runtime.models.faces import Face

from ..retrieval.datasets import DatasetError
from ..study.declaration import NoSettings, Run, Work
from ..tables import Sheet, sheet
from .scores import GroupScores, b_cubed

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
THRESHOLDS = tuple(round(0.40 + 0.02 * n, 2) for n in range(16))
MANY, EACH = 10_000, 20  # made-up faces whose grouping is timed, and how many are of one person


@dataclass(frozen=True)
class AtThreshold:
    """`groups`: how many groups the faces make at a threshold."""

    threshold: float
    scores: GroupScores
    groups: int


@dataclass(frozen=True)
class PeopleQuality:
    """`recall`: the share of pictures in which a face was found. `used`: at the threshold of the program.

    `same`, `different`: quantiles of the distances between faces of one person and of two, by their share in
    percent. `photo_ms`: median and 95th percentile of searching a photo, without reading its file;
    `photo_cpu_ms`: the median of what all threads took for it, which hangs less on what else the machine did.
    `grouping_cpu_s`: of MANY made-up faces with such distances.
    """

    bundle: str
    n_threads: int
    people: int
    pictures: int
    recall: float
    used: AtThreshold
    sweep: tuple[AtThreshold, ...]
    same: dict[str, float]
    different: dict[str, float]
    photo_ms: tuple[float, float]
    photo_cpu_ms: float
    grouping_cpu_s: float


def measure(run: Run[NoSettings]) -> PeopleQuality:
    """Raises DatasetError for a folder without two people's pictures; BundleError from the runtime."""
    (folder,) = run.data
    pictures = _pictures(folder)
    reader, vectors, people = run.models.faces, list[FloatArray](), list[int]()
    times: list[tuple[float, float]] = []
    for n, (person, path) in enumerate(pictures):
        run.tell(f"picture {n + 1} of {len(pictures)}")
        try:
            pixels = load_pixels(path)
        except IngestError as error:
            raise DatasetError(str(error)) from None
        begin, worked = perf_counter(), process_time()
        found = reader.read(pixels)
        times.append(((perf_counter() - begin) * 1e3, (process_time() - worked) * 1e3))
        if found:
            vectors.append(max(found, key=_area).vector)
            people.append(person)
    if not vectors:
        raise DatasetError(f"{folder}: no face was found in its {len(pictures)} pictures")
    run.tell("grouping")
    table, who, walls = np.stack(vectors), np.array(people), [wall for wall, _ in times]
    near, far = _distances(table, who)
    return PeopleQuality(
        bundle=run.recipe,
        n_threads=run.threads,
        people=len({person for person, _ in pictures}),
        pictures=len(pictures),
        recall=round(len(vectors) / len(pictures), 4),
        used=_at(table, who, THRESHOLD),
        sweep=tuple(_at(table, who, threshold) for threshold in THRESHOLDS),
        same=_quantiles(near, (5, 50, 95, 100)),
        different=_quantiles(far, (0, 1, 5, 50)),
        photo_ms=(round(float(np.median(walls)), 1), round(float(np.quantile(walls, 0.95)), 1)),
        photo_cpu_ms=round(float(np.median([cpu for _, cpu in times])), 1),
        grouping_cpu_s=round(_timed_grouping(), 2),
    )


def _pictures(folder: Path) -> list[tuple[int, Path]]:
    """(number of the person, picture), sorted."""
    people = sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    found = [
        (n, path)
        for n, person in enumerate(people)
        for path in sorted(person.iterdir())
        if path.suffix.lower() in SUFFIXES
    ]
    if len({n for n, _ in found}) < 2:
        raise DatasetError(f"{folder}: give a folder with one folder of pictures for each person")
    return found


def _area(face: Face) -> float:
    return face.box[2] * face.box[3]


def _at(vectors: FloatArray, people: RowArray, threshold: float) -> AtThreshold:
    groups = group(vectors, np.arange(len(people)), np.arange(len(people)), (), threshold)
    return AtThreshold(threshold, b_cubed(groups, people), len(set(groups.tolist())))


def _distances(vectors: FloatArray, people: RowArray) -> tuple[FloatArray, FloatArray]:
    """The distances between faces of one person, and of two."""
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    one, other = np.triu_indices(len(vectors), 1)
    same = people[one] == people[other]
    return apart[one, other][same], apart[one, other][~same]


def _quantiles(values: FloatArray, percents: Sequence[int]) -> dict[str, float]:
    return {f"{p}": round(float(np.quantile(values, p / 100)), 3) for p in percents} if values.size else {}


def _timed_grouping() -> float:
    """Processor's seconds to group MANY faces, of which those of a person are 0.4 apart and others 0.9."""
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((MANY // EACH, 128)) * 0.57 / np.sqrt(128)
    faces = np.repeat(centres, EACH, 0) + rng.standard_normal((MANY, 128)) * 0.28 / np.sqrt(128)
    begin = process_time()
    group(faces.astype(np.float32), np.arange(MANY), np.arange(MANY))
    return process_time() - begin


def tables(result: PeopleQuality) -> list[Sheet | str]:
    columns: dict[str, Callable[[AtThreshold], str | int]] = {
        "threshold": lambda row: f"{row.threshold}{' (used)' if row is result.used else ''}",
        "precision": lambda row: f"{row.scores.precision:.3f}",
        "recall": lambda row: f"{row.scores.recall:.3f}",
        "F1": lambda row: f"{row.scores.f1:.3f}",
        "groups": lambda row: row.groups,
    }
    return [
        sheet(f"{result.people} people, {result.pictures} pictures", (*result.sweep, result.used), columns),
        f"a face found in {result.recall:.1%} of pictures; {result.photo_ms[0]:.0f} ms a photo (95 %: "
        f"{result.photo_ms[1]:.0f}; of all threads {result.photo_cpu_ms:.0f}); 10,000 faces grouped in "
        f"{result.grouping_cpu_s} s",
    ]


WORK = Work(NoSettings, measure, tables)
