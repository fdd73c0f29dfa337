"""B³, and the measurement of people on pictures that the test makes, with a made-up reader of faces."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from gamer.bench.people import measure
from gamer.bench.people.scores import b_cubed
from gamer.bench.retrieval.datasets import DatasetError
from gamer.bench.study.declaration import NoSettings, Run
from gamer.runtime.models.faces import Face
from gamer.runtime.models.models import Models


def test_b_cubed_of_known_groupings() -> None:
    people = np.array([0, 0, 0, 1, 1])
    assert b_cubed(np.array([7, 7, 7, 8, 8]), people).f1 == 1
    together = b_cubed(np.zeros(5, np.int64), people)
    assert together.precision == pytest.approx(0.6 * 0.6 + 0.4 * 0.4)
    assert together.recall == 1
    alone = b_cubed(np.arange(5), people)
    assert alone.precision == 1
    assert alone.recall == pytest.approx((3 * 1 / 3 + 2 * 1 / 2) / 5)


def test_the_largest_face_of_a_picture_is_the_folders_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for person, red in (("a", 40), ("b", 200)):
        for n in range(3):
            (tmp_path / person).mkdir(exist_ok=True)
            Image.new("RGB", (30, 20), (red, n, 0)).save(tmp_path / person / f"{n}.png")
    Image.new("RGB", (30, 20)).save(tmp_path / "b" / "nobody.png")

    def read(pixels: object) -> tuple[Face, ...]:
        red = float(np.asarray(pixels)[0, 0, 0])
        large = Face((0, 0, 0.5, 0.5), 0.5, np.full(128, red / 900, np.float32))
        small = Face((0, 0, 0.1, 0.1), 1.0, np.zeros(128, np.float32))
        return (small, large) if red else ()

    opened = SimpleNamespace(
        faces=SimpleNamespace(read=read), manifest=SimpleNamespace(recipe="made-up", quant="int8")
    )
    monkeypatch.setattr(Models, "open", lambda *args, **options: opened)
    monkeypatch.setattr(measure, "MANY", 200)
    result = measure.measure(Run(NoSettings(), (tmp_path,), (tmp_path,)))
    assert (result.people, result.pictures, result.recall) == (2, 7, round(6 / 7, 4))
    assert (result.used.groups, result.used.scores.f1) == (2, 1)
    assert result.same["100"] < 0.1 < result.different["0"]


def test_a_folder_of_one_person_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="one folder of pictures for each person"):
        measure.measure(Run(NoSettings(), (tmp_path,), (tmp_path,)))
