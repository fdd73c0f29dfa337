"""Albums that follow the changes of a folder: built, interrupted, extended, moved, edited, pruned, encoded
again. With fake models.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Memory, Photo, Skip
from gamer.index.album.writing import merging
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.index.records import IndexedPhoto
from gamer.index.things import bank
from gamer.index.things.records import Thing
from gamer.runtime.door.bundle import find_bundle
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing import build
from gamer.runtime.indexing import encode as encoding
from gamer.runtime.indexing.encode import Encoder
from gamer.runtime.indexing.reconcile import Reconciler, differs, merge_scanned
from gamer.runtime.models.models import Models
from gamer.runtime.search import copies
from tests.albums import built, note
from tests.fakes import fake_models
from tests.paths import ROOT

DIM = 8


class Counting(Encoder):
    """An encoder that records what it encoded and is interrupted after `stop_after` batches."""

    def __init__(self, models: Models, stop_after: int = 1_000) -> None:
        super().__init__(models)
        self.encoded: list[str] = []
        self._left = stop_after

    def encode(self, photos: Sequence[Photo], skips: list[Skip], *, keep: bool = False) -> list[Encoded]:
        if photos:
            if not self._left:
                raise KeyboardInterrupt
            self._left -= 1
            self.encoded += [photo.id for photo in photos]
        return super().encode(photos, skips, keep=keep)


def picture(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (6, 4), colour).save(path.with_suffix(".png"))
    path.with_suffix(".png").rename(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for i in range(5):
        picture(tmp_path / "photos" / f"{i}.png", (i * 40, 10, 20))
    return tmp_path / "photos"


@pytest.fixture
def album(folder: Path, tmp_path: Path) -> Path:
    return build.build(folder, fake_models(), tmp_path / "a.gamer").path


def contents(album: Path) -> dict[str, Photo]:
    with Album.open(album) as opened:
        assert opened.verify() == []
        return {photo.id: photo for photo in opened.photos(range(len(opened)))}


def add(album: Path, folder: Path, *, prune: bool = False) -> tuple[build.Added, list[str]]:
    models = fake_models()
    encoder = Counting(models)
    return build.add(album, folder, models, prune=prune, encoder=encoder), encoder.encoded


def test_an_unchanged_folder_is_not_encoded_again(album: Path, folder: Path) -> None:
    os.utime(folder / "0.png")  # touched, not changed
    before = album.read_bytes()
    done, encoded = add(album, folder)
    assert (done.added, done.edited, done.moved, done.unchanged, done.missing, encoded) == (
        0,
        0,
        0,
        5,
        (),
        [],
    )
    assert album.read_bytes() == before


def test_copies_are_looked_for_among_the_photos_that_came(
    album: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def added(album: Album, ids: list[str]) -> int:
        asked.append(ids)
        return 3

    monkeypatch.setattr(copies, "added", added)
    monkeypatch.setattr(copies, "groups", lambda _: pytest.fail("the whole album was compared"))
    assert add(album, folder)[0].copies == 0
    assert asked == []
    picture(folder / "new.png", (7, 77, 7))
    picture(folder / "0.png", (9, 99, 9))
    done, _ = add(album, folder)
    assert (done.copies, sorted(asked[0])) == (3, ["0.png", "new.png"])


def test_what_was_removed_stays_removed_until_it_is_asked_for(album: Path, folder: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.remove(["1.png"], for_good=True)
    (folder / "1.png").rename(folder / "other-name.png")
    done, encoded = add(album, folder)
    assert (done.added, done.kept_out, encoded) == (0, 1, [])
    with AlbumWriter.extend(album) as writer:
        writer.compact()  # the note stays
    assert add(album, folder)[0].kept_out == 1
    back = build.add(album, folder, fake_models(), again=True)
    assert (back.added, back.kept_out) == (1, 0)
    assert "other-name.png" in contents(album)
    assert add(album, folder)[0].kept_out == 0


def test_what_was_removed_stays_removed_when_the_album_is_built_again(album: Path, folder: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.remove(["1.png"], for_good=True)
    done = build.build(folder, fake_models(), album)
    assert done.kept_out == 1
    assert "1.png" not in contents(album)
    assert add(album, folder)[0].kept_out == 1


def test_the_twin_of_a_removed_picture_stays(album: Path, folder: Path) -> None:
    (folder / "copy").mkdir()
    shutil.copy(folder / "1.png", folder / "copy" / "1.png")
    add(album, folder)
    with AlbumWriter.extend(album) as writer:
        writer.remove(["1.png"], for_good=True)
    done, _ = add(album, folder)
    assert (done.kept_out, done.missing) == (1, ())  # the removed one alone
    (folder / "copy" / "1.png").rename(folder / "twin.png")
    done = build.add(album, folder, fake_models(), prune=True)
    assert (done.moved, done.missing) == (1, ())  # to one of two equal files
    assert "copy/1.png" in contents(album)


def test_a_new_build_over_an_album_keeps_its_memories(album: Path, folder: Path) -> None:
    with MemoryStore.open(album) as store:
        store.add_turns([Turn("a", "kitchen", "me", 1, "I live in Porto.")])
    build.build(folder, fake_models(), album)
    with MemoryStore.open(album) as store:
        assert [stored.turn.text for stored in store.all_turns()] == ["I live in Porto."]
        assert store.search(["porto"], 3)
    with Album.open(album) as opened:
        assert opened.verify() == []


def test_a_new_build_over_an_album_keeps_what_its_owner_decided(album: Path, folder: Path) -> None:
    texts = ("Met Anna Berg. My red canvas bag", "Met Annie Berg. My blue bag", "Green mug", "Yellow boat")
    for name, text in enumerate(texts):
        said = {"photoTakenTime": {"timestamp": "1628944000"}, "description": text}
        (folder / f"{name}.png.json").write_text(json.dumps(said))
    build.build(folder, fake_models(), album)
    with AlbumWriter.extend(album) as writer:
        writer.merge("Anna Berg", "Annie Berg")
        writer.prefer("1.png", "0.png")
        named = {thing.head + thing.photos[0]: thing.id for thing in writer.change_optional(bank.things)}
        writer.change_optional(lambda db, at: bank.merge(db, at, named["bag0.png"], [named["bag1.png"]]))
        writer.change_optional(lambda db, at: bank.forget(db, at, [named["mug2.png"]]))

    def decided() -> tuple[list[Thing], set[int], list[int]]:
        with Album.open(album) as opened:
            assert opened.verify() == []
            names = ("Anna Berg", "Annie Berg")
            roots = opened.reading(lambda db, at: {merging.root_of(db, at, name) for name in names})
            return opened.reading(bank.things), roots, opened.preferred([0, 1])

    before = decided()
    assert ([len(thing.photos) for thing in before[0]], len(before[1]), before[2]) == ([2, 1], 1, [1, 0])
    build.build(folder, fake_models(), album)
    assert decided() == before
    (folder / "1.png.json").unlink()
    build.build(folder, fake_models(), album)
    with Album.open(album) as opened:
        assert opened.verify() == []
        things = {thing.head: thing.photos for thing in opened.reading(bank.things)}
    assert things == {"bag": ("0.png",), "boat": ("3.png",)}


def test_a_damaged_bank_of_things_brings_nothing_back_that_was_removed(album: Path, folder: Path) -> None:
    said = {"photoTakenTime": {"timestamp": "1628944000"}, "description": "My red canvas bag"}
    (folder / "0.png.json").write_text(json.dumps(said))
    build.build(folder, fake_models(), album)
    with AlbumWriter.extend(album) as writer:
        writer.remove(["1.png"], for_good=True)
        assert writer.change_optional(bank.things)
    with contextlib.closing(sqlite3.connect(album)) as db, db:
        db.execute("UPDATE thing_sightings SET crc = crc + 1")
    build.build(folder, fake_models(), album)
    with Album.open(album) as opened, pytest.raises(AlbumError, match="no photo"):
        opened.row_of("1.png")


def test_an_album_remembers_its_bundle(album: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GAMER_BUNDLE", raising=False)
    monkeypatch.chdir(tmp_path)
    bundle = tmp_path / "far" / "bundle"
    with AlbumWriter.extend(album) as writer:
        writer.remember_bundle(bundle)
    with pytest.raises(RuntimeFailure, match="no bundle found"):
        find_bundle(album)  # it is no longer there
    bundle.mkdir(parents=True)
    (bundle / "manifest.json").write_text("{}")
    assert find_bundle(album) == bundle
    assert contents(album)


def test_new_edited_moved_and_deleted_pictures_are_recognised(album: Path, folder: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.prefer("1.png", "2.png")
        row = {known.id: row for row, known in enumerate(writer.known())}
    (folder / "1.png").rename(folder / "renamed.png")  # moved
    (folder / "trip").mkdir()
    (folder / "2.png").rename(folder / "trip" / "2.png")
    stamp = (folder / "3.png").stat()
    picture(folder / "3.png", (1, 2, 3))  # edited, with the old time put back as exiftool -P does
    os.utime(folder / "3.png", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    (folder / "4.png").unlink()  # deleted
    picture(folder / "1.png", (9, 9, 9))  # new, under the name of one that moved
    done, encoded = add(album, folder)
    assert (done.added, done.edited, done.moved, done.unchanged, done.missing) == (1, 1, 2, 1, ("4.png",))
    photos = contents(album)
    (newcomer,) = set(photos) - {f"{i}.png" for i in range(5)}
    assert newcomer.startswith("1.png~")
    assert sorted(encoded) == sorted(["3.png", newcomer])
    assert photos["1.png"].path == str(folder / "renamed.png")
    assert photos["2.png"].path == str(folder / "trip" / "2.png")
    assert photos["3.png"].memories == (Memory("label", "thing of colour 010203"),)
    assert "4.png" in photos  # nothing is removed without --prune
    with Album.open(album) as opened:
        assert all(opened.row_of(photo_id) == row[photo_id] for photo_id in row)
    done, encoded = add(album, folder, prune=True)
    assert (done.missing, done.pruned, encoded) == (("4.png",), True, [])
    assert set(contents(album)) == set(photos) - {"4.png"}


def test_a_later_sidecar_is_merged_with_what_the_album_holds_of_the_photo(album: Path, folder: Path) -> None:
    secret = Memory("note", "Anna's surprise", sensitivity="high")
    with Album.open(album) as opened:
        stored = opened.photo(opened.row_of("0.png"))
    with AlbumWriter.extend(album) as writer:
        writer.update([Encoded(replace(stored, memories=(*stored.memories, secret), sharing="low"))])
    (folder / "0.png.json").write_text(
        json.dumps({"photoTakenTime": {"timestamp": "1628944000"}, "description": "Tram 28"})
    )
    done, encoded = add(album, folder)
    assert (done.edited, done.unchanged, encoded) == (1, 4, ["0.png"])
    photo = contents(album)["0.png"]
    assert photo.taken_at == 1_628_944_000_000
    assert photo.sharing == "low"
    assert secret in photo.memories
    assert Memory("caption", "Tram 28") in photo.memories
    assert add(album, folder)[1] == []


def test_later_messages_of_a_chat_extend_its_memory(album: Path, folder: Path) -> None:
    log = folder / "chat.txt"
    log.write_text("2024-05-01 10:00 Anna: see you\n")
    assert add(album, folder)[0].added == 1
    log.write_text("2024-05-01 10:00 Anna: see you\n2024-05-01 10:05 Ben: at noon\n")
    done, encoded = add(album, folder)
    assert (done.added, done.edited, encoded) == (0, 1, ["chat.txt#2024-05-01T10:00:00"])
    assert contents(album)["chat.txt#2024-05-01T10:00:00"].memories == (
        Memory("chat", "Anna: see you\nBen: at noon"),
    )


def test_a_picture_that_became_unreadable_keeps_its_row(album: Path, folder: Path) -> None:
    (folder / "0.png").write_bytes(b"no picture")
    done, _ = add(album, folder)
    assert [Path(s.where).name for s in done.skips] == ["0.png"]
    assert done.missing == ()
    assert contents(album)["0.png"].memories


def test_pruning_a_folder_whose_pictures_are_all_gone_is_refused(album: Path, folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
    with pytest.raises(RuntimeFailure, match="mounted"):
        add(album, folder, prune=True)
    assert len(contents(album)) == 5
    assert len(add(album, folder)[0].missing) == 5


def test_pictures_of_one_name_in_two_folders_are_two_photos(album: Path, tmp_path: Path) -> None:
    picture(tmp_path / "other" / "0.png", (200, 200, 200))
    done, _ = add(album, tmp_path / "other")
    assert done.added == 1
    assert done.missing == ()
    assert len(contents(album)) == 6


@pytest.mark.parametrize("stop_after", [0, 1, 2])
def test_an_interrupted_build_continues_and_encodes_no_picture_twice(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop_after: int
) -> None:
    monkeypatch.setattr(build, "BATCH", 2)
    out = tmp_path / "b.gamer"
    first = Counting(fake_models(), stop_after)
    with pytest.raises(KeyboardInterrupt):
        build.build(folder, fake_models(), out, encoder=first)
    assert not out.exists()
    second = Counting(fake_models())
    ticks: list[tuple[int, int]] = []
    built = build.build(
        folder, fake_models(), out, lambda done, total, name: ticks.append((done, total)), second
    )
    assert (built.photos, built.resumed) == (5, 2 * stop_after)
    assert sorted(first.encoded + second.encoded) == [f"{i}.png" for i in range(5)]  # none twice
    assert ticks[-1] == (5, 5)
    assert len(contents(out)) == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.gamer", "photos"]


def test_leftovers_of_a_build_of_another_folder_are_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BATCH", 2)
    picture(tmp_path / "other" / "x.png", (200, 200, 200))
    with pytest.raises(KeyboardInterrupt):
        build.build(folder, fake_models(), tmp_path / "b.gamer", encoder=Counting(fake_models(), 1))
    assert build.build(tmp_path / "other", fake_models(), tmp_path / "b.gamer").photos == 1
    assert list(contents(tmp_path / "b.gamer")) == ["x.png"]


def test_a_killed_add_keeps_what_was_committed(album: Path, folder: Path, tmp_path: Path) -> None:
    """A separate process ends in the middle without any clean-up, as in a power cut."""
    for i in range(20):
        picture(folder / "more" / f"{i}.png", (7, i * 9, 200))
    code = f"""
