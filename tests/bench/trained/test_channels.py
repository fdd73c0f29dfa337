"""What pixels alone find: counted as it should be, and weighed by photos that are not asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the export extra")

from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.study.declaration import Run
from gamer.bench.trained import channels
from gamer.export.errors import ExportError
from gamer.export.training import vectors
from gamer.export.training.options import Options
from tests.export.training.test_sft import OPTIONS, run

PHOTOS = 40
EYE = np.eye(PHOTOS, dtype=np.float32)


def made_up(good: str) -> vectors.Vectors:
    """The space `good` knows every photo; the other ranks six wrong ones first. Twenty have memories."""
    wrong = np.zeros((PHOTOS, PHOTOS), np.float32)
    for n in range(PHOTOS):
        wrong[n, [(n + step) % PHOTOS for step in range(1, 7)]] = 1 / np.sqrt(6)
    asked = (*range(20, PHOTOS), 25, 3)
    spaces = {True: EYE[list(asked)], False: wrong[list(asked)]}
    labels, trained = spaces[good == "labels"], spaces[good == "trained"]
    ids = tuple(f"p{n}" for n in range(PHOTOS))
    by_rho = {0.4: (1.5, wrong), 0.8: (2.5, EYE)}
    return vectors.Vectors(
        ids, EYE, EYE, trained, labels, None, tuple(range(20, PHOTOS)), 20, Options(until=1), by_rho
    )


def row(good: str) -> tuple[channels.ChannelQuery, channels.Row]:
    found = made_up(good)
    asked = channels.asked_of(found, [["p25"], ["p3"]])
    return asked, channels.row_of("a", found, asked, 0.0)


def test_queries_count_whose_photos_had_their_memories_withheld() -> None:
    asked, _ = row("trained")
    assert asked.withheld == 20
    assert asked.answers[20:] == [frozenset({25})]


def test_a_channel_that_finds_gets_the_weight_and_one_that_does_not_gets_none() -> None:
    asked, good = row("trained")
    assert good.trained.withheld == {"5": 1.0, "20": 1.0}
    assert good.trained.queries["5"] == 1.0
    assert asked.found(asked.labels).withheld["5"] == 0.0
    assert good.weight > 0
    assert good.fitted.withheld["5"] == 1.0
    assert good.by_weight["0.0"] == 0.0
    _, bad = row("labels")
    assert bad.weight == 0.0
    assert set(bad.weight_by_fold) == {0.0}
    assert bad.fitted.queries["5"] == 1.0
    assert bad.trained.withheld["5"] == 0.0
    assert bad.by_weight["48.0"] == 0.0
    few, many = good.by_rho
    assert (few.rho, few.experts, few.trained.withheld["5"]) == (0.4, 1.5, 0.0)
    assert (many.rho, many.experts, many.trained.withheld["5"]) == (0.8, 2.5, 1.0)


def test_recall_is_the_share_of_the_answers() -> None:
    scores = np.array([[3, 2, 1, 0], [0, 1, 2, 3]], np.float32)
    answers = (frozenset({0, 3}), frozenset({3}))
    assert channels.recall(scores, answers, 1) == 0.75
    assert channels.recall(scores[:0], (), 5) == 0.0


def test_a_checkpoint_from_which_nothing_was_withheld_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "dpe", replace(OPTIONS, epochs=0))
    with pytest.raises(ExportError, match="train with --until DATE"):
        vectors.of_checkpoint(tmp_path / "a.gamer", tmp_path / "dpe", ())


def test_what_has_no_score_is_not_found() -> None:
    assert channels.recall(np.full((1, 3), np.nan, np.float32), (frozenset({0}),), 5) == 0.0


@pytest.mark.parametrize("line", ['{"query": "a", "relevant": 7}', '{"query": 3, "relevant": ["x"]}'])
def test_a_query_of_another_kind_is_refused(tmp_path: Path, line: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(DatasetError, match="is to be a text"):
        channels.measure(Run(channels.Settings(path), album=tmp_path / "a.gamer"))


def test_a_checkpoint_that_does_not_say_its_recipe_is_refused(tmp_path: Path) -> None:
    run(tmp_path / "dpe", replace(OPTIONS, epochs=0))
    path = tmp_path / "dpe" / "config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"training": {"until": 1}}))
    with pytest.raises(ExportError, match="does not say the recipe"):
        vectors.of_checkpoint(tmp_path / "a.gamer", tmp_path / "dpe", ())
