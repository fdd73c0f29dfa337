"""Draws the paper's rows about training (the losses of its Table 4) from the result of `bench channels`."""

from __future__ import annotations

from typing import Any

from .paper_ablation import NOT_QUOTED, table


def losses(channels: Any) -> str:
    """Markdown. Raises KeyError or TypeError for a result of another version."""
    rows = [["labels (ConSE), nothing trained", *_figures(channels["labels"]), NOT_QUOTED]]
    if channels["names"] is not None:
        rows.append(["the labels' names alone, nothing trained", *_figures(channels["names"]), NOT_QUOTED])
    rows += [[_what(row["settings"]), *_figures(row["trained"]), NOT_QUOTED] for row in channels["rows"]]
    head = ["trained with", "recall@5", "recall@20", "recall@5, queries", "recall@20, queries", "the paper"]
    return (
        "# Table 4, the losses\n\n"
        + table(head, rows)
        + f"\n\nWhat differs: one person's {channels['photos']} photos in place of Flickr, found by their "
        f"pixels alone with the {channels['withheld']} memories from {channels['until']} on, which the "
        f"training did not see, and with {channels['queries']} queries by somebody else; the image tower and "
        "the text tower are the pocket's, and the losses follow a start in closed form, which the paper does "
        "not have."
    )


def _what(settings: Any) -> str:
    if settings["start"] == "random":
        return "both losses, from random numbers"
    if not settings["epochs"]:
        return "no loss: the start in closed form"
    parts = ["Eq. 3-4, the denominator as printed" if settings["leave_out_positive"] else "Eq. 3-4"]
    if settings["entropy"] > 0:
        parts.append("the router's entropy (Eq. 2)")
    if settings["likelihood"] > 0:
        parts.append("the memory's likelihood (Eq. 2)")
    return ", ".join(parts)


def _figures(found: Any) -> list[str]:
    asked = (found["withheld"], found["queries"])
    return [f"{figures[k]:.3f}" for figures in asked for k in ("5", "20")]
