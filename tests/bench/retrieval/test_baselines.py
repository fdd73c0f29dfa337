"""Each baseline does what its name says: BM25 is the data sets' own to the fourth digit, a fusion its
formula, graphs are walked as drawn by hand.
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
    reminisce,
    rrf,
    st,
)
from gamer.bench.retrieval.methods import METHODS
from gamer.bench.retrieval.user import NotApplicable, User
from gamer.index import Memory, Photo
from tests.bench.retrieval.data_sets import QUERIES, write


@pytest.mark.parametrize(("dataset", "user"), [("camroll-mpr", "u3"), ("locomo", "conv-30")])
def test_bm25_is_the_data_sets_own(shared_data: Path, dataset: str, user: str) -> None:
    pytest.importorskip("bm25s", reason="needs the bench extra")
    rows = list(datasets.read_jsonl(shared_data / dataset / f"{user}.corpus.jsonl.gz"))
    index = bm25.Index.of([row["text"] for row in rows])
    found = []
    for query in datasets.queries(shared_data / dataset, user):
        scores = index.scores(query.text)
        ranked = [rows[at]["id"] for at in np.argsort(-scores, kind="stable")[:10] if scores[at] > 0]
        found.append(metrics.score(ranked, query.relevant))
    theirs = json.loads((shared_data / "baselines.json").read_text())["results"][dataset]["bm25"]["all"][
        "per_user_recall@5"
    ][user]
    assert metrics.mean(found).recall5 == pytest.approx(theirs, abs=5e-5)


def test_bm25_of_nothing() -> None:
    pytest.importorskip("bm25s", reason="needs the bench extra")
    assert bm25.Index.of(["", "the"]).scores("cat").tolist() == [0, 0]
    assert bm25.Index.of(["a cat", ""]).scores("the dog").tolist() == [0, 0]


@given(some.lists(some.lists(some.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=1, max_size=3))
def test_fusion_is_the_sum_of_reciprocal_ranks(lists: list[list[str]]) -> None:
    def worth(photo: str) -> float:
        return sum(1 / (60 + ranked.index(photo) + 1) for ranked in lists if photo in ranked)

    found = rrf.fused(lists)
    assert set(found) == {photo for ranked in lists for photo in ranked}
    assert all(worth(a) >= worth(b) - 1e-15 for a, b in pairwise(found))


def test_a_moment_is_written_out() -> None:
    at = int(datetime(2026, 2, 14, 18, 20, tzinfo=UTC).timestamp() * 1000)
    assert st.written(
        Photo("a", taken_at=at, memories=(Memory("place", "Amsterdam, NL"), Memory("note", "private")))
    ) == ("Saturday 14 February 2026 20260214 14 winter evening Amsterdam, NL")
    assert st.written(Photo("a")) == ""


def test_a_sentence_is_asked_for_once_and_survives_a_torn_line(tmp_path: Path) -> None:
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
    assert gar.Sentences(writer, path).about("dog") == "about dog\n" and asked == ["cat", "dog"]


def drawn(
    links: list[tuple[int, int]], mentions: list[tuple[int, int]], vectors: list[list[float]], photos: int
) -> entity_graph.EntityGraph:
    sparse = pytest.importorskip("scipy.sparse", reason="needs the bench extra")
    m = len(vectors)
    joined, held = np.zeros((m, m)), np.zeros((m, photos))
    for a, b in links:
        joined[a, b] = joined[b, a] = 1
    for a, b in mentions:
        held[a, b] = 1
    return entity_graph.EntityGraph(
        tuple("abcdefgh"[:m]), np.array(vectors, np.float32), sparse.csr_array(held), sparse.csr_array(joined)
    )


def test_activation_walks_two_steps_and_fades() -> None:
    path = drawn([(0, 1), (1, 2), (2, 3)], [], [[1.0]] * 4, 1)
    first = minirag.activation(path, np.array([1, 0, 0, 0], np.float32))
    # 0 → 1 gets half; of that, halved again and shared by 1's two joints, a quarter's half comes to 2 and
    # back to 0; 3 is too far.
    assert first == pytest.approx([1 + 0.125, 0.5, 0.125, 0])


def test_communities_are_the_two_cliques() -> None:
    pytest.importorskip("networkx", reason="needs the bench extra")
    links = [(0, 1), (0, 2), (1, 2), (3, 4), (3, 5), (4, 5), (2, 3)]
    graph = drawn(links, [(node, photo) for node in range(6) for photo in (0, 1)], [[1.0, 0.0]] * 6, 2)
    assert graphrag._louvain(graph) == [[0, 1, 2], [3, 4, 5]]


def test_the_registry_says_what_each_is() -> None:
    assert list(METHODS) == ["ours", "ours-paper", *BASELINES] and all(
        method.what for method in METHODS.values()
    )


@pytest.fixture(scope="module")
def user(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[User]:
    """Eight photos of known meaning, encoded by the real text tower."""
    from gamer.bench.retrieval.albums import album_of
    from gamer.runtime.models.models import Models

    folder = tmp_path_factory.mktemp("baselines")
    models = Models.open(bundle)
    found = User("ann", album_of(write(folder / "set"), "ann", models, folder, print), models, folder)
    yield found
    found.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("image", "st")])
def test_every_method_finds_plain_things(user: User, name: str) -> None:
    wanted = [f"ann{n}" for n in range(len(QUERIES))]
    found = [METHODS[name].rank(user, query) for query in QUERIES]
    assert all(len(set(ranked)) == len(ranked) and set(ranked) <= set(user.ids) for ranked in found)
    assert sum(want in ranked[:3] for want, ranked in zip(wanted, found, strict=True)) >= 6
    assert METHODS[name].rank(user, QUERIES[0]) == found[0]


@pytest.mark.slow
def test_time_as_text_finds_a_named_month_and_no_photo_finds_no_image(user: User) -> None:
    assert st.rank(user, "anything from August 2020")[0] == "ann6" and st.rank(user, "a cat") == []
    with pytest.raises(NotApplicable, match="image"):
        METHODS["image"].rank(user, "cat")


@pytest.mark.slow
def test_coarse_vectors_as_long_as_the_whole_rank_as_the_whole(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminisce, "COARSE", 384)
    user._kept.pop(reminisce.coarse, None)
    for query in QUERIES:
        assert reminisce.rank(user, query) == METHODS["dense"].rank(user, query)
    user._kept.pop(reminisce.coarse, None)


@pytest.mark.slow
def test_a_vector_is_computed_once_and_charged_to_who_uses_it_again(user: User) -> None:
    user.forget_vectors()
    before = user.charged_ns
    first = user.vector("a boat")
    assert user.charged_ns == before
    assert user.vector("a boat") is first and user.charged_ns > before


@pytest.mark.slow
def test_image_only_finds_by_pixels(bundle: Path, sample_album: Path) -> None:
    from gamer.runtime.models.models import Models

    user = User("sample", sample_album, Models.open(bundle))
    assert "chelsea" in METHODS["image"].rank(user, "a cat")[:2]
    assert (
        st.written(user.photos[user.ids.index("temple")])
        == "Saturday 12 October 2024 20241012 12 autumn fall morning Beijing, CN"
    )
    user.close()
