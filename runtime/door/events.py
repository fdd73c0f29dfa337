"""The occasions that an album's photos belong to: listed, made, renamed, merged and split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from gamer.index import Event

from ..events import build
from ..events.build import Counts

if TYPE_CHECKING:
    from .opened import OpenAlbum


class Events:
    """What is changed here stays when events are made again. Photos without a date are in none."""

    def __init__(self, album: OpenAlbum) -> None:
        self._album = album

    def __iter__(self) -> Iterator[Event]:
        return iter(self._album.reader.events())

    def build(self, decider: Literal["rules", "llm"] = "rules") -> Counts:
        """Makes the events again. `decider`: who says where one begins, the rules or the language model."""
        models, chosen = self._album.bundle.models, None
        if decider == "llm":
            from ..events.llm import LlmDecider

            chosen = LlmDecider.open(models)
        return self._album.change(build.segment_album, models, chosen)

    def rename(self, event: str, name: str) -> Event:
        return self._album.change(build.rename, self._album.bundle.models, event, name)

    def merge(self, first: str, second: str) -> Event:
        """Puts the photos of the second event into the first, whose name stays."""
        return self._album.change(build.merge, self._album.bundle.models, first, second)

    def split(self, event: str, photo: str) -> tuple[Event, Event]:
        """Makes a new event of the photos from `photo` on."""
        return self._album.change(build.split, self._album.bundle.models, event, photo)
