"""The paper's tables about training: the losses of Table 4, α (Table 8) and updates (Table 11).

They are drawn from the results of `bench study channels`, `generated`, `alpha` and `update`.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from ..published import ABSENT, PAPER, pair
from ..tables import Sheet
from .parts import Part, percent


def losses(results: Sequence[Any]) -> list[Sheet]:
    """A sheet for each result of `channels`, with the rows of Table 4 that its losses correspond to."""
    return [_losses(channels) for channels in results]


def generated(results: Sequence[Any]) -> list[Sheet]:
    """A sheet for each result of `generated`: what a model writes for a query, as our Q̂ and for baselines."""
    out = []
    for result in results:
        rows, ways = result["rows"], tuple(result["rows"][0]["recall"])
        lines = [(row["user"], row["queries"], [row["recall"][way] for way in ways]) for row in rows]
        means = [fmean(row["recall"][way] for row in rows) for way in ways]
        lines.append(("mean", sum(row["queries"] for row in rows), means))
        title = (
            f"Layer-2 by the likelihood of the memory, {result['model']}, rank {result['lora']}, learned "
            f"from {result['learned_from']} pairs ({result['nats_before']:.2f} nats a token of others "
            f"before, {result['nats_after']:.2f} after): recall@5 of the other queries"
        )
        told = tuple((name, str(count), *(f"{share:.3f}" for share in of)) for name, count, of in lines)
        out.append(Sheet(title, ("user", "queries", *ways), told))
    return out


def _losses(channels: Any) -> Sheet:
    rows = [("labels (ConSE), nothing trained", ABSENT, *_figures(channels["labels"]))]
    if channels["names"] is not None:
        rows.append(("the labels' names alone, nothing trained", ABSENT, *_figures(channels["names"])))
    rows += [(*_what(row["settings"]), *_figures(row["trained"])) for row in channels["rows"]]
    columns = (
        "trained with",
        "the paper, Flickr",
        "recall@5",
        "recall@20",
        "queries, recall@5",
        "queries, recall@20",
    )
    pooled = channels["rows"][0]["settings"].get("pooled", False)
    title = (
        f"A loss, experts on {'the mean of the' if pooled else 'all'} patches: recall of one person's "
        f"{channels['photos']} photos by pixels alone, by the "
        f"{channels['withheld']} memories from {channels['until']} on, which no training saw, and by "
        f"{channels['queries']} queries of somebody else"
    )
    return Sheet(title, columns, tuple(rows))


def _what(settings: Any) -> tuple[str, str]:
    """What was trained with, and the paper's row of the same losses; no RLHF follows in any."""
    without_layer_2 = settings["entropy"] <= 0 and settings["likelihood"] <= 0
    if settings["start"] == "random":
        return "both losses, from random numbers", ABSENT
    if not settings["epochs"]:
        return "no loss: the start in closed form", ABSENT
    parts = ["Eq. 3-4, the denominator as printed" if settings["leave_out_positive"] else "Eq. 3-4"]
    if settings["entropy"] > 0:
        parts.append("the router's entropy (Eq. 2)")
    if settings["likelihood"] > 0:
        parts.append("the memory's likelihood (Eq. 2)")
    if without_layer_2:
        return f"{parts[0]}, without the loss of Layer-2", pair(PAPER.table_4["w/o L_Layer-2"])
    printed = settings["entropy"] > 0 and settings["likelihood"] > 0
    return ", ".join(parts), pair(PAPER.table_4["w/o L_RLHF"]) if printed else ABSENT


def _figures(found: Any) -> list[str]:
    return [percent(figures[k]) for figures in (found["withheld"], found["queries"]) for k in ("5", "20")]


