"""The networks that read text as components, from PaddleOCR's graphs, which come in a package.

Their pictures for parity, and the file beside them, are here, too.

`source`: None for the package's files, or a folder with files of such names.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gamer.index import load_pixels
from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models.printed import (
    CHARACTERS,
    DETECTOR,
    FIXED,
    HEIGHT,
    MAX_CHARACTER,
    MAX_CHARACTERS,
    RECOGNISER,
    WIDTH,
)

from ..checkpoints import catalogue
from ..errors import ExportError
from ..networks.from_onnx import OnnxNetwork, metadata
from ..networks.printed import TextDetector, TextRecogniser
from .export_module import ExportModule
from .photographs import photo_path

PP_OCR = catalogue.MODELS["pp-ocr"]
FILES = {DETECTOR: "*_det_*.onnx", RECOGNISER: "*_rec_*.onnx"}
# Lines as screens and tickets have them, in sizes of letters.
LINES = (
    ("Gate B42  boarding 14:35", 30),
    ("Total 119.00 EUR", 36),
    ("WiFi: sunny-beach-2024", 28),
    ("Müller & Söhne, Café Noël", 32),
)


def detector(source: str | None) -> TextDetector:
    """The detector in eval mode. Raises ExportError for a file that is missing or no such graph."""
    return TextDetector(OnnxNetwork(_path(source, DETECTOR)))


def recogniser(source: str | None) -> TextRecogniser:
    """The recogniser in eval mode. Raises ExportError as `detector` does."""
    return TextRecogniser(OnnxNetwork(_path(source, RECOGNISER)))


def characters(source: str | None) -> tuple[str, ...]:
    """The characters of the recogniser's codes from 1, but the space, which is the last.

    Raises ExportError for a graph that does not list them.
    """
    listed = tuple(metadata(_path(source, RECOGNISER)).get("character", "").split("\n"))
    if not 0 < len(listed) < MAX_CHARACTERS or any(not 0 < len(c) <= MAX_CHARACTER for c in listed):
        raise ExportError(
            f"{_path(source, RECOGNISER)}: lists no characters: take the graph that rapidocr packages"
        )
    return listed


def _path(source: str | None, role: str) -> Path:
    if source is not None and catalogue.is_random(source):
        raise ExportError(f"--weights ocr={source}: its architecture comes with its weights: leave it out")
    folder = catalogue.package_dir(PP_OCR) / "models" if source is None else Path(source)
    found = sorted(folder.glob(FILES[role]))
    if len(found) != 1:
        raise ExportError(f"{folder}: must hold one file {FILES[role]}, not {len(found)}")
    return found[0]


def component(role: str, source: str | None, trained: bool) -> ExportModule:
    """The component DETECTOR or RECOGNISER; `source`: as in checkpoints/printed.py. Raises ExportError."""
    return {DETECTOR: _detector, RECOGNISER: _recogniser}[role](source, trained)


def _detector(source: str | None, trained: bool) -> ExportModule:
    return ExportModule(
        role=DETECTOR,
        module=detector(source),
        example=(torch.zeros(1, FIXED, FIXED, 3),),
        inputs=(TensorSpec("pixels", (1, "height", "width", 3), "float32"),),
        outputs=(TensorSpec("likely", (1, "cells"), "float32"),),
        dynamic={0: {1: "height", 2: "width"}},
        architecture="differentiable binarization, PP-OCR",
        source=PP_OCR.source,
        trained=trained,
        macs_per=f"{FIXED} × {FIXED} picture",
    )


def _recogniser(source: str | None, trained: bool) -> ExportModule:
    return ExportModule(
        role=RECOGNISER,
        module=recogniser(source),
        example=(torch.zeros(1, HEIGHT, WIDTH, 3),),
        inputs=(TensorSpec("pixels", ("batch", HEIGHT, "width", 3), "float32"),),
        outputs=tuple(TensorSpec(name, ("batch", "steps"), "float32") for name in ("codes", "certainty")),
        dynamic={0: {0: "batch", 2: "width"}},
        architecture="temporal classification, PP-OCR",
        source=PP_OCR.source,
        trained=trained,
        macs_per=f"line of {HEIGHT} × {WIDTH}",
    )


def pictures(role: str) -> NDArray[np.uint8]:
    """uint8 [1, 960, 960, 3] for the detector: a photographed page, and drawn lines below it.

    For the recogniser [n, 48, 960, 3], of single lines.
    """
    if role == DETECTOR:
        return page()[None]
    return np.stack([drawn((line,), WIDTH, HEIGHT, at=(8, 4)) for line in LINES])


@lru_cache(maxsize=1)
def page() -> NDArray[np.uint8]:
    """uint8 [960, 960, 3]: the photograph of a page that scikit-image packages, and drawn lines below it."""
    from PIL import Image

    canvas = Image.fromarray(drawn(LINES, FIXED, FIXED, at=(40, 500)))
    photograph = Image.fromarray(load_pixels(photo_path("skimage", "page.png")))
    canvas.paste(photograph.resize((photograph.width * 2, photograph.height * 2)), (0, 0))
    return np.asarray(canvas, np.uint8)


def drawn(
    lines: tuple[tuple[str, int], ...], width: int, height: int, at: tuple[int, int] = (40, 60)
) -> NDArray[np.uint8]:
    """uint8 [height, width, 3]: lines in black on white, each as large as it says."""
    from PIL import Image, ImageDraw, ImageFont

    canvas = Image.new("RGB", (width, height), "white")
    draw, (x, y) = ImageDraw.Draw(canvas), at
    for text, size in lines:
        draw.text((x, y), text, font=ImageFont.load_default(size), fill="black")
        y += 3 * size
    return np.asarray(canvas, np.uint8)


def write_characters(source: str | None, folder: Path) -> list[str]:
    """Writes the recogniser's characters, a line each, into a folder and returns the name of the file."""
    with (folder / CHARACTERS).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{character}\n" for character in characters(source))
    return [CHARACTERS]
