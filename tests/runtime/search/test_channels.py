"""A channel of trained experts: indexed, searched with its own query vector, left out elsewhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gamer.index import Album
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.indexing.build import build, update
from gamer.runtime.models.models import Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.search.options import SearchOptions
from tests.fakes import CHANNEL, fake_models

ZERO: dict[str, Any] = dict.fromkeys(("text", "image", "words", "coverage", "entity", "related", "cue"), 0.0)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    lines = []
    for n, colour in enumerate(((200, 10, 10), (10, 200, 10), (10, 10, 200))):
        Image.new("RGB", (32, 32), colour).save(tmp_path / f"{n}.png")
        lines.append(json.dumps({"id": f"p{n}", "path": str(tmp_path / f"{n}.png")}))
    lines.append(json.dumps({"id": "told", "memories": [{"source": "note", "text": "no pixels"}]}))
    (tmp_path / "photos.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path / "photos.jsonl"


def scores(models: Models, album: Path, **weights: float) -> tuple[dict[str, float], str]:
    """Score of each photo by id with these weights alone, and the plan."""
    ranking = replace(Ranking(), **(ZERO | {"dpe": 0.0} | weights))
    with Engine(models, Album.open(album)) as engine:
        answer = engine.search("a red wall", 10, options=SearchOptions(weights=ranking))
    return {hit.id: round(hit.score, 4) for hit in answer.hits}, answer.trace.plan


def test_photos_get_the_channel_and_a_query_its_own_vector(photos: Path) -> None:
    models = fake_models(experts=True)
    album = build(photos, models, photos.with_suffix(".gamer")).path
    with Album.open(album) as opened:
        assert CHANNEL.name in opened.channels()
        pixels = opened.scores(CHANNEL.name, np.eye(CHANNEL.dim, dtype=np.float32)[0])
        assert np.isfinite(pixels).sum() == 3  # a memory without pixels has no v_I
    by_image, _ = scores(models, album, image=1.0)
    by_experts, plan = scores(models, album, dpe=1.0)
    assert CHANNEL.name in plan
    assert by_experts["told"] == 0.0
    engine = Engine(models, Album.open(album))
    with engine.album as opened:
        vector = models.text.encode(["a red wall"])[0]
        want = opened.scores("image", vector)
        # The fakes turn both sides round, so that their product is that of the image's channel.
        got = opened.scores(CHANNEL.name, models.query_vector(CHANNEL, "a red wall", vector))
        np.testing.assert_allclose(got[:3], want[:3], atol=1e-3)
        for n in range(3):
            assert by_experts[f"p{n}"] == pytest.approx(float(want[n]), abs=1e-3)
    assert by_image != by_experts


def test_bundle_and_album_need_not_both_have_it(photos: Path) -> None:
    with_experts = build(photos, fake_models(experts=True), photos.with_name("with.gamer")).path
    without = build(photos, fake_models(), photos.with_name("without.gamer")).path
    for models, album in ((fake_models(), with_experts), (fake_models(experts=True), without)):
        found, plan = scores(models, album, image=1.0, dpe=1.0)
        assert CHANNEL.name not in plan
        assert found == scores(fake_models(), without, image=1.0)[0]


def test_an_update_adds_the_channel_of_newly_trained_experts(photos: Path) -> None:
    album = build(photos, fake_models(), photos.with_suffix(".gamer")).path
    updated = update(album, fake_models(experts=True))
    assert not updated.renewed
    assert updated.photos == 4
    assert CHANNEL.name in scores(fake_models(experts=True), album, dpe=1.0)[1]
