"""A missing memory counts as unknown: as what the described photos' memories add, not as nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from gamer.runtime.search.engine import Engine
from gamer.runtime.search.stages import fused
from gamer.runtime.search.stages.unknown import DEFAULT, Evidence, expected
from tests.albums import engine_of, note

SPREAD, PICTURE, MOST = DEFAULT.spread, DEFAULT.picture, DEFAULT.most
TWO = 2 / (2 + DEFAULT.few)  # the share of two described photos


def known(told: list[int], seen: list[int], **parts: list[float]) -> Evidence:
    values = {name: np.array(numbers, np.float32) for name, numbers in parts.items()}
    return Evidence(values, np.array(told, np.bool_), np.array(seen, np.bool_))


def test_it_is_what_the_described_photos_memories_add_and_a_share_of_their_spread() -> None:
    rows = known([1, 1, 0], [0, 0, 0], text=[1, 3, 0], words=[0, 0, 5], cue=[9, 9, 9])
    mean, deviation = 2.0, 1.0  # of 1 and 3: neither cues nor the third photo's own words count
    assert expected(rows, rows).tolist() == pytest.approx([0, 0, TWO * (mean + SPREAD * deviation)])


def test_a_picture_that_fits_better_than_the_albums_promises_a_memory_that_fits_better() -> None:
    rows = known([1, 1, 0, 0, 0], [1, 0, 1, 1, 0], text=[0, 4, 0, 0, 0], image=[0.3, 0, 0.6, 0.0, 0])
    usual = TWO * (2 + SPREAD * 2)
    # A photo without pixels is neither among the pictures nor judged by one.
    want = [0, 0, usual + PICTURE * 0.3, usual - PICTURE * 0.3, usual]
    assert expected(rows, rows).tolist() == pytest.approx([0, 0, min(want[2], 4 * MOST), *want[3:]])


def test_it_stays_below_the_memory_that_fits_best() -> None:
    rows = known([1, 1, 0], [1, 1, 1], text=[1, 3, 0], words=[0, 2, 0], image=[0, 0, 9])
    assert expected(rows, rows).tolist() == pytest.approx([0, 0, MOST * 3])
    far = known([1, 1, 0], [1, 1, 1], text=[0, 4, 0], image=[0, 0, 9])
    assert expected(far, far).tolist() == pytest.approx([0, 0, MOST * 4])


def test_where_nobody_described_a_photo_pictures_alone_decide() -> None:
    rows = known([0, 0], [1, 1], image=[0.4, 0.2])
    assert expected(rows, rows).tolist() == pytest.approx([PICTURE * 0.1, -PICTURE * 0.1])
    bare = known([0, 0], [0, 0], cue=[1, 0])
    assert expected(bare, bare).tolist() == [0, 0]


def test_the_rest_of_the_album_says_what_is_usual() -> None:
    album = known([1, 1], [1, 1], text=[0, 4], image=[0.2, 0.2])
    best = known([0], [1], text=[0], image=[0.3])
    assert expected(best, album).tolist() == pytest.approx([TWO * (2 + SPREAD * 2) + PICTURE * 0.1])


def test_the_one_memory_of_an_album_promises_little_of_the_other_photos() -> None:
    rows = known([1, 0, 0], [1, 1, 1], text=[6, 0, 0], words=[4, 0, 0], image=[0.1, 0.2, 0.3])
    meant, *others = (expected(rows, rows) + sum(rows.parts.values())).tolist()
    assert max(others) < meant / 5


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    rows = []
    for n in range(24):
        Image.new("RGB", (16, 16), (10 * n, 255 - 10 * n, 99)).save(tmp_path / f"{n}.png")
        memories = note(f"walk number {n}") if n % 2 else []
        rows.append({"id": f"p{n}", "path": str(tmp_path / f"{n}.png"), "memories": memories})
    return engine_of(tmp_path, rows)


def test_only_photos_without_a_memory_have_the_summand_and_a_query_of_cues_alone_does_not_use_it(
    engine: Engine,
) -> None:
    with engine.album:
        hits = engine.search("a walk", 24).hits
        assert {hit.id for hit in hits if hit.parts["unknown"]} == {f"p{n}" for n in range(0, 24, 2)}
        assert not any(
            hit.parts.get("unknown") for hit in engine.search("photos from 2019", 24).hits if hit.parts["cue"]
        )


def test_chosen_candidates_of_a_large_album_score_as_if_all_were_ranked(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with engine.album:
        everything = {hit.id: hit.parts["unknown"] for hit in engine.search("a walk", 24).hits}
        monkeypatch.setattr(fused, "EXACT_ROWS", 10)
        monkeypatch.setattr(fused, "PROPOSED", 3)
        hits = engine.search("a walk", 24).hits
        assert 3 <= len(hits) < 24
        assert any(hit.parts["unknown"] for hit in hits)
        for hit in hits:
            assert hit.parts["unknown"] == pytest.approx(everything[hit.id], abs=1e-3)
