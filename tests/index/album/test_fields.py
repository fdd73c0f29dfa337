"""Fields: read from headers, kept beside the photos, checked, and gone with them."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest
from PIL import Image

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Photo, Skip, scan
from gamer.index.album.declarations.field_tables import declaration
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.leaving import open_leaving
from gamer.index.fields import camera_name
from gamer.runtime.agent.calls import ToolError
from gamer.runtime.agent.conditions import Conditions
from gamer.runtime.agent.expression import evaluate, parse_condition
from gamer.runtime.agent.timeline import Timeline
from gamer.runtime.indexing import build
from tests.fakes import fake_models
from tests.index.conftest import BuildAlbum
from tests.index.retelling import Retelling
from tools.docs.fields import PAGE, written


@pytest.mark.parametrize(
    ("make", "model", "name"),
    [
        ("Canon", "Canon EOS 5D", "Canon EOS 5D"),
        ("NIKON CORPORATION", "NIKON D90", "NIKON D90"),
        ("Apple", "iPhone 12", "Apple iPhone 12"),
        ("Sony", "", "Sony"),
        ("", "Pixel 8", "Pixel 8"),
        ("", "", None),
        ("A\nB\0", " C\t D ", "A B C D"),
        ("x" * 99, "y" * 99, "x" * 99),
    ],
)
def test_a_camera_is_named_by_maker_and_model(make: str, model: str, name: str | None) -> None:
    assert camera_name(make, model) == name


@pytest.mark.parametrize(
    ("size", "turned", "shown"),
    [
        ((32, 24), None, "landscape"),
        ((24, 32), 1, "portrait"),
        ((32, 24), 6, "portrait"),
        ((24, 32), 8, "landscape"),
        ((32, 24), 3, "landscape"),
        ((32, 24), 0xFFFF, "landscape"),
        ((24, 24), 6, "square"),
    ],
)
def test_an_orientation_is_that_of_the_picture_as_it_is_shown(
    tmp_path: Path, size: tuple[int, int], turned: int | None, shown: str
) -> None:
    exif = Image.Exif()
    if turned is not None:
        exif[0x0112] = turned
    Image.new("RGB", size, "red").save(tmp_path / "a.jpg", exif=exif)
    (photo,) = scan(tmp_path)
    assert isinstance(photo, Photo)
    assert photo.orientation == shown


@pytest.mark.parametrize(
    ("flash", "light"),
    [(0x01, "flash"), (0x19, "flash"), (0x10, "ambient"), (0x20, None), (None, None), ("?", None)],
)
def test_the_light_is_the_flash_or_not_or_is_not_known(
    tmp_path: Path, flash: object, light: str | None
) -> None:
    exif = Image.Exif()
    if flash is not None:
        exif.get_ifd(0x8769)[0x9209] = flash
    Image.new("RGB", (32, 24), "red").save(tmp_path / "a.jpg", exif=exif)
    (photo,) = scan(tmp_path)
    assert isinstance(photo, Photo)
    assert photo.lighting == light


@pytest.mark.parametrize(
    ("name", "comment", "medium"),
    [
        ("Screenshot_20240301-101500.png", "", "screenshot"),
        ("Bildschirmfoto 2024-03-01 um 10.15.00.png", "", "screenshot"),
        ("IMG_0001.jpg", "Screenshot", "screenshot"),
        ("IMG_0001.jpg", "a shot of the screen", None),
    ],
)
def test_a_picture_of_a_screen_is_known_by_its_name_or_its_comment(
    tmp_path: Path, name: str, comment: str, medium: str | None
) -> None:
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9286] = comment
    Image.new("RGB", (24, 32), "white").save(tmp_path / name, exif=exif)
    (photo,) = scan(tmp_path)
    assert isinstance(photo, Photo)
    assert photo.medium == medium


def test_photos_are_filtered_by_their_orientation_checked_and_learned_again(tmp_path: Path) -> None:
    folder, path = tmp_path / "photos", tmp_path / "a.gamer"
    folder.mkdir()
    for name, colour, size in (("high", "red", (24, 32)), ("wide", "blue", (32, 24))):
        Image.new("RGB", size, colour).save(folder / f"{name}.jpg")
    build.build(folder, fake_models(), path)
    with Album.open(path) as album:
        timeline = Timeline(album.times())
        conditions = Conditions(album, fake_models().gazetteer, timeline, album.row_of)
        portrait = evaluate(parse_condition("orientation = Portrait"), conditions.compare)
        assert [album.photo(int(row)).id for row in portrait.nonzero()[0]] == ["high.jpg"]
        with pytest.raises(ToolError, match="no orientation 'upright'; choose one of landscape, portrait"):
            evaluate(parse_condition("orientation = upright"), conditions.compare)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE orientations")
        db.commit()
    with Album.open(path) as album:
        assert album.verify() == []
        assert album.details() == {}
    build.add(path, folder, fake_models())
    with Album.open(path) as album:
        assert [photo.orientation for photo in album.photos([0, 1])] == ["portrait", "landscape"]


def test_a_line_of_json_with_another_orientation_is_passed_over(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text('{"id": "a", "memories": [{"source": "note", "text": "x"}], "orientation": "upright"}\n')
    (skip,) = scan(lines)
    assert isinstance(skip, Skip)
    assert skip.reason == "the line.orientation: must be one of landscape, portrait, square"


def picture(path: Path, colour: str, model: str | None) -> None:
    exif = Image.Exif()
    if model:
        exif[0x010F], exif[0x0110] = "Canon", model
    Image.new("RGB", (32, 24), colour).save(path, exif=exif)


def cameras(path: Path) -> list[str | None]:
    with Album.open(path) as album:
        assert album.verify() == []
        return [photo.camera for photo in album.photos(range(len(album)))]


def test_cameras_come_from_the_pictures_and_stay_with_them(tmp_path: Path) -> None:
    folder, path = tmp_path / "photos", tmp_path / "a.gamer"
    folder.mkdir()
    picture(folder / "a.jpg", "red", "Canon EOS 5D")
    picture(folder / "b.jpg", "blue", None)
    picture(folder / "c.jpg", "green", "PowerShot")
    build.build(folder, fake_models(), path)
    assert cameras(path) == ["Canon EOS 5D", None, "Canon PowerShot"]
    build.update(path, fake_models("another"))
    assert cameras(path) == ["Canon EOS 5D", None, "Canon PowerShot"]
    with Album.open(path) as album:
        export_jsonl(album, tmp_path / "out.jsonl")
    again = [photo for photo in scan(tmp_path / "out.jsonl") if isinstance(photo, Photo)]
    assert [photo.camera for photo in again] == ["Canon EOS 5D", None, "Canon PowerShot"]
    with AlbumWriter.extend(path) as writer:
        writer.remove(["a.jpg"])
    assert sorted(map(str, cameras(path))) == ["Canon PowerShot", "None"]
    with Album.open(path) as album:
        assert album.details() == {
            "b.jpg": {"orientation": "landscape"},
            "c.jpg": {"camera": "Canon PowerShot", "orientation": "landscape"},
        }


def test_an_album_of_an_earlier_program_learns_them_when_its_folder_is_added_again(tmp_path: Path) -> None:
    folder, path = tmp_path / "photos", tmp_path / "a.gamer"
    folder.mkdir()
    picture(folder / "a.jpg", "red", "Canon EOS 5D")
    build.build(folder, fake_models(), path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("DROP TABLE cameras")
        db.commit()
    assert cameras(path) == [None]
    done = build.add(path, folder, fake_models())
    assert (done.added, done.edited) == (0, 0)
    assert cameras(path) == ["Canon EOS 5D"]


def test_damage_is_named_and_what_must_stay_is_not_told(build_album: BuildAlbum, tmp_path: Path) -> None:
    path = build_album([Encoded(Photo("a.jpg", camera="Canon")), Encoded(Photo("b.jpg", camera="Leica"))])
    with Album.open(path) as album, open_leaving(album, Retelling()) as told:
        assert told.details() == {}
        assert album.details() == {"a.jpg": {"camera": "Canon"}, "b.jpg": {"camera": "Leica"}}
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE cameras SET name='Nikon' WHERE photo='a.jpg'")
        db.commit()
    with Album.open(path) as album:
        assert album.verify() == ["camera of 'a.jpg': its row does not match its checksum"]
        with pytest.raises(AlbumError, match=r"the camera of .* is damaged"):
            album.photo(0)
        assert album.photo(1).camera == "Leica"
    with AlbumWriter.extend(path) as writer:
        assert writer.repair() == ["camera of 'a.jpg' deleted: add its folder again"]
        assert writer.repair() == []
    assert cameras(path) == [None, "Leica"]


def test_a_repair_deletes_what_a_program_left_of_a_photo_that_it_removed(build_album: BuildAlbum) -> None:
    path = build_album([Encoded(Photo("a.jpg", camera="Leica"))])
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO cameras VALUES('gone.jpg', 'Nikon', 0)")
        db.commit()
    with AlbumWriter.extend(path) as writer:
        assert writer.repair() == ["cameras of photos that are not in the album deleted"]
    assert cameras(path) == ["Leica"]


def test_a_name_that_no_camera_has_is_refused(build_album: BuildAlbum) -> None:
    path = build_album([Encoded(Photo("a.jpg"))])
    with AlbumWriter.extend(path) as writer, pytest.raises(AlbumError, match="1 to 100 characters"):
        writer.note_details({"a.jpg": {"camera": "x" * 101}})


def test_the_field_of_a_later_program_is_passed_over(build_album: BuildAlbum) -> None:
    path = build_album([Encoded(Photo("a.jpg", camera="Leica"))])
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute(declaration("lenses"))
        db.execute("INSERT INTO lenses VALUES('a.jpg', 'Summicron', 0)")
        db.commit()
    assert cameras(path) == ["Leica"]
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE others(photo TEXT)")
        db.commit()
    with pytest.raises(AlbumError, match="the table 'others' is not declared"):
        Album.open(path)


def test_the_page_of_the_format_has_the_declared_fields() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page)
