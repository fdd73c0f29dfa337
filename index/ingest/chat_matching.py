"""Assigns chat messages to photos, by the file names they mention or by time.

A photo whose file a message names gets the messages within WINDOW of that message; another photo gets those
within WINDOW of its own wall time. A photo without a time gets that of the message that sent it. Messages
assigned to no photo become Photos without a file, one for each conversation without a long pause.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from ..records import Memory, Photo
from .chat import Message

WINDOW = 10 * 60_000  # milliseconds: people write about a picture when they take or send it
_PAUSE = 30 * 60_000  # a longer pause ends a conversation
_MAX_LINES, _MAX_TEXT = 12, 1_500  # of one memory: text encoders truncate longer texts


class Talk:
    """The messages of one log. `of` returns a photo's messages; `rest`, called last, those of no photo."""

    def __init__(self, log_id: str, messages: Sequence[Message]) -> None:
        self._id, self._messages, self.size = log_id, messages, len(messages)
        self._times = [message.wall for message in messages]
        self._assigned = bytearray(len(messages))
        self._named: dict[str, list[int]] = {}
        for at, message in enumerate(messages):
            if message.picture:
                self._named.setdefault(message.picture.casefold(), []).append(at)

    def of(self, file_name: str, wall: int | None) -> tuple[Memory, ...]:
        """The messages of a photo as memories, each distinct one once.

        `file_name`: without its folder. `wall`: the photo's wall time in ms.
        """
        named = self._named.get(file_name.casefold(), [])
        anchors = [self._times[at] for at in named] if named else [wall] if wall is not None else []
        memories = []
        for anchor in anchors[:4]:
            around = self._around(anchor)
            text = _text([self._messages[at] for at in around])
            if text:
                memories.append(Memory("chat", text))
            for at in around:
                self._assigned[at] = 1
        return tuple(dict.fromkeys(memories))

    def sent(self, file_name: str) -> int | None:
        """When a message first sent the picture of that name, wall time in ms; None if none did."""
        named = self._named.get(file_name.casefold())
        return min(self._times[at] for at in named) if named else None

    def rest(self) -> Iterator[Photo]:
        seen: dict[str, int] = {}
        for stretch in self._stretches():
            text = _text(stretch)
            if text:
                stamp = datetime.fromtimestamp(stretch[0].wall / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
                seen[stamp] = seen.get(stamp, 0) + 1
                again = f".{seen[stamp]}" if seen[stamp] > 1 else ""
                yield Photo(
                    f"{self._id}#{stamp}{again}",
                    None,
                    stretch[0].wall,
                    "local",
                    memories=(Memory("chat", text),),
                )

    def _around(self, anchor: int) -> list[int]:
        low, high = bisect_left(self._times, anchor - WINDOW), bisect_right(self._times, anchor + WINDOW)
        return sorted(sorted(range(low, high), key=lambda at: abs(self._times[at] - anchor))[:_MAX_LINES])

    def _stretches(self) -> Iterator[list[Message]]:
        stretch: list[Message] = []
        size = 0
        for assigned, message in zip(self._assigned, self._messages, strict=True):
            length = len(message.name) + len(message.text)
            if stretch and (
                assigned or message.wall - stretch[-1].wall > _PAUSE or size + length > _MAX_TEXT
            ):
                yield stretch
                stretch, size = [], 0
            if not assigned:
                stretch.append(message)
                size += length
        if stretch:
            yield stretch


def _text(messages: Sequence[Message]) -> str:
    return "\n".join(f"{message.name}: {message.text}" for message in messages if message.text)[:20_000]
