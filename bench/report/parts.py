"""A table or a figure of the paper beside ours: for a page, as Markdown, and in the JSON."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..published import ABSENT
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


def mean(interval: Any) -> str:
    return percent(interval["mean"])


def with_interval(interval: Any) -> str:
    return f"{mean(interval)} ({percent(interval['low'])}–{percent(interval['high'])})"


def scored(scores: Any, recall: Callable[[Any], str]) -> str:
    """Recall, as `recall` prints it, with a star where it differs from ours, and MAP; a dash for none."""
    if scores is None:
        return ABSENT
    p = scores["recall5"]["p_holm"]
    mark = "*" if p is not None and p < 0.05 else ""
    return f"{recall(scores['recall5'])}{mark} / {mean(scores['map5'])}"


def template(name: str) -> Any:
    """A page's template of this folder; a value that it is not given is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    loader = FileSystemLoader(Path(__file__).parent)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined).get_template(name)
