"""Continuous learning (paper Appendix L): a checkpoint goes on from what a person searched and opened.

The searches are split by time, as the paper splits a user's 40 queries into 30 and 10: the first three
quarters are learned from, beside the album's memories so that these are not forgotten, and the last quarter
shows whether it helped.
What was known before and what is new are measured before and after; a worse model is not published.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from gamer.index import Album, Opened, OpenedLog

from ..components import states
from ..errors import ExportError
from ..settings import Settings
from . import features, pairs, sft, start
from .loading import Loaded, fingerprint, load
from .loop import Epoch
from .measure import Recall, recall
from .run_folder import RunFolder

S = TypeVar("S")
SHARE = 0.75  # of the searches, by time: learned from
FORGOTTEN = 0.02  # of the recall of memories that may be lost, by all updates since the first checkpoint
_FEWEST = 8  # searches; fewer say nothing


@dataclass(frozen=True)
class Skills:
    """Recall@5 among all photos. `known`: of memories; `opened`: of the last quarter of the searches."""

    known: Recall
    opened: Recall

    def text(self, when: str) -> str:
        """One line for people."""
        return (
            f"{when}: recall@5 of {self.known.queries} memories {self.known.at_5:.3f}, of "
            f"{self.opened.queries} later searches {self.opened.at_5:.3f}"
        )


@dataclass(frozen=True)
class Updated:
    """`installed`: whether the checkpoint was written; `learned`: searches that were learned from."""

    path: Path
    learned: int
    before: Skills
    after: Skills
    installed: bool
    epochs: tuple[Epoch, ...]

    def text(self, recipe: str) -> str:
        """For people: recall before and after, and what to do next."""
        lines = [self.before.text("before"), self.after.text("after")]
        if self.installed:
            lines.append(
                f"{self.path}: learned from {self.learned} searches; next: gamer export {recipe} --weights "
                f"dpe={self.path}"
            )
        return "\n".join(lines)


def update(
    settings: Settings,
    album: Path,
    base: Path,
    out: Path,
    epochs: int,
    rate: float,
    stage: sft.Stage,
    say: sft.Say,
    report: sft.Report,
    searches: Sequence[Opened] | None = None,
) -> Updated:
    """Trains the checkpoint `base` further, into `out`, with its own settings but `epochs` and `rate`.

    `searches`: oldest first; None for what was searched and opened. Raises ExportError for too few of them,
    and as `sft.train` does.
    """
    searches = OpenedLog(album).read() if searches is None else searches
    split(searches, album)  # too few are refused before anything is written
    loaded = load(settings, base)
    options = replace(loaded.options, epochs=epochs, rate=rate, start="random", steps=0)
    data = pairs.read(album, options.until)
    key = data.digest()
    told = {
        "recipe": settings.recipe,
        "sources": dict(settings.sources),
        "data": key,
        **asdict(options),
        "base": fingerprint(base),
        "searches": hashlib.sha256(repr(searches).encode()).hexdigest(),
    }
    run = RunFolder(out, told)
    with run.held():
        run.check()
        seen = features.encode(settings, data.paths, run.inner, key, lambda a, b: stage("photos", a, b))
        rows = row_of_photo(album, data, seen)
        learned, later = split([entry for entry in searches if entry.photo in rows], album)
        memories = [pair for pair in pairs.told(data.memories) if seen.readable[pair[1]]]
        withheld = [pair for pair in pairs.told(data.withheld) if seen.readable[pair[1]]]

        if not memories:
            raise ExportError(f"{album}: no photo with a memory can be read: nothing keeps what is known")
        encode = sft.query_encoder(settings, options, loaded.language)

        def asked(of: Sequence[tuple[str, int]]) -> start.StartData:
            texts, owners = (tuple(part) for part in zip(*of, strict=True))
            found = states.in_batches(encode, texts, lambda a, b: stage("memories and searches", a, b))
            return start.StartData(found, owners, None, texts)

        known, new = asked(withheld or memories), asked([(e.query, rows[e.photo]) for e in later])
        before = _skills(loaded, seen, known, new)
        say(before.text("before"))
        lessons = asked([*memories, *((e.query, rows[e.photo]) for e in learned)])
        searched = {rows[e.photo]: e.query for e in learned}
        queries = [*(searched.get(row, "") for _, row in memories), *("" for _ in learned)]
        lessons = replace(lessons, queries=tuple(queries))
        _, done = sft.fit(loaded.model, seen, lessons, options, run, report, loaded.language)
        if options.lora:  # the language model, and with it the states, have changed
            known, new = asked(withheld or memories), asked([(e.query, rows[e.photo]) for e in later])
        after = _skills(loaded, seen, known, new)
        forgotten = max(0.0, _number(loaded.told.get("forgotten"))) + before.known.at_5 - after.known.at_5
        installed = better(before, after, forgotten)
        if installed:
            run.publish(loaded.model, forgotten=max(0.0, forgotten))
    return Updated(out, len(learned), before, after, installed, done)


def better(before: Skills, after: Skills, forgotten: float) -> bool:
    """Whether more searches are found than before, and memories as often but for FORGOTTEN.

    `forgotten`: recall of memories lost by this update and by those before it, so that many updates together
    lose no more than one may.
    """
    return after.opened.at_5 > before.opened.at_5 and forgotten <= FORGOTTEN + 1e-9


def _number(told: object) -> float:
    return float(told) if isinstance(told, (int, float)) else 0.0


def split(searches: Sequence[S], album: Path) -> tuple[Sequence[S], Sequence[S]]:
    """(learned from, measured with): by time. Raises ExportError for too few."""
    if len(searches) < _FEWEST:
        raise ExportError(
            f"{album}: {len(searches)} searches with a photo that was opened, {_FEWEST} are needed: gamer "
            "index opened ALBUM --keep, then search with gamer serve; or --queries of photos that it has"
        )
    first = int(len(searches) * SHARE)
    return searches[:first], searches[first:]


def row_of_photo(album: Path, data: pairs.Pairs, seen: features.Features) -> dict[str, int]:
    """Row of the features by the album's id of a photo; one that could not be read has none."""
    where = {str(path): n for n, path in enumerate(data.paths) if seen.readable[n]}
    with Album.open(album) as opened:
        photos = opened.photos(range(len(opened)))
        return {photo.id: where[photo.path] for photo in photos if photo.path in where}


def _skills(loaded: Loaded, seen: features.Features, known: start.StartData, new: start.StartData) -> Skills:
    among = np.flatnonzero(seen.readable)
    return Skills(*(recall(loaded.model, seen, part.states, part.owners, among) for part in (known, new)))
