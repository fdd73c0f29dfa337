"""Where tables are printed: a text of an album or a bundle is shown, and controls nothing."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from .console import passage


class Screen(Console):
    """Takes texts as they are: not as markup, not as names of emoji, and without control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(passage(text), **options)
