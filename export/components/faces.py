"""The face networks as components, their photographs for parity, and the files beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from gamer.runtime.bundle.manifest import TensorSpec
from gamer.runtime.models import landmarks
from gamer.runtime.models.faces import DETECTOR, ENCODER, SEARCHED, SIDE

from ..checkpoints import faces
from ..networks.faces import WIDTH
from .export_module import ExportModule


def component(role: str, source: str | None, trained: bool) -> ExportModule:
    """The component DETECTOR or ENCODER; `source`: as in checkpoints/faces.py. Raises ExportError."""
    return {DETECTOR: _detector, ENCODER: _encoder}[role](source, trained)


def _detector(source: str | None, trained: bool) -> ExportModule:
    return ExportModule(
        role=DETECTOR,
        module=faces.detector(source),
        example=(torch.zeros(1, SEARCHED, SEARCHED, 3),),
        inputs=(TensorSpec("pixels", (1, "height", "width", 3), "float32"),),
        outputs=(TensorSpec("scores", (1, "rows", "columns"), "float32"),),
        dynamic={0: {1: "height", 2: "width"}},
        architecture="max-margin object detector",
        source=faces.FACES.source,
        trained=trained,
        macs_per=f"{SEARCHED} × {SEARCHED} picture",
    )


def _encoder(source: str | None, trained: bool) -> ExportModule:
    return ExportModule(
        role=ENCODER,
        module=faces.encoder(source),
        example=(torch.zeros(1, SIDE, SIDE, 3),),
        inputs=(TensorSpec("pixels", ("batch", SIDE, SIDE, 3), "float32"),),
        outputs=(TensorSpec("vector", ("batch", WIDTH), "float32"),),
        dynamic={0: {0: "batch"}},
        architecture="ResNet-29 of faces",
        source=faces.FACES.source,
        trained=trained,
        macs_per="face",
    )


def pictures(role: str, photographs: tuple[NDArray[np.uint8], ...]) -> NDArray[np.uint8]:
    """uint8 [n, side, side, 3]: of each photograph, its middle in the size of the component's example."""
    from PIL import Image

    side = SEARCHED if role == DETECTOR else SIDE
    out = []
    for pixels in photographs:
        image = Image.fromarray(pixels)
        short = min(image.size)
        left, top = (image.width - short) // 2, (image.height - short) // 2
        box = (left, top, left + short, top + short)
        out.append(np.asarray(image.resize((side, side), Image.Resampling.BILINEAR, box=box), np.uint8))
    return np.stack(out)


def write_landmarks(source: str | None, folder: Path) -> list[str]:
    """Writes the forest's arrays into a folder and returns the names of the files."""
    return landmarks.save(faces.landmarks(source), folder)