def alphas(results: Sequence[Any]) -> Part:
    columns = (
        "α",
        "the paper, recall",
        "the paper, MAP",
        "reward before",
        "reward",
        "recall before",
        "recall",
        "unrefined",
        "accepted before",
        "accepted",
        "divergence",
    )
    sheets = []
    for result in results:
        rounds = len(result["rows"][0]["rounds"])
        form = "Eq. 6 as printed" if result.get("form") == "printed" else "GRPO"
        title = (
            f"{rounds} rounds of {form} over {result['learned']} searches, measured on {result['measured']} "
            f"others; r1 by {result['judge']}; divergence in nats a token"
        )
        sheets.append(Sheet(title, columns, tuple(map(_alpha, result["rows"]))))
    differs = (
        "one person's album in place of Flickr, a language model of a tenth of the paper's size, and the "
        "runtime's guards, by which a refinement that says what neither the query nor the album says "
        "earns nothing."
    )
    return Part("Table 8", "α of the reward", tuple(sheets), differs)


def _alpha(row: Any) -> tuple[str, ...]:
    printed, before, after = PAPER.at(8, "alpha", row["alpha"]), row["before"], row["after"]
    both = (before, after)
    return (
        f"{row['alpha']:g}",
        *(str(printed.get(name, ABSENT)) for name in ("recall", "map")),
        *(f"{of['reward']:.3f}" for of in both),
        *(percent(of["found"]) for of in both),
        percent(before["plain"]),
        *(f"{of['accepted']:.0%}" for of in both),
        f"{max((found['divergence'] for found in row['rounds']), default=0.0):.3f}",
    )


def updates(results: Sequence[Any], continued: Sequence[Any] = ()) -> Part:
    """`continued`: results of `bench study continued`."""
    rows = [
        (
            f"{one['album']}, {one['queries']}",
            f"{one['epochs']} × {one['rate']:g}",
            f"{one['learned']} / {one['measured']}",
            *(
                percent(one[when][skill]["at_5"])
                for skill in ("opened", "known")
                for when in ("before", "after")
            ),
            "yes" if one["installed"] else "no",
        )
        for one in results
    ]
    columns = (
        "album, searches",
        "epochs × rate",
        "learned / measured",
        "later searches before",
        "after",
        "memories before",
        "after",
        "installed",
    )
    table = PAPER.table_11
    printed = [
        (title, *(f"{figure:.1f}" for name in ("recall", "map") for figure in table[mode][name]))
        for title, mode in (("time-based", "time_based"), ("user-based", "user_based"))
    ]
    head = ("testing", "recall before", "after", "MAP before", "after")
    sheets = (
        Sheet(f"The paper, {table['users']} users of Flickr", head, tuple(printed)),
        *map(_continued, continued),
        Sheet("Ours: recall by the trained channel alone, all photos of the album", columns, tuple(rows)),
    )
    differs = (
        "of the query adapter, photographers that it has not seen instead of 500 users, each as often as "
        f"they have {table['queries_a_user']} titles, and only the query's side learns; of the trained "
        "channel, one photographer, whose later years in an album of their own stand for an unseen user, "
        "others' queries or memories as searches, three quarters by time learned from, and what finds no "
        "more, or forgets, is not installed."
    )
    return Part("Table 11", "continuous learning", sheets, differs)


def _continued(result: Any) -> Sheet:
    """Means over users, each user weighing the same."""
    people, table = result["rows"], PAPER.table_11

    def figures(when: str) -> tuple[str, str]:
        recall, precision = (fmean(row[when][name] for row in people) for name in ("recall", "map"))
        return percent(recall), percent(precision)

    before, rows = figures("before"), []
    for title, when in (("time-based", "by_time"), ("user-based", "by_user")):
        after = figures(when)
        rows.append((title, before[0], after[0], before[1], after[1]))
    measured = sum(row["measured"] for row in people)
    title = (
        f"Ours: query adapter, {len(people)} users, {table['learned']} queries learned and "
        f"{table['measured']} measured at a time, {measured} in all"
    )
    return Sheet(title, ("testing", "recall before", "after", "MAP before", "after"), tuple(rows))
