"""The choice among quantizations with the least loss under a budget of bytes.

Losses of single matrices add up, so that a Lagrangian decides each alone: of its choices those on the lower
convex hull of (bytes, loss) are worth their bytes at some price, and all steps along all hulls, the most
worthwhile first, are the Pareto curve.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    """A choice for a matrix: its bytes beside the smallest one, and the loss if it alone is quantized."""

    quant: str
    bytes: float
    loss: float


@dataclass(frozen=True)
class Point:
    """`choice`: the number of each matrix's option. `bytes`, `loss`: the sums of theirs."""

    choice: tuple[int, ...]
    bytes: float
    loss: float


def hull(options: Sequence[Option]) -> list[int]:
    """The numbers of the options on the lower convex hull of (bytes, loss), by ascending bytes."""
    out = list[int]()
    for n in sorted(range(len(options)), key=lambda n: (options[n].bytes, options[n].loss)):
        if out and options[n].loss >= options[out[-1]].loss:
            continue
        while len(out) > 1 and _gain(options[out[-2]], options[out[-1]]) <= _gain(
            options[out[-1]], options[n]
        ):
            out.pop()
        out.append(n)
    return out


def _gain(a: Option, b: Option) -> float:
    """Loss saved by each byte from `a` to `b`."""
    return (a.loss - b.loss) / max(b.bytes - a.bytes, 1e-9)


def curve(matrices: Sequence[Sequence[Option]]) -> list[Point]:
    """The Pareto curve, from the least bytes to the least loss."""
    hulls = [hull(options) for options in matrices]
    at = [0] * len(matrices)
    steps = [
        (-_gain(options[h[0]], options[h[1]]), n)
        for n, (options, h) in enumerate(zip(matrices, hulls, strict=True))
        if len(h) > 1
    ]
    heapq.heapify(steps)
    points = [_point(matrices, [h[0] for h in hulls])]
    while steps:
        _, n = heapq.heappop(steps)
        at[n] += 1
        points.append(_point(matrices, [h[i] for h, i in zip(hulls, at, strict=True)]))
        if at[n] + 1 < len(hulls[n]):
            a, b = hulls[n][at[n]], hulls[n][at[n] + 1]
            heapq.heappush(steps, (-_gain(matrices[n][a], matrices[n][b]), n))
    return points


def _point(matrices: Sequence[Sequence[Option]], choice: Sequence[int]) -> Point:
    chosen = [options[c] for options, c in zip(matrices, choice, strict=True)]
    return Point(tuple(choice), sum(o.bytes for o in chosen), sum(o.loss for o in chosen))


def under(matrices: Sequence[Sequence[Option]], points: Sequence[Point], budget: float) -> Point | None:
    """The last point of the curve within `budget` bytes, and what still fits beside it; None if none fits."""
    fitting = [point for point in points if point.bytes <= budget]
    if not fitting:
        return None
    choice = list(fitting[-1].choice)
    while (step := _best_step(matrices, choice, budget - _point(matrices, choice).bytes)) is not None:
        choice[step[0]] = step[1]
    return _point(matrices, choice)


def _best_step(
    matrices: Sequence[Sequence[Option]], choice: Sequence[int], room: float
) -> tuple[int, int] | None:
    """(matrix, option) of the step within `room` bytes that saves the most loss, if one saves any."""
    best, saved = None, 0.0
    for n, options in enumerate(matrices):
        now = options[choice[n]]
        for i, option in enumerate(options):
            if option.bytes - now.bytes <= room and now.loss - option.loss > saved:
                best, saved = (n, i), now.loss - option.loss
    return best


def thinned(points: Sequence[Point], most: int) -> Iterator[Point]:
    """At most `most` points of a curve, evenly spaced by number, both ends among them."""
    steps = max(1, min(most, len(points)) - 1)
    for n in range(min(most, len(points))):
        yield points[n * (len(points) - 1) // steps]
