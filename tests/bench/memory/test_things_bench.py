"""The bench of things: the weight follows what helps, and a gain counts by user and by pairs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from gamer.bench.memory import things
from gamer.bench.memory.things import ThingQuery
from tests.bench.retrieval.data_sets import write_rows


def asked(user: str, own: list[float], other: list[float], meant: int, owned: bool = False) -> ThingQuery:
    return ThingQuery(
        dataset="made",
        user=user,
        base=np.array([3.0, 2.9, 2.8, 2.7, 2.6, 2.5], np.float32),
        own=np.array(own, np.float32),
        other=np.array(other, np.float32),
        far=np.array(other, np.float32),
        grown=tuple(np.array(own, np.float32) * (share > 0.5) for share in things.SHARES),
        sampled=tuple(np.array(own, np.float32) * (samples > 2) for samples in things.SAMPLES),
        since=0.4,
        meant=np.arange(6) == meant,
        relevant=1,
        owned=owned,
    )


LAST = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
FIRST = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
NONE = [0.0] * 6


def test_a_bank_that_points_to_what_is_meant_gets_weight_and_another_does_not_help() -> None:
    given = [asked(f"u{n}", LAST, FIRST, 5, owned=n < 4) for n in range(8)]
    weights, scored = things.cross_validated(given)
    assert min(weights) > 1
    whole = {(gain.dataset, gain.subset): gain for gain in things.gains(given, scored)}
    gain = whole["all", "all"]
    assert gain.recall5 == dict(zip(things.METHODS, (0.0, 1.0, 0.0, 0.0), strict=True))
    assert (gain.better, gain.worse, gain.p < 0.05, gain.p_other) == (8, 0, True, 1.0)
    assert whole["made", "my"].queries == 4
    # What is meant is there from 0.4 of the photos on; the bank knows the thing from 0.6 on.
    found = {one.share: (one.queries, one.without, one.recall5) for one in things.growth(given, scored)}
    assert found == {0.4: (8, 0.0, 0.0)} | dict.fromkeys((0.6, 0.8, 1.0), (8, 0.0, 1.0))
    kept = {one.samples: one.recall5 for one in things.sampled(given, scored)}
    assert kept == {1: 0.0, 2: 0.0, 4: 1.0, 8: 1.0}


def test_a_bank_that_misleads_gets_no_weight() -> None:
    given = [asked(f"u{n}", LAST, LAST, 0) for n in range(8)]
    assert max(things.cross_validated(given)[0]) < 0.01


def test_queries_about_no_thing_are_counted_and_unchanged() -> None:
    given = [asked(f"u{n}", NONE, NONE, 5) for n in range(4)]
    weights, scored = things.cross_validated(given)
    assert weights == (0.0,) * 4
    assert [gain.subset for gain in things.gains(given, scored)] == ["all", "all"]


def test_diversity_and_the_farthest_user_go_by_the_jaccard_index() -> None:
    red, blue, new = ("color", "red"), ("color", "blue"), ("feature", "new")
    users = [
        {"bag": frozenset({red, new}), "cup": frozenset({red})},
        {"bag": frozenset({red}), "cup": frozenset({blue})},
        {"bag": frozenset({blue}), "hat": frozenset({new})},
    ]
    # bag: Jaccard 1/2, 0 and 0 of three pairs; cup: 0 of one; only one user has a hat
    assert things.diversity(users) == round(((1 - 0.5 / 3) + 1) / 2, 4)
    assert things.diversity(users[:1]) == 0.0
    assert things.farthest(0, ["a", "a", "a"], users) == 2
    assert things.farthest(1, ["a", "a", "b"], users) == 0
    assert things.farthest(2, ["a", "a", "b"], users) == 0  # alone in its data set


def test_a_user_is_asked_with_both_banks(tmp_path: Path) -> None:
    from gamer.bench.retrieval.user import User
    from gamer.runtime.indexing.build import build
    from tests.fakes import fake_models

    memories = [{"source": "note", "text": "my red bag"}]
    rows = [
        {"id": n, "taken_at": f"2026-05-0{d}T10:00:00", "memories": memories} for d, n in ((1, "a"), (2, "b"))
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    queries = [{"query_id": query, "query": query, "relevant": ["a"]} for query in ("my bag", "clouds")]
    write_rows(tmp_path / "u.queries.jsonl.gz", queries)
    models = fake_models()
    album = build(tmp_path / "a.jsonl", models, tmp_path / "a.gamer").path
    with User("u", album, models) as user:
        bag, clouds = things._ask(user, tmp_path, [[], []])
    assert bag.concerned
    assert bag.owned
    assert not bag.other.any()
    assert not bag.far.any()
    assert not clouds.concerned
    assert not clouds.owned
    assert bag.since == 0.5  # "a" is the first of two photos
    assert [grown.any() for grown in bag.grown] == [False, False, True, True, True]
    assert [few.any() for few in bag.sampled] == [True] * len(things.SAMPLES)
