"""Changes of an album: any order of them compared with a plain dict, entities merged and split, preferences,
labels, and what an export leaves out.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from gamer.index import (
    Album,
    AlbumError,
    AlbumWriter,
    Cube,
    Encoded,
    Level,
    Memory,
    Mention,
    Photo,
    may_leave,
    reorder,
    scan,
)
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.sharing import leaving
from gamer.index.album.writing.storage import WriterLock
from gamer.index.cli import compact, export, merge, names, prefer, remove, split, stats, verify
from tests.index.conftest import META, BuildAlbum, name_vectors

WORDS = ("harbour", "lamp", "garden", "train")
PHOTOS = st.builds(
    lambda name, taken, place, word, low, offset: Photo(
        name,
        f"/p/{name}",
        taken,
        "local" if offset is None else "offset",
        None if place is None else float(place),
        None if place is None else float(-place),
        () if word is None else (Memory("note", f"the {word} today", sensitivity="high" if low else None),),
        "low" if low else None,
        utc_offset=offset,
    ),
    st.sampled_from("abcdefghijkl"),
    st.none() | st.integers(0, 50),
    st.none() | st.integers(-80, 80),
    st.none() | st.sampled_from(WORDS),
    st.booleans(),
    st.none() | st.sampled_from((0, 540, -210)),
)


def encoded(photo: Photo) -> Encoded:
    """The photo with a vector of its id, and a vector and a mention of the word in its memory."""
    words = [memory.text.split()[1] for memory in photo.memories]
    vectors = {"image": name_vectors([photo.id])} | ({"text": name_vectors(words)} if words else {})
    return Encoded(photo, vectors, tuple(Mention(word, "thing") for word in words))


class AlbumChanges(RuleBasedStateMachine):
    """The album beside a plain model of it: photos by id, and better-than pairs without circles."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "album.gamer"
        self.photos: dict[str, Photo] = {}
        self.better: set[tuple[str, str]] = set()

    @initialize()
    def create(self) -> None:
        with AlbumWriter.create(self.path, META, hnsw_from=3) as writer:
            writer.finish(name_vectors)
        self.writer = AlbumWriter.extend(self.path, hnsw_from=3)

    @rule(photo=PHOTOS)
    def add_or_update(self, photo: Photo) -> None:
        if photo.id in self.photos:
            with pytest.raises(AlbumError, match="already"):
                self.writer.add([encoded(photo)])
            self.writer.update([encoded(photo)])
        else:
            with pytest.raises(AlbumError, match="no photo with id"):
                self.writer.update([encoded(photo)])
            self.writer.add([encoded(photo)])
        self.photos[photo.id] = photo

    @rule(name=st.sampled_from("abcdefghijkl"))
    def remove(self, name: str) -> None:
        if name not in self.photos:
            with pytest.raises(AlbumError, match="no photo with id"):
                self.writer.remove([name])
            return
        self.writer.remove([name])
        del self.photos[name]
        self.better = {pair for pair in self.better if name not in pair}

    @rule(name=st.sampled_from("abcdefghijkl"), path=st.text("xyz/", max_size=5))
    def move(self, name: str, path: str) -> None:
        if name in self.photos:
            self.writer.move(name, path)
            self.photos[name] = replace(self.photos[name], path=path)

    @rule(one=st.sampled_from("abcdefghijkl"), other=st.sampled_from("abcdefghijkl"))
    def prefer(self, one: str, other: str) -> None:
        if one in self.photos and other in self.photos and one != other:
            left = self.better - {(other, one)}
            below = {other}
            while more := {b for a, b in left if a in below} - below:
                below |= more
            if one in below:
                with pytest.raises(AlbumError, match="through others"):
                    self.writer.prefer(one, other)
            else:
                self.writer.prefer(one, other)
                self.better = left | {(one, other)}

    @rule()
    def finish(self) -> None:
        self.writer.finish(name_vectors)
        self.writer = AlbumWriter.extend(self.path, hnsw_from=3)

    @rule()
    def compact(self) -> None:
        self.writer.compact()
        self.writer = AlbumWriter.extend(self.path, hnsw_from=3)

    @invariant()
    def the_album_is_the_dict(self) -> None:
        if not self.path.exists():
            return
        with Album.open(self.path) as album:
            assert album.verify() == []
            shown = album.photos(range(len(album)))
            rows = {photo.id: row for row, photo in enumerate(shown)}
            assert {photo.id: photo for photo in shown} == self.photos
            assert {(shown[a].id, shown[b].id) for a, b in album.preferences().photos} == self.better
            for hours in (0, 9):
                start, end = 3_600_000 * hours + 10, 3_600_000 * hours + 30
                inside = {shown[row].id for row in album.in_cubes([Cube(start, end)]).inside.tolist()}
                assert inside == {
                    p.id for p in self.photos.values() if p.wall is not None and start <= p.wall <= end
                }
            for word in WORDS:
                expected = {
                    p.id for p in self.photos.values() if any(word in memory.text for memory in p.memories)
                }
                assert {shown[row].id for row in album.search_text(word, 20).rows.tolist()} == expected
                near = album.scores("text", name_vectors([word])[0])
                assert {photo for photo, row in rows.items() if near[row] > 0.9} == expected
            for photo in list(rows)[:3]:
                for plan in ("auto", "exact"):
                    nearest = album.search_vectors("image", name_vectors([photo])[0], 1, plan=plan)
                    assert [shown[row].id for row in nearest.rows.tolist()] == [photo]

    def teardown(self) -> None:
        if hasattr(self, "writer"):
            self.writer.close()
            assert [p.name for p in self.path.parent.iterdir()] == [self.path.name]
        self.folder.cleanup()


