"""An image tower's preprocessing as ONNX nodes: uint8 RGB of any size is resized with antialiasing, and
cropped or squashed to a square.

The steps are those of "crop" and "squash" in runtime/models/image.py. They use ONNX Runtime's Resize on
bytes, which rounds as Pillow does: over the packaged photographs the two differ by less than a hundredth of a
level on average. Normalisation is part of the tower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gamer.runtime.bundle.manifest import Preprocessing, TensorSpec

from ..errors import ExportError
from .graph import GraphWriter

INPUT = TensorSpec("image", ("height", "width", 3), "uint8")
# If a picture's long side is more than this many times its short side, only the middle is resized: the crop
# shows no more of it, and this bounds the memory used.
LONGEST = 16


def write(graph: GraphWriter, spec: Preprocessing, out: str) -> None:
    """Writes the nodes from `INPUT` to `out`, float32 [1, crop, crop, 3] in 0..255.

    Raises ExportError for a `spec.fit` other than "crop" and "squash" ("cut" crops in whole pixels).
    """
    if spec.fit not in ("crop", "squash"):
        raise ExportError(
            f"a tower whose photos are fitted by {spec.fit!r} takes prepared pixels only: leave out "
            "--image-input any"
        )
    mode = "cubic" if spec.interpolation == "bicubic" else "linear"
    c, node = _Constants(graph), graph.node
    sizes = c.ints("sizes", 1, spec.crop, spec.crop, 3) if spec.fit == "squash" else _sizes(graph, c, spec)
    picture = INPUT.name if spec.fit == "squash" else "prepare/middle"
    node("Unsqueeze", [picture, c.ints("first", 0)], ["prepare/batch"])
    node(
        "Resize",
        ["prepare/batch", "", "", sizes],
        ["prepare/resized"],
        mode=mode,
        antialias=1,
        cubic_coeff_a=-0.5,
    )
    cropped = "prepare/resized"
    if spec.fit == "crop":
        crop = c.ints("crop", spec.crop, spec.crop)
        start = node(
            "Div",
            [node("Sub", ["prepare/size", crop], ["prepare/spare"]), c.ints("two", 2)],
            ["prepare/start"],
        )
        end = node("Add", [start, crop], ["prepare/end"])
        cropped = node(
            "Slice", ["prepare/resized", start, end, c.ints("rows and columns", 1, 2)], ["prepare/cropped"]
        )
    node("Cast", [cropped], [out], to=1)


def _sizes(graph: GraphWriter, c: _Constants, spec: Preprocessing) -> str:
    """Writes "prepare/middle", the picture cut to LONGEST, and "prepare/size" [2], what it is resized to.

    The size is rounded down. Returns the name of the same size as a shape [4] with batch and channels.
    """
    node = graph.node
    node("Shape", [INPUT.name], ["prepare/shape"], start=0, end=2)
    short = node("ReduceMin", ["prepare/shape"], ["prepare/short"], keepdims=1)
    limit = node("Mul", [short, c.ints("longest", LONGEST)], ["prepare/most"])
    extent = node("Min", ["prepare/shape", limit], ["prepare/reach"])
    left = node(
        "Div", [node("Sub", ["prepare/shape", extent], ["prepare/over"]), c.ints("two", 2)], ["prepare/left"]
    )
    node(
        "Slice",
        [INPUT.name, left, node("Add", [left, extent], ["prepare/right"]), c.ints("sides", 0, 1)],
        ["prepare/middle"],
    )
    node(
        "Div",
        [node("Mul", [extent, c.ints("resize", spec.resize)], ["prepare/times"]), short],
        ["prepare/size"],
    )
    return node(
        "Concat", [c.ints("one", 1), "prepare/size", c.ints("channels", 3)], ["prepare/sizes"], axis=0
    )


class _Constants:
    def __init__(self, graph: GraphWriter) -> None:
        self._graph = graph

    def ints(self, name: str, *values: int) -> str:
        return self._graph.constant(f"prepare/{name}", np.array(values, np.int64))


def specs(outputs: tuple[TensorSpec, ...]) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The artifact's inputs, and `outputs` with a batch of 1: the graph takes a single photo."""
    single: list[TensorSpec] = []
    for out in outputs:
        shape: list[Any] = [1 if d == "batch" else d for d in out.shape]
        single.append(TensorSpec(out.name, tuple(shape), out.dtype))
    return (INPUT,), tuple(single)