import os, sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from tests.runtime.indexing import test_build as t
t.build.BATCH = 4
die = lambda done, total, name: done == 15 and os._exit(9)
t.build.add(Path({str(album)!r}), Path({str(folder)!r}), t.fake_models(), progress=die)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 9, done.stderr
    left = len(contents(album))
    assert 5 < left < 25
    again, encoded = add(album, folder)
    assert len(encoded) == again.added == 25 - left
    assert len(contents(album)) == 25


def test_an_update_with_another_encoder_replaces_the_album_at_once_and_keeps_merges(
    album: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BATCH", 2)
    with AlbumWriter.extend(album) as writer:
        writer.prefer("1.png", "2.png")
        writer.merge("thing of colour 000a14", "thing of colour 280a14")
    other = fake_models("another")
    with pytest.raises(RuntimeFailure, match="gamer index update"):
        build.add(album, tmp_path / "photos", other)
    before = album.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        build.update(album, other, encoder=Counting(other, 1))
    assert album.read_bytes() == before  # readers have the old one until the new one is complete
    with Album.open(album.with_name("a.gamer.renewing")) as half:
        assert half.verify() == []
    second = Counting(other)
    done = build.update(album, other, encoder=second)
    assert (done.photos, done.renewed, len(second.encoded)) == (5, True, 3)
    assert set(contents(album)) == {f"{i}.png" for i in range(5)}
    with Album.open(album) as opened:
        assert opened.meta.text_encoder == "another"
    with AlbumWriter.extend(album) as writer:
        assert writer.split("thing of colour 280a14")  # it was merged
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gamer", "photos"]


def test_an_update_after_an_interrupted_one_keeps_preferences_made_in_between(
    album: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BATCH", 2)
    other = fake_models("another")
    with pytest.raises(KeyboardInterrupt):
        build.update(album, other, encoder=Counting(other, 1))
    with AlbumWriter.extend(album) as writer:
        writer.prefer("1.png", "2.png")
    second = Counting(other)
    build.update(album, other, encoder=second)
    assert len(second.encoded) == 5
    with Album.open(album) as opened:
        assert opened.preferences().photos == ((opened.row_of("1.png"), opened.row_of("2.png")),)
        assert opened.verify() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gamer", "photos"]


def test_an_update_does_not_continue_an_interrupted_build(
    album: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "BATCH", 2)
    with AlbumWriter.extend(album) as writer:
        writer.prefer("1.png", "2.png")
    other = fake_models("another")
    with pytest.raises(KeyboardInterrupt):
        build.build(folder, other, album, encoder=Counting(other, 1))
    build.update(album, other)
    with Album.open(album) as opened:
        assert len(opened.preferences().photos) == 1


def test_an_album_cannot_be_written_while_it_is_being_updated(album: Path) -> None:
    other = fake_models("another")

    class Meanwhile(Encoder):
        def encode(self, photos: Sequence[Photo], skips: list[Skip], *, keep: bool = False) -> list[Encoded]:
            with pytest.raises(AlbumError, match="another program is writing"):
                AlbumWriter.extend(album)
            return super().encode(photos, skips, keep=keep)

    assert build.update(album, other, encoder=Meanwhile(other)).photos == 5


def test_an_update_of_named_photos_encodes_only_those(album: Path, folder: Path) -> None:
    picture(folder / "0.png", (1, 1, 1))
    encoder = Counting(fake_models())
    done = build.update(album, fake_models(), ["0.png"], encoder=encoder)
    assert (done.photos, done.renewed, encoder.encoded) == (1, False, ["0.png"])
    assert contents(album)["0.png"].memories == (Memory("label", "thing of colour 010101"),)


def test_an_update_without_its_pictures_keeps_the_rows_or_is_refused(
    album: Path, folder: Path, tmp_path: Path
) -> None:
    """With the same encoders every row stays, with its vectors and labels; with others nothing is begun."""

    def rows() -> list[tuple[object, ...]]:
        with contextlib.closing(sqlite3.connect(album)) as db:
            return db.execute(
                "SELECT photo, channel, chunk, scale, data FROM vectors ORDER BY 1, 2, 3"
            ).fetchall()

    before, photos = rows(), contents(album)
    folder.rename(tmp_path / "unmounted")
    done = build.update(album, fake_models(), encoder=Counting(fake_models()))
    assert (done.photos, len(done.skips)) == (0, 5)
    assert rows() == before
    assert contents(album) == photos
    other = fake_models("another")
    with pytest.raises(RuntimeFailure, match=r"none of its 5 pictures is there .* is the disk mounted"):
        build.update(album, other, encoder=Counting(other))
    assert rows() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gamer", "unmounted"]


def test_pictures_that_were_away_from_an_update_are_encoded_when_they_are_back(
    album: Path, folder: Path, tmp_path: Path
) -> None:
    """What is away of a folder that is mounted in part loses its vectors to new encoders, not for good."""
    other, away = fake_models("another"), tmp_path / "3.png"
    (folder / "3.png").rename(away)
    done = build.update(album, other)
    assert (done.photos, len(done.skips)) == (5, 1)
    away.rename(folder / "3.png")
    back = build.add(album, folder, other)
    assert (back.added, back.edited, back.unchanged) == (0, 1, 4)
    with Album.open(album) as opened:
        assert not opened.lacking("image").any()
    assert build.add(album, folder, other).unchanged == 5


def test_a_picture_that_cannot_be_decoded_is_told_and_not_written_again(album: Path, folder: Path) -> None:
    (folder / "0.png").write_bytes(b"no picture")
    add(album, folder)
    before = album.read_bytes()
    done, _ = add(album, folder)
    assert len(done.skips) >= 1
    assert album.read_bytes() == before


@pytest.mark.parametrize("how", ["build", "update"])
def test_an_album_behind_a_symbolic_link_is_replaced_and_the_link_stays(
    album: Path, folder: Path, how: str
) -> None:
    link = album.with_name("link.gamer")
    link.symlink_to(album)
    picture(folder / "9.png", (99, 1, 1))
    if how == "build":
        assert build.build(folder, fake_models(), link).path == link
    else:
        assert build.update(link, fake_models("another")).path == link
    assert link.is_symlink()
    assert len(contents(album)) == (6 if how == "build" else 5)
    with Album.open(album) as opened:
        assert opened.meta.text_encoder == ("made-up" if how == "build" else "another")


def test_the_full_name_of_a_person_is_one_entity(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "1", "memories": [{"source": "people", "text": "van der Berg, 李小龙"}]}\n'
    )
    build.build(tmp_path / "a.jsonl", fake_models(), tmp_path / "a.gamer")
    with Album.open(tmp_path / "a.gamer") as opened:
        assert sorted(opened.entity_names(10)) == ["van der Berg", "李小龙"]


def test_a_photo_with_many_memories_keeps_their_words_and_some_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "MAX_CHUNKS", 3)
    memories = [note(f"page {i} of a book")[0] for i in range(9)]
    with Album.open(built(tmp_path, [{"id": "1", "memories": memories}])) as opened:
        assert len(opened.photo(0).memories) == 9
        assert opened.search_text("page 8", 1).rows.tolist() == [0]
        assert [channel.vectors for channel in opened.stats().channels] == [3]