AlbumChanges.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None)
TestAlbumChanges = AlbumChanges.TestCase


# Preferences


def test_reordering_moves_up_preferred_items_and_nothing_else() -> None:
    assert reorder([1, 2, 3, 4], []) == [1, 2, 3, 4]
    assert reorder([1, 2, 3, 4], [(4, 2)]) == [1, 4, 2, 3]
    assert reorder([1, 2, 3, 4], [(2, 4), (9, 1), (3, 8)]) == [1, 2, 3, 4]
    assert reorder([1, 2, 3, 4], [(4, 3), (3, 1)]) == [4, 3, 1, 2]
    assert sorted(reorder([1, 2, 3], [(1, 2), (2, 3), (3, 1)])) == [1, 2, 3]  # a circle, from a damaged file
    chain = list(range(5_000))
    assert reorder(chain, [(i + 1, i) for i in chain[:-1]]) == chain[::-1]


def test_a_preference_between_entities_orders_their_photos(album_path: Path) -> None:
    with AlbumWriter.extend(album_path) as writer:
        writer.prefer("Dog", "chairs")  # dog.jpg is of the one, chair.jpg of the other
        with pytest.raises(AlbumError, match="same entity"):
            writer.prefer("chair", "chairs")
        with pytest.raises(AlbumError, match="no photo with id 'nobody'"):
            writer.prefer("dog.jpg", "nobody")
    with Album.open(album_path) as album:
        assert album.preferred([0, 1, 2]) == [2, 0, 1]
        assert album.preferred([1, 0]) == [1, 0]
        assert album.preferred([]) == []


# Entities


def photos_of(path: Path, name: str) -> set[str]:
    with Album.open(path) as album:
        assert album.verify() == []
        matches = album.match_entities(name_vectors([name])[0], np.arange(len(album)), 0.95)
        return {album.photo(row).id for match in matches for row in match.photos}


def test_splitting_undoes_merging(album_path: Path) -> None:
    assert photos_of(album_path, "dog") == {"dog.jpg"}
    assert photos_of(album_path, "chair") == {"chair.jpg"}
    with AlbumWriter.extend(album_path) as writer:
        writer.merge("dog", "Anna")
        writer.merge("chair", "dog")
        with pytest.raises(AlbumError, match="one entity already"):
            writer.merge("Anna", "chair")
        with pytest.raises(AlbumError, match="no entity named"):
            writer.merge("chair", "zebra")
    everything = {"chair.jpg", "dog.jpg", "beach.jpg"}
    assert (
        photos_of(album_path, "dog")
        == photos_of(album_path, "chair")
        == photos_of(album_path, "Anna")
        == everything
    )
    with AlbumWriter.extend(album_path) as writer:
        assert writer.split("dog") == ["dog"]  # Anna stays merged with the dog
    assert photos_of(album_path, "chair") == {"chair.jpg"}
    assert photos_of(album_path, "Anna") == {
        "dog.jpg",
        "beach.jpg",
    }
    with AlbumWriter.extend(album_path) as writer:
        assert writer.split("dog") == ["Anna"]
        assert writer.split("beaches") == ["beach"]  # merged as singular and plural
        with pytest.raises(AlbumError, match="no alias"):
            writer.split("dog")
    assert photos_of(album_path, "beaches") == {
        "beach.jpg",
        "dog.jpg",
    }  # "beach" starts with the same vector and its own photo
    with Album.open(album_path) as album:
        assert [
            len(match.photos)
            for match in album.match_entities(name_vectors(["beaches"])[0], np.arange(4), 0.95)
        ] == [1, 1]


