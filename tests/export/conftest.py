"""The export tests' fixtures: the MobileCLIP reference of several, and the exporter in this process."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from gamer.export.bundle import write
    from gamer.export.settings import Settings
    from gamer.runtime.bundle.manifest import Manifest

Export = Callable[..., "Manifest"]


@contextmanager
def _workers_here(cache: Path, built: Path) -> Iterator[None]:
    """Does the work of an export's workers in this process, with an own cache and the gazetteer there is."""
    from gamer.export.bundle import gazetteer, write

    def in_this_process(tasks: list[write.Task], jobs: int, report: write.Report) -> list[Any]:
        return [write._finished(task) or write.run_task(task) for task in tasks]

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("GAMER_CACHE", str(cache))
        patched.setattr(write, "_run", in_this_process)
        patched.setattr(gazetteer, "build_gazetteer", partial(shutil.copyfile, built))
        yield


@pytest.fixture
def workers_here(tmp_path: Path, built_gazetteer: Path) -> Iterator[None]:
    with _workers_here(tmp_path / "cache", built_gazetteer):
        yield


def _export(settings: Settings, out: Path, targets: tuple[str, ...] = ("onnx",)) -> Manifest:
    from gamer.export.bundle import write

    return write.export(settings, targets, out, 1, lambda text, artifact: None)


@pytest.fixture
def export(workers_here: None) -> Export:
    """The exporter with its tasks in this process: a worker takes longer to start than a tiny model to
    export.
    """
    return _export


@pytest.fixture(scope="module")
def shared_export(built_gazetteer: Path, tmp_path_factory: pytest.TempPathFactory) -> Export:
    """The same for bundles that several tests of a module read."""
    cache = tmp_path_factory.mktemp("cache")

    def make(settings: Settings, out: Path, targets: tuple[str, ...] = ("onnx",)) -> Manifest:
        with _workers_here(cache, built_gazetteer):
            return _export(settings, out, targets)

    return make


@pytest.fixture(scope="session")
def mobileclip_reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with checkpoints and outputs of timm's and open_clip's MobileCLIP, which
    mobileclip_reference.py writes in a separate process.
    """
    # Not imported here: timm and open_clip import torchvision, which only that script replaces.
    for package in ("timm", "open_clip", "ftfy"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"needs {package}: the dev extra, and requirements-weights.txt")
    folder, script = (
        tmp_path_factory.mktemp("mobileclip"),
        Path(__file__).with_name("mobileclip_reference.py"),
    )
    process = subprocess.run(
        [sys.executable, str(script), str(folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"HF_HUB_OFFLINE": "1"},
    )
    assert process.returncode == 0, process.stderr[-2000:]
    return folder
