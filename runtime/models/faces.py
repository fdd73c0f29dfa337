"""Finds the faces in a photo, turns them upright and makes a vector of each, with a bundle's face networks.

It does not know whose faces they are: index/people/ groups them, and only a person names them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..backends import Session
from ..bundle.manifest import FACE_ROLES
from ..errors import RuntimeFailure
from .canvas import on_canvas
from .landmarks import Box, Forest, similarity

Pixels = NDArray[np.uint8]
DETECTOR, ENCODER = FACE_ROLES
# The detector's windows: their side, and how far apart they are, in pixels. A cell's window has its centre at
# STRIDE · cell + FIRST: the graph puts MARGIN zeros around the picture, for faces at its edge.
WINDOW, STRIDE, MARGIN = 80, 8, 11
FIRST = 14 - MARGIN
# Boxes of which more than this share is common are of the same face.
OVERLAP = 0.338
# The longer side in which a photo is searched: the smallest face that is found is a tenth of it. A smaller
# photo is enlarged at most twice.
SEARCHED, ENLARGED = 800, 2.0
# Each picture of the pyramid has 5/6 of the side of the one before, down to LEAST on the shorter side.
SHRINK, LEAST = 5 / 6, 40
MAX_WINDOWS, MAX_FACES = 4_000, 100
# A face in fewer pixels of the photo has too little detail to be told from another.
LEAST_FACE = 36
GREY = 116.0  # around a picture where an artifact has a fixed size
# The picture of a face that the encoder takes, and where its landmarks are to be there: the corners of the
# eyes and the point below the nose, with a quarter of the face around it.
SIDE, AROUND = 150, 0.25
_UPRIGHT = np.array(
    [[0.8595674596, 0.2134981538], [0.6460604764, 0.2289674388], [0.1205750621, 0.2137274527],
     [0.3340850614, 0.2290642403], [0.4901123136, 0.6277975316]]
)  # fmt: skip
BATCH = 16


@dataclass(frozen=True, eq=False)
class Face:
    """A face in a photo. `box`: left, top, width and height as shares of the photo's, cut at its edges.

    `quality`: the detector's score, above 0; a clear face has 1. `vector`: float32 [128].
    """

    box: Box
    quality: float
    vector: FloatArray


@dataclass(frozen=True)
class DetectedFace:
    """A window of the detector: its score, and its box in pixels of the photo."""

    score: float
    box: Box


class FaceReader:
    """`read(pixels)`: the faces in a photo. Opens no bundle: it is given the sessions and the forest.

    `name`: of the encoder; vectors of another one cannot be compared with these.
    """

    def __init__(self, detector: Session, encoder: Session, forest: Forest, name: str = "") -> None:
        """Raises RuntimeFailure for a forest of other landmarks than those that a face is turned by."""
        if len(forest.shape) != len(_UPRIGHT):
            raise RuntimeFailure(
                f"the bundle's forest finds {len(forest.shape)} landmarks, {len(_UPRIGHT)} are wanted: "
                "export it again"
            )
        self._detector, self._encoder, self._forest, self.name = detector, encoder, forest, name

    def read(self, pixels: Pixels) -> tuple[Face, ...]:
        """The faces in uint8 RGB [H, W, 3], the clearest first, at most MAX_FACES."""
        found = [f for f in self.detect(pixels) if f.box[2] >= LEAST_FACE][:MAX_FACES]
        if not found:
            return ()
        grey = pixels.mean(2).astype(np.uint8)
        chips = [chip(pixels, self._forest.find(grey, f.box)) for f in found]
        height, width = grey.shape
        return tuple(
            Face(_relative(f.box, width, height), round(f.score, 4), vector)
            for f, vector in zip(found, self.encode(chips), strict=True)
        )

    def detect(self, pixels: Pixels) -> list[DetectedFace]:
        """The windows that show a face, the best of those that overlap, the clearest first."""
        height, width = pixels.shape[:2]
        windows = [w for picture in pyramid(pixels) for w in self._windows(picture, width, height)]
        return suppressed(sorted(windows, key=lambda w: -w.score)[:MAX_WINDOWS])

    def _windows(self, picture: Pixels, width: int, height: int) -> Iterator[DetectedFace]:
        tensor = self._detector.artifact.inputs[0]
        canvas = on_canvas(picture.astype(np.float32), tensor.shape[1:3], GREY)
        scores = self._detector.run({tensor.name: canvas[None]})[self._detector.artifact.outputs[0].name][0]
        across, down = width / picture.shape[1], height / picture.shape[0]
        rows, columns = np.nonzero(scores > 0)
        for row, column in zip(rows, columns, strict=True):
            left, top = (STRIDE * int(cell) + FIRST - WINDOW / 2 for cell in (column, row))
            if left + WINDOW / 2 < picture.shape[1] + MARGIN and top + WINDOW / 2 < picture.shape[0] + MARGIN:
                box = (left * across, top * down, WINDOW * across, WINDOW * down)
                yield DetectedFace(float(scores[row, column]), box)

    def encode(self, chips: list[Pixels]) -> FloatArray:
        """float32 [n, 128] of upright faces, uint8 [150, 150, 3] each."""
        tensor, out = self._encoder.artifact.inputs[0], self._encoder.artifact.outputs[0].name
        batch = BATCH if isinstance(tensor.shape[0], str) else 1
        rows = [
            self._encoder.run({tensor.name: np.stack(chips[start : start + batch]).astype(np.float32)})[out]
            for start in range(0, len(chips), batch)
        ]
        return np.concatenate(rows).astype(np.float32)


def pyramid(pixels: Pixels) -> Iterator[Pixels]:
    """The photo in the size in which it is searched, and then smaller and smaller."""
    from PIL import Image

    height, width = pixels.shape[:2]
    scale = min(SEARCHED / max(height, width), ENLARGED)
    image = Image.fromarray(np.ascontiguousarray(pixels))
    while True:
        size = max(1, round(width * scale)), max(1, round(height * scale))
        if min(size) < LEAST:
            return
        image = image.resize(size, Image.Resampling.BILINEAR)
        yield np.asarray(image, np.uint8)
        scale *= SHRINK


def suppressed(windows: list[DetectedFace]) -> list[DetectedFace]:
    """Of windows, the best first, those that do not overlap with a better one; at most MAX_FACES."""
    boxes = np.array([w.box for w in windows]).reshape(-1, 4)
    kept: list[int] = []
    for n in range(len(windows)):
        if len(kept) == MAX_FACES:
            break
        if not kept or _overlaps(boxes[n], boxes[kept]).max() <= OVERLAP:
            kept.append(n)
    return [windows[n] for n in kept]


def _overlaps(box: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """[n]: the intersection over union of a box with others [n, 4]."""
    low = np.maximum(box[:2], others[:, :2])
    high = np.minimum(box[:2] + box[2:], others[:, :2] + others[:, 2:])
    inner = np.prod((high - low).clip(0), axis=1)
    return np.asarray(inner / (box[2] * box[3] + others[:, 2] * others[:, 3] - inner), np.float64)


def chip(pixels: Pixels, points: FloatArray) -> Pixels:
    """uint8 [150, 150, 3]: the face with landmarks points [5, 2], upright and in the middle."""
    from PIL import Image

    wanted = (_UPRIGHT + AROUND) / (2 * AROUND + 1) * SIDE
    turn = similarity(wanted.astype(np.float32), points)
    scale = float(np.hypot(turn[0, 0], turn[1, 0]))  # pixels of the photo for a pixel of the face
    shrink = max(1, min(int(scale), 64))
    reach = SIDE * scale  # cut before it is shrunk: the photo may be large
    centre = turn @ (SIDE / 2, SIDE / 2, 1)
    # A photo of which nothing is near (a box beyond the edge) gives an even picture.
    left, top = (
        int(np.clip(c - reach, 0, side - 1)) for c, side in zip(centre, pixels.shape[1::-1], strict=True)
    )
    right, bottom = (
        int(np.clip(c + reach + 1, low + 1, side))
        for c, low, side in zip(centre, (left, top), pixels.shape[1::-1], strict=True)
    )
    image = Image.fromarray(np.ascontiguousarray(pixels[top:bottom, left:right])).reduce(shrink)
    turn[:, :2] *= SIDE / (SIDE - 1)  # as dlib cuts it: the corners' centres lie on the corners
    turn[:, 2] += turn[:, :2] @ (-0.5, -0.5) + 0.5 - (left, top)  # Pillow counts from the corner of a pixel
    coefficients = tuple(float(x) for x in (turn / shrink).ravel())
    upright = image.transform((SIDE, SIDE), Image.Transform.AFFINE, coefficients, Image.Resampling.BILINEAR)
    return np.asarray(upright, np.uint8)


def _relative(box: Box, width: int, height: int) -> Box:
    left, top = max(0.0, box[0] / width), max(0.0, box[1] / height)
    right, bottom = min(1.0, (box[0] + box[2]) / width), min(1.0, (box[1] + box[3]) / height)
    return left, top, max(right - left, 0.0), max(bottom - top, 0.0)