def test_names_with_equal_vectors_are_merged_but_no_prices_numbers_or_split_names(
    build_album: BuildAlbum,
) -> None:
    names = (
        ("sofa", "thing"),
        ("couch", "thing"),
        ("hall 3", "thing"),
        ("hall 4", "thing"),
        ("9 euros", "price"),
        ("8 euros", "price"),
    )
    path = build_album([Encoded(Photo(name), {}, (Mention(name, kind),)) for name, kind in names])
    with AlbumWriter.create(path, META) as writer:
        writer.add([Encoded(Photo(name), {}, (Mention(name, kind),)) for name, kind in names])
        writer.finish(lambda given: np.repeat(name_vectors(["all the same"]), len(given), axis=0))
    with AlbumWriter.extend(path) as writer:
        assert writer.merge_similar(0.99) == [("sofa", "couch")]
        assert writer.merge_similar(0.99) == []
        writer.split("couch")
        assert writer.merge_similar(0.99) == []
        with pytest.raises(AlbumError, match="cosine"):
            writer.merge_similar(1.5)


def test_compacting_drops_entities_that_no_photo_or_preference_has(album_path: Path) -> None:
    with AlbumWriter.extend(album_path) as writer:
        writer.prefer("IKEA", "Anna")
        writer.remove(["chair.jpg"])
    with AlbumWriter.extend(album_path) as writer:
        writer.compact()
    with Album.open(album_path) as album:
        assert album.verify() == []
        assert set(album.entity_names(9)) == {"IKEA", "Anna", "beaches", "dog"}
        ((better, worse),) = album.preferences().entities
        with closing(sqlite3.connect(album_path)) as db:
            names = dict(db.execute("SELECT row, name FROM entities"))
        assert (names[better], names[worse]) == ("IKEA", "Anna")
        assert album.stats().aliases == 1
        assert album.stats().edges == 0


# What an export leaves out

SECRETS = ("SECRET one", "SECRET two", "SECRET three", "SECRET four")
LABELLED = (
    Encoded(
        Photo(
            "open.jpg",
            None,
            1_000,
            "offset",
            48.5,
            11.5,
            (Memory("note", "a tree"), Memory("chat", SECRETS[0], sharing="low")),
            utc_offset=-210,
        )
    ),
    Encoded(Photo("low.jpg", memories=(Memory("note", SECRETS[1]),), sharing="low")),
    Encoded(Photo("high.jpg", memories=(Memory("note", SECRETS[2]),), sensitivity="high")),
    Encoded(
        Photo(
            "mixed.jpg",
            memories=(Memory("note", SECRETS[3], sensitivity="high"), Memory("label", "cat")),
            sharing="high",
            sensitivity="low",
        )
    ),
)


def test_marked_photos_and_memories_are_left_out_of_exports_and_prompts(
    build_album: BuildAlbum, tmp_path: Path
) -> None:
    path = build_album(LABELLED)
    with Album.open(path) as album:
        done = export_jsonl(album, tmp_path / "out.jsonl")
        assert (done.photos, done.memories, done.kept_photos, done.kept_memories) == (2, 1, 2, 4)
        text = (tmp_path / "out.jsonl").read_text()
        assert "SECRET" not in text
        assert "low.jpg" not in text
        assert "high.jpg" not in text
        assert "a tree" in text
        prompt = album.prompt_memories(range(4))
        assert "SECRET" not in str(prompt)
        assert prompt == [["a tree"], [], [], ["cat"]]
        export_jsonl(album, tmp_path / "all.jsonl", everything=True)
        assert all(secret in (tmp_path / "all.jsonl").read_text() for secret in SECRETS)
        with pytest.raises(AlbumError, match="cannot be written"):
            export_jsonl(album, tmp_path / "no" / "out.jsonl")


