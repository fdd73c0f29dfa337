"""What a checkpoint of `gamer train` learns later: from searches (Table 11), and from rewards (Table 8).

The trainings are export's; this file chooses what they learn from and measure with, and keeps the figures.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gamer.index import Album, Opened

from ..report import paper_training
from ..retrieval.datasets import read_answered
from ..study.declaration import About, Run, Work

if TYPE_CHECKING:
    from gamer.export.training.refinement.policy import Round
    from gamer.export.training.refinement.rlhf import Earned
    from gamer.export.training.sft import Report, Say, Stage
    from gamer.export.training.update import Skills

ALPHAS = (0.3, 0.4, 0.5, 0.6, 0.7)  # those of the paper's Table 8


@dataclass(frozen=True, kw_only=True)
class Trained:
    """The settings of both studies."""

    recipe: Annotated[str, About("the recipe of the checkpoint")]
    base: Annotated[Path, About("a checkpoint of `gamer train`")]
    queries: Annotated[Path, About("a JSONL of queries and their photos")]
    epochs: Annotated[int, About("epochs of the training", least=0, quick=1)] = 20
    rate: Annotated[float, About("the optimiser's rate", least=0, most=1)] = 2e-5


@dataclass(frozen=True, kw_only=True)
class Reinforced(Trained):
    lora: Annotated[int, About("as in `gamer train`", least=0, most=1024)] = 0
    reward: Annotated[Path | None, About("as in `gamer train`")] = None
    alpha: Annotated[tuple[float, ...], About("the values of α", least=0, most=1)] = ALPHAS
    form: Annotated[str, About("as in `gamer train`")] = "grpo"


@dataclass(frozen=True)
class Update:
    """One `gamer train --update` from the queries of a file, in the order of their photos' times.

    `learned`, `measured`: searches. `seconds`: of the whole update.
    """

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

    album: str
    queries: str
    judge: str
    learned: int
    measured: int
    rate: float
    lora: int
    form: str
    rows: tuple[Weighed, ...]


def _talk(run: Run[Any]) -> tuple[Stage, Say, Report]:
    """How a training tells what it does: a stage's progress, a line, an epoch."""
    from gamer.export.training.cli import epoch_text

    return (
        lambda what, done, total: run.tell(f"{what}: {done} of {total}"),
        run.tell,
        lambda epoch: run.tell(epoch_text(epoch)),
    )


def update(run: Run[Trained]) -> Update:
    """Updates the checkpoint `base` into the run's home, where a killed update goes on.

    The queries, {"query", "relevant"}, stand for searches, by the time of the first photo that answers; the
    first three quarters are learned from and the last is measured. Raises DatasetError, AlbumError and
    ExportError.
    """
    from gamer.export.settings import Settings
    from gamer.export.training import update as updating

    what, album = run.settings, run.album
    assert album is not None
    recipe, epochs, rate = Settings(what.recipe), what.epochs, what.rate
    begun, asked = time.monotonic(), opened(album, what.queries)
    done = updating.update(recipe, album, what.base, run.home, epochs, rate, *_talk(run), searches=asked)
    return Update(
        album.name,
        what.queries.name,
        epochs,
        rate,
        done.learned,
        done.before.opened.queries,
        done.before,
        done.after,
        done.installed,
        round(time.monotonic() - begun, 1),
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


def alphas(run: Run[Reinforced]) -> Alphas:
    """Reinforces a checkpoint once for each α, into a folder of the run's home.

    The queries are {"query", "photos"}; the first three quarters are learned from and the last is measured.
    Raises ExportError.
    """
    from gamer.export.settings import Settings
    from gamer.export.training.options import Options, Reinforcement
    from gamer.export.training.refinement import rlhf

    what, album, counts = run.settings, run.album, (0, 0)
    assert album is not None
    options = Options(epochs=what.epochs, rate=what.rate, lora=what.lora)
    reinforcement = Reinforcement(what.base, run.bundle, what.queries, judge=what.reward, form=what.form)
    rows = list[Weighed]()
    stage, say, _ = _talk(run)
    for alpha in what.alpha:
        begun = time.monotonic()
        say(f"α {alpha:g}")
        weighed, work = replace(reinforcement, alpha=alpha), run.home / f"{alpha:g}"
        done = rlhf.reinforce(Settings(what.recipe), album, work, options, weighed, stage, say)
        seconds, counts = round(time.monotonic() - begun, 1), (done.learned, done.measured)
        rows.append(Weighed(alpha, done.before, done.after, done.rounds, done.installed, seconds))
    return Alphas(
        album.name,
        what.queries.name,
        "the experts" if what.reward is None else what.reward.name,
        *counts,
        options.rate,
        options.lora,
        what.form,
        tuple(rows),
    )


UPDATE = Work(Trained, update, lambda result: paper_training.updates([asdict(result)]).lines())
ALPHA = Work(Reinforced, alphas, lambda result: paper_training.alphas([asdict(result)]).lines())
