"""A photo's way to an image tower as ONNX nodes: uint8 RGB of any size → resized with antialiasing,
cropped or squashed.

The same steps as runtime/models/image.py's "crop" and "squash", in ONNX Runtime's Resize on bytes, which
rounds as Pillow does: over the packaged photographs the two differ by less than a hundredth of a level on
average. Normalisation stands in the tower.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gamer.runtime.bundle.manifest import Preprocessing, TensorSpec

from ..errors import ExportError
from .graph import GraphWriter

INPUT = TensorSpec("image", ("height", "width", 3), "uint8")
# Of a picture longer than this many times its short side only the middle is resized: a crop shows no more,
# and memory has a bound.
LONGEST = 16


def write(graph: GraphWriter, spec: Preprocessing, out: str) -> None:
    """Nodes from `INPUT` to `out` float32 [1, crop, crop, 3] in 0..255.

    Raises ExportError for a fit that is cut in whole pixels.
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
    """The middle of an endless panorama, and what it is resized to, rounded down: "prepare/middle",
    "prepare/size" [2], the result [4].
    """
    node = graph.node
    node("Shape", [INPUT.name], ["prepare/shape"], start=0, end=2)
    short = node("ReduceMin", ["prepare/shape"], ["prepare/short"], keepdims=1)
    most = node("Mul", [short, c.ints("longest", LONGEST)], ["prepare/most"])
    reach = node("Min", ["prepare/shape", most], ["prepare/reach"])
    left = node(
        "Div", [node("Sub", ["prepare/shape", reach], ["prepare/over"]), c.ints("two", 2)], ["prepare/left"]
    )
    node(
        "Slice",
        [INPUT.name, left, node("Add", [left, reach], ["prepare/right"]), c.ints("sides", 0, 1)],
        ["prepare/middle"],
    )
    node(
        "Div",
        [node("Mul", [reach, c.ints("resize", spec.resize)], ["prepare/times"]), short],
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
    """The artifact's inputs, and its outputs for the one photo that they hold."""
    fixed: list[TensorSpec] = []
    for out in outputs:
        shape: list[Any] = [1 if d == "batch" else d for d in out.shape]
        fixed.append(TensorSpec(out.name, tuple(shape), out.dtype))
    return (INPUT,), tuple(fixed)
