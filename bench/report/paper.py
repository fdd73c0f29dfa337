"""Draws the paper's Tables 1 to 11 and Figures 3 to 6 beside ours, from the results of a folder.

Nothing is measured. The paper's figures are in published.json. What the folder has no result for is drawn
with the paper's figures alone; a row that the paper does not have gets a dash.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..cost import reconcile
from ..cost.costs_tables import reconciled
from ..files import write_atomically
from ..published import ABSENT, METHODS, PAPER, Scores, pair
from ..retrieval.datasets import DatasetError
from ..tables import Sheet
from . import paper_ablation, paper_training
from .parts import Part, mean, percent, scored, template, with_interval

Results = Mapping[str, Sequence[Any]]
FILES = {
    "quality": "quality-*.json",
    "adapter": "adapter.json",
    "ablation": "ablation-*.json",
    "channels": "channels*.json",
    "generated": "generated*.json",
    "delta": "delta.json",
    "alpha": "alpha.json",
    "replay": "replay.json",
    "update": "update-*.json",
    "continued": "continued.json",
}
INTRODUCTION = (
    "GAMER's Tables 1 to 11 and Figures 3 to 6 (Generation-Augmented Multimodal Personalized Retrieval), "
    "beside what this project measures. Recall and MAP are in percent, at K = 5. The paper measured other "
    "data (Flickr, YFCC100M, Album), other encoders (GTE-large, CLIP-ViT-L/14) and a language model of 1.5 B "
    "parameters, and names no hardware: rows correspond, figures do not. A dash: not in the paper, or not "
    "measured here."
)


def parts(folder: Path) -> list[Part]:
    """Every table and figure, in the paper's order.

    Raises DatasetError if there is no result, or if a file is of another version.
    """
    results = {kind: _read(folder, pattern) for kind, pattern in FILES.items()}
    if not any(results.values()):
        raise DatasetError(
            f"{folder}: none of {', '.join(FILES.values())}: write them with `gamer bench quality` and "
            "`gamer bench study`"
        )
    try:
        return [draw(results) for draw in _DRAWN]
    except (KeyError, TypeError, IndexError, AttributeError, StopIteration) as error:
        raise DatasetError(
            f"{folder}: a result file of another version (no {error}): measure again"
        ) from None


def write(out: Path, drawn: Sequence[Part]) -> None:
    """One page without script and without other files, written aside and then renamed to `out`."""
    page = template("paper.html").render(parts=drawn, introduction=INTRODUCTION)
    write_atomically(out, page)


def _read(folder: Path, pattern: str) -> list[Any]:
    out = []
    for path in sorted(folder.glob(pattern)):
        try:
            out.append(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError) as error:
            raise DatasetError(f"{path}: cannot be read ({error})") from None
    return out


def table1(results: Results) -> Part:
    sets: dict[str, dict[str, Any]] = {}
    for result in results["quality"]:  # of several files with a method, the first one counts
        of_set = sets.setdefault(result["dataset"], {})
        of_set |= {row["method"]: row["scores"] for row in result["methods"] if row["method"] not in of_set}
    ours = dict.fromkeys(name for of_set in sets.values() for name in of_set)
    rows = []
    for row in PAPER.table_1:
        named = [name for name in ours if METHODS.get(name) == (row.model, row.llm)]
        rows += [(*_printed(row), name, *_cells(sets, name)) for name in named or [ABSENT]]
    rows += [(*[ABSENT] * len(_PRINTED), name, *_cells(sets, name)) for name in ours if name not in METHODS]
    differs = (
        "the baselines run on our albums and our encoder, untrained, and their docstrings say how they are "
        "likenesses; no data set here has pixels; * is p < 0.05 against ours (paired permutation test, Holm)."
    )
    quality = Sheet("Recall / MAP, ours (Appendix D)", (*_PRINTED, "ours", *sets), tuple(rows))
    what = "quality, parameters and FLOPs of the methods"
    return Part("Table 1", what, (quality, reconciled()), f"{differs} Of the FLOPs: {reconcile.notes()}")


_PRINTED = ("the paper's method", "its LLM", "parameters, B", "FLOPs, G", "Flickr", "YFCC100M", "Album")


def _printed(row: Scores) -> tuple[str, ...]:
    """A row of Tables 1 and 2, as printed."""
    scores = (pair(of) for of in (row.flickr, row.yfcc100m, row.album))
    return row.model, row.llm or ABSENT, f"{row.parameters_b:g}", f"{row.flops_g:g}", *scores


def _cells(sets: Mapping[str, Mapping[str, Any]], method: str) -> list[str]:
    return [scored(of_set.get(method), mean) for of_set in sets.values()]


def table2(results: Results) -> Part:
    unseen = [row for result in results["adapter"] for row in result["rows"] if row["split"] == "unseen"]
    names = ("search", "search_adapted", "search_titled")
    columns = ("user", "queries", "untrained, recall", "query adapter, recall", "and titles, recall")
    rows = [(row["user"], str(row["queries"]), *(_share(row.get(name)) for name in names)) for row in unseen]
    if unseen:
        means = [[row.get(name) for row in unseen] for name in names]
        shares = (_share(None if None in of else sum(of) / len(of)) for of in means)
        rows.append(("mean", str(sum(row["queries"] for row in unseen)), *shares))
    printed = Sheet("The paper", _PRINTED, tuple(map(_printed, PAPER.table_2)))
    differs = (
        "the paper trains its whole model on three quarters of all users; ours trains the query's side of "
        "the text tower on six of eight photographers, in four folds, and its recall alone is measured."
    )
    what = "users that were not trained on"
    return Part("Table 2", what, (printed, Sheet("Ours, camroll-mpr", columns, tuple(rows))), differs)


def _share(value: float | None) -> str:
    return ABSENT if value is None else percent(value)


def table5(_: Results) -> Part:
    rows = [
        (name.replace("_", " "), f"{mean} ± {spread}", ABSENT)
        for name, (mean, spread) in PAPER.table_5.items()
    ]
    differs = "it asks twenty volunteers, whom this project does not have, so nothing stands beside it."
    what = "people's ranking of refinements and the reward's (Appendix B)"
    return Part("Table 5", what, (Sheet("Correlation", ("", "the paper", "ours"), tuple(rows)),), differs)


def table6(results: Results) -> Part:
    columns = ("δ", "recall (95 %)", "MAP", "nodes", "photos after the graph", "graph, ms", *_OF_DELTA)
    sheets = []
    for deltas in results["delta"]:
        for one in deltas["sets"]:
            rows = [_delta(row, deltas["own_delta"]) for row in one["rows"]]
            nested = (percent(one["nested_recall5"]), percent(one["nested_map5"]))
            rows.append(("nested", *nested, *[""] * (len(columns) - 3)))
            title = f"{one['dataset']}, {one['users']} users, {one['queries']} queries"
            sheets.append(Sheet(title, columns, tuple(rows)))
    chosen = PAPER.settings
    differs = (
        f"the paper's {chosen['delta']} is a cosine of {chosen['text_encoder']}, whose cosines are greater "
        "than this encoder's, so its δ cannot be ours; nested is the δ that all other users choose by recall."
    )
    return Part("Table 6", "δ, in mode paper", tuple(sheets), differs)


_OF_DELTA = ("the paper, recall", "the paper, nodes", "the paper, s")


def _delta(row: Any, own: float) -> tuple[str, ...]:
    printed = PAPER.at(6, "delta", row["delta"])
    return (
        f"{row['delta']}{' (the bundle)' if row['delta'] == own else ''}",
        with_interval(row["scores"]["recall5"]),
        percent(row["scores"]["map5"]["mean"]),
        f"{row['nodes']:.1f}",
        f"{row['left']:.0f}",
        f"{row['graph_ms']:.2f}",
        *(str(printed.get(name, ABSENT)) for name in ("recall", "nodes", "seconds")),
    )


def table9(results: Results) -> Part:
    example = PAPER.table_9
    printed = (
        ("the memory names", ", ".join(example["memory_names"])),
        ("location that was read", example["location"]),
        ("words that its refinement adds", ", ".join(example["adds"])),
    )
    columns = ("Q", "cube", "Q̂", "nodes over δ", "photos left by layer", "hits")
    rows = [
        (
            row["query"],
            "; ".join((*row["cues"], *row["cubes"])) or "N/A",
            f"{row['refined']} ({row['refined_by']})",
            ", ".join(f"{name} {similarity:.2f}" for name, similarity in row["entities"]) or "none",
            " → ".join(str(row["left"][layer]) for layer in ("album", "cube", "graph", "vectors")),
            ", ".join(row["hits"]),
        )
        for replay in results["replay"]
        for row in replay["replayed"]
    ]
    differs = (
        "the first query asks for the paper's photo in other words and the second for its example of a "
        "memory (a chair, IKEA, 119), in an album invented for them; ours reads no place from 'airport', and "
        "its language model, untrained and shown names that share a word with the query, adds nothing; with "
        "the paper's words (given) the nodes of the trip join."
    )
    sheets = (Sheet("The paper", ("", "printed"), printed), Sheet("Ours", columns, tuple(rows)))
    return Part("Table 9", "examples, replayed", sheets, differs)


def _of(draw: Callable[..., Part], *kinds: str) -> Callable[[Results], Part]:
    return lambda results: draw(*(results[kind] for kind in kinds))


_DRAWN = (
    table1,
    table2,
    _of(paper_ablation.table3, "ablation"),
    lambda results: paper_ablation.table4(
        results["ablation"],
        [*paper_training.losses(results["channels"]), *paper_training.generated(results["generated"])],
    ),
    table5,
    table6,
    _of(paper_ablation.table7, "ablation", "channels"),
    _of(paper_training.alphas, "alpha"),
    table9,
    _of(paper_ablation.table10, "ablation"),
    _of(paper_training.updates, "update", "continued"),
    *(_of(partial(paper_ablation.figure, name), "ablation", "quality") for name in paper_ablation.FIGURES),
)
