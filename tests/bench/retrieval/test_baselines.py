"""Each baseline does what its name says: BM25 has the data sets' published recall to the fourth digit, fusion
follows its formula, and graphs are walked as computed by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from gamer.bench.retrieval import datasets, metrics
from gamer.bench.retrieval.baselines import (
    BASELINES,
    bm25,
    entity_graph,
    gar,
    graphrag,
    minirag,
    pa_cqr,
    reminisce,
    rrf,
    st,
)
from gamer.bench.retrieval.methods import METHODS
from gamer.bench.retrieval.user import NotApplicable, User
from gamer.index import Memory, Photo
from gamer.runtime.search.stages import refine
from tests.bench.retrieval.data_sets import QUERIES, write


@pytest.mark.parametrize(("dataset", "user"), [("camroll-mpr", "u3"), ("locomo", "conv-30")])
def test_bm25_has_the_recall_that_the_data_set_publishes(shared_data: Path, dataset: str, user: str) -> None:
    pytest.importorskip("bm25s", reason="needs the bench extra")
    rows = list(datasets.read_jsonl(shared_data / dataset / f"{user}.corpus.jsonl.gz"))
    index = bm25.Index.of([row["text"] for row in rows])
    per_query = []
    for query in datasets.queries(shared_data / dataset, user):
        scores = index.scores(query.text)
        ranked = [rows[at]["id"] for at in np.argsort(-scores, kind="stable")[:10] if scores[at] > 0]
        per_query.append(metrics.score(ranked, query.relevant))
    theirs = json.loads((shared_data / "baselines.json").read_text())["results"][dataset]["bm25"]["all"][
        "per_user_recall@5"
    ][user]
    assert metrics.mean(per_query).recall5 == pytest.approx(theirs, abs=5e-5)


def test_bm25_scores_zero_without_a_common_word() -> None:
    pytest.importorskip("bm25s", reason="needs the bench extra")
    assert bm25.Index.of(["", "the"]).scores("cat").tolist() == [0, 0]
    assert bm25.Index.of(["a cat", ""]).scores("the dog").tolist() == [0, 0]


@given(some.lists(some.lists(some.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=1, max_size=3))
def test_fusion_ranks_by_the_sum_of_reciprocal_ranks(lists: list[list[str]]) -> None:
    def worth(photo: str) -> float:
        return sum(1 / (60 + ranked.index(photo) + 1) for ranked in lists if photo in ranked)

    fused = rrf.fused(lists)
    assert set(fused) == {photo for ranked in lists for photo in ranked}
    assert all(worth(a) >= worth(b) - 1e-15 for a, b in pairwise(fused))


def test_the_time_and_the_place_of_a_photo_are_written_out_as_words() -> None:
    at = int(datetime(2026, 2, 14, 18, 20, tzinfo=UTC).timestamp() * 1000)
    assert st.written(
        Photo("a", taken_at=at, memories=(Memory("place", "Amsterdam, NL"), Memory("note", "private")))
    ) == ("Saturday 14 February 2026 20260214 14 winter evening Amsterdam, NL")
    assert st.written(Photo("a")) == ""


def test_a_sentence_is_written_once_and_a_cut_line_of_the_cache_is_written_again(tmp_path: Path) -> None:
    asked: list[str] = []

    def writer(query: str) -> str:
        asked.append(query)
        return f"about {query}\n"

    path = tmp_path / "s.jsonl"
    assert (
        gar.Sentences(writer, path).about("cat") == gar.Sentences(writer, path).about("cat") == "about cat\n"
    )
    path.write_text(path.read_text(encoding="utf-8") + '\n{"query": "dog", "sa', encoding="utf-8")
    again = gar.Sentences(writer, path)
    assert (again.about("cat"), again.about("dog")) == ("about cat\n", "about dog\n")
    assert gar.Sentences(writer, path).about("dog") == "about dog\n"
    assert asked == ["cat", "dog"]


def drawn(
    links: list[tuple[int, int]], mentions: list[tuple[int, int]], vectors: list[list[float]], photos: int
) -> entity_graph.EntityGraph:
    sparse = pytest.importorskip("scipy.sparse", reason="needs the bench extra")
    m = len(vectors)
    linked, mentioned = np.zeros((m, m)), np.zeros((m, photos))
    for a, b in links:
        linked[a, b] = linked[b, a] = 1
    for a, b in mentions:
        mentioned[a, b] = 1
    return entity_graph.EntityGraph(
        tuple("abcdefgh"[:m]),
        np.array(vectors, np.float32),
        sparse.csr_array(mentioned),
        sparse.csr_array(linked),
    )


def test_activation_spreads_two_steps_and_fades() -> None:
    path = drawn([(0, 1), (1, 2), (2, 3)], [], [[1.0]] * 4, 1)
    first = minirag.activation(path, np.array([1, 0, 0, 0], np.float32))
    # Node 1 gets half. Half of that, shared by its two neighbours, is an eighth for node 2 and an eighth back
    # for node 0; node 3 is too far.
    assert first == pytest.approx([1 + 0.125, 0.5, 0.125, 0])


def test_communities_are_the_two_cliques() -> None:
    pytest.importorskip("networkx", reason="needs the bench extra")
    links = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    graph = drawn(links, [(node, photo) for node in range(6) for photo in (0, 1)], [[1.0, 0.0]] * 6, 2)
    assert graphrag._louvain(graph) == [[0, 1, 2], [3, 4, 5]]


def test_the_registry_lists_every_method_with_a_description() -> None:
    assert list(METHODS) == ["ours", "ours-paper", "ours-strict", *BASELINES]
    assert all(method.what for method in METHODS.values())


@pytest.fixture(scope="module")
def user(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Eight photos of known meaning, encoded by the real text tower."""
    from gamer.bench.retrieval.albums import album_of
    from gamer.runtime.models.models import Models

    folder = tmp_path_factory.mktemp("baselines")
    models = Models.open(bundle)
    album = album_of(write(folder / "set"), "ann", models, folder, print)
    with User("ann", album, models, folder) as opened:
        yield opened


