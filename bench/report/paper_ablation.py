"""The paper's tables and figures that one result of the study `ablation` holds: 3, 4, 7, 10 and Figure 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..published import ABSENT, LATENCY_NOTE, PAPER, PAPER_MS, ablation_of, beside

_LAYERS = {
    "cube": "cube",
    "kdtree": "K-D tree",
    "refine": "text tower, refined by rules",
    "graph": "graph",
    "vectors": "vectors",
}
Row = Sequence[str]


def table(head: Row, rows: Iterable[Row]) -> str:
    lines = [head, ["---", *("---:" for _ in head[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables(ablation: Any) -> list[str]:
    """Markdown, a part for each table. Raises KeyError, TypeError or IndexError for another version."""
    return [
        f"# {ablation['dataset']}",
        _table3(ablation),
        _table4(ablation),
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
            *(with_interval(row["scores"][m]) for m in ("recall5", "map5")),
            _p(row["scores"]["recall5"]["p_holm"]),
            ablation_of(row["name"]),
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
    head = ["variant", "Recall@5 (95 %)", "MAP@5 (95 %)", "p", "the paper, %"]
    notes.append(
        "What differs: the paper loses by leaving a layer out of its own system, with its metric and data; "
        "here the default search uses every layer as evidence, and only mode paper filters by them."
    )
    return "## Table 4: without a layer\n\n" + table(head, rows) + "\n\n" + " ".join(notes)


def _table7(ablation: Any) -> list[str]:
    if not ablation["rho"]:
        return []
    rows = [
        [
            str(row["rho"]),
            f"{row['experts']:.2f} of {row['of']}",
            f"{row['macs_share']:.0%}",
            _experts_of(row["rho"]),
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
        f"{ablation['rho'][0]['photos']} packaged photographs, and no quality: a bundle's default DPE is "
        f"not in the search (`gamer bench study channels` measures trained ones).{trained}"
    ]


def _experts_of(rho: float) -> str:
    found = PAPER.at(7, "rho", rho)
    count = PAPER.settings["experts"]
    return f"{found['experts']} of {count}, recall {found['recall']}" if found else ABSENT


def _table10(ablation: Any) -> str:
    rows = [
        [
            row["name"],
            *(
                f"{row['left'][layer]:.1f} ({row['left'][layer] / row['left']['album']:.0%})"
                for layer in ("album", "cube", "graph", "vectors")
            ),
            _left_of(row["name"]),
        ]
        for row in (ablation["fused"][0], ablation["paper"][0])
    ]
    k = ", ".join(f"recall@{k} {value:.3f}" for k, value in ablation["fused"][0]["recall"].items())
    return (
        "## Table 10: photos left after each layer (mean, and share of the album), and K\n\n"
        + table(["search", "album", "cube", "graph", "vectors", "the paper, average user"], rows)
        + f"\n\nBy K, default search: {k}. What differs: by default a cue is evidence, "
        "the cube column says how many photos fit, and only a negated cue drops any; "
        "mode paper narrows the album as the paper does."
    )


def _left_of(name: str) -> str:
    """The paper's photos after each layer, of the average user (Table 10)."""
    if name != "paper":
        return ABSENT
    row = {key: values[-1] for key, values in PAPER.raw["table_10"].items()}
    cube = row["images"] - row["reduced_by_layer_1"]
    return f"{row['images']} → {cube} → {cube - row['reduced_by_layer_2']}"


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
        ]
        for row in ablation["sizes"]
    ]
    head = ["photos", "Recall@5", "Recall@5, mode paper", "MAP@5", "ms (p50)"]
    return [
        "## Figure 3: album size\n\n"
        + table(head, rows)
        + f"\n\nThe same {ablation['sizes'][0]['queries']} queries; the albums are nested and mix the users, "
        "so that what is added is other people's photos. What differs: the paper draws recall that falls a "
        "little and a time that grows a little with the photos of a user, without printing the numbers."
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


def with_interval(interval: Any) -> str:
    return f"{interval['mean']:.3f} ({interval['low']:.3f}–{interval['high']:.3f})"


def _p(p: float | None) -> str:
    return "" if p is None else f"{p:.4f}"
