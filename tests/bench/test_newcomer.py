"""The newcomer's album: its files are what exporters write, and verdicts say what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("skimage", reason="needs the bench extra")

from gamer.bench import newcomer
from gamer.bench.study.declaration import NoSettings, Run
from gamer.index import Photo, scan
from gamer.index.records import FAVOURITE
from gamer.runtime.search.answer import Answer, Hit, Trace


def _answer(ids: list[str], presence: float = 0.9, likely: float = 0.6, count: int | None = None) -> Answer:
    hits = tuple(
        Hit(n, f"a/{id}.jpg", None, None, None, None, 1.0, likely, {}, None, ()) for n, id in enumerate(ids)
    )
    trace = Trace("", (), (), (), "", "", 0.5, (), {}, 0, False, 0.0, {}, "", "", "")
    return Answer(hits, trace, presence, count)


def test_the_album_is_read_as_its_exporters_wrote_it(tmp_path: Path) -> None:
    written = newcomer.write(tmp_path)
    photos = [item for item in scan(tmp_path) if isinstance(item, Photo)]
    assert len([photo for photo in photos if photo.path]) == written
    assert sum(FAVOURITE in photo.memories for photo in photos) == 3
    assert len(newcomer.wishes()) == 25


@pytest.mark.parametrize(
    ("wish", "answer", "objection", "misleads"),
    [
        (newcomer.Wish("", "q", ("x",)), _answer(["x", "y"]), "", False),
        (newcomer.Wish("", "q", ("x",)), _answer(["y", "x"]), "y comes first", True),
        (newcomer.Wish("", "q", ("x",)), _answer(["y", "x"], likely=0.3), "y comes first", False),
        (newcomer.Wish("", "q", ("x",)), _answer(["x"], presence=0.2), "called not in the album", False),
        (newcomer.Wish("", "q", ("x",), never=("y",)), _answer(["x", "y"]), "y is shown", False),
        (
            newcomer.Wish("", "q", ("x",), count=2),
            _answer(["x"], count=3),
            "counts 3, and there are 2",
            False,
        ),
        (newcomer.Wish("", "q", absent=True), _answer(["x"], presence=0.2, likely=0.1), "", False),
        (newcomer.Wish("", "q", absent=True), _answer(["x"]), "nothing fits, and it is not said", True),
    ],
)
def test_a_verdict_says_what_is_wrong(
    wish: newcomer.Wish, answer: Answer, objection: str, misleads: bool
) -> None:
    verdict = newcomer.verdict(wish, answer)
    assert (verdict.objection, verdict.misleads) == (objection, misleads)


@pytest.mark.slow
def test_most_of_what_a_newcomer_asks_is_answered(bundle: Path, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr", reason="needs the ocr extra")
    verdicts = newcomer.measure(Run(NoSettings(), (bundle,), home=tmp_path, threads=2)).verdicts
    assert sum(not verdict.objection for verdict in verdicts) >= 22, verdicts
    assert not [verdict for verdict in verdicts if verdict.misleads]
