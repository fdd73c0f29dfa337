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
    drawn = losses({**head, "labels": found(0.21), "names": None, "rows": rows})
    cells = [line.split(" | ")[:2] for line in drawn.splitlines() if line.startswith("| ")][2:]
    assert [(name.removeprefix("| "), at_5) for name, at_5 in cells] == [
        ("labels (ConSE), nothing trained", "0.210"),
        ("Eq. 3-4, the router's entropy (Eq. 2)", "0.310"),
        ("Eq. 3-4", "0.320"),
        ("Eq. 3-4, the denominator as printed, the router's entropy (Eq. 2)", "0.330"),
        ("no loss: the start in closed form", "0.340"),
        ("both losses, from random numbers", "0.350"),
        ("Eq. 3-4, the router's entropy (Eq. 2), the memory's likelihood (Eq. 2)", "0.360"),
    ]
    assert "7 photos" in drawn and "3 memories from 2020-01-01 on" in drawn


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
    drawn = alphas({"rows": rows, "learned": 30, "measured": 10, "judge": "the experts"})
    cells = [[c.strip() for c in line.split("|")[1:-1]] for line in drawn.splitlines() if line[:2] == "| "]
    assert cells[2] == ["before", "", "", "0.410", "25%", "", "–"]
    assert cells[3] == ["α 0.3", "0.400", "0.500", "0.500", "25%", "0.020", "94.2"]
    assert cells[4] == ["α 0.5", "0.600", "0.700", "0.500", "25%", "0.020", "95.8"]
    assert "Rounds of PPO: 2, over 30 searches, measured on 10 others" in drawn and "is 0.400" in drawn


def test_table_11_says_what_was_found_before_and_after_and_whether_it_was_installed() -> None:
    def skills(known: float, opened: float) -> dict[str, Any]:
        return {"known": {"at_5": known}, "opened": {"at_5": opened}}

    one = {"album": "a.gamer", "queries": "q.jsonl", "learned": 30, "measured": 10, "installed": False}
    one |= {"epochs": 5, "rate": 2e-05}
    drawn = updates([one | {"before": skills(0.3, 0.1), "after": skills(0.29, 0.2)}])
    assert "| a.gamer, q.jsonl | 5 × 2e-05 | 30 / 10 | 0.100 | 0.200 | 0.300 | 0.290 | no |" in drawn
