"""The figures that GAMER's tables print, read from published.json: the one place where they are written.

It knows nothing of our measurements, except which of them a figure of the paper may stand beside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gamer.index.json_checked import Items, JsonError, parse, read_as
from gamer.runtime.errors import RuntimeFailure

FILE = Path(__file__).with_name("published.json")
Pair = Annotated[tuple[float, ...], Items(2, 2)]
Columns = dict[str, tuple[float, ...]]
ABSENT = "–"  # of a row that the paper does not have


@dataclass(frozen=True)
class Scores:
    """A row of Tables 1 or 2. `flickr`, `yfcc100m`, `album`: recall and MAP in percent, K = 5."""

    llm: str
    model: str
    parameters_b: float
    flops_g: float
    flickr: Pair
    yfcc100m: Pair
    album: Pair


@dataclass(frozen=True)
class Published:
    """The file: every figure that the paper's tables print, in their units, Table 3 in milliseconds.

    `settings`: of section 4.1 and Appendix E. Tables 3 to 5 are by name; of Tables 6 to 8 and 10 each name
    has a column.
    """

    source: str
    settings: dict[str, Any]
    table_1: tuple[Scores, ...]
    table_2: tuple[Scores, ...]
    table_3: dict[str, dict[str, int]]
    table_4: dict[str, Pair]
    table_5: dict[str, Pair]
    table_6: Columns
    table_7: Columns
    table_8: Columns
    table_9: dict[str, Any]
    table_10: dict[str, tuple[Any, ...]]
    table_11: dict[str, Any]

    def faults(self) -> Iterator[str]:
        """What is missing or stands twice, in words."""
        for table in (6, 7, 8, 10):
            columns: dict[str, Sequence[Any]] = getattr(self, f"table_{table}")
            if len({len(column) for column in columns.values()}) > 1:
                yield f"Table {table}: a figure is missing in a column, or one too many"
        for table, rows in ((1, self.table_1), (2, self.table_2)):
            names = Counter(f"{row.model} {row.llm}".strip() for row in rows)
            yield from (f"Table {table}: {name} stands {n} times" for name, n in names.items() if n > 1)
        there = {(row.model, row.llm) for row in self.table_1}
        yield from (f"Table 1: no {' '.join(name)}" for name in METHODS.values() if name not in there)
        yield from (f"Table 3: no {name}" for name in LAYERS if name not in self.table_3.get("flickr", ()))
        yield from (
            f"Table 4: no {name}" for name in (*WITHOUT.values(), *LOSSES) if name not in self.table_4
        )

    @property
    def gamer_g(self) -> float:
        """10⁹ FLOPs of GAMER with Qwen2-1.5B (Table 1), in a convention that the paper does not state."""
        return self.row("GAMER", "Qwen2").flops_g

    @property
    def less_llm_g(self) -> dict[str, float]:
        """Language model → GAMER's FLOPs less that model's, which are those of GAR+ALIGN less ALIGN's."""
        align = self.row("ALIGN").flops_g
        return {
            row.llm: round(row.flops_g - (self.row("GAR+ALIGN", row.llm).flops_g - align), 1)
            for row in self.table_1
            if row.model == "GAMER"
        }

    @property
    def experts(self) -> float:
        """Experts that run on average, of `settings["experts"]`, at its ρ (Table 7)."""
        return float(self.at(7, "rho", self.settings["rho"])["experts"])

    def row(self, model: str, llm: str = "") -> Scores:
        """A row of Table 1. Raises StopIteration for one that it does not have."""
        return next(row for row in self.table_1 if (row.model, row.llm) == (model, llm))

    def at(self, table: int, name: str, value: float) -> dict[str, float]:
        """Of a table whose columns belong to values of `name`, those of `value`; empty if it has none."""
        columns: dict[str, Any] = getattr(self, f"table_{table}")
        if value not in columns[name]:
            return {}
        place = columns[name].index(value)
        return {key: column[place] for key, column in columns.items()}


# Our methods → the paper's rows, with Qwen2 where the paper has several language models.
METHODS = {
    "ours": ("GAMER", "Qwen2"),
    "ours-paper": ("GAMER", "Qwen2"),
    "ours-strict": ("GAMER", "Qwen2"),
    "bm25": ("BM25", ""),
    "dense": ("GTE_L", ""),
    "st": ("ST-Matching", ""),
    "gar": ("GAR+GTE_L", "Qwen2"),
    "pa-cqr": ("PA-CQR+GTE_L", "Qwen2"),
    "minirag": ("MiniRAG", "Qwen2"),
    "graphrag": ("GraphRAG", "Qwen2"),
    "reminisce": ("Reminisce", "Qwen2"),
}
# Our searches without a part → the paper's rows of Table 4.
WITHOUT = {
    "full": "GAMER",
    "paper": "GAMER",
    **{f"{mode}no layer {n}": f"w/o Layer-{n}" for mode in ("", "paper, ") for n in (1, 2, 3)},
}
LOSSES = ("w/o L_Layer-2", "w/o L_Layer-3", "w/o L_RLHF")
LAYERS = ("cube", "kdtree", "refine", "graph", "vectors", "all")


def _read() -> Published:
    """Raises RuntimeFailure for a file that lacks a figure or has one twice."""
    try:
        paper: Published = read_as(Published, parse(FILE.read_text(encoding="utf-8"), unique=True))
        fault = next(paper.faults(), "")
    except (OSError, JsonError) as error:
        fault = str(error)
    if fault:
        raise RuntimeFailure(f"{FILE}: {fault}: mend it by the paper")
    return paper


PAPER = _read()
PAPER_MS = PAPER.table_3["flickr"]
GENERATED = ("refine", "all")  # layers whose figure of the paper holds a language model's generation
LATENCY_NOTE = (
    "The paper's column is its Table 3 (Flickr); the paper names no hardware, and its models and albums are "
    f"others. Its reformulation ({PAPER_MS['refine']:,} ms) and its total ({PAPER_MS['all']:,} ms) hold the "
    "generation by a language model: they stand beside ours only where ours generates too, since otherwise "
    'our layer "refine" is the text tower. It reads time and place by NER and a geolocation service, ours '
    "by rules and a gazetteer."
)


def beside(layer: str, refined_by: str) -> int | None:
    """The paper's milliseconds that may stand beside our `layer` of a search refined by `refined_by`.

    None for what the paper does not have, and for what it generates by a language model where we do not.
    """
    return None if layer in GENERATED and refined_by != "llm" else PAPER_MS.get(layer)


def pair(scores: Sequence[float]) -> str:
    """Recall and MAP, as the tables print them."""
    return f"{scores[0]:.1f} / {scores[1]:.1f}"
