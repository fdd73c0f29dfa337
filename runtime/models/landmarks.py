"""Finds the landmarks of a face in its box with a forest of regression trees (Kazemi and Sullivan 2014).

The trees are arrays of the bundle, `face_landmarks.NAME.npy`. Which landmarks they are is faces.py's to know.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..errors import BundleError

FILE = "face_landmarks.{}.npy"
_FARTHEST = 10_000  # sides of the box that a point or a step may be away
Box = tuple[float, float, float, float]  # left, top, width, height


@dataclass(frozen=True, eq=False)
class Forest:
    """C cascades of T regression trees of S nodes over P pixels, for L landmarks.

    `shape`: float32 [L, 2], where it starts, in a box of side 1. `anchors`: uint8 [C, P], the landmark that a
    pixel is found from; `deltas`: float32 [C, P, 2], how far. `splits`: uint16 [C, T, S, 2], the two pixels
    that a node compares; `thresholds`: float32 [C, T, S]; `leaves`: float32 [C, T, S + 1, L, 2].
    """

    shape: FloatArray
    anchors: NDArray[np.uint8]
    deltas: FloatArray
    splits: NDArray[np.uint16]
    thresholds: FloatArray
    leaves: FloatArray

    def __post_init__(self) -> None:
        """Raises ValueError for arrays that do not fit together, or lead nowhere."""
        count, (cascades, pixels) = len(self.shape), self.anchors.shape
        trees, nodes = self.splits.shape[1:3]
        wanted = {
            "shape": (count, 2),
            "anchors": (cascades, pixels),
            "deltas": (cascades, pixels, 2),
            "splits": (cascades, trees, nodes, 2),
            "thresholds": (cascades, trees, nodes),
            "leaves": (cascades, trees, nodes + 1, count, 2),
        }
        if any(getattr(self, name).shape != shape or 0 in shape for name, shape in wanted.items()):
            raise ValueError("the shapes of its arrays do not fit together")
        if nodes & (nodes + 1) or self.anchors.max() >= count or self.splits.max() >= pixels:
            raise ValueError("a tree or a pixel of it leads nowhere")
        if not all(np.isfinite(a).all() for a in (self.shape, self.deltas, self.thresholds, self.leaves)):
            raise ValueError("it holds values that are not finite")
        if max(abs(a).max() for a in (self.shape, self.deltas, self.leaves)) > _FARTHEST:
            raise ValueError("it holds values that are too large")

    def find(self, grey: NDArray[np.uint8], box: Box) -> FloatArray:
        """float32 [L, 2]: x and y of the landmarks of the face in `box`, in pixels of grey [H, W]."""
        shape = self.shape
        for cascade in range(len(self.anchors)):
            turn = _turned(self.shape, shape)
            points = self.deltas[cascade] @ turn.T + shape[self.anchors[cascade]]
            shape = shape + self._step(cascade, _brightness(grey, _placed(points, box)))
        return _placed(shape, box)

    def _step(self, cascade: int, pixels: FloatArray) -> FloatArray:
        """What the trees of a cascade add to the landmarks: the sum of the leaves that they lead to."""
        splits, thresholds = self.splits[cascade], self.thresholds[cascade]
        trees, nodes = thresholds.shape
        every, at = np.arange(trees), np.zeros(trees, np.int64)
        while at[0] < nodes:  # all trees are full, and so reach their leaves together
            first, second = splits[every, at].T
            left = pixels[first] - pixels[second] > thresholds[every, at]
            at = 2 * at + np.where(left, 1, 2)
        return np.asarray(self.leaves[cascade][every, at - nodes].sum(0), np.float32)


FILES = tuple(FILE.format(part.name) for part in fields(Forest))


def save(forest: Forest, folder: Path) -> list[str]:
    """Writes the arrays into a folder and returns the names of the files."""
    for part in fields(forest):
        np.save(folder / FILE.format(part.name), getattr(forest, part.name), allow_pickle=False)
    return list(FILES)


def load(folder: Path) -> Forest:
    """The forest of a bundle. Raises BundleError for arrays that are missing or do not fit together."""
    kinds = {"anchors": np.uint8, "splits": np.uint16}
    try:
        arrays = [_array(folder / FILE.format(part.name)) for part in fields(Forest)]
        for part, array in zip(fields(Forest), arrays, strict=True):
            if array.dtype != kinds.get(part.name, np.float32):
                raise ValueError(f"{part.name} of {array.dtype}")
        return Forest(*arrays)
    except (OSError, TypeError, ValueError, EOFError, IndexError) as error:
        told = " ".join(str(error).split())[:100]
        raise BundleError(f"{folder}: its landmarks cannot be used ({told}): export it again") from None


def _array(path: Path) -> NDArray[Any]:
    """An array alone: `np.load` would open an archive, too."""
    with path.open("rb") as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def similarity(points: FloatArray, wanted: FloatArray) -> FloatArray:
    """float64 [2, 3]: the rotation, scale and shift that bring points [n, 2] nearest to `wanted` [n, 2]."""
    a, b = points.astype(np.float64), wanted.astype(np.float64)
    centre_a, centre_b = a.mean(0), b.mean(0)
    a, b = a - centre_a, b - centre_b
    spread = max(float((a * a).sum()), 1e-12)
    c, s = (a * b).sum() / spread, (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]).sum() / spread
    turn = np.array([[c, -s], [s, c]])
    return np.column_stack((turn, centre_b - turn @ centre_a))


def _turned(points: FloatArray, wanted: FloatArray) -> FloatArray:
    return np.asarray(similarity(points, wanted)[:, :2], np.float32)


def _placed(points: FloatArray, box: Box) -> FloatArray:
    """Points of a box of side 1, in pixels of the picture."""
    left, top, width, height = box
    size, corner = np.array((width, height), np.float32), np.array((left, top), np.float32)
    return np.asarray(points * size + corner, np.float32)


def _brightness(grey: NDArray[np.uint8], points: FloatArray) -> FloatArray:
    """float32 [n]: the pixels at points [n, 2]; 0 outside of the picture."""
    height, width = grey.shape
    x, y = np.floor(np.clip(points, -1e6, 1e6) + 0.5).astype(np.int64).T
    inside = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return np.where(inside, grey[y.clip(0, height - 1), x.clip(0, width - 1)], 0).astype(np.float32)
