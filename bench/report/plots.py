"""Plots as plain SVG, sized for a phone: 360 units wide, readable without zoom.

Text comes from untrusted files and is escaped here; there is no script, and nothing is fetched. Colours are
those of the page, in light and in dark mode.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 360, 238, 46, 34, 22, 10
COLOURS = ("#2a7de1", "#e08a1e", "#2f9e63", "#c2483d", "#8561c5", "#3aa7b5", "#b0568f", "#7a7a7a")


@dataclass(frozen=True)
class Series:
    """A line or a cloud of points (x, y); coordinates are positive on logarithmic axes.

    `labels`: texts beside the points, or empty.
    """

    name: str
    points: tuple[tuple[float, float], ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Axis:
    title: str
    low: float
    high: float
    log: bool

    def at(self, value: float, begin: float, end: float) -> float:
        if self.log:
            share = (math.log10(max(value, self.low)) - math.log10(self.low)) / max(
                1e-9, math.log10(self.high) - math.log10(self.low)
            )
        else:
            share = (value - self.low) / max(1e-9, self.high - self.low)
        return begin + min(max(share, 0.0), 1.0) * (end - begin)

    def ticks(self) -> list[float]:
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return [10.0**n for n in range(first, last + 1, max(1, (last - first) // 5))]
        step = _step(self.high - self.low)
        return [
            n * step
            for n in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1)
        ]


def axis(title: str, values: Sequence[float], log: bool) -> Axis:
    """An axis around the finite values, rounded outwards to powers of ten (`log`) or to whole steps."""
    usable = [v for v in values if math.isfinite(v) and (v > 0 or not log)] or [1.0]
    if log:
        low, high = (
            10.0 ** math.floor(math.log10(min(usable))),
            10.0 ** math.ceil(math.log10(max(usable)) + 1e-9),
        )
        return Axis(title, low, max(high, 10 * low), True)
    step = _step(max(usable) - min(usable) or abs(max(usable)) or 1.0)
    return Axis(
        title, math.floor(min(usable) / step) * step, math.ceil(max(usable) / step + 1e-9) * step, False
    )


def _step(span: float) -> float:
    """1, 2 or 5 times a power of ten, so that a span has about five steps."""
    raw = max(span, 1e-9) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    return next(n * power for n in (1, 2, 5, 10) if n * power >= raw * 0.999)


def chart(title: str, x: Axis, y: Axis, lines: Sequence[Series], clouds: Sequence[Series] = ()) -> str:
    """Lines and points over two axes, with a legend below."""

    def px(value: float) -> float:
        return x.at(value, LEFT, WIDTH - RIGHT)

    def py(value: float) -> float:
        return y.at(value, HEIGHT - BOTTOM, TOP)

    out = [*_frame(x, y, px, py)]
    named = [s.name for s in (*lines, *clouds)]
    for at, series in enumerate(lines):
        path = " ".join(f"{px(a):.1f},{py(b):.1f}" for a, b in series.points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{_colour(at)}" stroke-width="2"/>')
        out += [
            f'<circle cx="{px(a):.1f}" cy="{py(b):.1f}" r="2.5" fill="{_colour(at)}"/>'
            for a, b in series.points
        ]
    for at, series in enumerate(clouds, len(lines)):
        for n, (a, b) in enumerate(series.points):
            out.append(
                f'<circle cx="{px(a):.1f}" cy="{py(b):.1f}" r="4" fill="{_colour(at)}" fill-opacity=".8"/>'
            )
            if n < len(series.labels):
                out.append(_text(min(px(a) + 5, WIDTH - 70), py(b) - 4, series.labels[n][:22], size=9))
    legend, rows = _legend(named)
    return _svg(title, HEIGHT + 14 * rows, [*out, *legend])


def _frame(x: Axis, y: Axis, px: object, py: object) -> list[str]:
    assert callable(px)
    assert callable(py)
    out = []
    for value in y.ticks():
        out.append(
            f'<path d="M{LEFT} {py(value):.1f}H{WIDTH - RIGHT}" stroke="currentColor" stroke-opacity=".18"/>'
        )
        out.append(_text(LEFT - 4, py(value) + 3, _short(value), "end"))
    for value in x.ticks():
        out.append(
            f'<path d="M{px(value):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="currentColor" stroke-opacity=".1"/>'
        )
        out.append(_text(px(value), HEIGHT - BOTTOM + 13, _short(value), "middle"))
    out.append(_text(WIDTH - RIGHT, HEIGHT - 6, x.title, "end"))
    out.append(_text(2, TOP - 11, y.title))
    return out


def bars(title: str, rows: Sequence[tuple[str, Sequence[float]]], parts: Sequence[str], unit: str) -> str:
    """Horizontal stacked bars, one for each row, all to one scale."""
    longest = max((sum(values) for _, values in rows), default=1.0) or 1.0
    out, top = [], 8
    for label, values in rows:
        total, left = sum(values), 4.0
        out.append(_text(4, top + 8, f"{label}: {total:.2f} {unit}"))
        for at, value in enumerate(values):
            width = (WIDTH - 8) * value / longest
            out.append(
                f'<rect x="{left:.1f}" y="{top + 13}" '
                f'width="{max(width, 0.0):.2f}" height="16" '
                f'fill="{_colour(at)}"/>'
            )
            left += width
        top += 40
    legend, lines = _legend(parts, top + 4)
    return _svg(title, top + 14 * lines + 4, [*out, *legend])


def _legend(names: Sequence[str], top: float = HEIGHT + 4) -> tuple[list[str], int]:
    """The SVG of the names in two columns, and the number of lines."""
    out = []
    for at, name in enumerate(names):
        left, y = 6 + (at % 2) * (WIDTH // 2), top + 14 * (at // 2)
        out.append(f'<rect x="{left}" y="{y:.0f}" width="9" height="9" fill="{_colour(at)}"/>')
        out.append(_text(left + 13, y + 8, name[:30]))
    return out, -(-len(names) // 2)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = (
        f'<svg viewBox="0 0 {WIDTH} '
        f'{height:.0f}" role="img" aria-label="{escape(title)}" '
        'font-size="10" '
        'font-family="system-ui, sans-serif">'
    )
    return "\n".join([f"<figure>{head}", *parts, f"</svg><figcaption>{escape(title)}</figcaption></figure>"])


def alone(figure: str) -> str:
    """The SVG of a figure, as a file of its own."""
    drawn = figure.removeprefix("<figure><svg").partition("<figcaption>")[0]
    return f'<svg xmlns="http://www.w3.org/2000/svg"{drawn}'


def _text(x: float, y: float, text: str, anchor: str = "start", size: int = 10) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" '
        f'text-anchor="{anchor}" font-size="{size}" '
        f'fill="currentColor">{escape(text)}</text>'
    )


def _short(value: float) -> str:
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:.3g}"


def _colour(at: int) -> str:
    return COLOURS[at % len(COLOURS)]
