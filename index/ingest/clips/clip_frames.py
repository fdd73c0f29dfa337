"""Frames of a clip, and where its picture changes: asks clip_decoder.py, which runs in a process of its own.

Each call takes bounded time and memory, whatever the file holds. All errors are IngestError, one line.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...clips import LONGEST
from ...errors import IngestError
from ...installing import install

MAX_FRAMES = 15  # of one item
SIDE = 320  # pixels of a frame's shorter side; the encoders take 224 to 336
TIME_LIMIT = 120  # seconds
LONG, SHORTEST, MAX_PARTS = 30_000, 5_000, 12  # ms: a longer clip is split, into parts of at least so much
STEPS = 240  # frames that are compared to split a clip
LEAST_STEP = 1_000  # ms
# Half the pixels have other colours: a cut. A turn of the camera changes a second's picture by 0.1 to 0.4.
CHANGED = 0.5
MAX_SIDE = 10_000
POSTER_SIDE = 1_080
# numpy's threads would take addresses that the process's limit leaves for pictures.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_SENSELESS = "the decoder's answer makes no sense"


@dataclass(frozen=True, eq=False)
class Frames:
    """`times`: ms from the file's begin, ascending. `pixels`: of each, uint8 [H, W, 3], RGB, upright.

    `length`: of the whole file, in ms.
    """

    length: int
    times: tuple[int, ...]
    pixels: tuple[NDArray[np.uint8], ...]


def frames(
    path: Path, part: tuple[int, int] | None = None, most: int = MAX_FRAMES, side: int = SIDE
) -> Frames:
    """At most `most` frames, evenly over a part of a clip or the whole of it: one a second, at least three.

    `part`: begin and end in ms. Raises IngestError.
    """
    with tempfile.TemporaryFile() as out:
        answer = _ask(path, {"part": part, "most": most, "side": side}, out)
        try:
            shapes = [(int(height), int(width)) for height, width in answer["shapes"]]
            if not 0 < len(shapes) <= most or any(not 0 < n <= MAX_SIDE for shape in shapes for n in shape):
                raise ValueError("frames of no size")
            pixels = tuple(_picture(out, *shape) for shape in shapes)
            whole = _whole(answer)
            times = tuple(min(int(at), whole) for at in answer["times"])
            if len(times) != len(pixels) or min(times) < 0:
                raise ValueError("times of other frames")
            return Frames(whole, times, pixels)
        except (KeyError, TypeError, ValueError):
            raise _unreadable(path, _SENSELESS) from None


def poster(path: Path, part: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """The frame that stands for a clip, that of its middle: uint8 [H, W, 3]. Raises IngestError."""
    return frames(path, part, most=1, side=POSTER_SIDE).pixels[0]


def parts(path: Path) -> list[tuple[int, int]]:
    """Begin and end, in ms, of the parts into which a long clip is split where its picture changes.

    One that has the whole length for a clip that is not split. Raises IngestError.
    """
    with tempfile.TemporaryFile() as out:
        answer = _ask(path, {"longer": LONG, "steps": STEPS, "least": LEAST_STEP}, out)
    try:
        times, changes = [int(at) for at in answer["times"]], [float(change) for change in answer["changes"]]
        whole = _whole(answer)
        bounds = [0, *cuts(times, changes, whole), whole]
    except (KeyError, TypeError, ValueError):
        raise _unreadable(path, _SENSELESS) from None
    return list(pairwise(bounds))


def cuts(times: list[int], changes: list[float], whole: int) -> list[int]:
    """Where to cut, ascending: at the greatest changes, with at least SHORTEST ms between all."""
    chosen: list[int] = []
    for change, at in sorted(zip(changes, times, strict=True), key=lambda pair: (-pair[0], pair[1])):
        if change < CHANGED or len(chosen) == MAX_PARTS - 1:
            break
        if all(abs(at - other) >= SHORTEST for other in (0, whole, *chosen)):
            chosen.append(at)
    return sorted(chosen)


def _whole(answer: dict[str, Any]) -> int:
    whole = int(answer["length"])
    if not 0 < whole <= LONGEST:
        raise ValueError("no length")
    return whole


def _picture(out: IO[bytes], height: int, width: int) -> NDArray[np.uint8]:
    data = out.read(height * width * 3)
    return np.frombuffer(data, np.uint8).reshape(height, width, 3)


def wanted() -> str:
    """What to install for videos."""
    return f"videos need PyAV: {install('clips')}"


def _ask(path: Path, request: dict[str, Any], out: IO[bytes]) -> dict[str, Any]:
    """The first line of the decoder's answer; `out` then stands behind it. Raises IngestError."""
    if not path.is_file():  # a pipe or a device might never end
        raise IngestError(f"{path}: no such file")
    if importlib.util.find_spec("av") is None:
        raise IngestError(f"{path}: {wanted()}")
    script = str(Path(__file__).with_name("clip_decoder.py"))
    request |= {"path": str(path.absolute())}
    # -P: the modules beside the script have common names, and must not be taken for others.
    command = [sys.executable, "-P", script, json.dumps(request)]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            timeout=TIME_LIMIT,
            check=False,
            env=os.environ | _ONE_THREAD,
        )
    except subprocess.TimeoutExpired:
        raise _unreadable(path, f"decoding it took more than {TIME_LIMIT} seconds") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, f"no decoder could be started: {error}") from None
    out.seek(0)
    try:
        answer = json.loads(out.readline(1 << 20))
    except ValueError:
        raise _unreadable(path, f"the decoder stopped with {done.returncode}") from None
    if not isinstance(answer, dict):
        raise _unreadable(path, _SENSELESS)
    if "error" in answer:
        raise _unreadable(
            path, " ".join(str(answer["error"]).replace(str(path.absolute()), path.name).split())
        )
    return answer


def _unreadable(path: Path, reason: str) -> IngestError:
    return IngestError(f"{path}: cannot be read as a video ({reason})")