NO_TEXT = ("ours-strict", "image", "st", "st-dense")


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in NO_TEXT])
def test_every_text_method_ranks_six_of_eight_plain_things_in_its_top_3(user: User, name: str) -> None:
    wanted = [f"ann{n}" for n in range(len(QUERIES))]
    rankings = [METHODS[name].rank(user, query) for query in QUERIES]
    assert all(len(set(ranked)) == len(ranked) and set(ranked) <= set(user.ids) for ranked in rankings)
    assert sum(want in ranked[:3] for want, ranked in zip(wanted, rankings, strict=True)) >= 6
    assert METHODS[name].rank(user, QUERIES[0]) == rankings[0]


@pytest.mark.slow
def test_time_as_text_finds_a_named_month_and_image_search_needs_image_vectors(user: User) -> None:
    assert st.rank(user, "anything from August 2020")[0] == "ann6"
    assert st.rank(user, "a cat") == []
    with pytest.raises(NotApplicable, match="image"):
        METHODS["image"].rank(user, "cat")


@pytest.mark.slow
def test_the_vector_of_a_time_is_nearest_to_a_query_that_names_it(user: User) -> None:
    assert st.rank_dense(user, "Friday 7 August 2020, summer morning")[0] == "ann6"
    assert set(st.rank_dense(user, "a cat")) == set(user.ids)  # every photo here has a time


@pytest.mark.slow
def test_a_query_is_rewritten_once_with_the_nearest_memories(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[tuple[str, ...]] = []

    def by_llm(models: object, asked: refine.RefinementRequest) -> tuple[str, str]:
        shown.append(asked.context.memories)
        rejected = asked.plain, "llm (rejected: too long)"
        return rejected if asked.query == "cat" else ("a red bicycle", "llm")

    monkeypatch.setattr(refine, "by_llm", by_llm)
    user._kept.pop(pa_cqr.Rewriter, None)
    assert pa_cqr.rank(user, "cat") == METHODS["dense"].rank(user, "cat")
    assert len(shown[0]) == pa_cqr.NEAREST
    assert "sleeping cat" in shown[0][0]
    assert pa_cqr.rank(user, "two wheels") == pa_cqr.rank(user, "two wheels")
    assert len(shown) == 2
    assert pa_cqr.rank(user, "two wheels")[0] == "ann0"
    user._kept.pop(pa_cqr.Rewriter, None)


@pytest.mark.slow
def test_coarse_vectors_of_full_length_rank_as_dense_vectors(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminisce, "COARSE", 384)
    user._kept.pop(reminisce.coarse, None)
    for query in QUERIES:
        assert reminisce.rank(user, query) == METHODS["dense"].rank(user, query)
    user._kept.pop(reminisce.coarse, None)


@pytest.mark.slow
def test_a_vector_is_computed_once_and_its_time_charged_to_a_later_use(user: User) -> None:
    user.forget_vectors()
    before = user.charged_ns
    first = user.vector("a boat")
    assert user.charged_ns == before
    assert user.vector("a boat") is first
    assert user.charged_ns > before


@pytest.mark.slow
def test_the_image_method_finds_a_photo_by_its_pixels(bundle: Path, sample_album: Path) -> None:
    from gamer.runtime.models.models import Models

    with User("sample", sample_album, Models.open(bundle)) as user:
        assert "chelsea" in METHODS["image"].rank(user, "a cat")[:2]
        temple = st.written(user.photos[user.ids.index("temple")])
        assert temple == "Saturday 12 October 2024 20241012 12 autumn fall morning Beijing, CN"
