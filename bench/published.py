"""The figures that GAMER's tables print, read from published.json: the one place where they are written.

It knows nothing of our measurements, except which of them a figure of the paper may stand beside.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ABSENT = "–"  # of a row that the paper does not have


@dataclass(frozen=True)
class Scores:
    """A row of Tables 1 or 2. `flickr`, `yfcc100m`, `album`: recall and MAP in percent, K = 5."""

    llm: str
    model: str
    parameters_b: float
    flops_g: float
    flickr: tuple[float, float]
    yfcc100m: tuple[float, float]
    album: tuple[float, float]


@dataclass(frozen=True)
class Published:
    """The paper's figures. `settings`: of its section 4.1 and Appendix E. `seen`, `unseen`: Tables 1 and 2.

    `layer_ms`: milliseconds by layer, and "all" (Table 3, Flickr). `ablation`: recall and MAP without a part
    (Table 4). The others are the tables' rows by name, or None where a column lacks the value asked for.
    """

    settings: dict[str, Any]
    seen: tuple[Scores, ...]
    unseen: tuple[Scores, ...]
    layer_ms: dict[str, int]
    ablation: dict[str, tuple[float, float]]
    raw: dict[str, Any]

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
            for row in self.seen
            if row.model == "GAMER"
        }

    @property
    def experts(self) -> float:
        """Experts that run on average, of `settings["experts"]`, at its ρ (Table 7)."""
        return float(self.at(7, "rho", self.settings["rho"])["experts"])

    def row(self, model: str, llm: str = "") -> Scores:
        """A row of Table 1. Raises StopIteration for one that it does not have."""
        return next(row for row in self.seen if (row.model, row.llm) == (model, llm))

    def at(self, table: int, name: str, value: float) -> dict[str, float]:
        """Of a table whose columns belong to values of `name`, those of `value`; empty if it has none."""
        columns: dict[str, Any] = self.raw[f"table_{table}"]
        if value not in columns[name]:
            return {}
        place = columns[name].index(value)
        return {key: column[place] for key, column in columns.items()}


def _scores(rows: list[dict[str, Any]]) -> tuple[Scores, ...]:
    names, figures = ("llm", "model", "parameters_b", "flops_g"), ("flickr", "yfcc100m", "album")
    return tuple(
        Scores(*(row[name] for name in names), *((row[name][0], row[name][1]) for name in figures))
        for row in rows
    )


def _read() -> Published:
    raw = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
    return Published(
        settings=raw["settings"],
        seen=_scores(raw["table_1"]),
        unseen=_scores(raw["table_2"]),
        layer_ms=raw["table_3"]["flickr"],
        ablation={name: (recall, mean) for name, (recall, mean) in raw["table_4"].items()},
        raw=raw,
    )


PAPER = _read()
PAPER_MS = PAPER.layer_ms
GENERATED = ("refine", "all")  # layers whose figure of the paper holds a language model's generation
LATENCY_NOTE = (
    "The paper's column is its Table 3 (Flickr); the paper names no hardware, and its models and albums are "
    f"others. Its reformulation ({PAPER_MS['refine']:,} ms) and its total ({PAPER_MS['all']:,} ms) hold the "
    "generation by a language model: they stand beside ours only where ours generates too, since otherwise "
    'our layer "refine" is the text tower. It reads time and place by NER and a geolocation service, ours '
    "by rules and a gazetteer."
)
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


def beside(layer: str, refined_by: str) -> int | None:
    """The paper's milliseconds that may stand beside our `layer` of a search refined by `refined_by`.

    None for what the paper does not have, and for what it generates by a language model where we do not.
    """
    return None if layer in GENERATED and refined_by != "llm" else PAPER_MS.get(layer)


def pair(scores: tuple[float, float]) -> str:
    """Recall and MAP, as the tables print them."""
    return f"{scores[0]:.1f} / {scores[1]:.1f}"
