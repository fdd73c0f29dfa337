"""A full disk: whatever a library says of it, the export says that the disk is full."""

from __future__ import annotations

import errno
import sys
from pathlib import Path

import pytest

from gamer.export.bundle import room
from gamer.export.errors import ExportError
from tests import mounted

# A disk of a megabyte in a mount of its own, which ends with the process.
SMALL = 'mount -t tmpfs -o size=1m none "$1" || exit 77; shift; exec "$@"'
WRITE = """
import sys, numpy, pathlib
from gamer.export.bundle import room
from gamer.export.onnx.graph import GraphWriter, Scheme
folder = pathlib.Path(sys.argv[1])
try:
    with room.needed(folder), GraphWriter(Scheme("fp32"), folder / "model.onnx") as graph:
        graph.constant("weights", numpy.ones((2048, 1024), numpy.float32))
        graph.save((), ())
except Exception as error:
    print(type(error).__name__, error)
print("left:", [path.name for path in folder.iterdir()])
"""


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("PytorchStreamWriter failed: No space left on device"),
    ],
)
def test_an_error_that_names_the_full_disk_says_what_to_do(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(ExportError, match="the disk is full: make room"), room.needed(tmp_path):
        raise error


@pytest.mark.parametrize("error", [ExportError("parity is too low"), ValueError("a bad weight")])
def test_other_errors_pass_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as raised, room.needed(tmp_path):
        raise error
    assert raised.value is error


def test_a_model_that_does_not_fit_on_the_disk_says_so_and_leaves_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the export extra")
    disk = tmp_path / "disk"
    disk.mkdir()
    ran = mounted.run(SMALL, str(disk), sys.executable, "-c", WRITE, str(disk))
    assert "ExportError" in ran.stdout, ran.stdout + ran.stderr
    assert "the disk is full" in ran.stdout, ran.stdout + ran.stderr
    assert "left: []" in ran.stdout
