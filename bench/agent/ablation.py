"""What a mind loses without one of its tools, without events or captions, or without condensing its dialogue.

A tool that is taken away refuses every call. Each variant answers the same tasks, so differences are paired.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from gamer.index import AlbumWriter
from gamer.runtime.agent import calls
from gamer.runtime.agent.calls import ToolError
from gamer.runtime.agent.context import MAX_CONTEXT
from gamer.runtime.agent.results import Result
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.events.build import segment_album
from gamer.runtime.indexing.build import build
from gamer.runtime.search.engine import Engine

from .. import stats
from ..retrieval.user import User
from . import sets
from .players import OPENAI, Player, Remote, player
from .scores import set_f1
from .sets import Tell
from .tasks import Attempt, Task, counted


@dataclass(frozen=True)
class Ablation:
    """A variant beside the unchanged mind, over all tasks of an album.

    `exact`: share of exactly right sets; `f1`: mean F1. `delta`: of F1, with the 95 % interval of a paired
    bootstrap over tasks. `changed`: tasks with another answer. `why_not`: why it was not run; the figures are
    then None.
    """

    album: str
    method: str
    change: str
    tasks: int
    exact: float | None = None
    f1: float | None = None
    delta: float | None = None
    interval: tuple[float, float] | None = None
    changed: int | None = None
    why_not: str = ""


class Without(Toolbox):
    """A toolbox in which one tool refuses."""

    def __init__(self, engine: Engine, now: datetime, leaving: bool, tool: str) -> None:
        super().__init__(engine, now, leaving=leaving)
        self._refused = tool

    def call(self, call: calls.Call) -> Result:
        if calls.name_of(call) == self._refused:
            raise ToolError(f"{self._refused}: not available; use another tool")
        return super().call(call)


@dataclass(frozen=True)
class Base:
    """The unchanged mind's answers. `source`: the JSONL that the album was built from."""

    user: User
    source: Path
    player: Player
    done: Sequence[Attempt]
    cache: Path
    tell: Tell

    @property
    def tasks(self) -> list[Task]:
        return [one.task for one in self.done]

    def row(self, change: str, done: Sequence[Attempt]) -> Ablation:
        before, after = (np.array([_score(one) for one in part]) for part in (self.done, done))
        draws = stats.bootstrap([np.stack([before, after])])
        low, high = np.percentile(draws[:, 1] - draws[:, 0], [2.5, 97.5])
        return Ablation(
            self.user.name,
            self.player.name,
            change,
            len(done),
            round(float(np.mean([set(one.given) == one.task.relevant for one in done])), 4),
            round(float(after.mean()), 4),
            round(float(after.mean() - before.mean()), 4),
            (round(float(low), 4), round(float(high), 4)),
            sum(set(a.given) != set(b.given) for a, b in zip(self.done, done, strict=True)),
        )

    def not_run(self, change: str, why: str) -> Ablation:
        return Ablation(self.user.name, self.player.name, change, len(self.done), why_not=why)

    def solve(self, change: str, player: Player, user: User | None = None) -> Ablation:
        told = sets.by_player(user or self.user, player, self.tasks, lambda t: self.tell(f"{change}: {t}"))
        return self.row(change, told)


def ablate(base: Base, remote: Remote | None) -> list[Ablation]:
    return [*_tools(base), _events(base), _captions(base), _condensing(base, remote)]


def _tools(base: Base) -> list[Ablation]:
    called = counted(base.done)
    rows = []
    for tool in called:

        def opens(engine: Engine, now: datetime, leaving: bool, tool: str = tool) -> Toolbox:
            return Without(engine, now, leaving, tool)

        rows.append(base.solve(f"no {tool}", replace(base.player, opens=opens)))
    if unused := [name for name in calls.TOOLS if name not in called]:
        rows.append(base.not_run(f"no {', '.join(unused)}", "never called"))
    return rows


def _events(base: Base) -> Ablation:
    """Without the album's events; where it has none, with those that the rules make."""
    had = bool(base.user.album.events())
    change = "no events" if had else "with events"
    path = base.cache / f"{base.user.path.stem}-{change.replace(' ', '-')}.gamer"
    shutil.copyfile(base.user.path, path)
    if had:
        with AlbumWriter.extend(path) as writer:
            writer.set_events([])
            writer.finish(base.user.models.text.encode)
    else:
        base.tell(f"{change}: making them")
        segment_album(path, base.user.models)
    return _over(base, change, path)


def _captions(base: Base) -> Ablation:
    """Over an album that is built without the memories of source "caption"."""
    change = "no captions"
    photos = [json.loads(line) for line in base.source.read_text(encoding="utf-8").splitlines()]
    bare = [_uncaptioned(photo, base.source.parent) for photo in photos]
    dropped = sum(len(a.get("memories", ())) - len(b["memories"]) for a, b in zip(photos, bare, strict=True))
    if not dropped:
        return base.not_run(change, "the album has none")
    path = base.cache / f"{base.user.path.stem}-no-captions.gamer"
    if not path.exists():
        base.tell(f"{change}: building")
        lines = path.with_suffix(".jsonl")
        lines.write_text("\n".join(map(json.dumps, bare)), encoding="utf-8")
        build(lines, base.user.models, path)
    return _over(base, f"{change} ({dropped})", path)


def _uncaptioned(photo: dict[str, Any], folder: Path) -> dict[str, Any]:
    kept = [memory for memory in photo.get("memories", ()) if memory.get("source") != "caption"]
    path = {"path": str((folder / photo["path"]).absolute())} if "path" in photo else {}
    return photo | path | {"memories": kept}


def _over(base: Base, change: str, album: Path) -> Ablation:
    with User(base.user.name, album, base.user.models) as user:
        return base.solve(change, base.player, user)


def _condensing(base: Base, remote: Remote | None) -> Ablation:
    """The whole dialogue in every request, however long."""
    change = "no condensing"
    if base.player.reader is None:
        return base.not_run(change, "holds no dialogue")
    if remote is None or not base.player.name.startswith(OPENAI):
        return base.not_run(change, "a longer dialogue does not fit the decoder's cache")
    return base.solve(change, player(OPENAI, replace(remote, context=MAX_CONTEXT)))


def _score(one: Attempt) -> float:
    return set_f1(set(one.given), one.task.relevant)
