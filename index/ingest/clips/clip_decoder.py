"""Decodes frames of a video, as a program of its own: `python clip_decoder.py REQUEST`, without the project.

A decoder is millions of lines of C that read what a stranger wrote. So it runs in a process that has its own
limits of memory and time, opens the one file as the one kind that its first bytes say, and knows no protocol
but files. The process may be killed or crash at any time; clip_frames.py starts it and believes it little.

REQUEST is JSON: `path`, and for frames `part` ([begin, end] in ms, null for all of it), `most` (how many
frames) and `side` (pixels of a frame's shorter side); for changes `longer`, `steps` and `least` (ms). The
answer on stdout is one line of JSON, and then the frames' RGB bytes. Of frames it has `length` (ms), `times`
(ms), and `shapes` ([height, width] each). Of changes it has `length`, and of a clip longer than `longer` the
`times` of about `steps` frames, at least `least` apart, and `changes`: how much each one's colours differ
from the one's before, 0..1. What went wrong is `error`.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Any

MAX_PIXELS = 36_000_000  # of a frame: 8K video has 33 million
MEMORY = 3 << 30  # bytes of addresses; a frame of 8K in 10 bits takes 100 MB, and a decoder keeps up to 17
CPU_SECONDS, HURRY_SECONDS = 90, 20  # after HURRY_SECONDS only key frames are decoded
MAX_OUTPUT = 512 << 20  # bytes
MAX_ERRORS = 50  # packets in a row that do not decode
MAX_MS = 24 * 3_600_000
BINS = 8  # of each colour, in a histogram


class Refused(Exception):
    """A file that is not decoded; the message says why."""


def main(request: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    """The answer's first line, and its frames: uint8 [H, W, 3]."""
    import av

    quiet()
    with open(request["path"], "rb") as file:  # noqa: PTH123 (no more than is needed is imported)
        head = file.read(8)
    kind = "matroska" if head.startswith(b"\x1aE\xdf\xa3") else "mov"
    options = {"protocol_whitelist": "file", "enable_drefs": "0"}
    with av.open(
        "file:" + request["path"], format=kind, container_options=options, metadata_errors="replace"
    ) as container:
        video = Video(container)
        if "longer" in request:
            step = max(request["least"], video.length // request["steps"])
            times, changes = video.changes(step) if video.length > request["longer"] else ([], [])
            return {"length": video.length, "times": times, "changes": changes}, []
        start, end = request["part"] or (0, video.length)
        wanted = spread(start, end, request["most"])
        pairs = [(at, small(frame, request["side"])) for at, frame in video.near(wanted)]
        if not pairs:
            raise Refused("no frame of it can be decoded")
        shapes = [list(pixels.shape[:2]) for _, pixels in pairs]
        return {"length": video.length, "times": [at for at, _ in pairs], "shapes": shapes}, [
            p for _, p in pairs
        ]


def quiet() -> None:
    """Leaves messages to FFmpeg, which writes those of a panic to stderr; for the whole process.

    PyAV's own callback takes the interpreter's lock in threads for which a codec that is being closed, and
    holds that lock, waits: about one decoder of 300 hung for ever.
    """
    import av.logging

    av.logging.restore_default_callback()
    av.logging.set_libav_level(av.logging.PANIC)


class Video:
    """The first video stream of an open container. Times are ms from its begin."""

    def __init__(self, container: Any) -> None:
        if not container.streams.video:
            raise Refused("it has no video, sound alone" if container.streams.audio else "it has no video")
        self._container, self._stream = container, container.streams.video[0]
        context = self._stream.codec_context
        if context is None:
            raise Refused("its codec is not known")
        if context.width * context.height > MAX_PIXELS:
            raise Refused(
                f"its frames have {context.width} x {context.height} pixels, more than {MAX_PIXELS}"
            )
        context.options = {"max_pixels": str(MAX_PIXELS)}  # also where a later frame is larger
        context.thread_type, context.thread_count = "AUTO", 2
        self._context, self._begun = context, time.monotonic()
        base = self._stream.time_base
        self._origin = (self._stream.start_time or 0) * base if base else 0
        self._keys = self._key_times()
        self.length = self._length()

    def near(self, times: list[int]) -> Iterator[tuple[int, Any]]:
        """(time, frame) at or just after each of `times`, ascending; fewer where the video ends before."""
        position, last, told, frames = -1, None, -1, self._frames()
        for target in times:
            key = max((key for key in self._keys if key <= target), default=0)
            if key > position + 1:
                frames = self._frames(key)
            for at, frame in frames:
                position, last = at, (at, frame)
                if at >= target:
                    break
            if last is not None and last[0] > told:
                told = last[0]
                yield last

    def changes(self, step: int) -> tuple[list[int], list[float]]:
        """Times of frames about `step` ms apart, and how much each differs from the one before."""
        gaps = [b - a for a, b in zip(self._keys, [*self._keys[1:], self.length], strict=True)]
        if self._keys and max(gaps) <= 2.5 * step:  # key frames are close enough, and cost little
            self._context.skip_frame = "NONKEY"
        times, changes, before = list[int](), list[float](), None
        for at, frame in self._frames():
            if times and at < times[-1] + step:
                continue
            now = shares(small(frame, 64))
            times.append(at)
            changes.append(0.0 if before is None else change(before, now))
            before = now
        return times, changes

    def _frames(self, key: int = 0) -> Iterator[tuple[int, Any]]:
        """(time, frame) in order of time, from a key frame on. What does not decode is left out."""
        import av

        if key or self._context.is_open:
            ticks = int((key / 1000 + float(self._origin)) / float(self._stream.time_base))
            self._container.seek(ticks, stream=self._stream, backward=True)
        latest, errors = -1, 0
        for packet in self._container.demux(self._stream):
            if time.monotonic() - self._begun > HURRY_SECONDS:
                self._context.skip_frame = "NONKEY"
            try:
                frames = packet.decode()
            except (av.error.FFmpegError, ValueError):
                errors += 1
                if errors > MAX_ERRORS:
                    return
                continue
            for frame in frames:
                at = self._ms(frame.pts)
                if at is not None and at > latest:  # times that go back would never reach what is wanted
                    latest, errors = at, 0
                    yield at, frame

    def _ms(self, ticks: int | None) -> int | None:
        if ticks is None:
            return None
        ms = 1000 * (ticks * self._stream.time_base - self._origin)
        return int(ms) if 0 <= ms <= MAX_MS else None

    def _key_times(self) -> list[int]:
        """Where key frames are, if the file's index says it; else only the begin."""
        found = {self._ms(entry.timestamp) for entry in self._stream.index_entries if entry.is_keyframe}
        return sorted(at for at in found if at is not None) or [0]

    def _length(self) -> int:
        """In ms. A recording that a browser made does not say how long it is: its packets are counted."""
        stream, container = self._stream, self._container
        seconds = (
            float(stream.duration * stream.time_base)
            if stream.duration
            else container.duration / 1e6
            if container.duration
            else self._last_packet()
        )
        if not math.isfinite(seconds) or seconds <= 0:
            raise Refused("it has no duration")
        return min(max(1, round(1000 * seconds)), MAX_MS)

    def _last_packet(self) -> float:
        latest = 0
        for packet in self._container.demux(self._stream):
            latest = max(latest, self._ms(packet.pts) or 0)
            if time.monotonic() - self._begun > HURRY_SECONDS:
                break
        self._container.seek(0)
        return latest / 1000


def spread(start: int, end: int, most: int) -> list[int]:
    """Times evenly within a span, in ms: one a second, at least three, at most `most`; one is the middle."""
    count = min(most, max(3, -(-(end - start) // 1000)))
    return [start + (2 * i + 1) * (end - start) // (2 * count) for i in range(count)]


def shares(pixels: Any) -> Any:
    """Which share of the pixels, uint8 [H, W, 3], is of each colour: float64 [BINS**3]."""
    import numpy as np

    colours = pixels.reshape(-1, 3) // (256 // BINS) @ np.array([BINS * BINS, BINS, 1], np.int64)
    return np.bincount(colours, minlength=BINS**3) / len(colours)


def change(before: Any, after: Any) -> float:
    """The share of the pixels whose colours are others, 0..1."""
    return float(abs(after - before).sum() / 2)


def small(frame: Any, side: int) -> Any:
    """uint8 [H, W, 3], upright: at most `side` pixels on the shorter side, four times that on the other."""
    import numpy as np

    width, height = frame.width, frame.height
    if width * height > MAX_PIXELS:
        raise Refused(f"its frames have {width} x {height} pixels, more than {MAX_PIXELS}")
    factor = min(1.0, side / min(width, height), 4 * side / max(width, height))
    size = (max(2, round(width * factor)), max(2, round(height * factor)))
    pixels = frame.reformat(width=size[0], height=size[1], format="rgb24").to_ndarray()
    return np.ascontiguousarray(np.rot90(pixels, round(frame.rotation / 90) % 4))


def confine() -> None:
    """Limits this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the time limit of the caller remains
        return
    limits = (
        (resource.RLIMIT_AS, MEMORY),
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_FSIZE, MAX_OUTPUT),
    )
    for kind, limit in (*limits, (resource.RLIMIT_CORE, 0)):
        try:
            resource.setrlimit(kind, (limit, limit))
        except (ValueError, OSError):  # a stricter limit is set already, or the system has none of this kind
            continue


if __name__ == "__main__":
    confine()
    try:
        answer, pictures = main(json.loads(sys.argv[1]))
    except Exception as error:  # decoders raise whatever they like; the caller has one line for it
        answer, pictures = {"error": " ".join(str(error).split())[:160] or type(error).__name__}, []
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    for picture in pictures:
        sys.stdout.buffer.write(picture.tobytes())
