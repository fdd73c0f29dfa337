"""Ablations switch layers of the shipped engine off for one search; a composed album answers as the album it
was taken from; tables hold what was measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from gamer.bench.cli.bench import bench
from gamer.bench.retrieval import ablation, album_rows, compose, datasets, metrics, quality
from gamer.bench.retrieval.albums import album_of
from gamer.bench.retrieval.user import User
from gamer.index import Album
from tests.bench.retrieval.data_sets import QUERIES, write


def test_a_choice_of_queries_starts_at_the_first_and_never_exceeds_its_limit() -> None:
    queries = [datasets.Query(str(n), "q", ("a",), "") for n in range(103)]
    for most in (1, 7, 50, 103, 500):
        chosen = datasets.evenly_spread(queries, most)
        assert 0 < len(chosen) <= most
        assert chosen[0].id == "0"
    assert len(datasets.evenly_spread(queries, 500)) == 103


def test_recall_by_k_gives_each_user_the_same_weight() -> None:
    one = quality.ScoredUser("a", 1, (quality.ScoredQuery("1", "a", 2, {"m": (1, 4)}),), {}, {})
    two = quality.ScoredUser("b", 1, (quality.ScoredQuery("2", "b", 1, {"m": ()}),) * 3, {}, {})
    assert ablation.recall_by_k([one, two], "m") == {"1": 0.25, "2": 0.25, "3": 0.25, "5": 0.5, "10": 0.5}


@pytest.fixture(scope="module")
def user(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    from gamer.runtime.models.models import Models

    folder = tmp_path_factory.mktemp("ablation")
    models = Models.open(bundle)
    album = album_of(write(folder / "set"), "ann", models, folder, print)
    with User("ann", album, models, folder) as opened:
        yield opened


@pytest.mark.slow
def test_each_variant_switches_its_layer_off_and_changes_no_later_search(user: User) -> None:
    engine, query = user.engine, "lighthouse in August 2020"
    before = engine.search(query, 8, now=datetime(2021, 1, 1)).hits

    def search(variant: ablation.Variant) -> tuple[dict[str, int], dict[str, float], tuple[str, ...]]:
        answer = ablation.search(engine, variant, query, 8, datetime(2021, 1, 1))
        return answer.trace.left, answer.hits[0].parts, answer.trace.cues

    variants = ablation.VARIANTS | ablation.PAPER_VARIANTS
    left, parts, cues = search(variants["full"])
    assert cues
    assert parts["cue"] > 0
    assert parts["text"] > 0
    assert parts["entity"] > 0
    left, parts, cues = search(variants["no layer 1"])
    assert not cues
    assert parts["cue"] == 0
    assert left["cube"] == 8
    assert search(variants["no layer 2"])[1]["entity"] == 0
    parts = search(variants["no layer 3"])[1]
    assert parts["cue"] > 0
    assert not any(parts[name] for name in ("text", *ablation.WORDS))
    assert search(variants["paper"])[0]["cube"] == 1
    assert search(variants["paper, no layer 1"])[0]["cube"] == 8
    assert search(variants["paper, no layer 1"])[0]["graph"] < 8
    answer = ablation.search(engine, variants["paper, no layer 2"], "lighthouse", 8, None)
    assert answer.trace.left["graph"] == 8
    assert engine.search(query, 8, now=datetime(2021, 1, 1)).hits == before
    cosine, node = (search(variants[name])[1]["cosine"] for name in ("paper", "paper, no layer 3"))
    assert cosine != node
    assert 0 <= node <= 1.01


@pytest.mark.slow
def test_a_composed_album_answers_as_the_album_it_was_taken_from(user: User, tmp_path: Path) -> None:
    photos, names = compose.read_encoded(user.path, user.models)
    copy = tmp_path / "copy.gamer"
    assert compose.write(copy, photos, names, user.models, user.path) == len(photos) == len(user.album)
    with Album.open(copy) as opened:
        assert opened.verify() == []
        assert opened.meta == user.album.meta
        assert opened.stats().mentions == user.album.stats().mentions
    old, new = album_rows.entities(user.path), album_rows.entities(copy)
    assert old.names == new.names
    assert np.allclose(old.vectors, new.vectors, atol=2e-3)
    with User("copy", copy, user.models) as other:
        for query in QUERIES:
            pairs = [
                [(hit.id, hit.score) for hit in one.engine.search(query, 5, now=user.now).hits]
                for one in (user, other)
            ]
            assert [i for i, _ in pairs[0]] == [i for i, _ in pairs[1]]
            assert [s for _, s in pairs[0]] == pytest.approx([s for _, s in pairs[1]], abs=0.05)


@pytest.mark.slow
def test_vectors_and_entities_read_for_baselines_match_the_albums_answers(user: User) -> None:
    (owners, vectors), query = user.album.vectors("text"), user.vector("a boat")
    best = np.full(len(user.album), -np.inf, np.float32)
    np.maximum.at(best, owners, vectors @ query)
    assert np.allclose(best, user.album.scores("text", query), atol=1e-3)
    graph = album_rows.entities(user.path)
    assert set(user.album.entity_names(1000)) == set(graph.names)
    assert not len(user.album.vectors("image")[0])
    assert user.album.activate(np.array([3])).size == (graph.mentions[1] == 3).sum()


@pytest.mark.slow
def test_bench_ablation_measures_every_variant_and_bench_paper_prints_the_tables(
    bundle: Path, tmp_path: Path
) -> None:
    folder, results = write(tmp_path / "small"), tmp_path / "results"
    command = [
        "ablation",
        str(folder),
        "-b",
        str(bundle),
        "-b",
        str(bundle),
        "--cache",
        str(tmp_path / "cache"),
        "--llm-queries",
        "1",
    ]
    done = CliRunner().invoke(
        bench,
        [*command, "--sizes", "10,100", "--queries", "3", "--output", str(results / "ablation-small.json")],
    )
    assert done.exit_code == 0, done.output
    result = json.loads((results / "ablation-small.json").read_text())
    assert [row["name"] for row in result["fused"]] == list(ablation.VARIANTS)
    assert result["queries"] == 6
    assert [size["photos"] for size in result["sizes"]] == [10, 16]
    assert len(result["bundles"]) == 2
    assert result["bundles"][0]["recall5"]["ours"] == pytest.approx(result["fused"][0]["recall"]["5"])
    experts = [row["experts"] for row in result["rho"]]
    assert experts == sorted(experts)
    assert experts[-1] == 3
    assert set(result["fused"][0]["scores"]) == set(metrics.METRICS)
    text = CliRunner().invoke(bench, ["paper", "--results", str(results)])
    assert text.exit_code == 0, text.output
    for part in (
        "Table 3",
        "Table 4",
        "Table 7",
        "Table 10",
        "Figure 3",
        "| 3212 ",
        "| 2717 ",
        "| 2.2 ",
        "84.5 / 81.5",
        "| average |     15 |                  3 |",
    ):
        assert part in text.output


@pytest.mark.parametrize("text", [None, "{", "{}"])
def test_missing_or_malformed_ablation_results_are_named_in_the_error(
    tmp_path: Path, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "ablation-x.json").write_text(text)
    done = CliRunner().invoke(bench, ["report", str(tmp_path)])
    assert done.exit_code == 1
    assert str(tmp_path.name) in done.output
    assert len(done.output.strip().splitlines()) == 1
