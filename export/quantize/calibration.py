"""What calibrates static int8: the photographs that packages carry, or a person's own from a folder.

A folder is anybody's: at most LISTED names are looked at and MOST pictures read, evenly from the whole,
within the bounds that every indexed photo is read in. What cannot be read is passed over; where too little is
left, that is an error.
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
from ..settings import Settings

TARGETS = ("onnx", "executorch")  # Core ML's int8 is of weights alone
SUFFIXES = (".jpg", ".jpeg", ".png")
LEAST, MOST, LISTED = 4, 64, 50_000


def convolves(module: nn.Module) -> bool:
    """Whether static int8 has anything to do: matrices find their activations' scales as they run."""
    return any(isinstance(part, nn.Conv2d) for part in module.modules())


def samples(
    settings: Settings, item: ExportModule, target: str, quant: str
) -> list[tuple[NDArray[Any], ...]]:
    """Inputs that calibrate `item`; none where nothing is calibrated. Raises ExportError, for a folder that
    nothing asks for too.
    """
    if item.role != "image_tower" or target not in TARGETS or quant != "int8":
        return []
    if not convolves(item.module):
        if settings.calibrate:
            raise ExportError(
                "--calibrate: this image tower has no convolutions, and int8 matrices need no photographs: "
                "leave it out"
            )
        return []
    spec = components.preprocessing(settings)
    assert spec is not None
    return [(x,) for x in (_own(settings.calibrate, spec) if settings.calibrate else fixtures.images(spec))]


def chosen(folder: Path) -> list[Path]:
    """At most MOST of the folder's pictures, evenly from all of them by name; the same for the same folder.
    Raises ExportError.
    """
    if not folder.is_dir():
        raise ExportError(f"{folder}: no folder of photographs to calibrate with")
    found = list(islice(_pictures(folder), LISTED))
    if len(found) < LEAST:
        raise ExportError(
            f"{folder}: {len(found)} JPEG or PNG files, at least {LEAST} are wanted to calibrate with"
        )
    return [
        found[i] for i in np.unique(np.linspace(0, len(found) - 1, min(MOST, len(found))).round().astype(int))
    ]


def _pictures(folder: Path) -> Iterator[Path]:
    for path, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files = (Path(path) / name for name in sorted(names) if Path(name).suffix.lower() in SUFFIXES)
        yield from (file for file in files if file.is_file() and not file.is_symlink())


@lru_cache(maxsize=1)
def _own(folder: str, spec: Preprocessing) -> tuple[NDArray[np.float32], ...]:
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
