"""The engine on real models: what it finds by pixels and words, what cues may not drop, and both backends."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import Models
from gamer.runtime.search.answer import LAYERS
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions

pytestmark = pytest.mark.slow
NOW = datetime(2026, 11, 21)


@pytest.fixture(scope="module")
def engine(bundle: Path, sample_album: Path) -> Engine:
    return Engine.open(bundle, sample_album)


def ids(engine: Engine, query: str, **options: object) -> list[str]:
    return [hit.id for hit in engine.search(query, now=NOW, **options).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("coffee I photographed last spring", "coffee"),
        ("my cat", "chelsea"),
        ("the temple in Beijing", "temple"),
        ("rocket launch in Florida last summer", "rocket"),
        ("Roman coins", "coins"),
        ("eye doctor", "eye"),
    ],
)
def test_a_query_finds_its_photo_of_the_sample_first(engine: Engine, query: str, first: str) -> None:
    assert ids(engine, query)[0] == first


def test_pixels_alone_find_a_photo(bundle: Path, tmp_path: Path) -> None:
    """No memory, no time, no place, and a name that says nothing."""
    from gamer.bench import sample

    sample.write(tmp_path / "all.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()]
    bare = [{"id": f"p{n}", "path": row["path"]} for n, row in enumerate(lines)]
    (tmp_path / "bare.jsonl").write_text("\n".join(json.dumps(row) for row in bare))
    built = build(tmp_path / "bare.jsonl", Models.open(bundle), tmp_path / "bare.gamer")
    assert built.seen == len(lines)
    engine = Engine.open(bundle, tmp_path / "bare.gamer")
    name = {f"p{n}": row["id"] for n, row in enumerate(lines)}
    for query, wanted in (
        ("a cat", "chelsea"),
        ("a cup of coffee", "coffee"),
        ("motorcycle", "motorcycle"),
        ("a flower", "flower"),
    ):
        assert name[ids(engine, query)[0]].startswith(wanted), query


def test_a_photo_without_a_memory_ranks_before_described_photos_of_other_things(
    bundle: Path, tmp_path: Path
) -> None:
    """A described photo of the same thing still comes first."""
    from gamer.bench import sample

    sample.write(tmp_path / "sample.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "sample.jsonl").read_text(encoding="utf-8").splitlines()]
    cat = next(row for row in rows if row["id"] == "chelsea")
    others = [row for row in rows if row["id"] != "chelsea" and row["memories"]]
    told = {
        "id": "told",
        "path": cat["path"],
        "memories": [{"source": "note", "text": "My cat on her chair."}],
    }
    models = Models.open(bundle)
    for name, more in (("bare", []), ("both", [told])):
        album = [*others, {"id": "bare", "path": cat["path"]}, *more]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, album)), encoding="utf-8")
        engine = Engine.open(
            bundle, build(tmp_path / f"{name}.jsonl", models, tmp_path / f"{name}.gamer").path
        )
        wanted = [*(row["id"] for row in more), "bare"]
        assert ids(engine, "a cat", k=len(wanted)) == wanted
        assert ids(engine, "a pet at home", k=len(wanted)) == wanted


def test_a_cue_never_drops_a_photo_whose_field_is_unknown(engine: Engine) -> None:
    answer = engine.search("the man with the camera in Berlin in 2025", 19, now=NOW)
    assert "cameraman" in [hit.id for hit in answer.hits]
    assert answer.trace.left["cube"] < answer.trace.left["album"]


def test_the_candidates_of_a_large_album_include_the_same_best_three(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    queries = ("my cat", "Roman coins", "coffee I photographed last spring")
    expected = [ids(engine, query, k=3) for query in queries]
    monkeypatch.setattr("gamer.runtime.search.stages.fused.EXACT_ROWS", 1)
    assert [ids(engine, query, k=3) for query in queries] == expected
    assert "candidates of 19 photos (text by" in engine.search("my cat", now=NOW).trace.plan


def test_a_photo_in_an_excluded_place_is_left_out(engine: Engine) -> None:
    assert "motorcycle-left" in ids(engine, "motorcycle", k=19)
    without = ids(engine, "motorcycle, not in Berlin", k=19)
    assert "motorcycle-left" not in without
    assert "cameraman" in without


def test_the_trace_says_what_each_layer_did(engine: Engine) -> None:
    trace = engine.search("coffee I photographed last spring", now=NOW).trace
    assert set(trace.milliseconds) == set(LAYERS)
    assert all(v >= 0 for v in trace.milliseconds.values())
    assert trace.cues == ("time 'last spring'",)
    assert trace.cube_lines[0].startswith("2026-03-01 to 2026-05-31")
    assert trace.refined == "coffee"
    assert trace.refined_by == "fast"
    assert trace.left["album"] >= trace.left["cube"] >= trace.left["graph"]
    assert trace.entities
    assert trace.entities[0].similarity >= trace.delta


def test_paper_mode_ranks_by_cosine_alone(engine: Engine) -> None:
    hits = engine.search("my cat", 19, mode="paper", now=NOW).hits
    assert hits[0].id == "chelsea"
    assert set(hits[0].parts) == {"cosine"}
    assert all(hit.matched for hit in hits)


def test_strict_mode_ranks_only_what_the_graph_finds_in_the_cube_by_the_picture(engine: Engine) -> None:
    answer = engine.search("coffee I photographed last spring", 19, mode="strict", now=NOW)
    assert answer.hits[0].id == "coffee"
    assert all(set(hit.parts) == {"product"} and hit.matched for hit in answer.hits)
    assert answer.trace.left["cube"] >= answer.trace.left["graph"] == len(answer.hits)


def test_strict_mode_has_no_fallback(engine: Engine) -> None:
    """Nothing was taken in 2012, and no entity is as similar to the second query as 0.99."""
    assert engine.search("my cat in 2012", 19, mode="strict", now=NOW).hits == ()
    options = SearchOptions(delta=0.99)
    assert engine.search("something else", 19, mode="strict", now=NOW, options=options).hits == ()


def test_a_search_depth_first_finds_what_the_walk_back_finds(engine: Engine) -> None:
    query, everything = engine.models.text.encode(["coffee with Anna"])[0], engine.album.in_cubes(()).found
    found = engine.album.traversed(query, everything, 0.3)
    back = engine.album.match_entities(query, everything, 0.3, limit=1000, depth=1000)
    photos = {match.row: {*match.photos, *match.reached} for match in back}
    assert len(found) > 3
    assert {match.row: set(match.photos) for match in found} == photos


def test_cues_that_fit_nothing_widen_the_search(engine: Engine) -> None:
    """ "cameraman" has no date: it must not be the only answer to a year in which nothing was taken."""
    answer = engine.search("my cat in 2012", now=NOW)
    assert answer.trace.widened
    assert answer.hits[0].id == "chelsea"
    assert "motorcycle-left" not in ids(engine, "motorcycle in 2012, not in Berlin", k=19)


def test_the_language_model_refines_or_is_overruled(engine: Engine) -> None:
    trace = engine.search("the picture of my cat", refined_by="llm", now=NOW).trace
    assert trace.refined_by.startswith("llm")
    assert "cat" in trace.refined


def test_onnx_and_executorch_find_the_same_first_photo(
    bundle: Path, sample_album: Path, engine: Engine
) -> None:
    pytest.importorskip("executorch", reason="needs the export extra")
    other = Engine.open(bundle, sample_album, backend="executorch")
    for query in ("my cat", "Roman coins", "rocket launch"):
        assert ids(other, query)[0] == ids(engine, query)[0]


def test_models_that_do_not_fit_into_memory_together_are_loaded_in_turn(
    bundle: Path, sample_album: Path
) -> None:
    sizes = {a.role: a.bytes for a in Models.open(bundle).manifest.artifacts if a.target == "onnx"}
    budget = sizes["text_tower"] + sizes["image_tower"] - 1
    models = Models.open(bundle, max_memory=budget)
    before = models.text.encode(["my cat"])
    models.encode_image(np.full((64, 64, 3), 128, np.uint8))
    assert set(models.held()) == {"image_tower"}
    assert np.array_equal(models.text.encode(["my cat"]), before)
    assert set(models.held()) == {"text_tower"}
    with pytest.raises(RuntimeFailure, match="raise --max-memory"):
        _ = models.language_model
    room = sizes["llm_decoder"] + sizes["llm_embed"]
    engine = Engine.open(bundle, sample_album, threads=2, max_memory=room)
    assert engine.search("the picture of my cat", refined_by="llm", now=NOW).hits[0].id == "chelsea"
    trace = engine.search("the picture of my cat", refined_by="llm", now=NOW).trace
    assert "2 threads" in trace.models
    assert "text_tower" in trace.models
    assert "llm" not in trace.models


def test_an_answer_says_how_likely_the_album_holds_what_is_meant(engine: Engine) -> None:
    likely, unlikely = (
        engine.search("my cat", now=NOW),
        engine.search("quarterly earnings spreadsheet of a zeppelin factory", now=NOW),
    )
    assert likely.presence > 0.5 > unlikely.presence
    assert unlikely.doubtful
    assert not likely.doubtful
    assert likely.hits[0].probability > likely.hits[1].probability
    assert sum(hit.probability for hit in likely.hits) <= likely.presence + 1e-3


def test_the_dpe_runs_only_the_experts_that_the_router_chose(bundle: Path) -> None:
    models = Models.open(bundle)
    patches = models.encode_image(np.full((256, 256, 3), 128, np.uint8)).patches
    one, all_three = models.project(patches, 0.01), models.project(patches, 1.0)
    assert len(one.experts) == 1
    assert one.macs_saved == 2 * models.manifest.component("dpe_expert_0").macs
    assert len(all_three.experts) == 3
    assert all_three.macs_saved == 0
    assert one.prompts.shape == (49, models.manifest.decoder().hidden)


@pytest.mark.parametrize(
    "query",
    ["x" * 100_000, "\x00\x01\x02 cat", "' OR 1=1 --", 'NEAR("a" b) AND', "🐈" * 500, "кошка", "the", "."],
)
def test_odd_queries_are_answered(engine: Engine, query: str) -> None:
    assert len(engine.search(query, now=NOW).hits) == 5


def test_the_shared_photos_are_found_by_what_is_in_them(
    bundle: Path, shared_data: Path, tmp_path: Path
) -> None:
    """The words of the queries are in no file name; every broken file is listed and none is fatal."""
    built = build(shared_data / "photos", Models.open(bundle), tmp_path / "photos.gamer")
    skipped = {Path(s.where).name for s in built.skips}
    assert {"bad_empty.jpg", "bad_text.jpg", "bad_truncated.jpg"} <= skipped
    engine = Engine.open(bundle, tmp_path / "photos.gamer")
    valley = engine.search("a valley in the mountains")
    assert valley.hits[0].id == "11-tests.jpg"
    assert valley.trace.left["album"] == built.photos
    assert "valley" in [node.name for node in valley.trace.entities]
    assert valley.hits[0].matched
    assert {hit.id for hit in engine.search("car on the road").hits[:4]} >= {
        "45-gps_ifd.jpg",
        "32-lens_data.jpeg",
    }
    florence = engine.search("photo from Florence")
    assert florence.hits[0].id == "87_OSError.jpg"
    assert florence.trace.left["cube"] < built.photos
    assert all(not s.reason.startswith(s.where) for s in built.skips)
