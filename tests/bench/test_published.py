"""The paper's figures are read from one file, and stand only beside what they can be compared with."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamer.bench import published
from gamer.bench.published import PAPER, PAPER_MS, beside
from gamer.runtime.errors import RuntimeFailure
from tests.paths import ROOT


def test_the_papers_layers_add_up_to_its_total() -> None:
    layers = {name: ms for name, ms in PAPER_MS.items() if name != "all"}
    assert sum(layers.values()) == PAPER_MS["all"] == 2717


def test_every_figure_is_written_in_the_file_alone() -> None:
    raw = json.loads((Path(published.__file__).parent / "published.json").read_text(encoding="utf-8"))
    assert raw["table_3"]["flickr"] == PAPER.table_3["flickr"]
    assert raw["settings"] == PAPER.settings


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"table_5": {', '"table_5b": {', "must have 'table_5'"),
        ('"table_5": {', '"table_4": {', "the key 'table_4' stands twice"),
        ('"model": "BM25"', '"model": "BM26"', "Table 1: no BM25"),
        ('"model": "FLAVA"', '"model": "CLIP"', "Table 1: CLIP stands 2 times"),
        ('"w/o Layer-2": ', '"w/o Layer-9": ', "Table 4: no w/o Layer-2"),
        ('"w/o L_RLHF": [94.3, 90.6]', '"w/o L_RLHF": [94.3]', "must be a list of at most 2"),
        ('{"cube": 744, ', "{", "Table 3: no cube"),
        ('"delta": [0.5, ', '"delta": [', "Table 6: a figure is missing"),
        ('"alpha": [0.3', '"alpha": [null', "table_8.alpha"),
    ],
)
def test_a_figure_that_is_missing_or_doubled_is_one_line(
    old: str, new: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = published.FILE.read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "published.json"
    broken.write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(published, "FILE", broken)
    with pytest.raises(RuntimeFailure) as raised:
        published._read()
    assert words in str(raised.value)
    assert str(raised.value).startswith(str(broken))
    assert str(raised.value).endswith(": mend it by the paper")
    assert "\n" not in str(raised.value)


TEXT = ROOT.parent / "shared" / "papers" / "gamer.txt"


@pytest.mark.skipif(not TEXT.is_file(), reason="the paper's text is not here")
def test_every_figure_is_printed_in_the_paper() -> None:
    """Each table's numbers stand in the lines between its title and the next one's."""
    raw = json.loads((Path(published.__file__).parent / "published.json").read_text(encoding="utf-8"))
    lines = TEXT.read_text(encoding="utf-8").splitlines()
    for table in (1, 2, 3, 4, 5, 6, 7, 8, 10, 11):
        start = next(n for n, line in enumerate(lines) if line.startswith(f"Table {table}:"))
        after = (n for n, line in enumerate(lines) if n > start and line.startswith(("Table ", "REFERENCES")))
        printed = set(re.findall(r"\d+(?:\.\d+)?", " ".join(lines[start : next(after, start + 80)])))
        printed |= {str(float(number)) for number in printed}
        milliseconds = 1000 if table == 3 else 1
        for number in numbers(raw[f"table_{table}"]):
            if (table, number) in ((11, 500), (11, 40), (11, 30), (11, 10)):  # in the text of Appendix L
                continue
            shown = {f"{number / milliseconds:g}", str(number / milliseconds), f"{number / milliseconds:.3f}"}
            assert shown & printed, (table, number)


def numbers(value: object) -> Iterator[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from numbers(one)
    elif isinstance(value, int | float):
        yield value


def test_what_is_computed_from_the_tables() -> None:
    assert PAPER.less_llm_g == {
        "GPT-2": 15.5,
        "Flan-T5": 14.2,
        "Qwen2": 14.1,
        "Qwen2.5": 14.1,
        "Gemma3": 14.4,
    }
    assert (PAPER.gamer_g, PAPER.experts, len(PAPER.table_1), len(PAPER.table_2)) == (32.1, 2.2, 42, 13)
    assert published.pair(PAPER.row(*published.METHODS["bm25"]).flickr) == "86.6 / 69.4"
    assert published.pair(PAPER.table_4[published.WITHOUT["paper, no layer 2"]]) == "84.5 / 81.5"


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
