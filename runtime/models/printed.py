"""Reads the text in a picture with a bundle's two text networks: one finds lines, the other reads a line.

The detector gives each pixel the probability that it belongs to the middle of a line (differentiable
binarization, Liao et al. 2020). A connected region above LEVEL is a line; its smallest rectangle, of any
angle, is grown by as much as training had shrunk it. The recogniser gives each sixth of a line's height the
likeliest character or none (connectionist temporal classification, Graves et al. 2006).

A line that is read with little confidence is read the other way up, too, in place of a third network that
tells which way up lines are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gamer.index.records import FloatArray

from ..backends import Session
from ..bundle.manifest import OCR_ROLES
from ..errors import BundleError, RuntimeFailure
from .canvas import on_canvas

DETECTOR, RECOGNISER = OCR_ROLES
CHARACTERS = "ocr_characters.txt"  # of the code n the n-th line, from 1; after the last one a space
MAX_CHARACTERS, MAX_CHARACTER = 65_536, 16
# The detector reads sides of a multiple of STEP, the shorter of at least LEAST, the longer of at most MOST;
# FIXED and WIDTH are the sides where a target has no other.
STEP, LEAST, MOST, FIXED = 32, 736, 1_280, 960
HEIGHT, NARROWEST, WIDTH, WIDEST = 48, 320, 960, 2_400
LEVEL, MIN_REGION, MIN_SIDE = 0.3, 0.6, 3.0
GROWTH = 1.6  # of a region by its area over its outline
GREY = 127.5  # where there is no picture: 0 after normalisation
MAX_LINES = 200
SURE = 0.9  # below it, a line is read the other way up, too,
TURNS = 10  # until that was in vain for so many lines of a picture
MAX_RUNS = 100_000  # of pixels of a row: a map of more is noise
# A region that is higher than this many times its width is a line that runs down.
UPRIGHT = 1.5
Pixels = NDArray[np.uint8]
Points = NDArray[np.float64]


@dataclass(frozen=True)
class Box:
    """A line's place in pixels: its first corner, and the vectors along it and down."""

    x: float
    y: float
    along: tuple[float, float]
    down: tuple[float, float]

    @property
    def width(self) -> float:
        return math.hypot(*self.along)

    @property
    def height(self) -> float:
        return math.hypot(*self.down)

    @property
    def middle(self) -> tuple[float, float]:
        return (
            self.x + (self.along[0] + self.down[0]) / 2,
            self.y + (self.along[1] + self.down[1]) / 2,
        )


@dataclass(frozen=True)
class Line:
    """What a line says. `confidence`: the mean probability of its characters."""

    text: str
    confidence: float
    box: Box


def characters(path: Path) -> tuple[str, ...]:
    """The characters of a bundle's file, a line each. Raises BundleError for one that is no such list."""
    if path.stat().st_size > MAX_CHARACTERS * MAX_CHARACTER:
        raise BundleError(f"{path}: too large for a list of characters: export the bundle again")
    listed = tuple(path.read_text(encoding="utf-8", errors="replace").removesuffix("\n").split("\n"))
    if not 0 < len(listed) < MAX_CHARACTERS or any(not 0 < len(c) <= MAX_CHARACTER for c in listed):
        raise BundleError(f"{path}: must hold a character a line: export the bundle again")
    return listed


