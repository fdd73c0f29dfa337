"""The paper's tables and figures about searches: 3, 4, 7, 10 and Figures 3 to 6.

They are drawn from results of the study `ablation`, one a data set, and of `bench quality`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ..cost.reconcile import one_expert
from ..published import ABSENT, PAPER, WITHOUT, beside, pair
from ..tables import Sheet
from .parts import Part, Plot, percent, scored, with_interval
from .plots import Series

_LAYERS = {
    "cube": "cube",
    "kdtree": "K-D tree",
    "refine": "text tower; refined by rules",
    "graph": "graph",
    "vectors": "vectors",
    "all": "all",
}
# Figure → what is on its axis, the paper's data set, and ours that stands for it.
FIGURES = {
    "Figure 3": (("photos",), "Flickr", "camroll-mpr"),
    "Figure 4": (("users",), "Flickr", "camroll-mpr"),
    "Figure 5": (("users", "photos"), "YFCC100M", "locomo"),
    "Figure 6": (("users", "photos"), "Album", "lihua"),
}
_SEARCHES = {"ours": "default", "ours-paper": "mode paper", "gar": "GAR"}


def table3(ablations: Sequence[Any]) -> Part:
    second = PAPER.table_3["second"]
    columns = ["layer", "the paper, Flickr", "the paper, another set"]
    columns += [f"{one['dataset']}, {mode}" for one in ablations for mode in ("mode paper", "default")]
    rows = []
    for name, title in _LAYERS.items():
        printed = beside(name, "fast")
        figures = [ABSENT, ABSENT] if printed is None else [str(printed), str(second[name])]
        rows.append(
            (title, *figures, *(_spent(one[m], name) for one in ablations for m in ("paper", "fused")))
        )
    generated = [(f"{one['refined']['llm_ms']:.2f}" if one["refined"] else ABSENT) for one in ablations]
    cells = [cell for of_set in generated for cell in (ABSENT, of_set)]
    for name, title, ours in (
        ("refine", "reformulation; generated", cells),
        ("all", "all, generation among it", [ABSENT] * len(cells)),
    ):
        rows.append((title, str(beside(name, "llm")), str(second[name]), *ours))
    differs = (
        "other models, albums and hardware; the paper reads time and place by NER and a geolocation "
        "service, ours by rules and a gazetteer; `gamer bench latency` measures with more care."
    )
    what = "latency by layer, ms (ours: medians)"
    return Part("Table 3", what, (Sheet("Milliseconds", tuple(columns), tuple(rows)),), differs)


def _spent(outcomes: Any, layer: str) -> str:
    spent = outcomes[0]["layer_ms"]
    return f"{sum(spent.values()) if layer == 'all' else spent[layer]:.2f}"


def table4(ablations: Sequence[Any], losses: Sequence[Sheet]) -> Part:
    """`losses`: what was trained with which loss."""
    of_set = {
        one["dataset"]: {row["name"]: row["scores"] for row in (*one["fused"], *one["paper"])}
        for one in ablations
    }
    names = dict.fromkeys(name for rows in of_set.values() for name in rows)
    rows = [
        (
            name,
            pair(PAPER.table_4[WITHOUT[name]]) if name in WITHOUT else ABSENT,
            *(scored(scores.get(name), with_interval) for scores in of_set.values()),
        )
        for name in names
    ]
    columns = ("without", "the paper, Flickr", *of_set)
    differs = (
        "the paper leaves a layer out of its own system, which filters by all; here only mode paper "
        "filters, by default every layer is evidence, and no RLHF follows a loss (* is p < 0.05 against the "
        "first row of the mode)."
    )
    layers = Sheet("A layer: recall (95 %) / MAP", columns, tuple(rows))
    return Part(
        "Table 4", "without a layer, without a loss", (layers, *losses, *_learned(ablations)), differs
    )


def _learned(ablations: Sequence[Any]) -> list[Sheet]:
    """The language model's refinement, untrained, beside rules and none."""
    columns = ("data set", "queries", "by the model", "by rules", "none", "taken", "ms")
    rows = tuple(
        (
            one["dataset"],
            str(refined["queries"]),
            *(percent(refined[f"{by}_recall5"]) for by in ("llm", "fast", "off")),
            f"{refined['taken']:.0%}",
            f"{refined['llm_ms']:.0f}",
        )
        for one in ablations
        if (refined := one["refined"])
    )
    return [Sheet("Refinement without training (no loss of Layer-2, no RLHF): recall", columns, rows)]


def table7(ablations: Sequence[Any], channels: Sequence[Any]) -> Part:
    count = PAPER.settings["experts"]
    rows = [
        (
            str(row["rho"]),
            *(f"{printed[name]:g}" if printed else ABSENT for name in ("experts", "recall", "flops_10m")),
            f"{row['experts']:.2f} of {row['of']}",
            f"{row['macs_share']:.0%}",
        )
        for row in (ablations[0]["rho"] if ablations else ())
        for printed in [PAPER.at(7, "rho", row["rho"])]
    ]
    columns = (
        "ρ",
        f"the paper, experts of {count}",
        "the paper, recall",
        "the paper, FLOPs × 10 M",
        "ours, experts",
        "ours, of their multiply-adds",
    )
    differs = (
        "of the cost, packaged photographs and an untrained router, which is indifferent and needs more "
        "experts for the same ρ; of recall, one person's photos by pixels alone, and experts that were "
        "trained once, with ρ 0.7, where the paper trains for each ρ."
    )
    costs = tuple(
        (one.way, f"{one.macs:,.0f}" if one.macs else ABSENT, f"{one.mega_flops:,.0f}")
        for one in one_expert()
    )
    each = Sheet("One more expert", ("which", "multiply-adds, M", "FLOPs, M"), costs)
    trained = [_by_rho(result) for result in channels if result["rows"][0].get("by_rho")]
    sheets = (Sheet("By ρ", columns, tuple(rows)), *trained, each)
    return Part("Table 7", "ρ of the router", sheets, differs)


