"""The engine without a bundle: a made-up text tower, a small album, and every decision of a search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumWriter, FloatArray, RowArray
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import Observer, SearchOptions
from tests.albums import built, engine_of, note
from tests.fakes import DIM, fake_models, unit

NOW = datetime(2026, 11, 21, 12)


PHOTOS: tuple[dict[str, Any], ...] = (
    {"id": "harbour", "taken_at": "2026-05-02T10:00:00", "memories": note("boats in the harbour")},
    {"id": "market", "taken_at": "2025-05-02T10:00:00", "memories": note("cheese at the market")},
    {"id": "old boat", "taken_at": "2019-01-05T10:00:00", "memories": note("a boat on land")},
    {"id": "undated", "memories": note("boats somewhere")},
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with engine_of(tmp_path, PHOTOS) as opened:
        yield opened


def ids(
    engine: Engine, query: str, k: int = 4, mode: str = "fused", options: SearchOptions | None = None
) -> list[str]:
    answer = engine.search(query, k, mode=mode, now=NOW, options=options or SearchOptions())
    return [hit.id for hit in answer.hits]


def test_a_time_ranks_a_photo_that_fits_first_and_removes_none(engine: Engine) -> None:
    wordless = SearchOptions(weights=replace(engine.ranking, text=0.0))  # made-up vectors mean nothing
    assert ids(engine, "boats in 2019", options=wordless)[0] == "old boat"
    assert set(ids(engine, "boats in 2019")) == {"harbour", "market", "old boat", "undated"}


def test_a_negated_time_removes_only_photos_that_are_known_to_lie_in_it(engine: Engine) -> None:
    assert set(ids(engine, "boats not in 2019")) == {"harbour", "market", "undated"}


def test_paper_mode_returns_only_photos_in_the_cube_or_without_a_time(engine: Engine) -> None:
    assert set(ids(engine, "boats in 2019", mode="paper")) == {"old boat", "undated"}


def test_mode_paper_has_the_delta_that_its_bundle_gives_it(engine: Engine) -> None:
    thresholds = engine.models.manifest.thresholds
    assert [engine.search("boats", mode=mode).trace.delta for mode in ("fused", "paper")] == [0.6, 0.6]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thresholds, "paper_delta", 0.3)
        assert [engine.search("boats", mode=mode).trace.delta for mode in ("fused", "paper")] == [0.6, 0.3]
        given = engine.search("boats", mode="paper", options=SearchOptions(delta=0.5))
        assert given.trace.delta == 0.5


def test_a_cue_that_fits_no_photo_widens_the_search(engine: Engine) -> None:
    answer = engine.search("boats in 1999", 4, now=NOW)
    assert answer.trace.widened
    assert len(answer.hits) == 4


def test_a_preferred_photo_ranks_before_the_one_that_it_was_preferred_to(
    engine: Engine, tmp_path: Path
) -> None:
    from gamer.index import AlbumWriter

    first, second = ids(engine, "boats", 2)
    with AlbumWriter.extend(tmp_path / "a.gamer") as writer:
        writer.prefer(second, first)
    with Album.open(tmp_path / "a.gamer") as album:
        ranked = ids(Engine(engine.models, album), "boats", 4)
    assert ranked.index(second) < ranked.index(first)


@pytest.mark.parametrize("mode", ["paper", "fused"])
def test_deleting_an_edge_of_the_graph_changes_a_search(tmp_path: Path, mode: str) -> None:
    notes = {"dog": "Bella is Anna's dog", "beach": "Bella at the beach", "boat": "a boat on land"}
    path = built(tmp_path, ({"id": name, "memories": note(text)} for name, text in notes.items()))

    def led_to(query: str) -> set[str]:
        with Album.open(path) as album:
            answer = Engine(fake_models(), album).search(
                query, 3, mode=mode, now=NOW, options=SearchOptions(delta=0.99)
            )
            # The fused search ranks all photos: here, what the graph adds to their scores.
            graph = {"entity", "related"}
            return {
                hit.id for hit in answer.hits if mode == "paper" or any(hit.parts.get(part) for part in graph)
            }

    assert led_to("Anna") == {"dog", "beach"}  # of the beach's dog another memory says whose it is
    db = apsw.Connection(str(path))
    row = "SELECT row FROM entities WHERE canonical=?"
    db.execute(f"DELETE FROM edges WHERE parent=({row}) AND child=({row})", ("bella", "dog"))
    assert db.changes() == 1
    db.close()
    assert led_to("Anna") != {"dog", "beach"}


def test_options_change_one_search_and_no_other(engine: Engine) -> None:
    before = engine.search("boats in 2019", 4, now=NOW)
    bare = engine.search(
        "boats in 2019", 4, now=NOW, options=SearchOptions(skip=frozenset({"cube"}), timed=False)
    )
    assert bare.trace.cues == ()
    assert before.trace.cues
    assert set(bare.trace.milliseconds.values()) == {0.0}
    strict = engine.search("boats", 4, now=NOW, options=SearchOptions(delta=2.0))
    assert strict.trace.delta == 2.0
    assert strict.trace.entities == ()
    again = engine.search("boats in 2019", 4, now=NOW)
    assert again.hits == before.hits
    assert again.trace.delta == before.trace.delta != 2.0


def test_the_weights_of_one_search_replace_those_of_the_bundle(engine: Engine) -> None:
    zeros = replace(engine.ranking, words=0.0, coverage=0.0, cue=0.0)
    parts = engine.search("boats in 2019", 1, now=NOW, options=SearchOptions(weights=zeros)).hits[0].parts
    assert parts["words"] == parts["coverage"] == parts["cue"] == 0.0


def test_a_given_vector_replaces_that_of_the_query(engine: Engine) -> None:
    vector = unit(b"a boat on land")
    hits = ids(engine, "xyzzy", 1, mode="paper", options=SearchOptions(vector=vector, delta=2.0))
    assert vector.shape == (DIM,)
    assert hits == ["old boat"]


def test_an_unknown_layer_to_skip_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown layer 'graph'; choose from: cube, vectors"):
        SearchOptions(skip=frozenset({"graph"}))


class _Notes(Observer):
    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []
        self.features: dict[str, int] = {}

    @contextmanager
    def step(self, layer: str, name: str) -> Iterator[None]:
        self.steps.append((layer, name))
        yield

    def ranked(self, rows: RowArray, features: Mapping[str, FloatArray]) -> None:
        self.features = {name: len(values) for name, values in features.items()}


def test_an_observer_is_told_of_every_layer_and_of_the_features(engine: Engine) -> None:
    notes = _Notes()
    answer = engine.search("boats in 2019", 4, now=NOW, observer=notes)
    assert [layer for layer, _ in dict.fromkeys((layer, "") for layer, _ in notes.steps)] == [
        *LAYERS,
        "answer",
    ]
    assert set(notes.features.values()) == {4}
    assert {"words", "cue", "entity"} <= set(notes.features)
    assert answer.hits == engine.search("boats in 2019", 4, now=NOW).hits


@pytest.mark.parametrize(
    ("query", "options", "message"),
    [
        ("", {}, "the query is empty"),
        (" \n\t", {}, "the query is empty"),
        ("\ud800", {}, "not valid UTF-8"),
        ("x" * 100_001, {}, "100001 characters.*give at most 100000"),
        ("boats", {"k": 0}, "k = 0.*choose 1 to 1000"),
        ("boats", {"k": 10_000}, "k = 10000"),
        ("boats", {"mode": "loud"}, "unknown mode 'loud'.*fused, paper"),
        ("boats", {"refined_by": "magic"}, "unknown refinement 'magic'.*off, fast, llm"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_one_line(
    engine: Engine, query: str, options: Mapping[str, object], message: str
) -> None:
    with pytest.raises(RuntimeFailure, match=message) as caught:
        engine.search(query, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_scores_are_the_sum_of_their_parts_and_chances_stay_below_the_presence(engine: Engine) -> None:
    answer = engine.search("boats in the harbour", 4, now=NOW)
    assert all(hit.score == pytest.approx(sum(hit.parts.values()), abs=1e-3) for hit in answer.hits)
    assert sum(hit.probability for hit in answer.hits) <= answer.presence + 1e-3
    assert np.all(np.diff([hit.score for hit in answer.hits]) <= 1e-4)


@pytest.mark.parametrize(
    "query", ["a cat", "how many photos in 2026", "cats without dogs", "in portrait format"]
)
def test_an_album_without_photos_says_so(tmp_path: Path, query: str) -> None:
    engine = engine_of(tmp_path, [{"id": "only.jpg", "memories": note("a cat")}])
    with AlbumWriter.extend(engine.album.path) as writer:
        writer.remove(["only.jpg"])
    with Album.open(engine.album.path) as album:
        empty = Engine(engine.models, album)
        answer = empty.search(query, options=SearchOptions(wishes=True))
        assert (answer.hits, answer.note, answer.doubtful) == ((), "no photos in this album", True)
        assert empty.search(query, mode="paper").hits == ()
