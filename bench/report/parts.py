"""A table or a figure of the paper beside ours: for a page, as Markdown, and in the JSON."""

from __future__ import annotations

from dataclasses import dataclass

from ..tables import Sheet
from .plots import Series, axis, chart


@dataclass(frozen=True)
class Plot:
    """Lines over an axis `across`; both axes are linear."""

    title: str
    across: str
    up: str
    lines: tuple[Series, ...]

    def svg(self) -> str:
        points = [point for line in self.lines for point in line.points]
        x = axis(self.across, [a for a, _ in points], log=False)
        return chart(self.title, x, axis(self.up, [b for _, b in points], log=False), self.lines)


@dataclass(frozen=True)
class Part:
    """`name`: "Table 4". `differs`: one sentence on what is not as in the paper."""

    name: str
    what: str
    sheets: tuple[Sheet, ...]
    differs: str
    plots: tuple[Plot, ...] = ()

    def lines(self) -> list[Sheet | str]:
        """For Markdown; the plots' points are in the sheets."""
        return [f"## {self.name}: {self.what}", *self.sheets, f"What differs: {self.differs}"]


def percent(share: float) -> str:
    return f"{100 * share:.1f}"
