"""Calibration: what it writes is what an engine reads, and nothing that serves other users worse."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from gamer.bench.retrieval import calibrate, delta
from gamer.bench.study.declaration import Run
from gamer.runtime.bundle import manifest as mf
from tests.bench.retrieval.data_sets import write_rows

THINGS = (
    "a red bicycle",
    "snow on the roof",
    "apple pie",
    "a sleeping cat",
    "boats in the harbour",
    "a choir",
)
FOUND = calibrate.Calibration(0.7, 0.5, mf.Ranking(text=3.0), 0.9, 0.8, False)


def test_no_weight_is_negative_and_the_image_follows_the_text() -> None:
    usable = calibrate.usable(mf.Ranking(text=10.0, words=-0.3, here=-2.0), "how")
    assert (usable.words, usable.image, usable.here, usable.fitted) == (0.0, 6.0, -2.0, "how")


def test_the_manifest_on_disk_has_what_was_found_and_is_otherwise_the_same(tmp_path: Path) -> None:
    golden = Path(__file__).parents[2] / "golden" / "manifest_v1.json"
    before = mf.from_json(golden.read_text(encoding="utf-8"), "x")
    calibrate.write(tmp_path, calibrate.calibrated(before, FOUND, "mine"))
    after = mf.read(tmp_path)
    assert after.thresholds.delta == 0.7
    assert "mine" in after.thresholds.delta_from
    assert after.ranking == replace(FOUND.ranking)
    assert replace(after, thresholds=before.thresholds, ranking=before.ranking) == before
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.slow
def test_a_bundle_is_calibrated_on_a_small_data_set(bundle: Path, tmp_path: Path) -> None:
    mine = tmp_path / "bundle"
    shutil.copytree(bundle, mine, copy_function=os.link)
    _own_copy(mine / mf.MANIFEST_NAME)
    before = (bundle / mf.MANIFEST_NAME).read_bytes()
    folder = _data(tmp_path / "set")
    result = calibrate.calibrate(Run(delta.Settings(6), (mine,), (folder,), home=tmp_path, threads=2))
    manifest = mf.read(mine)
    assert (bundle / mf.MANIFEST_NAME).read_bytes() == before
    assert result.recall5 <= 1.0
    assert 0 < result.delta < 1
    if result.written:
        assert manifest.thresholds.delta == result.delta
        assert manifest.ranking == result.ranking
    else:
        assert manifest == mf.read(bundle)
        assert result.recall5 < result.own_recall5


def _own_copy(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def _data(folder: Path) -> Path:
    for user in ("ann", "bob", "cid", "dee"):
        corpus = [
            {"id": f"{user}{n}", "timestamp": f"2020-01-{n + 1:02}T10:00:00", "text": text}
            for n, text in enumerate(THINGS)
        ]
        asked = [
            {"query_id": f"{user}-q{n}", "query": text, "relevant": [f"{user}{n}"]}
            for n, text in enumerate(THINGS)
        ]
        write_rows(folder / f"{user}.corpus.jsonl.gz", corpus)
        write_rows(folder / f"{user}.queries.jsonl.gz", asked)
    return folder
