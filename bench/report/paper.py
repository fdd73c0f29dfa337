"""Draws the paper's tables with our results, beside the paper's figures.

The results are read from the JSON of `bench quality` and of studies; nothing is measured.
The paper's figures are in published.json; a row that the paper does not have gets a dash;
tables that cannot be drawn yet are named with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..cost import reconcile
from ..cost.costs_tables import reconciled
from ..published import ABSENT, PAPER, quality_of
from ..retrieval.datasets import DatasetError
from . import paper_ablation, paper_training
from .paper_ablation import table, with_interval

NOT_DRAWN: tuple[tuple[str, str], ...] = (
    ("Table 4, a row for the memory's likelihood", "it trains the language model, for hours here"),
    ("Table 2, unseen users", "the protocol (three quarters of the users train) is not run yet"),
    ("Table 5, people's judgements of refinements", "it asks twenty volunteers"),
    ("Figures 4 to 6, users and photos on the axis", "drawn without numbers in the paper, and not run yet"),
)


def draw(folder: Path) -> str:
    """Markdown of every table for which `folder` has results.

    Raises DatasetError if there are none, or if a file is of another version.
    """
    ablations, qualities = _read(folder, "ablation-*.json"), _read(folder, "quality-*.json")
    if not ablations and not qualities:
        raise DatasetError(
            f"{folder}: no ablation-*.json or quality-*.json: write them with `gamer bench "
            "study ablation` and `gamer bench quality`"
        )
    try:
        parts = [
            _head(ablations + qualities),
            *_quality_table(qualities),
            *(part for ablation in ablations for part in paper_ablation.tables(ablation)),
            *(_table6(deltas) for deltas in _read(folder, "delta.json")),
            *(paper_training.losses(channels) for channels in _read(folder, "channels.json")),
            *(paper_training.alphas(result) for result in _read(folder, "alpha.json")),
            *_updates(_read(folder, "update-*.json")),
            *(_table9(replay) for replay in _read(folder, "replay.json")),
            _not_drawn(),
        ]
    except (KeyError, TypeError, IndexError) as error:
        raise DatasetError(
            f"{folder}: a result file of another version (no {error}): measure again"
        ) from None
    return "\n\n".join(parts)


def _read(folder: Path, pattern: str) -> list[Any]:
    out = []
    for path in sorted(folder.glob(pattern)):
        try:
            out.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise DatasetError(f"{path}: cannot be read ({error})") from None
    return out


def _head(results: Sequence[Any]) -> str:
    measured_on = results[0]["machine"]
    sheet = reconciled()
    sets = ", ".join(dict.fromkeys(str(result["dataset"]) for result in results))
    return (
        f"# The paper's tables, from our system\n\nData: {sets}; bundle: {results[0]['bundle']}; "
        f"{measured_on['cpu_info']}, {measured_on['cores']} cores. "
        "The paper measured other data (Flickr), other encoders (GTE-large, CLIP-ViT-L/14) and a language "
        "model of 1.5 B parameters, and names no hardware: rows correspond, figures do not.\n\n"
        f"## Table 1: FLOPs\n\nGAMER with Qwen2: the paper gives {PAPER.gamer_g} G; "
        f"`gamer bench flops` counts ours.\n\n{table(sheet.columns, _strings(sheet.rows))}\n\n"
        f"What differs: {reconcile.notes()}"
    )


def _strings(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def _quality_table(qualities: Sequence[Any]) -> list[str]:
    if not qualities:
        return []
    sets = list(dict.fromkeys(str(quality["dataset"]) for quality in qualities))
    names = list(dict.fromkeys(row["method"] for quality in qualities for row in quality["methods"]))
    cells = {
        (quality["dataset"], row["method"]): row["scores"]
        for quality in reversed(qualities)  # of several files with a method, the first one counts
        for row in quality["methods"]
    }
    rows = [
        [name, *(_cell(cells.get((dataset, name))) for dataset in sets), quality_of(name)] for name in names
    ]
    head = ["Recall@5 / MAP@5 (Appendix D)", *sets, "the paper, Flickr, %"]
    return [
        "## Retrieval quality\n\n"
        + table(head, rows)
        + "\n\n* p < 0.05 against ours (paired permutation test, Holm-corrected). "
        "A dash: not measured. The baselines run on our album and encoder; the graph and coarse-to-fine ones "
        "are adaptations (their docstrings say what differs), and no data set here has pixels."
    ]


def _cell(scores: Any) -> str:
    if scores is None:
        return "–"
    p = scores["recall5"]["p_holm"]
    return (
        f"{scores['recall5']['mean']:.3f}{'*' if p is not None and p < 0.05 else ''} / "
        f"{scores['map5']['mean']:.3f}"
    )


def _table6(deltas: Any) -> str:
    parts = [_deltas_of(one, deltas["own_delta"]) for one in deltas["sets"]]
    chosen = PAPER.settings
    return (
        "# Table 6: δ, mode paper\n\n"
        + "\n\n".join(parts)
        + f"\n\nWhat differs: the paper's {chosen['delta']} is a cosine of {chosen['text_encoder']}, whose "
        'cosines are greater than this encoder\'s, so its δ cannot be ours; "nested" is the δ with which all '
        "*other* users have the best recall@5, a user's own queries having no say. When no node reaches δ, "
        f"nothing is dropped. For a new user all of them choose {deltas['for_new_user']}."
    )


def _updates(results: Sequence[Any]) -> list[str]:
    return [paper_training.updates(results)] if results else []


def _deltas_of(one: Any, own: float) -> str:
    rows = [
        [
            f"{row['delta']}{' (the bundle)' if row['delta'] == own else ''}",
            with_interval(row["scores"]["recall5"]),
            f"{row['scores']['map5']['mean']:.3f}",
            f"{row['nodes']:.1f}",
            f"{row['left']:.0f}",
            f"{row['graph_ms']:.2f}",
            _nodes_of(row["delta"]),
        ]
        for row in one["rows"]
    ]
    rows.append(["nested", f"{one['nested_recall5']:.3f}", f"{one['nested_map5']:.3f}", "", "", "", ""])
    head = [
        "δ",
        "Recall@5 (95 %)",
        "MAP@5",
        "#nodes",
        "photos after the graph",
        "graph, ms",
        "the paper, Flickr",
    ]
    return f"{one['dataset']}, {one['users']} users, {one['queries']} queries:\n\n{table(head, rows)}"


def _nodes_of(delta: float) -> str:
    """The paper's recall and number of nodes at a δ (Table 6)."""
    found = PAPER.at(6, "delta", delta)
    return f"{found['recall']} %, {found['nodes']} nodes" if found else ABSENT


def _table9(replay: Any) -> str:
    example = PAPER.raw["table_9"]
    rows = [
        [
            row["query"],
            "; ".join((*row["cues"], *row["cubes"])) or "N/A",
            f"{row['refined']} ({row['refined_by']})",
            ", ".join(f"{name} {similarity:.2f}" for name, similarity in row["entities"]) or "none",
            " → ".join(str(row["left"][layer]) for layer in ("album", "cube", "graph", "vectors")),
            ", ".join(row["hits"]),
        ]
        for row in replay["replayed"]
    ]
    head = ["Q", "cube", "Q̂", f"nodes over δ {replay['delta']}", "photos left", "hits"]
    return (
        "# Table 9: examples, replayed\n\n"
        + table(head, rows)
        + "\n\nWhat differs: the first query is the paper's example and the second asks for its example of a "
        "memory (a chair, IKEA, 119), the album was invented for them. The paper's own system read "
        f"{example['location']} and a time up to the query's, and its refinement added "
        f"{', '.join(example['adds'])}, which ours would refuse: the query does not say them."
    )


def _not_drawn() -> str:
    rows = "\n".join(f"- {what}: {why}." for what, why in NOT_DRAWN)
    return f"# What is not drawn\n\n{rows}"
