"""Writes the golden album album_v3_clips.gamer: `python -m tests.golden.make_clips_album NEW_FILE`.

It has a photo, a short clip, the two parts of a long one, and a clip of which no vector is left. It was run
once, as make_album.py was.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gamer.index import AlbumMeta, AlbumWriter, Clip, Encoded, FloatArray, Memory, Photo

DIM = 16


def frames(first: int, count: int) -> FloatArray:
    """A vector for each frame: a turn from one axis to the next."""
    angle = np.linspace(0, np.pi / 2, count)
    out = np.zeros((count, DIM), np.float32)
    out[:, first], out[:, first + 1] = np.cos(angle), np.sin(angle)
    return out


def spread(start: int, end: int, count: int) -> tuple[int, ...]:
    return tuple(start + (2 * i + 1) * (end - start) // (2 * count) for i in range(count))


ITEMS = [
    Encoded(Photo("a.jpg", "/photos/a.jpg", 1_000), {"image": frames(0, 1)}),
    Encoded(
        Photo("short.mp4", "/photos/short.mp4", 2_000, memories=(Memory("caption", "waves"),)),
        {"image": frames(2, 6), "text": frames(8, 1)},
        clip=Clip(0, 6_000, 6_000, spread(0, 6_000, 6)),
    ),
    Encoded(
        Photo("long.mp4#t=0,12.5", "/photos/long.mp4", 3_000),
        {"image": frames(4, 13)},
        clip=Clip(0, 12_500, 40_000, spread(0, 12_500, 13)),
    ),
    Encoded(
        Photo("long.mp4#t=12.5,40", "/photos/long.mp4", 15_500),
        {"image": frames(6, 15)},
        clip=Clip(12_500, 40_000, 40_000, spread(12_500, 40_000, 15)),
    ),
    Encoded(
        Photo("lost.mov", "/photos/lost.mov", memories=(Memory("note", "its frames are lost"),)),
        {"text": frames(9, 1)},
        clip=Clip(0, 3_000, 3_000, (500, 1_500, 2_500)),
    ),
]


def write(path: Path) -> None:
    with AlbumWriter.create(path, AlbumMeta("made-up-text", "made-up-image", DIM, 0.5)) as writer:
        writer.add(ITEMS)
        writer.finish(lambda names: np.zeros((len(names), DIM), np.float32))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
