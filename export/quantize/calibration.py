"""Inputs that calibrate activations: the fixtures' photographs, or photographs from a folder of the user; for
texts, captions that parity is not measured on.

A folder may be large: at most LISTED files are listed, and at most MOST of them, evenly spaced, are read,
with the limits that apply to every indexed photo. Unreadable pictures are skipped; fewer than LEAST readable
ones are an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from gamer.index import IngestError, load_pixels
from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.models.image import prepare

from ..components import components, fixtures
from ..components.export_module import ExportModule
from ..errors import ExportError
from ..recipe import STATIC
from ..settings import Settings

TARGETS = ("onnx", "executorch")  # those whose int8 has them: Core ML's is of weights only
SUFFIXES = (".jpg", ".jpeg", ".png")
LEAST, MOST, LISTED = 4, 64, 50_000
CAPTIONS = (
    fixtures.PROSE,  # as long as a tower reads, so that the grids reach the last position
    *fixtures.PROSE.split(". "),
    "dog",
    "photos from Lisbon in July 2019",
    "who came to the wedding?",
    "the receipt of the dentist, 85.40 €",
    "zwei Kinder auf einer Schaukel im Garten",
    "a red bicycle leaning against a wall",
    "screenshot of my boarding pass",
    "mountains with snow, taken from the plane",
)


def in_fp32(convolutions: int) -> int:
    """How many of a network's first convolutions stay in fp32: ten, or a quarter of a small network's.

    They (of EfficientNet the stem and three blocks) work on raw contrast. Cosine of photos that were not
    calibrated with, mean and 5th percentile: in ONNX 0.9964 and 0.988 with three in fp32, 0.9975 and 0.991
    with ten, for 5.4 ms instead of 4.7 on one core; in ExecuTorch, with none and with ten, 0.9924 and 0.980,
    0.9976 and 0.993, for 9.2 ms instead of 8.2. With six, the least steady photo of the fixtures had 0.979 or
    0.992, by how many threads calibrate.
    """
    return min(10, convolutions // 4)


def convolves(module: nn.Module) -> bool:
    """Whether the module has convolutions, which need calibrated activation scales.

    Matrix products in int8 compute theirs at run time.
    """
    return any(isinstance(part, nn.Conv2d) for part in module.modules())


def samples(
    settings: Settings, item: ExportModule, target: str, quant: str
) -> list[tuple[NDArray[Any], ...]]:
    """Inputs that calibrate `item`; [] if it needs no calibration.

    Raises ExportError if the user's folder has too few readable photographs, or if the image tower needs
    none.
    """
    if quant in STATIC:
        return _static(settings, item)
    if item.role != "image_tower" or target not in TARGETS or quant != "int8":
        return []
    if not convolves(item.module):
        if settings.calibrate:
            raise ExportError(
                "--calibrate: this image tower has no convolutions, and int8 matrices need no photographs: "
                "leave it out"
            )
        return []
    return _pixels(settings)


def _pixels(settings: Settings) -> list[tuple[NDArray[Any], ...]]:
    spec = fixtures.image_spec(settings)
    return [
        (x,)
        for x in (_from_folder(settings.calibrate, spec) if settings.calibrate else fixtures.images(spec))
    ]


def _static(settings: Settings, item: ExportModule) -> list[tuple[NDArray[Any], ...]]:
    """The photographs, or what the image tower makes of them; captions; or queries."""
    match item.role:
        case "image_tower":
            return _pixels(settings)
        case "text_tower":
            return fixtures.texts(settings, item, CAPTIONS, fixed=True)
        case "dpe_query":
            return fixtures.query_states(settings)
    photographs = _pixels(settings)  # first, since a missing folder is told at once
    tower = components.build(settings, "image_tower", "fp32").module
    return [(components.reference(tower, pixels)[1],) for pixels in photographs]


def chosen(folder: Path) -> list[Path]:
    """At most MOST pictures of the folder, evenly spaced among its first LISTED by name; deterministic.

    Raises ExportError if there are fewer than LEAST.
    """
    if not folder.is_dir():
        raise ExportError(f"{folder}: no folder of photographs to calibrate with")
    pictures = list(islice(_pictures(folder), LISTED))
    if len(pictures) < LEAST:
        raise ExportError(
            f"{folder}: must have at least {LEAST} JPEG or PNG files to calibrate with, not {len(pictures)}"
        )
    return [
        pictures[i]
        for i in np.unique(np.linspace(0, len(pictures) - 1, min(MOST, len(pictures))).round().astype(int))
    ]


def _pictures(folder: Path) -> Iterator[Path]:
    for path, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files = (Path(path) / name for name in sorted(names) if Path(name).suffix.lower() in SUFFIXES)
        yield from (file for file in files if file.is_file() and not file.is_symlink())


@lru_cache(maxsize=1)
def _from_folder(folder: str, spec: Preprocessing) -> tuple[NDArray[np.float32], ...]:
    files, read = chosen(Path(folder)), []
    for file in files:
        try:
            read.append(prepare(load_pixels(file), spec))
        except (IngestError, OSError):
            continue
    if len(read) < LEAST:
        raise ExportError(
            f"{folder}: {len(read)} of {len(files)} photographs can be read, at least {LEAST} are wanted to "
            "calibrate with"
        )
    return tuple(read)