class LineReader:
    """`read(pixels)`: the lines in a picture. Opens no bundle: it is given sessions and characters."""

    def __init__(self, detector: Session, recogniser: Session, characters: Sequence[str]) -> None:
        """Raises RuntimeFailure for a detector of a fixed size that is no square of whole steps."""
        self._detector, self._recogniser = detector, recogniser
        self._characters = (*characters, " ")
        self._likely = detector.artifact.outputs[0].name
        sides = {side for side in detector.artifact.inputs[0].shape[1:3] if isinstance(side, int)}
        if len(sides) > 1 or any(side % STEP for side in sides):
            raise RuntimeFailure(f"the text detector takes {sorted(sides)} pixels: export it again")

    def read(self, pixels: Pixels) -> tuple[Line, ...]:
        """The lines in uint8 RGB [H, W, 3], as one reads them: from the top, and in a row from the left."""
        lines, in_vain = [], 0
        for box in self.detect(pixels):
            line = cut(pixels, box, self._width(box))
            best = self._decoded(line)
            if best[1] < SURE and in_vain < TURNS:
                other = self._decoded(line[::-1, ::-1])
                in_vain += other[1] <= best[1]
                best = max(best, other, key=lambda read: read[1])
            if best[0].strip():
                lines.append(Line(*best, box))
        return tuple(lines)

    def detect(self, pixels: Pixels) -> list[Box]:
        """The places of lines, in reading order, at most MAX_LINES."""
        from PIL import Image

        tensor = self._detector.artifact.inputs[0]
        fixed = tensor.shape[1] if isinstance(tensor.shape[1], int) else 0
        width, height = detected_size(pixels.shape[1], pixels.shape[0], fixed)
        resized = Image.fromarray(np.ascontiguousarray(pixels)).resize(
            (width, height), Image.Resampling.BILINEAR
        )
        canvas = on_canvas(np.asarray(resized, np.float32), tensor.shape[1:3], GREY)
        likely = np.asarray(self._detector.run({tensor.name: canvas[None]})[self._likely], np.float32)
        if likely.size != canvas.shape[0] * canvas.shape[1]:
            raise RuntimeFailure(
                f"the text detector gave {likely.size} values for {canvas.shape[1]} × {canvas.shape[0]} "
                "pixels: export it again"
            )
        cells = likely.reshape(canvas.shape[:2])
        found = boxes(cells[:height, :width])
        across, down = pixels.shape[1] / width, pixels.shape[0] / height
        return in_reading_order([scaled(box, across, down) for box in found[:MAX_LINES]])

    def _width(self, box: Box) -> int:
        shape = self._recogniser.artifact.inputs[0].shape
        most = shape[2] if isinstance(shape[2], int) else WIDEST
        return max(1, min(math.ceil(HEIGHT * box.width / max(box.height, 1.0)), most))

    def _decoded(self, line: NDArray[np.float32]) -> tuple[str, float]:
        tensor, artifact = self._recogniser.artifact.inputs[0], self._recogniser.artifact
        width = tensor.shape[2]
        if not isinstance(width, int):
            width = max(NARROWEST, -(-line.shape[1] // STEP) * STEP)
        out = self._recogniser.run({tensor.name: on_canvas(line, (HEIGHT, width), GREY)[None]})
        codes, scores = (np.asarray(out[spec.name], np.float32).ravel() for spec in artifact.outputs)
        return decoded(codes, scores, self._characters)


def detected_size(width: int, height: int, fixed: int = 0) -> tuple[int, int]:
    """The width and height in which the detector sees a picture; `fixed`: the side of its canvas, or 0."""
    if fixed:
        scale = fixed / max(width, height)
    else:
        scale = min(max(1.0, LEAST / min(width, height)), MOST / max(width, height))
    across, down = (max(STEP, math.floor(side * scale / STEP + 0.5) * STEP) for side in (width, height))
    return across, down


def boxes(likely: FloatArray) -> list[Box]:
    """The lines in a map [h, w] of probabilities, the largest regions first."""
    found = []
    for region in regions(likely > LEVEL)[: 5 * MAX_LINES]:
        rows, starts, ends = outer(region).T
        total = sum(float(likely[y, a:b].sum()) for y, a, b in region.tolist())
        if total / int((region[:, 2] - region[:, 1]).sum()) < MIN_REGION:
            continue
        points = np.concatenate([np.stack([starts, rows], 1), np.stack([ends - 1, rows], 1)])
        if (box := _grown(rectangle(points.astype(np.float64)))) is not None:
            found.append(box)
    return found


def outer(region: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of a region's runs [n, 3], which are in order, one for each row: from its first column to its last."""
    first = np.concatenate([[True], region[1:, 0] != region[:-1, 0]])
    last = np.concatenate([first[1:], [True]])
    return np.stack([region[first, 0], region[first, 1], region[last, 2]], 1)


def regions(mask: NDArray[np.bool_]) -> list[NDArray[np.int64]]:
    """The regions of pixels that touch, corners included: runs [n, 3] of row, first and past-the-last column.

    The largest first; none of noise.
    """
    steps = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (rows, starts), ends = np.nonzero(steps == 1), np.nonzero(steps == -1)[1]
    if len(rows) > MAX_RUNS:
        return []
    parents = list(range(len(rows)))

    def root(n: int) -> int:
        while parents[n] != n:
            parents[n] = n = parents[parents[n]]
        return n

    listed = list(zip(rows.tolist(), starts.tolist(), ends.tolist(), strict=True))
    above = 0
    for n, (row, start, end) in enumerate(listed):
        while listed[above][0] < row - 1 or (listed[above][0] == row - 1 and listed[above][2] < start):
            above += 1
        other = above
        while listed[other][0] == row - 1 and listed[other][1] <= end:
            parents[root(other)] = root(n)
            other += 1
    roots = np.array([root(n) for n in range(len(listed))], np.int64)
    runs = np.array(listed, np.int64).reshape(-1, 3)
    order = np.argsort(roots, kind="stable")
    parts = np.split(runs[order], np.nonzero(np.diff(roots[order]))[0] + 1) if len(runs) else []
    return sorted(parts, key=lambda part: -int((part[:, 2] - part[:, 1]).sum()))


def rectangle(points: Points) -> Box:
    """The smallest rectangle around pixels [n, 2], their own width included, along an edge of the hull.

    Its first vector is the one nearer to the horizontal, and points to the right.
    """
    outline = hull(points)
    edges = np.diff(np.concatenate([outline, outline[:1]]), axis=0)
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    directions = edges[lengths > 0] / lengths[lengths > 0, None]
    # A single pixel has no edge.
    directions = np.concatenate([[[1.0, 0.0]], directions])
    along = outline @ directions.T  # [points, edges]
    across = outline @ np.stack([-directions[:, 1], directions[:, 0]], 1).T
    sizes = np.stack([np.ptp(along, axis=0), np.ptp(across, axis=0)]) + 1.0
    best = int(np.argmin(sizes[0] * sizes[1]))
    ux, uy = directions[best]
    a, b = along[:, best].min() - 0.5, across[:, best].min() - 0.5
    # Pixel centres are halves.
    first = np.array([a * ux - b * uy + 0.5, a * uy + b * ux + 0.5])
    return _turned(first, np.array([ux, uy]) * sizes[0, best], np.array([-uy, ux]) * sizes[1, best])


def _turned(first: Points, one: Points, other: Points) -> Box:
    """The same rectangle from the corner whose vector along it is nearest to pointing right."""
    for _ in range(4):
        if one[0] > 0 and abs(one[1]) * np.hypot(*other) <= abs(other[1]) * np.hypot(*one) + 1e-9:
            break
        first, one, other = first + one, other, -one
    return Box(
        float(first[0]), float(first[1]), (float(one[0]), float(one[1])), (float(other[0]), float(other[1]))
    )


def hull(points: Points) -> Points:
    """The convex hull of points [n, 2], counted without repetition (Andrew's monotone chain)."""
    ordered = sorted({(float(x), float(y)) for x, y in points})
    if len(ordered) < 3:
        return np.array(ordered)

    def half(path: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for x, y in path:
            while len(chain) > 1:
                (ax, ay), (bx, by) = chain[-2:]
                if (bx - ax) * (y - ay) - (by - ay) * (x - ax) > 0:
                    break
                chain.pop()
            chain.append((x, y))
        return chain[:-1]

    return np.array(half(ordered) + half(ordered[::-1]))


def _grown(box: Box) -> Box | None:
    """A region's rectangle as the line was before training shrank it; None where it is too small."""
    width, height = box.width, box.height
    if min(width, height) < MIN_SIDE:
        return None
    by = GROWTH * width * height / (2 * (width + height))
    ux, uy, vx, vy = (
        value / size for vector, size in ((box.along, width), (box.down, height)) for value in vector
    )
    return Box(
        box.x - by * (ux + vx),
        box.y - by * (uy + vy),
        (ux * (width + 2 * by), uy * (width + 2 * by)),
        (vx * (height + 2 * by), vy * (height + 2 * by)),
    )


def scaled(box: Box, across: float, down: float) -> Box:
    """The box in the picture's own pixels; one that runs down is turned, so that it is read from its top."""
    along, side = ((v[0] * across, v[1] * down) for v in (box.along, box.down))
    placed = Box(box.x * across, box.y * down, along, side)
    if placed.height < UPRIGHT * placed.width:
        return placed
    return Box(placed.x + along[0], placed.y + along[1], side, (-along[0], -along[1]))


def in_reading_order(found: Sequence[Box]) -> list[Box]:
    """From the top; boxes whose middles are less than half a line apart are a row, from the left."""
    rows: list[list[Box]] = []
    for box in sorted(found, key=lambda box: box.middle[1]):
        first = rows[-1][0] if rows else None
        if first is None or box.middle[1] - first.middle[1] > min(first.height, box.height) / 2:
            rows.append([])
        rows[-1].append(box)
    return [box for row in rows for box in sorted(row, key=lambda box: box.middle[0])]


def cut(pixels: Pixels, box: Box, width: int) -> NDArray[np.float32]:
    """float32 [48, width, 3]: what is in a box, upright; a value is the mean of the samples it covers."""
    dense = max(1, min(4, math.ceil(box.height / HEIGHT)))
    steps = (
        (np.arange(width * dense) + 0.5) / (width * dense),
        (np.arange(HEIGHT * dense) + 0.5) / (HEIGHT * dense),
    )
    right, low = np.meshgrid(*steps)
    x = box.x + right * box.along[0] + low * box.down[0] - 0.5
    y = box.y + right * box.along[1] + low * box.down[1] - 0.5
    values = _bilinear(pixels, x, y).reshape(HEIGHT, dense, width, dense, 3)
    return np.asarray(values.mean((1, 3)), np.float32)


def _bilinear(pixels: Pixels, x: Points, y: Points) -> NDArray[np.float32]:
    """Values between the four nearest pixels; beyond an edge, those at the edge."""
    height, width = pixels.shape[:2]
    x, y = x.clip(0, width - 1), y.clip(0, height - 1)
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    right, low = np.minimum(left + 1, width - 1), np.minimum(top + 1, height - 1)
    fx, fy = (x - left)[..., None].astype(np.float32), (y - top)[..., None].astype(np.float32)
    upper = pixels[top, left] * (1 - fx) + pixels[top, right] * fx
    lower = pixels[low, left] * (1 - fx) + pixels[low, right] * fx
    return np.asarray(upper * (1 - fy) + lower * fy, np.float32)


def decoded(codes: FloatArray, scores: FloatArray, characters: Sequence[str]) -> tuple[str, float]:
    """The text of codes [T] and the mean of their scores: repeated codes count once, the code 0 is none.

    Raises RuntimeFailure for a code without a character, or without a score.
    """
    if codes.shape != scores.shape or not np.isfinite(codes).all():
        raise RuntimeFailure("the text recogniser gave no characters: export it again")
    kept = list(_characters(codes.astype(np.int64), scores))
    if any(not 0 < code <= len(characters) for code, _ in kept):
        raise RuntimeFailure(
            "the text recogniser knows more characters than the bundle lists: export it again"
        )
    if not kept:
        return "", 0.0
    return "".join(characters[code - 1] for code, _ in kept), sum(score for _, score in kept) / len(kept)


def _characters(codes: NDArray[np.int64], scores: FloatArray) -> Iterator[tuple[int, float]]:
    before = 0
    for code, score in zip(codes.tolist(), scores.tolist(), strict=True):
        if code and code != before:
            yield code, score
        before = code
