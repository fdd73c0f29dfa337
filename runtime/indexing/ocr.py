"""OCR: which pictures' text is read, with a bundle's text networks (models/printed.py).

Reading takes a third of a second, deciding milliseconds, so mode "auto" only reads:

1. screenshots by name, folder or EXIF comment, and pictures of mostly flat colour whose EXIF names no camera;
2. pictures in which the image encoder sees something that carries text (a menu, a web site, a packet, ...);
3. pictures with rows of fine high-contrast strokes, as print has.

"all" reads every picture, "off" none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gamer.index.ingest import rendered

from ..errors import BundleError, RuntimeFailure, check_choice

if TYPE_CHECKING:
    from ..models.printed import LineReader

MODES = ("auto", "all", "off")
Pixels = NDArray[np.uint8]
# First names of ImageNet classes whose objects carry text.
LABELS = frozenset(
    (
        "web site",
        "menu",
        "comic book",
        "book jacket",
        "crossword puzzle",
        "packet",
        "envelope",
        "street sign",
        "scoreboard",
        "screen",
        "monitor",
        "notebook",
        "desktop computer",
        "hand-held computer",
        "cellular telephone",
        "slot",
        "vending machine",
        "tobacco shop",
        "bookshop",
        "grocery store",
        "pill bottle",
        "binder",
        "carton",
        "cash machine",
        "digital clock",
        "odometer",
        "rule",
        "pay-phone",
    )
)
LABEL_FLOOR = 0.10
# Least share of neighbouring pixels that are equal, as in interfaces and drawings; in photographs even sky
# and walls have grain.
_MIN_FLAT = 0.60
# Least share of the picture that looks like print: price tags and pages reach it, and so does fine foliage,
# which is then read in vain.
_MIN_PRINT = 0.02
_MIN_CONFIDENCE = 0.70  # a line read with less confidence is noise
MAX_SIDE, _MAX_TEXT = 1_600, 4_000


class TextReader:
    """`read(path, pixels, labels, large)`: the text in a picture; "" for none, or if not worth reading.

    `lines`: gives what reads lines, whose sessions may be unloaded between two pictures.
    """

    def __init__(self, lines: Callable[[], LineReader], mode: str = "auto") -> None:
        """Raises RuntimeFailure for an unknown mode."""
        check_choice("OCR mode", mode, MODES)
        self._lines, self.mode, self._broken = lines, mode, False
        self._alone = Lock()  # a picture takes 300 MB while it is read, by all threads of the engine

    def read(
        self, path: Path, pixels: Pixels, labels: Iterable[tuple[str, float]], large: Callable[[], Pixels]
    ) -> str:
        """`pixels`: by which it is decided; `large`: gives more of them, to read.

        Raises RuntimeFailure or BundleError; where networks cannot be opened, once in mode "auto".
        """
        if self.mode == "off" or (self.mode == "auto" and not worth_reading(path, pixels, labels)):
            return ""
        with self._alone:
            found = self._opened().read(large()) if not self._broken else ()
        lines = [" ".join(line.text.split()) for line in found if line.confidence >= _MIN_CONFIDENCE]
        return "\n".join(line for line in lines if len(line) > 1)[:_MAX_TEXT]

    def _opened(self) -> LineReader:
        try:
            return self._lines()
        except (BundleError, RuntimeFailure):
            self._broken = self.mode == "auto"
            raise


def worth_reading(path: Path, pixels: Pixels, labels: Iterable[tuple[str, float]]) -> bool:
    if any(p >= LABEL_FLOOR and name in LABELS for name, p in labels):
        return True
    grey = grey_of(pixels)
    drawn = rendered(path)
    return (
        (drawn == "screenshot")
        or (drawn == "no camera" and flat_share(grey) >= _MIN_FLAT)
        or print_share(grey) >= _MIN_PRINT
    )


def print_share(grey: NDArray[np.int16]) -> float:
    """The share of 8 × 32 blocks that look like print, beside another such block.

    In such a block brightness jumps up and down several times along most lines, over a plain background.
    """
    steps = np.diff(grey, axis=1)
    strong = np.where(np.abs(steps) > 40, np.sign(steps), 0).astype(np.int8)
    height, width = strong.shape[0] // 8 * 8, strong.shape[1] // 32 * 32
    if not height or not width:
        return 0.0
    blocks = strong[:height, :width].reshape(height // 8, 8, width // 32, 32)
    ups, downs = (blocks > 0).sum(3), (blocks < 0).sum(3)  # [rows, 8, columns]
    busy = ((ups >= 2) & (downs >= 2)).sum(1) >= 4
    # Print leaves part of the paper blank; a block with jumps everywhere is grass or gravel.
    calm = (
        np.abs(
            grey[:height, 1 : width + 1].reshape(height // 8, 8, width // 32, 32)
            - _background(grey, height, width)
        )
        < 24
    ).mean((1, 3)) > 0.35
    print_like = busy & calm
    paired = print_like[:, :-1] & print_like[:, 1:]
    return float(paired.mean()) if paired.size else 0.0


def _background(grey: NDArray[np.int16], height: int, width: int) -> NDArray[np.int16]:
    """int16 [rows, 1, columns, 1]: the likeliest background brightness of each block.

    Its darkest or brightest tenth, whichever has more pixels near it.
    """
    blocks = grey[:height, 1 : width + 1].reshape(height // 8, 8, width // 32, 32)
    flat = blocks.transpose(0, 2, 1, 3).reshape(height // 8, width // 32, 256)
    low, high = np.quantile(flat, 0.1, axis=2), np.quantile(flat, 0.9, axis=2)
    near_low = (np.abs(flat - low[..., None]) < 24).sum(2)
    near_high = (np.abs(flat - high[..., None]) < 24).sum(2)
    ground: NDArray[np.int16] = np.where(near_high >= near_low, high, low).astype(np.int16)[:, None, :, None]
    return ground


def flat_share(grey: NDArray[np.int16]) -> float:
    return float((np.diff(grey, axis=1) == 0).mean()) if grey.shape[1] > 1 else 1.0


def grey_of(pixels: Pixels) -> NDArray[np.int16]:
    """int16 [H, W], at most 768 on the longer side, averaged over areas."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(pixels)).convert("L")
    image.thumbnail((768, 768), Image.Resampling.BOX)
    return np.asarray(image, np.int16)
