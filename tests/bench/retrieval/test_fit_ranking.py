"""Fitting the ranking: what is known to matter gets the weight, recall counts what there is to find, and one
user's data is held out whole.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gamer.bench.retrieval import fit_ranking

SIZE = len(fit_ranking.FITTED)


def choice(user: str, rng: np.random.Generator, telling: int, dataset: str = "d") -> fit_ranking.Choice:
    """Ten candidates, one meant; only feature `telling` tells it apart."""
    features = rng.normal(0, 1, (10, SIZE)).astype(np.float32)
    meant = np.zeros(10, np.bool_)
    meant[int(rng.integers(10))] = True
    features[meant, telling] += 3
    return fit_ranking.Choice(dataset, user, features, meant, 1)


def test_the_feature_that_tells_gets_the_weight() -> None:
    rng = np.random.default_rng(0)
    choices = [choice(f"u{n % 4}", rng, telling=2) for n in range(200)]
    weights = fit_ranking._weights(choices)
    assert int(np.argmax(np.abs(weights))) == 2 and weights[2] > 1
    assert (
        fit_ranking._recall(choices, weights)["d"] > fit_ranking._recall(choices, np.eye(SIZE)[0])["d"] + 0.2
    )
    assert fit_ranking._cross_validated(choices)["d"] > 0.85


def test_recall_is_macro_over_users_and_counts_what_cannot_be_found() -> None:
    features = np.zeros((6, SIZE), np.float32)
    features[:, 0] = np.arange(6)
    first, last = np.arange(6) == 5, np.arange(6) == 0
    rows = [fit_ranking.Choice("d", "a", features, first, 1)] * 3 + [
        fit_ranking.Choice("d", "b", features, last, 1),
        fit_ranking.Choice("d", "b", features, first, 2),
    ]
    assert fit_ranking._recall(rows, np.eye(SIZE)[0]) == {"d": pytest.approx((1 + (0 + 0.5) / 2) / 2)}


def test_presence_is_fitted_only_where_there_are_foreign_queries() -> None:
    rng = np.random.default_rng(1)
    own = [(float(x), 1.0, 0.0) for x in rng.normal(0.6, 0.1, 50)]
    foreign = [(float(x), 0.2, 0.0) for x in rng.normal(0.2, 0.1, 50)]
    found = fit_ranking._here({"d": own, "d elsewhere": foreign})
    assert set(found) == set(fit_ranking.HERE) and found["here_cosine"] > 0
    assert fit_ranking._here({"d": own}) == {}


@pytest.mark.slow
def test_the_command_fits_a_data_set(bundle: Path, tmp_path: Path) -> None:
    import gzip

    from gamer.bench.cli.bench import bench

    folder = tmp_path / "set"
    folder.mkdir()
    things = [
        "a red bicycle",
        "snow on the roof",
        "grandmother's apple pie",
        "a sleeping cat",
        "boats in the harbour",
        "the school choir",
        "a lighthouse",
    ]
    for user in ("ann", "bob"):
        corpus = [
            {"id": f"{user}{n}", "timestamp": f"2020-01-{n + 1:02}T10:00:00", "text": text}
            for n, text in enumerate(things)
        ]
        asked = [
            {"query_id": f"{user}-q{n}", "query": text, "relevant": [f"{user}{n}"]}
            for n, text in enumerate(things)
        ]
        for name, rows in (("corpus", corpus), ("queries", asked)):
            with gzip.open(folder / f"{user}.{name}.jsonl.gz", "wt", encoding="utf-8") as stream:
                stream.write("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "fit.json"
    done = CliRunner().invoke(
        bench,
        ["fit", str(folder), "-b", str(bundle), "--cache", str(tmp_path / "albums"), "--output", str(out)],
    )
    assert done.exit_code == 0, done.output
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["queries"] == {"set": 14} and found["trained"]["set"] == 1.0
    assert [step["without"] for step in found["steps"]] == list(fit_ranking.FITTED)
