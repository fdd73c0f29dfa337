"""The paper's tables about training, drawn from results of `bench study channels`, `alpha` and `update`."""

from __future__ import annotations

from typing import Any

from gamer.bench.report.paper_training import alphas, losses, updates


def found(at_5: float) -> dict[str, dict[str, float]]:
    return {"withheld": {"5": at_5, "20": 0.5}, "queries": {"5": 0.1, "20": 0.2}}


def row(at_5: float, **changes: object) -> dict[str, Any]:
    settings = {
        "start": "closed",
        "epochs": 20,
        "leave_out_positive": False,
        "entropy": 0.01,
        "likelihood": 0.0,
    }
    return {"settings": settings | changes, "trained": found(at_5)}


def test_each_row_says_what_it_was_trained_with() -> None:
    rows = [
        row(0.31),
        row(0.32, entropy=0.0),
        row(0.33, leave_out_positive=True),
        row(0.34, epochs=0),
        row(0.35, start="random"),
        row(0.36, likelihood=0.5),
    ]
    head = {"photos": 7, "withheld": 3, "until": "2020-01-01", "queries": 2}
    (drawn,) = losses([{**head, "labels": found(0.21), "names": None, "rows": rows}])
    assert [row[:3] for row in drawn.rows] == [
        ("labels (ConSE), nothing trained", "–", "21.0"),
        ("Eq. 3-4, the router's entropy (Eq. 2)", "–", "31.0"),
        ("Eq. 3-4, without the loss of Layer-2", "89.1 / 87.5", "32.0"),
        ("Eq. 3-4, the denominator as printed, the router's entropy (Eq. 2)", "–", "33.0"),
        ("no loss: the start in closed form", "–", "34.0"),
        ("both losses, from random numbers", "–", "35.0"),
        ("Eq. 3-4, the router's entropy (Eq. 2), the memory's likelihood (Eq. 2)", "94.3 / 90.6", "36.0"),
    ]
    assert "7 photos" in drawn.title
    assert "3 memories from 2020-01-01 on" in drawn.title


def earned(reward: float, found: float) -> dict[str, float]:
    return {"reward": reward, "found": found, "plain": 0.4, "accepted": 0.25}


def test_table_8_has_a_row_for_each_alpha_beside_the_policy_before() -> None:
    rows = [
        {
            "alpha": alpha,
            "before": earned(0.1 + alpha, 0.41),
            "after": earned(0.2 + alpha, 0.5),
            "rounds": [{"divergence": 0.02}, {"divergence": 0.01}],
        }
        for alpha in (0.3, 0.5)
    ]
    (drawn,) = alphas([{"rows": rows, "learned": 30, "measured": 10, "judge": "the experts"}]).sheets
    found_by = ("41.0", "50.0", "40.0", "25%", "25%", "0.020")
    assert drawn.rows[0] == ("0.3", "94.2", "89.7", "0.400", "0.500", *found_by)
    assert drawn.rows[1] == ("0.5", "95.8", "91.9", "0.600", "0.700", *found_by)
    assert drawn.title.startswith("2 rounds of GRPO over 30 searches, measured on 10 others")


def test_table_11_says_what_was_found_before_and_after_and_whether_it_was_installed() -> None:
    def skills(known: float, opened: float) -> dict[str, Any]:
        return {"known": {"at_5": known}, "opened": {"at_5": opened}}

    one = {"album": "a.gamer", "queries": "q.jsonl", "learned": 30, "measured": 10, "installed": False}
    one |= {"epochs": 5, "rate": 2e-05}

    def means(recall: float) -> dict[str, float]:
        return {"recall": recall, "map": recall / 2}

    people = [
        {"measured": 10, "before": means(before), "by_time": means(before + 0.2), "by_user": means(0.5)}
        for before in (0.4, 0.6)
    ]
    drawn = updates([one | {"before": skills(0.3, 0.1), "after": skills(0.29, 0.2)}], [{"rows": people}])
    assert drawn.sheets[0].rows[1] == ("user-based", "93.5", "94.2", "89.9", "90.3")
    assert "2 users, 30 queries learned and 10 measured at a time, 20 in all" in drawn.sheets[1].title
    assert drawn.sheets[1].rows == (
        ("time-based", "50.0", "70.0", "25.0", "35.0"),
        ("user-based", "50.0", "50.0", "25.0", "25.0"),
    )
    assert drawn.sheets[2].rows == (
        ("a.gamer, q.jsonl", "5 × 2e-05", "30 / 10", "10.0", "20.0", "30.0", "29.0", "no"),
    )
