"""Draws the paper's tables about training: the losses of Table 4, α (Table 8) and updates (Table 11).

They are read from the results of `bench study channels`, `alpha` and `update`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..published import ABSENT, PAPER, pair
from .paper_ablation import table


def losses(channels: Any) -> str:
    """Markdown. Raises KeyError or TypeError for a result of another version."""
    rows = [["labels (ConSE), nothing trained", *_figures(channels["labels"])]]
    if channels["names"] is not None:
        rows.append(["the labels' names alone, nothing trained", *_figures(channels["names"])])
    rows += [[_what(row["settings"]), *_figures(row["trained"])] for row in channels["rows"]]
    printed = ", ".join(
        f"{name} {pair(PAPER.ablation[name])} %"
        for name in ("GAMER", "w/o L_Layer-2", "w/o L_Layer-3", "w/o L_RLHF")
    )
    head = ["trained with", "recall@5", "recall@20", "recall@5, queries", "recall@20, queries"]
    return (
        "# Table 4, the losses\n\n"
        + table(head, rows)
        + f"\n\nThe paper's whole system, Flickr: {printed}. What differs: one person's "
        f"{channels['photos']} photos in place of Flickr, found by their "
        f"pixels alone with the {channels['withheld']} memories from {channels['until']} on, which the "
        f"training did not see, and with {channels['queries']} queries by somebody else; the image tower and "
        "the text tower are the pocket's, and the losses follow a start in closed form, which the paper does "
        "not have."
    )


def alphas(result: Any) -> str:
    """Markdown. Raises KeyError or TypeError for a result of another version."""
    first = result["rows"][0]["before"]
    rows = [["before", *_earned(first, reward=False), "", ABSENT]]
    rows += [
        [
            f"α {row['alpha']:g}",
            *_earned(row["after"]),
            f"{max((found['divergence'] for found in row['rounds']), default=0.0):.3f}",
            _recall_at(row["alpha"]),
        ]
        for row in result["rows"]
    ]
    head = ["", "reward before", "reward", "recall@5", "refinements accepted", "divergence", "the paper, %"]
    rows = [
        [row[0], f"{weighed['before']['reward']:.3f}" if weighed else "", *row[1:]]
        for row, weighed in zip(rows, [None, *result["rows"]], strict=True)
    ]
    rounds = len(result["rows"][0]["rounds"])
    return (
        "# Table 8: α of the reward\n\n"
        + table(head, rows)
        + f"\n\nRounds of PPO: {rounds}, over {result['learned']} searches, measured on {result['measured']} "
        f"others with the likeliest refinement; without any, recall@5 is {first['plain']:.3f}. Divergence: "
        "nats a token from the policy before, in the round where it was greatest. What differs: one person's "
        "album in place of Flickr, a language model of a tenth of the paper's size, r1 by "
        f"{result['judge']}, and the runtime's guards, which reject a refinement that says what neither the "
        "query nor the album says: it earns nothing."
    )


def _earned(earned: Any, reward: bool = True) -> list[str]:
    shown = [f"{earned['reward']:.3f}" if reward else ""]
    return [*shown, f"{earned['found']:.3f}", f"{earned['accepted']:.0%}"]


def _recall_at(alpha: float) -> str:
    found = PAPER.at(8, "alpha", alpha)
    return f"{found['recall']}" if found else ABSENT


def updates(results: Sequence[Any]) -> str:
    """Markdown. Raises KeyError or TypeError for a result of another version."""
    printed = PAPER.raw["table_11"]
    by_time, by_user = (printed[mode]["recall"] for mode in ("time_based", "user_based"))
    rows = [
        [
            f"{result['album']}, {result['queries']}",
            f"{result['epochs']} × {result['rate']:g}",
            f"{result['learned']} / {result['measured']}",
            *(
                f"{result[when][skill]['at_5']:.3f}"
                for skill in ("opened", "known")
                for when in ("before", "after")
            ),
            "yes" if result["installed"] else "no",
        ]
        for result in results
    ]
    head = [
        "album, searches",
        "epochs × rate",
        "learned / measured",
        "later searches before",
        "after",
        "memories before",
        "after",
        "installed",
    ]
    return (
        "# Table 11: continuous learning\n\n"
        + table(head, rows)
        + "\n\nRecall@5 by the trained channel alone, among all photos of the album. Searches are learned "
        "from and measured by time, three quarters and one, as the paper's 30 and 10 of a user's 40 queries; "
        "a model that finds no more of the later ones, or forgets, is not installed. What differs: the paper "
        f"has {printed['users']} users, whose recall rises from {by_time[0]} to {by_time[1]} %, of unseen "
        f"users from {by_user[0]} to {by_user[1]} %; here is one photographer, and the unseen user is "
        "the same photographer's later years in an album of their own, with a checkpoint that was trained "
        "on the earlier years alone; and the searches are queries or memories that others wrote."
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
