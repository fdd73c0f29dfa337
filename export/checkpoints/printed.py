"""Fills the networks that read text from PaddleOCR's graphs, which come in a package.

`source`: None for the package's files, or a folder with files of such names.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from torch import nn

from gamer.runtime.models.printed import MAX_CHARACTER, MAX_CHARACTERS

from ..errors import ExportError
from ..networks.from_onnx import OnnxNetwork
from ..networks.printed import TextDetector, TextRecogniser
from . import catalogue

PP_OCR = catalogue.MODELS["pp-ocr"]
FILES = {"ocr_detector": "*_det_*.onnx", "ocr_recogniser": "*_rec_*.onnx"}
Model = TypeVar("Model", bound=nn.Module)


def detector(source: str | None = None) -> TextDetector:
    """The detector in eval mode. Raises ExportError for a file that is missing or no such graph."""
    return TextDetector(_graph(source, "ocr_detector"))


def recogniser(source: str | None = None) -> TextRecogniser:
    """The recogniser in eval mode. Raises ExportError as `detector` does."""
    return TextRecogniser(_graph(source, "ocr_recogniser"))


def characters(source: str | None = None) -> tuple[str, ...]:
    """The characters of the recogniser's codes from 1, but the space, which is the last.

    Raises ExportError for a graph that does not list them.
    """
    listed = tuple(_graph(source, "ocr_recogniser").metadata.get("character", "").split("\n"))
    if not 0 < len(listed) < MAX_CHARACTERS or any(not 0 < len(c) <= MAX_CHARACTER for c in listed):
        raise ExportError(
            f"{_path(source, 'ocr_recogniser')}: lists no characters: take the graph that rapidocr packages"
        )
    return listed


def _graph(source: str | None, role: str) -> OnnxNetwork:
    return OnnxNetwork(_path(source, role))


def _path(source: str | None, role: str) -> Path:
    if source is not None and catalogue.is_random(source):
        raise ExportError(f"--weights ocr={source}: its architecture comes with its weights: leave it out")
    folder = catalogue.package_dir(PP_OCR) / "models" if source is None else Path(source)
    found = sorted(folder.glob(FILES[role]))
    if len(found) != 1:
        raise ExportError(f"{folder}: must hold one file {FILES[role]}, not {len(found)}")
    return found[0]
