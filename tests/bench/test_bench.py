"""Metrics compared with the shared scorer's numbers, the data sets, and the sample."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamer.bench.files import write_atomically
from gamer.bench.retrieval import datasets, metrics


def test_scores_are_those_computed_by_hand() -> None:
    s = metrics.score(["a", "x", "b", "y", "z", "c"], ["a", "b", "c", "d"])
    assert (s.recall5, s.recall10, s.mrr10) == (0.5, 0.75, 1.0)
    assert s.map5 == pytest.approx((1 + 2 / 3) / 2)
    assert s.map5_std == pytest.approx((1 + 2 / 3) / 4)
    assert metrics.score(["x", "a", "a"], ["a"]).mrr10 == 0.5
    assert metrics.score([], ["a"]) == metrics.Scores(0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="relevant"):
        metrics.score(["a"], [])


@given(st.lists(st.sampled_from("abcdefgh"), max_size=15), st.sets(st.sampled_from("abcdefgh"), min_size=1))
def test_scores_lie_between_0_and_1_and_grow_with_depth(ranked: list[str], relevant: set[str]) -> None:
    s = metrics.score(ranked, sorted(relevant))
    assert all(0 <= v <= 1 for v in (s.recall5, s.map5, s.map5_std, s.recall10, s.mrr10))
    assert s.recall5 <= s.recall10
    assert s.map5_std <= s.map5 + 1e-12


def test_our_scores_equal_those_of_the_shared_scorer(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "camroll-mpr"
    queries = datasets.queries(folder, "u3")
    corpus = [row["id"] for row in datasets.read_jsonl(folder / "u3.corpus.jsonl.gz")]
    run = {q.id: (corpus[n : n + 7] + list(q.relevant))[-10:] for n, q in enumerate(queries)}
    (tmp_path / "run.json").write_text(json.dumps(run))
    command = [
        sys.executable,
        str(shared_data / "score.py"),
        str(tmp_path / "run.json"),
        "--dataset",
        "camroll-mpr",
        "--json",
        "--per-user",
    ]
    theirs = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)[
        "camroll-mpr"
    ]["per_user"]["u3"]
    ours = metrics.mean([metrics.score(run[q.id], q.relevant) for q in queries])
    assert ours.recall5 == pytest.approx(theirs["recall@5"])
    assert ours.map5 == pytest.approx(theirs["map@5"])
    assert ours.mrr10 == pytest.approx(theirs["mrr@10"])


@pytest.mark.parametrize("text", ["", "[1]", '{"id": "a"}', "{not json", None])
def test_a_malformed_corpus_is_named_in_the_error(tmp_path: Path, text: str | None) -> None:
    import gzip

    path = tmp_path / "u.corpus.jsonl.gz"
    path.write_bytes(
        gzip.compress(text.encode()) if text is not None else gzip.compress(b'{"id": "a"}' * 9)[:-12]
    )
    with pytest.raises(datasets.DatasetError, match=r"u\.corpus\.jsonl\.gz"):
        datasets.write_album(tmp_path, "u", tmp_path / "out.jsonl")


def test_the_sample_holds_19_photos_and_its_module_says_what_it_made_up(tmp_path: Path) -> None:
    pytest.importorskip("skimage", reason="needs the bench extra")
    from gamer.bench import sample
    from gamer.index import Photo, scan

    assert sample.write(tmp_path / "s.jsonl") == 19
    items = list(scan(tmp_path / "s.jsonl"))
    assert all(isinstance(item, Photo) for item in items)
    assert "invented" in (sample.__doc__ or "")


@pytest.mark.slow
def test_a_development_users_album_beats_the_packaged_bm25_baseline(
    bundle: Path, shared_data: Path, tmp_path: Path
) -> None:
    """The smallest user of camroll-mpr, end to end, compared with the packaged BM25 baseline."""
    from gamer.runtime.indexing.build import build
    from gamer.runtime.models.models import Models
    from gamer.runtime.search.engine import Engine

    folder = shared_data / "camroll-mpr"
    count = datasets.write_album(folder, "u6", tmp_path / "u6.jsonl")
    built = build(tmp_path / "u6.jsonl", Models.open(bundle), tmp_path / "u6.gamer")
    assert built.photos == count
    assert not built.skips
    engine = Engine.open(bundle, tmp_path / "u6.gamer")
    rows = [
        metrics.score([h.id for h in engine.search(q.text, 10).hits], q.relevant)
        for q in datasets.queries(folder, "u6")
    ]
    baseline = json.loads((shared_data / "baselines.json").read_text())["results"]["camroll-mpr"]["bm25"][
        "all"
    ]["per_user_recall@5"]["u6"]
    assert metrics.mean(rows).recall5 > baseline


def test_a_result_behind_a_symbolic_link_is_replaced_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    write_atomically(tmp_path / "link.json", "new")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").read_text() == "new\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.json", "real.json"]
