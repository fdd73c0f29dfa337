"""What a checkpoint of `gamer train` learns later: from searches (Table 11), and from rewards (Table 8).

The trainings are export's; this file chooses what they learn from and measure with, and keeps the figures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gamer.index import Album, Opened

from . import machine
from .retrieval.datasets import read_answered

if TYPE_CHECKING:
    from gamer.export.settings import Settings
    from gamer.export.training.options import Options, Reinforcement
    from gamer.export.training.ppo import Round
    from gamer.export.training.rlhf import Earned
    from gamer.export.training.sft import Report, Say, Stage
    from gamer.export.training.update import Skills

ALPHAS = (0.3, 0.4, 0.5, 0.6, 0.7)  # those of the paper's Table 8


@dataclass(frozen=True)
class Update:
    """One `gamer train --update` from the queries of a file, in the order of their photos' times.

    `learned`, `measured`: searches. `seconds`: of the whole update.
    """

    machine: machine.Machine
    command: str
    album: str
    queries: str
    epochs: int
    rate: float
    learned: int
    measured: int
    before: Skills
    after: Skills
    installed: bool
    seconds: float
    when: str


@dataclass(frozen=True)
class Weighed:
    """One α. `before` is that of the same policy, with this α's reward."""

    alpha: float
    before: Earned
    after: Earned
    rounds: tuple[Round, ...]
    installed: bool
    seconds: float


@dataclass(frozen=True)
class Alphas:
    """`gamer train --reinforce` with several α, else alike. `learned`, `measured`: searches."""

    machine: machine.Machine
    command: str
    album: str
    queries: str
    judge: str
    learned: int
    measured: int
    rate: float
    lora: int
    rows: tuple[Weighed, ...]
    when: str


def update(
    settings: Settings,
    album: Path,
    base: Path,
    queries: Path,
    work: Path,
    options: Options,
    talk: tuple[Stage, Say, Report],
) -> Update:
    """Updates the checkpoint `base` into `work`. `queries`: JSON Lines of {"query", "relevant"}.

    Raises DatasetError, AlbumError and ExportError.
    """
    from gamer.export.training import update as updating

    begun, asked = time.monotonic(), opened(album, queries)
    done = updating.update(settings, album, base, work, options.epochs, options.rate, *talk, searches=asked)
    return Update(
        machine.read(),
        f"gamer bench update {settings.recipe} -a {album.name} --base {base.name} --queries {queries.name} "
        f"--epochs {options.epochs} --rate {options.rate:g}",
        album.name,
        queries.name,
        options.epochs,
        options.rate,
        done.learned,
        done.before.opened.queries,
        done.before,
        done.after,
        done.installed,
        round(time.monotonic() - begun, 1),
        datetime.now().astimezone().isoformat(timespec="seconds"),
    )


def opened(album: Path, queries: Path) -> list[Opened]:
    """The queries as searches after which the first photo that answers was opened, by its time.

    A query without such a photo in the album is left out. Raises AlbumError and DatasetError.
    """
    with Album.open(album) as file:
        times = {photo.id: photo.wall or 0 for photo in file.photos(range(len(file)))}
    out = []
    for query, relevant in read_answered(queries):
        photo = next((name for name in relevant if name in times), None)
        if photo is not None:
            out.append(Opened(times[photo], query, photo))
    return sorted(out, key=lambda search: search.at)


def alphas(
    settings: Settings,
    album: Path,
    what: Reinforcement,
    work: Path,
    chosen: Sequence[float],
    options: Options,
    talk: tuple[Stage, Say, Report],
) -> Alphas:
    """Reinforces a checkpoint once for each α of `chosen` in the place of `what.alpha`, into `work`/ALPHA.

    Raises ExportError.
    """
    from gamer.export.training import rlhf

    rows, shown = list[Weighed](), (0, 0)
    stage, say, _ = talk
    for alpha in chosen:
        begun = time.monotonic()
        say(f"α {alpha:g}")
        weighed = replace(what, alpha=alpha)
        done = rlhf.reinforce(settings, album, work / f"{alpha:g}", options, weighed, stage, say)
        seconds, shown = round(time.monotonic() - begun, 1), (done.learned, done.measured)
        rows.append(Weighed(alpha, done.before, done.after, done.rounds, done.installed, seconds))
    asked = "" if what.queries is None else what.queries.name
    return Alphas(
        machine.read(),
        f"gamer bench alpha {settings.recipe} -a {album.name} -b {what.bundle.name} --base {what.base.name} "
        f"--queries {asked} --epochs {options.epochs} --rate {options.rate:g} --lora {options.lora}",
        album.name,
        asked,
        "the experts" if what.judge is None else what.judge.name,
        *shown,
        options.rate,
        options.lora,
        tuple(rows),
        datetime.now().astimezone().isoformat(timespec="seconds"),
    )
