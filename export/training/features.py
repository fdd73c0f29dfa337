"""Patch features of photos by the frozen image tower, computed once and kept beside the training."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gamer.index import IngestError, load_pixels
from gamer.index.json_checked import stored
from gamer.runtime.bundle.manifest import Preprocessing
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.models.image import prepare

from ..components import components, fixtures
from ..errors import ExportError
from ..settings import Settings
from .run_folder import write_json

Progress = Callable[[int, int], None]  # done, total
_BATCH = 16
_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Features:
    """`patches`: float16 [N, P, F]. `labels`: float32 [N, C] probabilities; None if the tower has no labels.

    `readable`: bool [N]; the rows of a picture that could not be read are zeros.
    """

    patches: NDArray[np.float16]
    labels: NDArray[np.float32] | None
    readable: NDArray[np.bool_]


def encode(
    settings: Settings, paths: Sequence[Path], folder: Path, key: str, progress: Progress | None = None
) -> Features:
    """The features of `paths`, read from `folder` as far as they are there for `key`.

    `key`: a digest of the pictures. An interrupted call is continued. Raises ExportError on a full disk.
    """
    tower = components.build(settings, "image_tower", "fp32").module
    patches, width = components.features(settings)
    store = _Store(folder, key, (len(paths), patches, width), classes(settings))
    spec = fixtures.image_spec(settings)
    for start in range(store.done, len(paths), _BATCH):
        batch = range(start, min(start + _BATCH, len(paths)))
        images = [prepared(paths[n], spec) for n in batch]
        good = [n for n, image in zip(batch, images, strict=True) if image is not None]
        if good:
            stacked = np.concatenate([image for image in images if image is not None])
            with torch.no_grad():
                out = tower(torch.from_numpy(stacked))
            store.patches[good] = out[1].numpy()
            if store.labels is not None:
                store.labels[good] = out[2].numpy()
            store.readable[good] = True
        store.commit(batch.stop)
        if progress:
            progress(batch.stop, len(paths))
    return Features(store.patches, store.labels, np.asarray(store.readable, np.bool_))


def classes(settings: Settings) -> int:
    """How many labels the image tower gives each photo; 0 for one without labels."""
    return 1000 if settings.model("image") == components.CONSE else 0


def cost(settings: Settings, folder: Path, key: str, photos: int) -> str:
    """For people: the time and the disk that `encode` will take, before it starts; one photo is timed."""
    item, told = components.build(settings, "image_tower", "fp32"), _read(folder / "features.json")
    left = photos - (told["done"] if told.get("key") == key else 0)
    with torch.no_grad():
        item.module(*item.example)  # the first call is slower
        begun = time.perf_counter()
        item.module(*item.example)
    minutes = left * (time.perf_counter() - begun) / 60
    shape = (photos, *components.features(settings))
    try:
        free = f" of {shutil.disk_usage(folder).free / 1e6:.0f} MB free"
    except OSError:
        free = ""
    return (
        f"{left} photos to encode first: about {minutes:.1f} minutes; their features take "
        f"{size(shape, classes(settings)) / 1e6:.0f} MB{free}"
    )


def prepared(path: Path, spec: Preprocessing) -> NDArray[np.float32] | None:
    """A picture as the image tower takes it, float32 [1, …]; None if it cannot be read."""
    try:
        return prepare(load_pixels(path), spec)
    except (IngestError, RuntimeFailure):
        return None


class _Store:
    """Arrays in files, filled from the front; `done` rows are certain."""

    def __init__(self, folder: Path, key: str, shape: tuple[int, int, int], classes: int) -> None:
        self._told = folder / "features.json"
        self._wanted = {"key": key, "shape": list(shape), "classes": classes}
        told = _read(self._told)
        fresh = {name: told.get(name) for name in self._wanted} != self._wanted
        self.done = 0 if fresh else told["done"]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.patches = _array(folder / "patches.npy", fresh, np.float16, shape)
            self.labels = (
                _array(folder / "labels.npy", fresh, np.float32, (shape[0], classes)) if classes else None
            )
            self.readable = _array(folder / "readable.npy", fresh, np.bool_, shape[:1])
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ExportError(
                f"{folder}: features cannot be kept there ({reason}): free {size(shape, classes) / 1e6:.0f} "
                "MB, or give another -o"
            ) from None

    def commit(self, done: int) -> None:
        for array in (self.patches, self.labels, self.readable):
            if array is not None:
                array.flush()
        write_json(self._told, {**self._wanted, "done": done})
        self.done = done


def size(shape: tuple[int, int, int], classes: int) -> int:
    """Bytes of the files that keep the features of `shape` photos, patches, width."""
    return 2 * int(np.prod(shape)) + (4 * classes + 1) * shape[0]


def _array(path: Path, fresh: bool, dtype: type, shape: tuple[int, ...]) -> Any:
    if not fresh:
        return np.lib.format.open_memmap(path, mode="r+")
    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    try:
        _allocate(path)
    except OSError:
        path.unlink()
        raise
    return array


def _allocate(path: Path) -> None:
    """Gives a sparse file its blocks: on a full disk, a write through the map would kill the process."""
    with path.open("r+b") as file:
        begin, end = file.tell(), file.seek(0, os.SEEK_END)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), begin, end)
            return
        begin = 4096  # the header stays
        file.seek(begin)
        for start in range(begin, end, _BLOCK):
            file.write(bytes(min(_BLOCK, end - start)))
        os.fsync(file.fileno())


def _read(path: Path) -> dict[str, Any]:
    progress: dict[str, Any] = stored(dict[str, Any], path) or {}
    return progress if isinstance(progress.get("done"), int) else {}