def _by_rho(channels: Any) -> Sheet:
    """Of the first checkpoint of a result of `channels`; results of before lack it."""
    rows = [
        (
            f"{one['rho']:g}",
            f"{PAPER.at(7, 'rho', one['rho'])['recall']:g}",
            f"{one['experts']:.2f}",
            *(percent(one["trained"]["withheld"][k]) for k in ("5", "20")),
        )
        for one in channels["rows"][0]["by_rho"]
    ]
    columns = ("ρ", "the paper, recall", "ours, experts of 3", "recall@5", "recall@20")
    return Sheet(f"Trained experts, {channels['withheld']} memories withheld", columns, tuple(rows))


def table10(ablations: Sequence[Any]) -> Part:
    raw = PAPER.table_10
    printed = zip(
        *(
            raw[name]
            for name in ("user", "images", "reduced_by_layer_1", "reduced_by_layer_2", "left_in_layer_3")
        ),
        strict=True,
    )
    columns = ("user", "images", "reduced by Layer-1", "by Layer-2", "left in Layer-3")
    rows = []
    for one in ablations:
        for outcomes in ("paper", "fused"):
            left = one[outcomes][0]["left"]
            reduced = (left["album"] - left["cube"], left["cube"] - left["graph"])
            figures = (left["album"], *reduced, left["graph"])
            rows.append((f"{one['dataset']}, {_MODES[outcomes]}", *(f"{n:.1f}" for n in figures)))
    differs = (
        "our albums are some fifty times larger, the mean over queries stands for the average user, and by "
        "default a cue is evidence and drops a photo only where it is negated."
    )
    sheets = (
        Sheet("The paper, Flickr", columns, tuple(tuple(map(str, row)) for row in printed)),
        Sheet("Ours, photos (mean)", ("search", *columns[1:]), tuple(rows)),
        _by_k(ablations),
    )
    return Part("Table 10", "photos that each layer takes away", sheets, differs)


_MODES = {"paper": "mode paper", "fused": "default"}


def _by_k(ablations: Sequence[Any]) -> Sheet:
    ks = list(ablations[0]["fused"][0]["recall"]) if ablations else []
    rows = [(one["dataset"], *(percent(one["fused"][0]["recall"][k]) for k in ks)) for one in ablations]
    return Sheet("Ours, default search, by K", ("data set", *(f"recall@{k}" for k in ks)), tuple(rows))


def figure(name: str, ablations: Sequence[Any], qualities: Sequence[Any]) -> Part:
    axes, theirs, dataset = FIGURES[name]
    sheets, plots = list[Sheet](), list[Plot]()
    for across in axes:
        results = [
            one for one in (ablations if across == "photos" else qualities) if one["dataset"] == dataset
        ]
        points = (_by_photos if across == "photos" else _by_users)(results[:1])
        sheets.append(_sheet(f"{dataset}, by {across}", across, points))
        for title, at in (("recall, %", 1), ("ms", 2)):
            lines = [
                Series(search, tuple((p[0], p[at] or 0.0) for p in of))
                for search, of in points.items()
                if len(of) > 1 and of[0][at]
            ]
            if lines:
                what = f"{name}, {dataset}: {title} by {across}"
                plots.append(Plot(what, across, title, tuple(lines)))
    differs = (
        f"the paper draws {theirs} without printing numbers (recall falls a little and time rises a little "
        f"with a user's photos, and PA-CQR stays below); {dataset} stands for it, nested albums mix its "
        "users, and of n users the first n count, each in an album of their own."
    )
    return Part(
        name, f"recall and time by number of {' and of '.join(axes)}", tuple(sheets), differs, tuple(plots)
    )


Points = dict[str, list[tuple[float, float, float | None]]]  # by search: (number, recall in %, ms or None)


def _by_photos(ablations: Sequence[Any]) -> Points:
    sizes = [size for one in ablations for size in one["sizes"]]
    return {
        "default": [(size["photos"], 100 * size["recall5"], size["p50_ms"]) for size in sizes],
        "mode paper": [(size["photos"], 100 * size["paper_recall5"], None) for size in sizes],
    }


def _by_users(qualities: Sequence[Any]) -> Points:
    """Means over the first n users, of recall and of each one's median milliseconds."""
    points: Points = {}
    for one in qualities:
        times = {user["user"]: user["milliseconds"] for user in one["users"]}
        for row in one["methods"]:
            if row["method"] in _SEARCHES:
                scores = [
                    (100 * of["recall5"], times[user][row["method"]]) for user, of in row["users"].items()
                ]
                points[_SEARCHES[row["method"]]] = [
                    (n, fmean(recall for recall, _ in scores[:n]), fmean(ms for _, ms in scores[:n]))
                    for n in range(1, len(scores) + 1)
                ]
    return points


def _sheet(title: str, across: str, points: Points) -> Sheet:
    columns = [across, *(f"{search}, {what}" for search in points for what in ("recall", "ms"))]
    rows = [
        (str(line[0][0]), *(ABSENT if n is None else f"{n:.1f}" for _, *figures in line for n in figures))
        for line in zip(*points.values(), strict=True)
    ]
    return Sheet(title, tuple(columns), tuple(rows))
