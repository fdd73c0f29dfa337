"""Where tables are printed: a text of an album or a bundle is shown, and controls nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from .console import passage


class Screen(Console):
    """Takes texts as they are: not as markup, not as names of emoji, and without control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(passage(text), **options)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[str] = (), **look: Any
) -> Table:
    """`right`: the columns of numbers. `look`: of rich's Table."""
    made = Table(**look)
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", overflow="fold")
    for cells in rows:
        made.add_row(*cells)
    return made
