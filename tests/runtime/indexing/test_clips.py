"""Clips in albums: built, found at their second, moved, edited, gone, verified, compacted, exported."""

from __future__ import annotations

import json
import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

from gamer.index import Album, AlbumError, AlbumWriter, Clip, Encoded, Memory, Photo, Skip
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.records import IndexedPhoto
from gamer.runtime.indexing import build, faces
from gamer.runtime.indexing.ahead import Ahead
from gamer.runtime.indexing.encode import Encoder
from gamer.runtime.models.faces import Face, FaceReader
from gamer.runtime.models.vision import copied
from gamer.runtime.search.moments import clock, moments
from gamer.runtime.search.similar import row_named, similar
from tests.clips import BLUE, GREEN, RED, make
from tests.fakes import fake_models, unit

PARTS = [(RED, 12.0), (GREEN, 14.0), (BLUE, 10.0)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short clip and a long one, and their album beside it."""
    folder = tmp_path_factory.mktemp("made") / "clips"
    folder.mkdir()
    make(
        folder / "short.mp4",
        [(RED, 2), (GREEN, 2), (BLUE, 2)],
        metadata={"creation_time": "2024-05-01T10:00:00Z"},
    )
    make(folder / "long.mp4", PARTS, rate=2, metadata={"creation_time": "2024-05-02T10:00:00Z"})
    build.build(folder, fake_models(), folder.parent / "a.gamer")
    return folder.parent


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """A copy to change."""
    shutil.copytree(made, tmp_path / "p")
    with AlbumWriter.extend(tmp_path / "p" / "a.gamer") as writer:
        for known in writer.known():
            writer.move(known.id, str(tmp_path / "p" / "clips" / Path(known.path or "").name))
    return tmp_path / "p"


def ids(path: Path) -> list[str]:
    with Album.open(path) as album:
        assert album.verify() == []
        return sorted(album.ids())


LONG = ["long.mp4#t=0,12", "long.mp4#t=12,26", "long.mp4#t=26,36"]


def test_a_short_clip_is_one_item_and_a_long_one_several(made: Path) -> None:
    assert ids(made / "a.gamer") == [*LONG, "short.mp4"]
    with Album.open(made / "a.gamer") as album:
        clips = album.clips(album.ids())
        assert clips["short.mp4"] == Clip(0, 6_000, 6_000, (500, 1_500, 2_500, 3_500, 4_500, 5_500))
        second = clips[LONG[1]]
        assert (second.start, second.end, second.length) == (12_000, 26_000, 36_000)
        assert len(second.frames) == 14
        assert all(12_000 <= at < 26_000 for at in second.frames)
        first, part = (album.photo(album.row_of(name)) for name in LONG[:2])
        assert part.path == first.path == str(made / "clips" / "long.mp4")
        assert (part.taken_at or 0) - (first.taken_at or 0) == 12_000


def test_the_second_is_that_of_the_frame_that_fits_best(made: Path) -> None:
    with Album.open(made / "a.gamer") as album:
        rows = {name: album.row_of(name) for name in ("short.mp4", *LONG)}
        # The vector of a part of one colour is that of each of its frames.
        colours = [album.mean_of("image", np.array([rows[name]])) for name in LONG]
        told = [moments(album, rows, colour) for colour in colours]
        assert [int(found["short.mp4"].second // 2) for found in told] == [0, 1, 2]
        assert all(12 <= found[LONG[1]].second < 26 for found in told)
        begin = moments(album, rows, None)[LONG[1]]
        assert (begin.start, begin.end, begin.second) == (12, 26, 12)


def test_similar_and_view_work_with_clips(made: Path) -> None:
    with Album.open(made / "a.gamer") as album:
        answer = similar(album, row_named(album, LONG[2]))
        assert {photo.id for photo in answer.photos} == {"short.mp4", *LONG[:2]}
        short = next(photo for photo in answer.photos if photo.id == "short.mp4")
        assert short.clip is not None
        assert short.clip.second >= 4
        photo = album.photo(album.row_of("short.mp4"))
        assert copied(photo).jpeg.startswith(b"\xff\xd8")


def test_a_moved_clip_keeps_its_parts_and_is_not_decoded_again(place: Path) -> None:
    (place / "clips" / "long.mp4").rename(place / "clips" / "holiday.mp4")
    done = build.add(place / "a.gamer", place / "clips", fake_models())
    assert (done.added, done.edited, done.moved, done.unchanged) == (0, 0, 3, 1)
    assert ids(place / "a.gamer") == [*LONG, "short.mp4"]
    with Album.open(place / "a.gamer") as album:
        assert {Path(photo.path or "").name for photo in album.photos(range(4))} == {
            "holiday.mp4",
            "short.mp4",
        }
        assert set(album.clips(album.ids())) == {*LONG, "short.mp4"}


def test_an_edited_clip_is_cut_again(place: Path) -> None:
    make(place / "clips" / "long.mp4", [(RED, 12), (BLUE, 20)], rate=2)
    make(place / "clips" / "short.mp4", [(GREEN, 3)])
    done = build.add(place / "a.gamer", place / "clips", fake_models())
    assert (done.added, done.edited, done.unchanged) == (0, 2, 0)
    assert ids(place / "a.gamer") == [LONG[0], "long.mp4#t=12,32", "short.mp4"]
    with Album.open(place / "a.gamer") as album:
        assert album.clips(["short.mp4"])["short.mp4"].length == 3_000


def test_a_clip_that_is_gone_takes_all_its_parts(place: Path) -> None:
    (place / "clips" / "long.mp4").unlink()
    done = build.add(place / "a.gamer", place / "clips", fake_models(), prune=True)
    assert sorted(done.missing) == LONG
    assert ids(place / "a.gamer") == ["short.mp4"]
    with Album.open(place / "a.gamer") as album:
        assert list(album.clips([*LONG, "short.mp4"])) == ["short.mp4"]


def test_a_part_that_was_removed_for_good_stays_out(place: Path) -> None:
    album = place / "a.gamer"
    with AlbumWriter.extend(album) as writer:
        writer.remove([LONG[0]], for_good=True)
    assert build.add(album, place / "clips", fake_models()).added == 0
    build.build(place / "clips", fake_models(), album)
    assert ids(album) == [*LONG[1:], "short.mp4"]


def test_new_times_reach_every_part(place: Path) -> None:
    taken = {"photoTakenTime": {"timestamp": "1577836800"}, "description": "at the beach"}
    (place / "clips" / "long.mp4.json").write_text(json.dumps(taken), encoding="utf-8")
    done = build.add(place / "a.gamer", place / "clips", fake_models())
    assert (done.edited, done.unchanged) == (3, 1)
    with Album.open(place / "a.gamer") as album:
        parts = [album.photo(album.row_of(name)) for name in LONG]
        assert [(part.taken_at or 0) - 1_577_836_800_000 for part in parts] == [0, 12_000, 26_000]
        assert all("at the beach" in [memory.text for memory in part.memories] for part in parts)


def test_other_memories_leave_a_clip_what_it_is(place: Path) -> None:
    with Album.open(place / "a.gamer") as album:
        before = album.clips(album.ids())
        photo = album.photo(album.row_of("short.mp4"))
    told = replace(photo, memories=(*photo.memories, Memory("people", "Anna")))
    with AlbumWriter.extend(place / "a.gamer") as writer:
        writer.retell(Encoder(fake_models()).retold([told]))
    assert ids(place / "a.gamer") == sorted([*LONG, "short.mp4"])
    with Album.open(place / "a.gamer") as album:
        assert album.clips(album.ids()) == before
        assert Memory("people", "Anna") in album.photo(album.row_of("short.mp4")).memories


def test_people_are_looked_for_in_what_stands_for_a_clip(place: Path) -> None:
    class Seen:
        def __init__(self) -> None:
            self.colours = list[tuple[int, ...]]()

        def read(self, pixels: NDArray[np.uint8]) -> list[Face]:
            self.colours.append(tuple(round(c, -1) for c in pixels.mean((0, 1)).tolist()))
            return []

    with Album.open(place / "a.gamer") as album:
        known = [IndexedPhoto(p.id, p.path, p.sha256) for p in album.photos(range(len(album)))]
    seen, skips = Seen(), list[Skip]()
    pictures = Ahead(faces._picture, 1, workers=1)
    assert len(faces._look(known, pictures, cast(FaceReader, seen), skips)) == 4
    assert skips == []
    assert len(set(seen.colours)) == 3  # red, green and blue parts, and a short clip of all


def test_update_and_other_encoders_keep_the_parts(place: Path) -> None:
    assert build.update(place / "a.gamer", fake_models(), [LONG[1]]).photos == 1
    done = build.update(place / "a.gamer", fake_models("other"))
    assert done.renewed
    assert ids(place / "a.gamer") == [*LONG, "short.mp4"]
    with AlbumWriter.extend(place / "a.gamer") as writer:
        writer.compact()
    with Album.open(place / "a.gamer") as album:
        assert len(album.clips(album.ids())) == 4
        assert album.lacking("image").sum() == 0


def test_an_exported_album_is_built_again_with_its_parts(place: Path) -> None:
    lines = place / "a.jsonl"
    with Album.open(place / "a.gamer") as album:
        export_jsonl(album, lines)
    again = place / "again.gamer"
    build.build(lines, fake_models(), again)
    assert ids(again) == [*LONG, "short.mp4"]
    done = build.add(again, lines, fake_models())
    assert (done.added, done.edited, done.unchanged) == (0, 0, 4)


def test_an_album_of_photos_has_no_table_of_clips(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "p").mkdir()
    Image.new("RGB", (8, 8), RED).save(tmp_path / "p" / "a.png")
    build.build(tmp_path / "p", fake_models(), tmp_path / "a.gamer")
    with Album.open(tmp_path / "a.gamer") as album:
        assert album.clips(album.ids()) == {}
        assert album._file.sql("SELECT 1 FROM sqlite_schema WHERE name = 'clips'") == []


def test_verify_names_damage_in_the_table_of_clips(place: Path) -> None:
    db = sqlite3.connect(place / "a.gamer")
    db.execute("UPDATE clips SET frames = '1 2' WHERE photo = 'short.mp4'")
    db.commit()
    db.close()
    with Album.open(place / "a.gamer") as album:
        assert any("clip 'short.mp4'" in problem for problem in album.verify())
        with pytest.raises(AlbumError, match=r"clip 'short.mp4' is damaged"):
            album.clips(["short.mp4"])


def test_a_clip_of_impossible_times_is_not_written(place: Path) -> None:
    item = Encoded(Photo("x.mp4"), {"image": unit(b"x")[None]}, clip=Clip(5, 4, 9, (1,)))
    with AlbumWriter.extend(place / "a.gamer") as writer:
        with pytest.raises(AlbumError, match="not the times of a clip"):
            writer.add([item])
        writer.add([replace(item, clip=Clip(0, 4, 9, (1,)))])
        writer.update([replace(item, clip=None)])  # its file is no clip any more
    with Album.open(place / "a.gamer") as album:
        assert album.clips(["x.mp4"]) == {}
        assert album.verify() == []


def test_times_are_told_as_a_person_reads_them() -> None:
    assert [clock(s) for s in (0, 12.9, 61, 3_725)] == ["0:00", "0:12", "1:01", "1:02:05"]
