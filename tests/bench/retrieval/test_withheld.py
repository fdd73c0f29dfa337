"""What is measured where memories are withheld: which photos lose theirs, what counts as untold, the fit."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from gamer.bench.retrieval import datasets
from gamer.bench.retrieval.albums import album_of
from gamer.bench.retrieval.withheld import WithheldQuery, _best, _hidden, _recall
from gamer.index import Album
from gamer.index.records import FAVOURITE
from gamer.runtime.models.models import Models
from gamer.runtime.search.stages.unknown import DEFAULT, Evidence, Weights
from tests.bench.retrieval import data_sets

TOLD, UNTOLD, PHOTOS = 100, 201, 202  # a described photo that fits; the one that is asked for; all


def asked(meant: int, *, cues_only: bool = False, fold: int = 0) -> WithheldQuery:
    """200 described photos, the last hundred of which fit well, and two that nobody described, of which the
    picture of the second fits.
    """
    parts = {
        "text": np.array([*[0] * 100, *[3] * 100, 0, 0], np.float32),
        "image": np.array([*[0.5] * 201, 1.0], np.float32),
        "cue": np.zeros(PHOTOS, np.float32),
    }
    told = np.arange(PHOTOS) < 200
    known = Evidence(parts, told, np.ones(PHOTOS, np.bool_))
    return WithheldQuery("ann", fold, known, np.arange(PHOTOS) == meant, 1, cues_only)


def test_an_untold_photo_is_found_by_its_picture_and_a_told_one_as_before() -> None:
    untold, told = asked(UNTOLD), asked(TOLD)
    assert untold.kind == "untold"
    assert told.kind == "told"
    assert untold.recall(None) == 0
    assert untold.recall(DEFAULT) == 1
    assert told.recall(None) == told.recall(DEFAULT) == 1
    assert untold.recall(Weights(picture=0.0)) == 0
    assert asked(UNTOLD, cues_only=True).scores(DEFAULT).tolist() == [0] * PHOTOS


def test_a_query_is_counted_with_the_weights_that_other_folds_chose() -> None:
    queries = [asked(UNTOLD, fold=0), asked(UNTOLD, fold=1), asked(TOLD, fold=1)]
    recall = _recall(queries, "untold", (DEFAULT, Weights(picture=0.0)))
    assert (recall.queries, recall.nothing, recall.unknown, recall.held_out) == (2, 0, 1, 0.5)
    assert _recall(queries, "all", (DEFAULT, DEFAULT)).unknown == 1


def test_the_weights_of_the_least_loss_are_chosen_without_the_fold() -> None:
    losses = {Weights(0.0): [[1.0, 9.0], [1.0]], Weights(1.0): [[2.0, 0.0], [2.0]]}
    assert _best(losses, [np.array([True, True]), np.array([True])]) == Weights(1.0)
    assert _best(losses, [np.array([True, False]), np.array([True])]) == Weights(0.0)


def test_a_hash_of_the_id_or_a_day_chooses_whose_memories_are_withheld(tmp_path: Path) -> None:
    folder = data_sets.write(tmp_path / "set", ("ann",))
    hidden = _hidden(folder, "ann", "2020-06-01")
    assert hidden == _hidden(folder, "ann", "2020-06-01")
    assert 0 < len(hidden["half"]) < 8
    assert hidden["since 2020-06-01"] == {"ann4", "ann5", "ann6", "ann7"}
    assert list(_hidden(folder, "ann", "2031-01-01")) == list(_hidden(folder, "ann", None)) == ["half"]


def test_an_album_lacks_the_hidden_memories_and_names_its_pictures(tmp_path: Path) -> None:
    folder = data_sets.write(tmp_path / "set", ("ann",))
    datasets.write_album(folder, "ann", tmp_path / "a.jsonl", hidden={"ann3"})
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    marked = [row["id"] for row in rows if row["memories"] == [asdict(FAVOURITE)]]
    assert len(rows) == 8
    assert marked == ["ann3"]
    assert not any("path" in row for row in rows)


@pytest.mark.slow
def test_an_album_without_memories_is_another_album(bundle: Path, tmp_path: Path) -> None:
    folder, models = data_sets.write(tmp_path / "set", ("ann",)), Models.open(bundle)
    whole = album_of(folder, "ann", models, tmp_path, lambda _: None)
    part = album_of(folder, "ann", models, tmp_path, lambda _: None, hidden={"ann3", "ann4"})
    assert part != whole
    with Album.open(part) as album:
        text = album.scores("text", np.zeros(album.meta.dim, np.float32))
        assert np.isfinite(text).sum() == 6