def test_an_export_goes_on_after_one_that_was_killed_and_beside_none(
    build_album: BuildAlbum, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "out.jsonl.partial").write_text("half a li")
    with Album.open(build_album(LABELLED)) as album:
        assert export_jsonl(album, out).photos == 2
        lock = WriterLock(out)
        with pytest.raises(AlbumError, match="another export is writing it"):
            export_jsonl(album, out)
        lock.release()
    assert [path.name for path in tmp_path.glob("out.jsonl*")] == ["out.jsonl"]


def test_an_export_of_everything_scans_back_to_the_same_photos_without_labels(
    build_album: BuildAlbum, tmp_path: Path
) -> None:
    with Album.open(build_album(LABELLED)) as album:
        export_jsonl(album, tmp_path / "all.jsonl", everything=True)
        photos = album.photos(range(4))
    scanned = [photo for photo in scan(tmp_path / "all.jsonl") if isinstance(photo, Photo)]
    assert scanned == [
        replace(p, memories=tuple(m for m in p.memories if m.source != "label")) for p in photos
    ]


@pytest.mark.parametrize("sharing", [None, "low", "high"])
@pytest.mark.parametrize("sensitivity", [None, "low", "high"])
def test_low_sharing_or_high_sensitivity_keeps_a_photo_or_memory_from_leaving(
    sharing: Level | None, sensitivity: Level | None
) -> None:
    stays = sharing == "low" or sensitivity == "high"
    memory = Memory("note", "x", sharing, sensitivity)
    assert may_leave(memory) is may_leave(Photo("p", sharing=sharing, sensitivity=sensitivity)) is not stays
    assert leaving(Photo("p", memories=(memory,), sharing="low")) == ()
    assert leaving(Photo("p", memories=(memory,))) == (() if stays else (memory,))


# The commands


def test_the_index_commands_change_check_and_export_an_album(
    album_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: object, *args: str, code: int = 0) -> dict[str, object]:
        with pytest.raises(SystemExit) as ended:
            command([str(album_path), *args, "--json"])  # type: ignore[operator]
        assert ended.value.code == code
        out: dict[str, object] = json.loads(capsys.readouterr().out)
        return out

    assert run(prefer, "dog.jpg", "chair.jpg") == {"better": "dog.jpg", "worse": "chair.jpg"}
    assert run(merge, "dog", "Anna", "IKEA")["merged"] == [
        {"kept": "dog", "alias": "Anna"},
        {"kept": "dog", "alias": "IKEA"},
    ]
    assert run(split, "Anna") == {"split": ["Anna"]}
    assert run(remove, "blank.jpg", "beach.jpg") == {"removed": ["blank.jpg", "beach.jpg"]}
    assert run(stats)["photos"] == 2
    assert run(verify) == {"clean": True, "problems": [], "repaired": []}
    assert set(run(compact)) == {"bytes_before", "bytes_after"}
    assert run(verify, "--repair")["clean"] is True
    assert run(export, "-o", str(album_path.with_suffix(".jsonl")))["photos"] == 2
    with pytest.raises(SystemExit) as ended:
        remove([str(album_path), "nobody.jpg"])
    assert ended.value.code == 1
    assert "no photo with id 'nobody.jpg'" in capsys.readouterr().err


def test_names_lists_each_entity_once_with_its_aliases_and_photos(
    album_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with AlbumWriter.extend(album_path) as writer:
        writer.merge("dog", "IKEA")
    with Album.open(album_path) as album:
        listed = album.listed_entities()
        assert {entity.name for entity in listed} == set(album.entity_names(99))
    by_name = {entity.name: entity for entity in listed}
    assert (by_name["dog"].photos, by_name["dog"].aliases) == (2, ("IKEA",))
    assert by_name["beaches"].photos == 2
    assert by_name["119 euros"].kind == "price"
    with pytest.raises(SystemExit):
        names([str(album_path), "-n", "2"])
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["photos", "kind", "name"]
    assert lines == ["     2 thing    beaches (also beach)", "     2 thing    dog (also IKEA)"]


def test_stats_prints_words(album_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        stats([str(album_path)])
    printed = capsys.readouterr().out
    assert "(" not in printed
    assert "channel          text: 4 vectors of 16 dimensions, " in printed
    assert "segment          kdtree: " in printed
    assert "up to date" in printed