def test_a_photo_with_many_names_has_the_first_as_entities(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "MAX_NAMES", 3)
    memories = [note(f"We met Ann{chr(97 + i)}")[0] for i in range(9)]
    with Album.open(built(tmp_path, [{"id": "1", "memories": memories}])) as opened:
        assert opened.entity_names(10) == ["Anna", "Annb", "Annc"]
        assert opened.search_text("Anni", 1).rows.tolist() == [0]


PATHS = st.sampled_from(["/r/a", "/r/b", "/r/c", "/r/d"])
HASHES_ALL = ("1", "2", "3")
HASHES = st.sampled_from(HASHES_ALL)


@settings(max_examples=500, deadline=None)
@given(st.dictionaries(PATHS, HASHES), st.dictionaries(PATHS, HASHES))
def test_a_row_is_claimed_once_and_ids_stay_unique(before: dict[str, str], after: dict[str, str]) -> None:
    """Compared with the definition: an unchanged file is the same; content that is still somewhere keeps its
    row; the rest is edited, new or missing.
    """
    known = [IndexedPhoto(path[-1], path, content) for path, content in before.items()]
    reconciler = Reconciler(known, lambda path: path in after)
    decisions = [
        d
        for path, content in sorted(after.items())
        if (d := reconciler.decide(Photo(path[-1], path, sha256=content))) is not None
    ]
    decisions += list(reconciler.rest())
    assert sorted(d.photo.path or "" for d in decisions) == sorted(after)
    rows = [d.row for d in decisions if d.row is not None]
    assert len(rows) == len(set(rows))
    ids = [d.photo.id for d in decisions if d.row is None] + [k.id for k in known]
    assert len(ids) == len(set(ids))
    for decision in decisions:
        if decision.row is not None:
            old = known[decision.row]
            assert decision.photo.id == old.id
            assert decision.kind == (
                "edited"
                if old.sha256 != decision.photo.sha256
                else "same"
                if old.path == decision.photo.path
                else "moved"
            )
    unchanged = {path for path, content in before.items() if after.get(path) == content}
    assert {d.photo.path for d in decisions if d.kind == "same"} == unchanged
    for content in HASHES_ALL:
        had, has = (sum(c == content for c in side.values()) for side in (before, after))
        assert sum(d.kind in ("same", "moved") and d.photo.sha256 == content for d in decisions) == min(
            had, has
        )
    for gone in reconciler.missing(Path("/r")):
        assert gone.path not in after


def test_merging_a_scan_with_a_stored_photo_loses_nothing_and_is_stable() -> None:
    stored = Photo(
        "1",
        "/p",
        5,
        "local",
        1.0,
        2.0,
        (Memory("note", "mine", sharing="low"), Memory("chat", "A: hi"), Memory("label", "cat")),
    )
    scanned = Photo("1", "/p", None, memories=(Memory("note", "mine"), Memory("chat", "A: hi\nB: ho")))
    merged = merge_scanned(scanned, stored)
    assert merged.memories == (Memory("note", "mine", sharing="low"), Memory("chat", "A: hi\nB: ho"))
    assert (merged.taken_at, merged.lat, merged.lon) == (5, 1.0, 2.0)
    assert differs(merged, stored)
    assert not differs(merge_scanned(scanned, merged), merged)
