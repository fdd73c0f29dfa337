"""Clips for tests, made on the spot with PyAV: scenes of one colour, or photographs that packages contain."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gamer.index.ingest.clips import clip_decoder

av: Any = pytest.importorskip("av", reason="PyAV is not installed: pip install -e '.[clips]'")
clip_decoder.quiet()

RED, GREEN, BLUE = (220, 30, 30), (30, 200, 40), (30, 40, 220)
SIZE = (96, 64)  # width and height


def scene(colour: tuple[int, int, int], size: tuple[int, int] = SIZE) -> NDArray[np.uint8]:
    return np.broadcast_to(np.array(colour, np.uint8), (size[1], size[0], 3)).copy()


def make(
    path: Path,
    scenes: Sequence[tuple[Any, float]],
    *,
    rate: int = 4,
    codec: str = "",
    pix_fmt: str = "yuv420p",
    metadata: dict[str, str] | None = None,
    options: dict[str, str] | None = None,  # of the container
    rotated: bool = False,
) -> Path:
    """Writes a clip of `scenes`: (a colour or uint8 [H, W, 3], seconds), with a square that moves.

    `rotated`: marked to be shown turned by 90 degrees clockwise.
    """
    pictures = [(scene(what) if isinstance(what, tuple) else what, seconds) for what, seconds in scenes]
    codec = codec or {".webm": "libvpx", ".mkv": "libvpx"}.get(path.suffix, "libx264")
    tags = {"movflags": "use_metadata_tags"} if any("." in name for name in metadata or ()) else {}
    with av.open(str(path), "w", options=tags | (options or {})) as container:
        container.metadata.update(metadata or {})
        stream = container.add_stream(codec, rate=rate)
        stream.height, stream.width = pictures[0][0].shape[:2]
        stream.pix_fmt = pix_fmt
        for picture, seconds in pictures:
            for i in range(round(seconds * rate)):
                frame = picture.copy()
                frame[4:10, 4 + i % 20 : 10 + i % 20] = 255
                for packet in stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")):
                    container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    if rotated:
        _turn(path)
    return path


def _turn(path: Path) -> None:
    """Sets the matrix of the track's header to that of a phone held upright."""
    upright = b"".join(
        n.to_bytes(4, "big", signed=True) for n in (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    )
    turned = b"".join(
        n.to_bytes(4, "big", signed=True) for n in (0, 1 << 16, 0, -1 << 16, 0, 0, 0, 0, 1 << 30)
    )
    data = path.read_bytes()
    at = data.index(upright, data.index(b"tkhd"))
    path.write_bytes(data[:at] + turned + data[at + len(turned) :])


def pipe(path: Path) -> Path:
    os.mkfifo(path)
    return path
