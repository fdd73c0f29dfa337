"""The plots of a report: stacked layers, roofline, quality over latency and size, curves over album size.

Takes documents (JSON of the bench commands, read from files) and returns SVG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gamer.runtime.bundle.manifest import Budget
from gamer.runtime.search.answer import LAYERS

from .plots import Series, axis, bars, chart

Document = Mapping[str, Any]
Labelled = tuple[float, float, str]  # x, y and the text beside the point


def draw(documents: Mapping[str, Sequence[Document]]) -> dict[str, list[str]]:
    """Section → its plots, as SVG.

    Raises ValueError, KeyError or TypeError for a document that lacks what its kind has.
    """
    return {
        "latency": [_layers(documents["latency"])] if any(d["album"] for d in documents["latency"]) else [],
        "ops": [_roofline(d) for d in documents["ops"]],
        "quality": _pareto(documents["quality"], documents["flops"]),
        "index": [growth(d) for d in documents["index"]],
        "device": [_phones(d) for d in documents["device"]],
    }


def _layers(documents: Sequence[Document]) -> str:
    rows = []
    for d in documents:
        by_layer = {r["layer"]: float(r["p50_ns"]) / 1e6 for r in d["rows"] if not r["step"]}
        if d["album"]:
            rows.append(
                (
                    f"{d['bundle']} {d['backend']}, {d['refined_by']}, {d['photos']} photos",
                    [by_layer[layer] for layer in LAYERS],
                )
            )
    return bars("Median milliseconds of a search, by layer", rows, LAYERS, "ms")


def _roofline(d: Document) -> str:
    """GFLOP/s over FLOPs per byte: the ceilings as lines, the components as points.

    A component stands at the rate of its run without the profiler.
    """
    rates, peaks = d["ceilings"]["rates"], dict[str, float]()
    for r in rates:
        peaks[r["precision"]] = max(peaks.get(r["precision"], 0.0), 2 * float(r["gmacs"]))
    points, labels = [], []
    for t in d["tables"]:
        macs, size = sum(g["macs"] for g in t["kernels"]), sum(g["bytes"] for g in t["kernels"])
        if macs and size and t["plain_us"]:
            points.append((2 * macs / size, 2 * macs / float(t["plain_us"]) / 1e3))
            labels.append(str(t["step"]))
    x = axis("FLOPs a byte", [0.1, 100.0, *(p for p, _ in points)], True)
    stream = max(float(d["ceilings"]["stream_gbs"]), 1e-3)
    y = axis("GFLOP/s", [x.low * stream, *peaks.values(), *(g for _, g in points)], True)
    lines = []
    for name, peak in peaks.items():
        knee = peak / stream
        lines.append(
            Series(
                f"{name}, {peak:.0f} GFLOP/s",
                ((x.low, x.low * stream), (min(max(knee, x.low), x.high), peak), (x.high, peak)),
            )
        )
    return chart(
        f"Roofline of {d['bundle']} on this machine, memory at {stream:.0f} GB/s",
        x,
        y,
        lines,
        [Series("components", tuple(points), tuple(labels))],
    )


def _pareto(quality: Sequence[Document], flops: Sequence[Document]) -> list[str]:
    """Recall over a query's time for each data set, and over the size of the bundle.

    The second plot has the bundles whose size one of the `flops` documents gives.
    """
    timed: dict[str, list[Labelled]] = {}
    sized: dict[str, list[Labelled]] = {}
    megabytes = {
        f"{d['recipe']} {d['quant']}": sum({c["role"]: c["file_bytes"] for c in d["components"]}.values())
        / 1e6
        for d in flops
    }
    for d in quality:
        recalls = {m["method"]: float(m["scores"]["recall5"]["mean"]) for m in d["methods"]}
        points = [(float(m["p50_ms"]), recalls[m["method"]], f"{m['method']}") for m in d["methods"]]
        timed.setdefault(str(d["dataset"]), []).extend(points)
        if d["bundle"] in megabytes:
            point = megabytes[d["bundle"]], recalls[d["reference"]], str(d["bundle"])
            sized.setdefault(str(d["dataset"]), []).append(point)
    drawn = (
        ("Quality and latency: up and to the left is better", "ms a query", timed),
        ("Quality and size", "MB of ONNX artifacts", sized),
    )
    return [_recalls(title, across, clouds) for title, across, clouds in drawn if clouds]


def _recalls(title: str, across: str, clouds: Mapping[str, Sequence[Labelled]]) -> str:
    """Recall over another figure, a cloud for each data set."""
    series = [
        Series(name, tuple((a, b) for a, b, _ in points), tuple(label for *_, label in points))
        for name, points in clouds.items()
    ]
    x = axis(across, [a for s in series for a, _ in s.points], True)
    y = axis("recall@5", [b for s in series for _, b in s.points], False)
    return chart(title, x, y, [], series)


def growth(d: Document) -> str:
    """Of the study `index`, both axes logarithmic."""
    sizes = sorted(d["sizes"], key=lambda s: s["photos"])
    values = {
        "search p95": [s["search"]["p95_ms"] for s in sizes],
        "with encoder p95": [s["search_encoding"]["p95_ms"] for s in sizes],
        "album open": [s["album_open_ms"] for s in sizes],
        "add one p95": [s["add_one"]["p95_ms"] for s in sizes],
        "tree": [s["tree_ms"] for s in sizes],
        "mask": [s["mask_ms"] for s in sizes],
    }
    series = [
        Series(name, tuple((float(s["photos"]), float(v)) for s, v in zip(sizes, column, strict=True)))
        for name, column in values.items()
    ]
    x, y = (
        axis("photos", [float(s["photos"]) for s in sizes], True),
        axis("ms", [v for s in series for _, v in s.points], True),
    )
    return chart("Milliseconds over the album's size", x, y, series)


def _phones(d: Document) -> str:
    rows = []
    for t in d["tasks"]:
        if t["task"] == "query, refined by the language model":
            rules = next(
                float(r["cpu_ms"])
                for r in d["tasks"]
                if (r["device"], r["bundle"]) == (t["device"], t["bundle"]) and "rules" in r["task"]
            )
            rows.append((f"{t['device']}, {t['bundle']}", [rules, max(float(t["cpu_ms"]) - rules, 0.0)]))
    return bars("Predicted milliseconds of a query on phones", rows, ("text tower", "language model"), "ms")


def bits(budget: Budget) -> str:
    """The Pareto curve that a component's bits were chosen from, with uniform bits and the choice."""
    curve = tuple((p.bytes / 1e6, p.loss) for p in budget.curve)
    uniform = tuple((p.bytes / 1e6, p.loss) for p in budget.uniform)
    names = tuple(p.quant for p in budget.uniform)
    chosen = ((budget.chosen.bytes / 1e6, budget.chosen.loss),)
    every = (*curve, *uniform, *chosen)
    x = axis("MB", [megabytes for megabytes, _ in every], False)
    y = axis("loss of cosine", [loss for _, loss in every], True)
    clouds = [Series("uniform bits", uniform, names), Series("chosen", chosen)]
    return chart(
        f"{budget.role} for {budget.target}: bits by matrix", x, y, [Series("by matrix", curve)], clouds
    )
