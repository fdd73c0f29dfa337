"""The losses of the paper's Table 4, drawn from a result of `bench channels`."""

from __future__ import annotations

from typing import Any

from gamer.bench.retrieval.paper_training import losses


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
