"""Whoever is forgotten stands in no file beside the album, whatever was made of their name before."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import apsw
import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from gamer.index import Album, AlbumWriter, OpenedLog
from gamer.index.vectors.quantize import quantize
from gamer.main import main
from gamer.runtime.indexing import build as building
from gamer.runtime.indexing import people as naming
from gamer.runtime.models.faces import Face
from gamer.runtime.models.models import Models
from tests.albums import note
from tests.fakes import fake_models
from tests.runtime.indexing.test_people import GREEN, GREY, RED, Colours, encoder, people, picture
from tests.runtime.indexing.test_people import models as of_colours

NAME = "Quetzalina Vrondborgh"
RUN = 16  # bytes of a vector by which somebody could be known again


class Noise(Colours):
    """Faces whose vectors look like no others: noise that is drawn by the colour."""

    def read(self, pixels: NDArray[np.uint8]) -> tuple[Face, ...]:
        def vector(face: Face) -> Any:
            drawn = np.random.default_rng((face.vector[:3] * 900).astype(int).tolist())
            return drawn.standard_normal(128).astype(np.float32)

        return tuple(Face(face.box, face.quality, vector(face)) for face in super().read(pixels))


def models(text_encoder: str = "made-up") -> Models:
    made = of_colours()
    cast(Any, made).faces, made.manifest.text_encoder = Noise(), text_encoder  # type: ignore[misc]
    return made


@pytest.fixture
def album(tmp_path: Path) -> Path:
    photos = tmp_path / "photos"
    photos.mkdir()
    for name, left, right in (("a", RED, GREY), ("b", RED, GREEN), ("c", GREEN, GREY)):
        picture(photos / f"{name}.png", left, right)
    (tmp_path / "albums").mkdir()
    built = building.build(photos, models(), tmp_path / "albums" / "a.gamer", with_people=True).path
    naming.name(built, encoder, "p1", NAME)
    naming.name(built, encoder, "p3", "Greta")
    return built


def forms(album: Path) -> list[bytes]:
    """The vectors of the person, as floats, halves and codes."""
    found = people(album)
    own = [vector for face, vector in zip(found.faces, found.vectors, strict=True) if face.person == 1]
    return [f for v in own for f in (v.tobytes(), v.astype("<f2").tobytes(), quantize(v[None])[0].tobytes())]


def left(album: Path, vectors: list[bytes]) -> list[str]:
    """The files of the album's folder with a word of the name, in any case, or a run of a vector."""
    out = []
    for path in album.parent.rglob("*"):
        data = path.read_bytes()
        words = [part for part in NAME.lower().encode().split() if part in data.lower()]
        runs = [f for f in vectors if any(f[at : at + RUN] in data for at in range(0, len(f) - RUN, 4))]
        if words or runs:
            out.append(path.name)
    return out


def preferred(album: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.prefer(NAME, "Greta")


def merged(album: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.merge("Greta", NAME)


def merged_into(album: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.merge(NAME, "Greta")


def searched(album: Path) -> None:
    log = OpenedLog(album)
    log.keep()
    for query in ("quetzalina at the lake", NAME.upper()):
        log.add(query, "a.png")


def build_cut_short(album: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            building.build(album.parents[1] / "photos", models(), album)


def renewal_cut_short(album: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_renew", interrupted)
        with pytest.raises(KeyboardInterrupt):
            building.update(album, models("another"))


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("everyone", [False, True])
@pytest.mark.parametrize(
    "before", [preferred, merged, merged_into, searched, build_cut_short, renewal_cut_short]
)
def test_whatever_was_made_of_a_name_goes_with_it(
    album: Path, before: Callable[[Path], None], everyone: bool
) -> None:
    before(album)
    vectors = forms(album)
    assert len(left(album, vectors)) >= 1
    gone = naming.forget_all(album, encoder) if everyone else naming.forget(album, encoder, [NAME])
    assert gone.left == ""
    assert left(album, vectors) == []
    with Album.open(album) as opened:
        assert opened.verify() == []
        assert ("Greta" in [entity.name for entity in opened.listed_entities()]) is not everyone


def test_an_interrupted_build_without_people_goes_on_after_a_forgetting(album: Path) -> None:
    """What holds nobody stays: hours of encoding may be in it."""
    photos, half = album.parents[1] / "photos", album.with_name("a.gamer.building")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gamer.runtime.indexing.faces.carry", interrupted)
        with pytest.raises(KeyboardInterrupt):
            building.build(photos, models(), album)
    naming.forget(album, encoder, [NAME])
    with Album.open(half) as opened:
        assert len(opened) == 3


def test_a_forgotten_memory_stands_in_no_interrupted_renewal(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*words: str) -> None:
        assert CliRunner().invoke(main, ["memory", *words]).exit_code == 0

    monkeypatch.setattr(Models, "open", lambda *_, **__: fake_models())
    naming.forget(album, encoder, [NAME])
    run("add", str(album), f"My dentist is {NAME}")
    renewal_cut_short(album)
    assert "a.gamer.renewing" in left(album, [])
    run("forget", str(album), "m1")
    assert left(album, []) == []


@pytest.mark.parametrize("noted", ["", "NaN", "9" * 5_000, "9" * 22, "[" * 100_000, "-5", b"\xff", 7])
def test_a_damaged_note_of_numbers_keeps_nobody_from_being_forgotten(album: Path, noted: object) -> None:
    with closing(apsw.Connection(str(album))) as db:
        db.execute("UPDATE face_meta SET value=? WHERE key NOT IN ('encoder', 'version')", (noted,))
    naming.split(album, encoder, NAME, [people(album).person(NAME).faces[0].row])
    assert naming.forget(album, encoder, [NAME]).left == ""


def test_the_bytes_of_a_removed_photo_go_when_the_album_is_compacted(album: Path, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"id": "removed", "memories": note(f"{NAME} at sea " * 30)}) + "\n"
    )
    naming.forget(album, encoder, [NAME])
    building.add(album, tmp_path / "a.jsonl", models())
    for words in (["remove", str(album), "removed"], ["compact", str(album)]):
        assert CliRunner().invoke(main, ["index", *words]).exit_code == 0
    assert left(album, []) == []
