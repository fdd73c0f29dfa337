"""The newcomer's album is drawn by rule, its files are what exporters write; verdicts say what is wrong."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from gamer.bench.newcomer import measure as newcomer
from gamer.bench.newcomer.album import STAMPS, Drawn, StampsError, Wish, draw, write
from gamer.bench.study.declaration import Run
from gamer.index import Photo, scan
from gamer.index.records import FAVOURITE
from gamer.runtime.door.bundle import Bundle
from gamer.runtime.search.answer import Answer, Hit, Trace


@pytest.fixture
def stamps(tmp_path: Path) -> Path:
    """Named pictures, and two that are left out: a drawing, and one called as its folder."""
    folder = tmp_path / "stamps"
    names = [f"a {first}{last}" for first in ("red", "tall", "new", "old") for last in "bcdfghjklmnpqrtvwxz"]
    for path, name in [*((f"town/{n}", name) for n, name in enumerate(names)), ("cartoon/x", "a castle")]:
        file = folder / f"{path}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGBA", (8, 8), (200, 10, 10, 99)).save(file)
        file.with_suffix(".txt").write_text(f"{name.capitalize()}.\nfr.utf8=autre\n", encoding="utf-8")
    (folder / "town/0.txt").write_text("A town.\n", encoding="utf-8")
    return folder


def _drawn(stamps: Path) -> Drawn:
    return draw(stamps, "1.0")


def test_the_album_is_read_as_its_exporters_wrote_it(stamps: Path, tmp_path: Path) -> None:
    drawn = _drawn(stamps)
    write(tmp_path / "photos", drawn.shots)
    photos = [item for item in scan(tmp_path / "photos") if isinstance(item, Photo)]
    assert {Path(photo.id).stem for photo in photos} == {shot.name for shot in drawn.shots}
    favourites = sum(shot.favourite for shot in drawn.shots)
    assert sum(FAVOURITE in photo.memories for photo in photos) == favourites > 0
    assert not {"castle", "town"} & {shot.thing for shot in drawn.shots}


def test_a_release_draws_its_own_album_and_always_the_same(stamps: Path) -> None:
    assert _drawn(stamps) == _drawn(stamps)
    assert _drawn(stamps).wishes != draw(stamps, "1.1").wishes


def test_half_of_each_kind_is_held_out_and_what_fits_is_in_the_album(stamps: Path) -> None:
    drawn = _drawn(stamps)
    names = {shot.name for shot in drawn.shots}
    counts = Counter((wish.asks, wish.held_out) for wish in drawn.wishes)
    for kind in {wish.asks for wish in drawn.wishes}:
        assert 0 <= counts[kind, False] - counts[kind, True] <= 1
    assert all(names.issuperset(wish.fits) for wish in drawn.wishes)
    assert all(bool(wish.fits) != wish.absent for wish in drawn.wishes)


def test_what_was_left_out_is_not_meant(stamps: Path) -> None:
    things = {shot.name: shot.thing for shot in _drawn(stamps).shots}
    without = [wish for wish in _drawn(stamps).wishes if wish.asks == "negation"]
    assert without
    for wish in without:
        assert not any(wish.query.endswith(f" {things[name]}") for name in wish.fits)


def test_without_the_package_the_error_names_it(tmp_path: Path) -> None:
    with pytest.raises(StampsError, match="install Debian's tuxpaint-stamps-default"):
        draw(tmp_path / "none", "1.0")


def _answer(ids: list[str], presence: float = 0.9, likely: float = 0.6, count: int | None = None) -> Answer:
    hits = tuple(
        Hit(n, f"a/{id}.jpg", None, None, None, None, 1.0, likely, {}, None, ()) for n, id in enumerate(ids)
    )
    trace = Trace("", (), (), (), "", "", 0.5, (), {}, 0, False, 0.0, {}, "", "", "")
    return Answer(hits, trace, presence, count)


@pytest.mark.parametrize(
    ("wish", "answer", "objection", "misleads"),
    [
        (Wish("", "q", ("x",)), _answer(["x", "y"]), "", False),
        (Wish("", "q", ("x",)), _answer(["y", "x"]), "y is among the first 1", True),
        (Wish("", "q", ("x",)), _answer(["y", "x"], likely=0.3), "y is among the first 1", False),
        (Wish("", "q", ("x",)), _answer(["x"], presence=0.2), "called not in the album", False),
        (Wish("", "q", ("x", "z"), 2), _answer(["x", "y"]), "y is among the first 2", False),
        (Wish("", "q", ("x", "z"), 2), _answer(["x"]), "shows 1, and 2 fit", False),
        (Wish("", "q", ("x",), count=2), _answer(["x"], count=3), "counts 3, and there are 2", False),
        (Wish("", "q", absent=True), _answer(["x"], presence=0.2, likely=0.1), "", False),
        (Wish("", "q", absent=True), _answer(["x"]), "nothing fits, and it is not said", True),
    ],
)
def test_a_verdict_says_what_is_wrong(wish: Wish, answer: Answer, objection: str, misleads: bool) -> None:
    verdict = newcomer.verdict(wish, answer)
    assert (verdict.objection, verdict.misleads) == (objection, misleads)


def test_words_that_pictures_cannot_be_searched_for_count_apart() -> None:
    note = "pictures cannot be searched for windmill with this model; memories were"
    owned = newcomer.verdict(Wish("things", "q", ("x",)), replace(_answer(["y"], 0.2), note=note))
    right = newcomer.verdict(Wish("things", "q", ("x",)), _answer(["x"]))
    assert newcomer.shares((owned, right)) == (newcomer.Share("things", 2, 1, 1),)


@pytest.mark.slow
def test_what_facts_decide_is_answered(bundle: Path, tmp_path: Path) -> None:
    if not STAMPS.is_dir():
        pytest.skip("needs Debian's tuxpaint-stamps-default")
    result = newcomer.measure(Run(newcomer.Settings(), (bundle,), home=tmp_path, threads=2))
    printed = ("receipts",) if Bundle(bundle).models.has_lines else ()  # are read by the part ocr alone
    by_facts = [share for share in result.seen if share.asks in ("people", "counting", *printed)]
    asked = sum(share.queries for share in by_facts)
    assert sum(share.right for share in by_facts) >= 0.8 * asked > 0, result.verdicts
