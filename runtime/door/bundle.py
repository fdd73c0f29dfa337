"""A bundle, and how the one that belongs to an album is found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gamer.index import Album, AlbumError

from ..bundle import manifest as mf
from ..errors import NoBundle
from ..models.models import Models

if TYPE_CHECKING:
    from ..bundle.manifest import Manifest


@dataclass(frozen=True)
class Running:
    """How a bundle's models run. `backend`: one of gamer.runtime.backends.CHOICES. `threads`: per model;
    None: two, or one while other programs use the cores.

    `max_memory`: megabytes of models held at once, None for no limit. `allow_random`: also a bundle of random
    weights, whose answers mean nothing.
    """

    backend: str = "onnx"
    threads: int | None = None
    max_memory: int | None = None
    allow_random: bool = False


DEFAULT = Running()


class Bundle:
    """`gamer.Bundle("out/pocket")`: a folder of exported models. Its files are checked when it is opened.

    Raises BundleError for files that are missing or differ from the manifest, RuntimeFailure for an unknown
    backend, and for random weights unless they are allowed.
    """

    def __init__(self, path: str | Path, running: Running = DEFAULT) -> None:
        self.path, self.running = Path(path).expanduser(), running
        memory = running.max_memory and running.max_memory * 1_000_000
        self.models = Models.open(self.path, running.backend, running.threads, memory, running.allow_random)

    @classmethod
    def of(cls, models: Models) -> Bundle:
        """The bundle of models that are open."""
        bundle = cls.__new__(cls)
        bundle.path, bundle.running, bundle.models = Path(models.bundle), DEFAULT, models
        return bundle

    @property
    def manifest(self) -> Manifest:
        """What the folder holds: sources, artifacts, parities, thresholds."""
        return self.models.manifest

    def check(self) -> None:
        """Compares every file, artifacts included, with its size and hash. Raises BundleError."""
        mf.check(self.path, self.manifest)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        return tuple(sorted({artifact.target for artifact in self.manifest.artifacts}))

    def __repr__(self) -> str:
        return f"<gamer.Bundle {self.path}: {self.manifest.recipe} {self.manifest.quant}>"


def bundle_of(album: Path, named: str | Path | Bundle | None, running: Running = DEFAULT) -> Bundle:
    """The bundle that was named, else the one that belongs to the album. Raises RuntimeFailure."""
    return named if isinstance(named, Bundle) else Bundle(named or find_bundle(album), running)


def find_bundle(album: Path) -> Path:
    """The bundle for an album if none was given. Raises NoBundle, which says how to name one."""
    if named := os.environ.get("GAMER_BUNDLE"):
        return Path(named)
    if (noted := _noted(album)) is not None and (noted / "manifest.json").is_file():
        return noted
    for folder in (album.resolve().parent, *album.resolve().parents[1:3], Path.cwd()):
        for place in (folder / "pocket", folder / "out" / "pocket"):
            if (place / "manifest.json").is_file():
                return place
    raise NoBundle("no bundle found near the album: name it with -b, or set GAMER_BUNDLE")


def _noted(album: Path) -> Path | None:
    """The bundle that the album notes. Whether its encoders are the album's is checked when it is opened."""
    try:
        with Album.open(album) as opened:
            return opened.bundle
    except AlbumError:
        return None  # said when the album itself is opened
