"""Collections of an album: kept, replaced by name, renamed, forgotten, and without photos that are gone."""

from __future__ import annotations

from pathlib import Path

from gamer.index import Album, AlbumWriter
from gamer.index.album.declarations import collection_tables as tables
from gamer.runtime.indexing import decided
from tests.albums import built, note

PHOTOS = [{"id": name, "memories": note("a walk")} for name in ("a", "b")]


def kept(album: Path) -> list[tuple[str, str, tuple[str, ...]]]:
    with Album.open(album) as opened:
        return [(one.name, one.search, one.photos) for one in opened.reading(tables.read)]


def test_collections_are_kept_renamed_and_forgotten(tmp_path: Path) -> None:
    album = built(tmp_path, PHOTOS)
    assert kept(album) == []
    with AlbumWriter.extend(album) as writer:
        change = writer.change_optional
        assert not change(lambda db, _: tables.rename(db, 1, "x"))
        change(lambda db, _: tables.keep(db, "Cake", "q=cake", ()))
        change(lambda db, _: tables.keep(db, "Both", "", ("b", "a", "gone")))
        change(lambda db, _: tables.keep(db, "Cake", "q=big+cake", ()))
    assert kept(album) == [("Cake", "q=big+cake", ()), ("Both", "", ("a", "b"))]
    with AlbumWriter.extend(album) as writer:
        assert writer.change_optional(lambda db, _: tables.rename(db, 2, "Two"))
        assert not writer.change_optional(lambda db, _: tables.rename(db, 9, "Nine"))
        assert writer.change_optional(lambda db, _: tables.forget(db, "name = ?", "Cake"))
        writer.remove(["a"], for_good=True)
    assert kept(album) == [("Two", "", ("b",))]


def test_a_new_build_takes_them_over(tmp_path: Path) -> None:
    album = built(tmp_path, PHOTOS)
    with AlbumWriter.extend(album) as writer:
        writer.change_optional(lambda db, _: tables.keep(db, "Cake", "q=cake", ()))
        writer.change_optional(lambda db, _: tables.keep(db, "One", "", ("b",)))
    before = kept(album)
    made = decided.decided(album)
    (tmp_path / "new").mkdir()
    again = built(tmp_path / "new", PHOTOS)
    with AlbumWriter.extend(again) as writer:
        decided.repeat(writer, made)
    assert kept(again) == before
