"""An album as a program uses it: opened once, searched, asked, added to. `gamer.open` returns one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..defaults import SIMILAR
from ..search.options import AS_ASKED, SearchOptions
from .encoding import AS_IT_IS, Reading, encoder
from .opened import OpenAlbum
from .timeline import Period, Unit, periods

if TYPE_CHECKING:
    from ..agent.loop import Budget, End, Outcome, Step
    from ..agent.toolbox import Toolbox
    from ..agent.viewers import Viewer
    from ..indexing.build import Added, Built, Progress, Updated
    from ..indexing.captions import Captioned, Captioner
    from ..search.answer import Answer, SimilarPhotos
    from .events import Events
    from .memory import Memory
    from .people import People


@dataclass(frozen=True)
class Endpoint:
    """A language model behind an OpenAI-compatible endpoint: of this machine if `url` is None.

    What is marked to stay on the device is not told to it. `context`: tokens that it takes at once.
    """

    model: str
    url: str | None = None
    context: int = 8_192


class Album(OpenAlbum):
    """An album, searched, asked, and changed.

    `built`: what `gamer.build` did, if it made the album.
    """

    built: Built | None = None

    # Searching

    def search(
        self,
        query: str,
        k: int | None = None,
        *,
        now: datetime | None = None,
        refine: str = "fast",
        mode: str = "fused",
        options: SearchOptions = AS_ASKED,
    ) -> Answer:
        """The `k` photos (by default the bundle's K) that a sentence means, best first.

        `now`: wall time from which "last spring" counts. `refine`: "off", "fast", or "llm", which asks the
        bundle's language model. `mode`: "fused", "paper" or "strict" (docs/search.md). Raises RuntimeFailure
        for an empty query.
        """
        asked = replace(options, wishes=True)
        return self.engine.search(query, k, refined_by=refine, mode=mode, now=now, options=asked)

    def similar(self, photo: str | int, k: int = SIMILAR) -> SimilarPhotos:
        """The photos most similar to one, named by its id, its row or its file. Needs no bundle."""
        from ..search import similar as similarity

        row = photo if isinstance(photo, int) else similarity.row_named(self.reader, str(photo))
        return similarity.similar(self.reader, row, k)

    def ask(
        self,
        question: str,
        *,
        end: End | None = None,
        now: datetime | None = None,
        mind: str = "rules",
        endpoint: Endpoint | None = None,
        viewer: Viewer | None = None,
        budget: Budget | None = None,
        on_step: Callable[[Step], None] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Answers a question that takes several steps, with what it asks for, or `end`.

        `mind`: who chooses the steps, "rules" or the bundle's "llm"; or a model behind an `endpoint`. `stop`:
        asked before every step.
        """
        from ..agent import loop, minds

        toolbox = self.toolbox(now, viewer, leaving=endpoint is not None)
        who = (
            minds.mind(mind, toolbox, now)
            if endpoint is None
            else minds.endpoint_mind(toolbox, endpoint.url, endpoint.model, endpoint.context)
        )
        outcome = loop.run(who, toolbox, question, end, budget or loop.Budget(), on_step, stop)
        photos = toolbox.album.photos(outcome.answer.rows)
        ids = tuple(photo.id for photo in photos)
        return replace(outcome, files=tuple(photo.path or photo.id for photo in photos), ids=ids)

    def toolbox(
        self, now: datetime | None = None, viewer: Viewer | None = None, leaving: bool = False
    ) -> Toolbox:
        """The agents' tools over the album. `leaving`: without what must stay on the device."""
        from ..agent.toolbox import Toolbox

        return Toolbox(self.engine, now, viewer, leaving)

    def copies(self) -> list[list[str]]:
        """The ids of photos that look the same, copies and bursts, the one taken first in front."""
        from ..search.copies import groups

        return [[self.reader.photo(row).id for row in group] for group in groups(self.reader)]

    def timeline(self, by: Unit = "month") -> tuple[Period, ...]:
        """The years, months or days of which there are photos, newest first, with the ids of these."""
        return periods(self.reader, by)

    @cached_property
    def people(self) -> People:
        """Who is in the photos."""
        from .people import People

        return People(self)

    @cached_property
    def memory(self) -> Memory:
        """What the album knows about its owner."""
        from .memory import Memory

        return Memory(self)

    @cached_property
    def events(self) -> Events:
        """The occasions that the photos belong to."""
        from .events import Events

        return Events(self)

    # Changing

    def add(
        self,
        source: str | Path,
        *,
        prune: bool = False,
        again: bool = False,
        people: bool | None = None,
        reading: Reading = AS_IT_IS,
        progress: Progress | None = None,
    ) -> Added:
        """Brings the album up to date with a folder of photos, or a JSONL: new, moved and edited ones.

        `prune`: photos whose files are gone are removed. `again`: also what was removed before. `people`:
        whether faces are searched for; None: as before.
        """
        from ..indexing import build

        models = self.bundle.models
        return self.change(
            build.add,
            Path(source).expanduser(),
            models,
            prune=prune,
            again=again,
            progress=progress,
            encoder=encoder(models, self.path, reading),
            with_people=people,
        )

    def update(
        self,
        photos: Sequence[str] = (),
        *,
        reading: Reading = AS_IT_IS,
        progress: Progress | None = None,
    ) -> Updated:
        """Encodes photos again, all if none is named; with another bundle's encoders the whole album."""
        from ..indexing import build

        models = self.bundle.models
        made_by = encoder(models, self.path, reading)
        return self.change(build.update, models, photos, progress, made_by)

    def caption(
        self,
        captioner: Captioner | Literal["template", "llm"] = "template",
        *,
        reading: Reading = AS_IT_IS,
        progress: Progress | None = None,
    ) -> Captioned:
        """Writes a memory for each photo that nobody has described."""
        from ..indexing import captions

        models = self.bundle.models
        chosen = captions.captioner(captioner, models) if isinstance(captioner, str) else captioner
        made_by = encoder(models, self.path, reading)
        return self.change(captions.caption_album, models, chosen, progress, made_by)

    def note_opened(self, query: str, photo: str) -> None:
        """Notes that a query's photo was opened, if the album's owner keeps that; otherwise does nothing."""
        from gamer.index import OpenedLog

        if (log := OpenedLog(self.path)).kept:
            log.add(query, photo)

    def remove(self, *photos: str) -> tuple[str, ...]:
        """Removes photos by their ids, for good: a scan does not take them in again. Files stay."""
        from gamer.index import OpenedLog

        ids = tuple(dict.fromkeys(photos))
        with self.writing() as writer:
            writer.remove(ids, for_good=True)
            OpenedLog(self.path).forget(photos=ids)
        return ids

    def verify(self) -> list[str]:
        """What is wrong with the file, a line each; empty if nothing is."""
        return self.reader.verify()
