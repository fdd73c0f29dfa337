"""Albums without FTS5's table, as a phone writes them: searched, checked, extended and mended like others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumError, AlbumMeta, AlbumWriter, Encoded, FloatArray, Memory, Photo
from gamer.index.album import words
from tests.albums import album_of
from tests.index.album.own_words import segment, without_fts5

META = AlbumMeta("t", "i", 4, 0.5)
TALK = ("the red kite over the harbour", "coffee, coffee and more coffee", "number-12 tram to Zürich", "runs")
QUERIES = ("coffee", "kites in Zurich", "number-12", "Anna running", "cup", "the red kite", "nothing", "7")


def photo(n: int) -> Encoded:
    told = (Memory("chat", f"{TALK[n % 4]} {n}"), Memory("label", "cup, table"))[: n % 3]
    return Encoded(Photo(f"p{n}", memories=told), {}, ())


def names(texts: Sequence[str]) -> FloatArray:
    return np.full((len(texts), 4), 0.5, np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return album_of(tmp_path / "a.gamer", map(photo, range(30)))


def scores(path: Path) -> list[list[float]]:
    with Album.open(path) as album:
        return [album.words(query).bm25.tolist() + album.words(query).coverage.tolist() for query in QUERIES]


@pytest.mark.parametrize("drop", [True, False])
def test_words_are_found_alike_with_and_without_fts5(path: Path, drop: bool) -> None:
    wanted = scores(path)
    without_fts5(path, drop=drop)
    assert scores(path) == wanted
    assert any(any(line) for line in wanted)
    with Album.open(path) as album:
        assert album.verify() == []


def test_a_phones_photos_are_found_though_the_table_does_not_have_them(path: Path) -> None:
    without_fts5(path, drop=False)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("UPDATE memories SET text = 'a zeppelin' WHERE id = 1")
    with Album.open(path) as album:
        assert album.words("zeppelin").words[0].rows.tolist() == [1]


@pytest.mark.parametrize("drop", [True, False])
def test_a_writer_gives_fts5_back(path: Path, drop: bool) -> None:
    without_fts5(path, drop=drop)
    with AlbumWriter.extend(path) as writer:
        writer.add([photo(30)])
        writer.remove(["p1", "p4"])
        writer.update([photo(5)])
        before = scores(path)
        writer.finish(names)
    assert scores(path) == before
    with closing(apsw.Connection(str(path))) as db:
        assert words.is_full_text(db)
        assert db.execute("SELECT count(*) FROM segments WHERE name = 'words'").fetchone() == (0,)
    with Album.open(path) as album:
        assert album.verify() == []


def test_verify_names_words_that_do_not_fit_and_repair_mends_them(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        blob = segment(db)
    wrong = blob.replace(b"coffe", b"tofee")
    assert wrong != blob
    without_fts5(path, blob=wrong)
    with Album.open(path) as album:
        assert album.verify() == ["segment words: not the words of the photo in row 1"]
    with AlbumWriter.extend(path) as writer:
        assert "index of words built again" in writer.repair()
    with Album.open(path) as album:
        assert album.verify() == []


def test_damaged_segments_are_named(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        blob = segment(db)
    assert len(words.decode(blob)) == 30
    for size in (0, 39, 40, len(blob) - 1):
        with pytest.raises(AlbumError, match="segment words: damaged"):
            words.decode(blob[:size])
    without_fts5(path, blob=blob[:-1])
    with closing(apsw.Connection(str(path))) as db:
        db.execute("INSERT INTO meta VALUES('words', 'mine')")
    with Album.open(path) as album:
        told = album.verify()
    assert any("not own" in line for line in told)
    assert any("damaged" in line for line in told)


def test_half_of_fts5_is_no_album(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA writable_schema=1; DELETE FROM sqlite_schema WHERE name = 'memories_fts'")
    with pytest.raises(AlbumError, match="there is no table 'memories_fts'"):
        Album.open(path)
