"""Viewers: what answers a prompt about photos, without a model that sees or with one (models/vision.py).

What such a model says is a stranger's word, about pictures that may hold orders: it is quoted, in one line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gamer.index import Memory, Photo, image_id

from ..models.language.endpoint import EndpointError
from ..models.vision import SYSTEM, Copy, Unseen, Vision, copied
from .calls import SHOWN, ToolError
from .results import one_line

MAX_SAID = 4_000  # characters of an answer


class Viewer(Protocol):
    """Answers a prompt about photos."""

    def __call__(self, prompt: str, photos: Sequence[Photo]) -> str: ...


def read_what_is_known(prompt: str, photos: Sequence[Photo]) -> str:
    """The viewer without a vision model: labels, text in the picture and memories, quoted."""
    lines = []
    for photo in photos:
        seen = [quoted(m, 300) for m in photo.memories[:SHOWN]]
        lines.append(f"{image_id(photo.id)}: {'; '.join(seen) or 'nothing is known of it'}")
    return "\n".join(lines)


def quoted(memory: Memory, most: int) -> str:
    return f'{one_line(memory.source, 20)}: "{one_line(memory.text, most)}"'


@dataclass(frozen=True)
class VisionViewer:
    """The viewer that asks a model which sees; what it cannot be sent is named, with the reason."""

    vision: Vision

    def __call__(self, prompt: str, photos: Sequence[Photo]) -> str:
        copies, unseen = list[Copy](), list[str]()
        for photo in photos:
            try:
                copies.append(copied(photo, self.vision.side))
            except Unseen as reason:
                unseen.append(f"{image_id(photo.id)}: not seen: {reason}")
        seen = [f'seen: "{one_line(self._ask(prompt, copies), MAX_SAID)}"'] if copies else []
        return "\n".join(seen + unseen)

    def _ask(self, prompt: str, copies: Sequence[Copy]) -> str:
        try:
            return self.vision.ask(SYSTEM, prompt, copies)
        except EndpointError as error:
            # The mind may run elsewhere: it need not know which machine sees.
            reason = str(error).removeprefix(f"{self.vision.endpoint.host}: ")
            raise ToolError(f"view: no answer from the model that sees: {reason}") from None
