"""Draws the paper's tables with our results, beside the paper's figures.

The results are read from the JSON of `bench ablation` and `bench quality`; nothing is measured. A figure of
the paper that this project's documents do not quote is shown as "not quoted" and is never estimated.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..cost import reconcile
from ..cost.flops_tables import reconciled
from ..published import LATENCY_NOTE, PAPER, PAPER_MS, beside
from .datasets import DatasetError

NOT_QUOTED = "not quoted"
_LAYERS = {
    "cube": "cube",
    "kdtree": "K-D tree",
    "refine": "text tower, refined by rules",
    "graph": "graph",
    "vectors": "vectors",
}
Row = Sequence[str]


def draw(folder: Path) -> str:
    """Markdown of every table for which `folder` has results.

    Raises DatasetError if there are none, or if a file is of another version.
    """
    ablations, qualities = _read(folder, "ablation-*.json"), _read(folder, "quality-baselines-*.json")
    if not ablations and not qualities:
        raise DatasetError(
            f"{folder}: no ablation-*.json or quality-baselines-*.json: write them with `gamer bench "
            "ablation` and `gamer bench quality`"
        )
    try:
        parts = [
            _head(ablations + qualities),
            *_quality_table(qualities),
            *(part for ablation in ablations for part in _ablation_tables(ablation)),
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


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _head(results: Sequence[Any]) -> str:
    measured_on = results[0]["machine"]
    sheet = reconciled()
    sets = ", ".join(dict.fromkeys(str(result["dataset"]) for result in results))
    return (
        f"# The paper's tables, from our system\n\nData: {sets}; bundle: {results[0]['bundle']}; "
        f"{measured_on['cpu_info']}, {measured_on['cores']} cores. "
        "The paper measured other data (Flickr), other encoders (GTE-large, CLIP-ViT-L/14) and a language "
        "model of 1.5 B parameters, and names no hardware: rows correspond, figures do not. Cells say "
        f'"{NOT_QUOTED}" where our documents do not hold the paper\'s figure.\n\n'
        f"## Table 1: FLOPs\n\nGAMER with Qwen2: the paper gives {PAPER.gamer_g} G; "
        f"`gamer bench flops` counts ours.\n\n{table(sheet.columns, _strings(sheet.rows))}\n\n"
        f"What differs: {reconcile.notes()}"
    )


def _strings(rows: Iterable[Sequence[object]]) -> list[list[str]]:
    return [[str(cell) for cell in row] for row in rows]


def _quality_table(qualities: Sequence[Any]) -> list[str]:
    if not qualities:
        return []
    names = list(dict.fromkeys(row["method"] for quality in qualities for row in quality["methods"]))
    cells = {
        (quality["dataset"], row["method"]): row["scores"]
        for quality in qualities
        for row in quality["methods"]
    }
    rows = [
        [name, *(_cell(cells.get((quality["dataset"], name))) for quality in qualities), NOT_QUOTED]
        for name in names
    ]
    head = ["Recall@5 / MAP@5 (Appendix D)", *(str(quality["dataset"]) for quality in qualities), "the paper"]
    return [
        "## Retrieval quality\n\n"
        + table(head, rows)
        + "\n\n* p < 0.05 against ours (paired permutation test, Holm-corrected). "
        "The baselines run on our album and encoder; the graph and coarse-to-fine ones are adaptations "
        "(their docstrings say what differs), and no data set here has pixels."
    ]


def _cell(scores: Any) -> str:
    if scores is None:
        return "–"
    p = scores["recall5"]["p_holm"]
    return (
        f"{scores['recall5']['mean']:.3f}{'*' if p is not None and p < 0.05 else ''} / "
        f"{scores['map5']['mean']:.3f}"
    )


def _ablation_tables(ablation: Any) -> list[str]:
    return [
        f"# {ablation['dataset']}",
        _table3(ablation),
        _table4(ablation),
        _table6(ablation),
        *_table7(ablation),
        _table10(ablation),
        *_figure3(ablation),
        *_bundles(ablation),
    ]


def _table3(ablation: Any) -> str:
    paper_mode, default = ablation["paper"][0]["layer_ms"], ablation["fused"][0]["layer_ms"]
    rows = [
        [title, f"{paper_mode[name]:.2f}", f"{default[name]:.2f}", str(beside(name, "fast") or "")]
        for name, title in _LAYERS.items()
    ]
    rows.append(["all", f"{sum(paper_mode.values()):.2f}", f"{sum(default.values()):.2f}", ""])
    if refined := ablation["refined"]:
        rows.append(
            ["reformulation, generated", "", f"{refined['llm_ms']:.2f}", str(beside("refine", "llm"))]
        )
    return (
        "## Table 3: latency by layer, ms (median)\n\n"
        + table(["layer", "ours, mode paper", "ours, default", "the paper"], rows)
        + f"\n\nWhat differs: {LATENCY_NOTE} The paper's total is {PAPER_MS['all']} ms. `gamer bench "
        "latency` measures with more care."
    )


def _table4(ablation: Any) -> str:
    rows = [
        [
            row["name"],
            *(_with_interval(row["scores"][m]) for m in ("recall5", "map5")),
            _p(row["scores"]["recall5"]["p_holm"]),
            NOT_QUOTED,
        ]
        for row in (*ablation["fused"], *ablation["paper"])
    ]
    refined, prefix, routed = (
        ablation["refined"],
        ablation["prefix"],
        next((r for r in ablation["rho"] if r["rho"] == ablation["own_rho"]), None),
    )
    notes = []
    if refined:
        notes.append(
            f"Refinement by the language model, on {refined['queries']} queries: recall@5 "
            f"{refined['llm_recall5']:.3f}, by rules {refined['fast_recall5']:.3f}, none "
            f"{refined['off_recall5']:.3f}; {refined['taken']:.0%} of its refinements were taken, "
            f"{refined['llm_ms']:.0f} ms each."
        )
    if prefix:
        notes.append(
            f"Without the prefix cache: first token after {prefix['without_ms']:.0f} ms instead of "
            f"{prefix['with_ms']:.0f} ms; {prefix['same_text']:.0%} of {prefix['queries']} refinements read "
            "the same."
        )
    if routed:
        notes.append(
            f"Without the router every one of {routed['of']} experts runs instead of "
            f"{routed['experts']:.1f}. The DPE of this bundle is "
            f"{'trained' if routed['trained'] else 'untrained and kept out of the search'}: the router "
            "changes cost, and no figure of quality."
        )
    head = ["variant", "Recall@5 (95 %)", "MAP@5 (95 %)", "p", "the paper"]
    return "## Table 4: without a layer\n\n" + table(head, rows) + "\n\n" + " ".join(notes)


def _table6(ablation: Any) -> str:
    rows = [
        [
            f"{row['delta']}{' (calibrated)' if row['delta'] == ablation['own_delta'] else ''}",
            _with_interval(row["scores"]["recall5"]),
            _with_interval(row["scores"]["map5"]),
            f"{row['left']['graph']:.0f}",
            "chosen" if row["delta"] == PAPER.settings["delta"] else NOT_QUOTED,
        ]
        for row in ablation["delta"]
    ]
    return (
        "## Table 6: δ, mode paper\n\n"
        + table(["δ", "Recall@5", "MAP@5", "photos after the graph", "the paper"], rows)
        + f"\n\nWhat differs: the paper's {PAPER.settings['delta']} is a "
        "cosine of GTE-large; this encoder's cosines are smaller, and δ is calibrated for it. When no node "
        "reaches δ, nothing is dropped."
    )


def _table7(ablation: Any) -> list[str]:
    if not ablation["rho"]:
        return []
    rows = [
        [
            str(row["rho"]),
            f"{row['experts']:.2f} of {row['of']}",
            f"{row['macs_share']:.0%}",
            f"{PAPER.experts} of {PAPER.experts_of}" if row["rho"] == PAPER.settings["rho"] else NOT_QUOTED,
        ]
        for row in ablation["rho"]
    ]
    trained = (
        ""
        if all(row["trained"] for row in ablation["rho"])
        else " Ours is untrained: an indifferent router needs more experts for the same ρ."
    )
    return [
        "## Table 7: ρ\n\n"
        + table(["ρ", "experts run", "of their multiply-adds", "the paper"], rows)
        + "\n\nWhat differs: "
        f"{ablation['rho'][0]['photos']} packaged photographs, and no quality, for the DPE is not in the "
        f"search.{trained}"
    ]


def _table10(ablation: Any) -> str:
    rows = [
        [
            row["name"],
            *(f"{row['left'][layer]:.1f}" for layer in ("album", "cube", "graph", "vectors")),
            NOT_QUOTED,
        ]
        for row in (ablation["fused"][0], ablation["paper"][0])
    ]
    k = ", ".join(f"recall@{k} {value:.3f}" for k, value in ablation["fused"][0]["recall"].items())
    return (
        "## Table 10: photos left after each layer (mean), and K\n\n"
        + table(["search", "album", "cube", "graph", "vectors", "the paper"], rows)
        + f"\n\nBy K, default search: {k}. What differs: by default a cue is evidence, "
        "the cube column says how many photos fit, and only a negated cue drops any; "
        "mode paper narrows the album as the paper does."
    )


def _figure3(ablation: Any) -> list[str]:
    if not ablation["sizes"]:
        return []
    rows = [
        [
            str(row["photos"]),
            f"{row['recall5']:.3f}",
            f"{row['paper_recall5']:.3f}",
            f"{row['map5']:.3f}",
            f"{row['p50_ms']:.1f}",
            NOT_QUOTED,
        ]
        for row in ablation["sizes"]
    ]
    head = ["photos", "Recall@5", "Recall@5, mode paper", "MAP@5", "ms (p50)", "the paper"]
    return [
        "## Figure 3: album size\n\n"
        + table(head, rows)
        + f"\n\nThe same {ablation['sizes'][0]['queries']} queries; the albums are nested and mix the users, "
        "so that what is added is other people's photos. What differs: the paper's sizes and curve are not "
        "quoted in our documents."
    ]


def _bundles(ablation: Any) -> list[str]:
    if not ablation["bundles"]:
        return []
    names = list(ablation["bundles"][0]["recall5"])
    rows = [
        [
            f"{row['bundle']} ({row['quant']})",
            f"{row['megabytes']:.1f}",
            f"{row['text_tower_mb']:.1f}",
            *(f"{row['recall5'][n]:.3f}" for n in names),
        ]
        for row in ablation["bundles"]
    ]
    return [
        "## Quantization\n\n"
        + table(["bundle", "MB (ONNX)", "text tower, MB", *(f"Recall@5, {n}" for n in names)], rows)
    ]


def _with_interval(interval: Any) -> str:
    return f"{interval['mean']:.3f} ({interval['low']:.3f}–{interval['high']:.3f})"


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"
