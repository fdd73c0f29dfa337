"""What the memory is compared with, by name: each takes a talk and gives a ranking of its turns."""

from __future__ import annotations

from collections.abc import Callable

from gamer.runtime.memory.recall import Encoder

from ..talks import Talk
from . import bm25_window, dense_turns, facts, summaries

Rank = Callable[[str], list[int]]  # a question → turns, best first
BASELINES: dict[str, Callable[[Talk, Encoder], Rank]] = {
    "bm25-window": bm25_window.over,
    "dense-turns": dense_turns.over,
    "summaries": summaries.over,
    "facts": facts.over,
}
