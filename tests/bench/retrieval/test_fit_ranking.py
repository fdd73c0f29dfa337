"""Fitting the ranking: the feature that is known to matter gets the weight, recall counts every relevant
photo, and all data of a user is held out together.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gamer.bench.retrieval import fit_ranking
from tests.bench.retrieval.data_sets import write_rows

SIZE = len(fit_ranking.FITTED)


def choice(user: str, rng: np.random.Generator, telling: int, dataset: str = "d") -> fit_ranking.Choice:
    """Ten candidates of which one is meant; only feature `telling` distinguishes it."""
    features = rng.normal(0, 1, (10, SIZE)).astype(np.float32)
    meant = np.zeros(10, np.bool_)
    meant[int(rng.integers(10))] = True
    features[meant, telling] += 3
    return fit_ranking.Choice(dataset, user, features, meant, 1)


def test_the_feature_that_distinguishes_gets_the_largest_weight() -> None:
    rng = np.random.default_rng(0)
    choices = [choice(f"u{n % 4}", rng, telling=2) for n in range(200)]
    weights = fit_ranking._weights(choices)
    assert int(np.argmax(np.abs(weights))) == 2
    assert weights[2] > 1
    assert (
        fit_ranking._recall(choices, weights)["d"] > fit_ranking._recall(choices, np.eye(SIZE)[0])["d"] + 0.2
    )
    assert fit_ranking._cross_validated(choices)["d"] > 0.85


def test_recall_weighs_users_equally_and_counts_photos_that_are_no_candidates() -> None:
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
    own_queries = [(float(x), 1.0, 0.0) for x in rng.normal(0.6, 0.1, 50)]
    foreign = [(float(x), 0.2, 0.0) for x in rng.normal(0.2, 0.1, 50)]
    weights = fit_ranking._here({"d": own_queries, "d elsewhere": foreign})
    assert set(weights) == set(fit_ranking.HERE)
    assert weights["here_cosine"] > 0
    assert fit_ranking._here({"d": own_queries}) == {}


@pytest.mark.slow
def test_bench_fit_fits_a_data_set_and_leaves_out_each_feature_in_turn(bundle: Path, tmp_path: Path) -> None:
    from gamer.bench.cli.bench import bench

    folder = tmp_path / "set"
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
        write_rows(folder / f"{user}.corpus.jsonl.gz", corpus)
        write_rows(folder / f"{user}.queries.jsonl.gz", asked)
    out = tmp_path / "fit.json"
    command = ["study", "fit", str(folder), "-b", str(bundle), "--cache", str(tmp_path / "albums")]
    done = CliRunner().invoke(bench, [*command, "--output", str(out)])
    assert done.exit_code == 0, done.output
    result = json.loads(out.read_text(encoding="utf-8"))
    assert result["queries"] == {"set": 14}
    assert result["trained"]["set"] == 1.0
    assert [step["without"] for step in result["steps"]] == list(fit_ranking.FITTED)
