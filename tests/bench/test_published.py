"""The paper's figures are read from one file, and stand only beside what they can be compared with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gamer.bench import published
from gamer.bench.published import PAPER, PAPER_MS, beside


def test_the_papers_layers_add_up_to_its_total() -> None:
    layers = {name: ms for name, ms in PAPER_MS.items() if name != "all"}
    assert sum(layers.values()) == PAPER_MS["all"] == 2717


def test_every_figure_is_written_in_the_file_alone() -> None:
    raw = json.loads((Path(published.__file__).parent / "published.json").read_text(encoding="utf-8"))
    assert raw["table_3"]["ms"] == PAPER.layer_ms and raw["settings"] == PAPER.settings


@pytest.mark.parametrize(
    ("layer", "refined_by", "ms"),
    [
        ("refine", "llm", 1149),
        ("refine", "fast", None),  # our layer is the text tower then
        ("refine", "off", None),
        ("all", "fast", None),
        ("all", "llm", 2717),
        ("graph", "fast", 470),
        ("search", "llm", None),
    ],
)
def test_generation_stands_beside_generation_alone(layer: str, refined_by: str, ms: int | None) -> None:
    assert beside(layer, refined_by) == ms
