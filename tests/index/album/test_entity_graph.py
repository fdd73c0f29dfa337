"""Layer 2 of an album: what a photo hangs on, what is reached from there, and what a missing edge changes."""

from __future__ import annotations

from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, Encoded, EntityMatch, Memory, Photo, extract
from gamer.index.album.layers import entity_layer
from tests.index.conftest import BuildAlbum, name_vectors

TEXTS = {
    "chair.jpg": "The chair at IKEA costs $119",
    "dog.jpg": "Bella is Anna's dog",
    "beach.jpg": "Bella at the beach",
    "ramen.jpg": "Ramen at Ichiran in Shibuya",
    "again.jpg": "Lunch at Ichiran",
}


@pytest.fixture
def path(build_album: BuildAlbum) -> Path:
    return build_album(
        [
            Encoded(Photo(key, None, None, memories=(Memory("note", text),)), mentions=extract(text))
            for key, text in TEXTS.items()
        ]
    )


def matched(path: Path, name: str, rows: list[int] | None = None, **limits: int) -> list[EntityMatch]:
    with Album.open(path) as album:
        among = np.arange(len(album)) if rows is None else np.array(rows)
        return album.match_entities(name_vectors([name])[0], among, 0.99, **limits)


def photos(path: Path, match: EntityMatch) -> tuple[set[str], set[str]]:
    with Album.open(path) as album:
        return {album.photo(row).id for row in match.photos}, {album.photo(row).id for row in match.reached}


def test_what_describes_a_thing_is_reached_through_it(path: Path) -> None:
    (match,) = matched(path, "IKEA")
    assert photos(path, match) == ({"chair.jpg"}, set())


def test_what_another_memory_says_of_a_thing_reaches_all_its_photos(path: Path) -> None:
    (anna,) = matched(path, "Anna")  # Anna → dog → Bella, of whom there is a second photo
    assert photos(path, anna) == ({"dog.jpg"}, {"beach.jpg"})
    (shibuya,) = matched(path, "Shibuya")  # ramen → Ichiran → Shibuya, and lunch → Ichiran
    assert photos(path, shibuya) == ({"ramen.jpg"}, {"again.jpg"})


def test_deleting_an_edge_changes_an_answer(path: Path) -> None:
    def delete(parent: str, child: str) -> None:
        db = apsw.Connection(str(path))
        row = "SELECT row FROM entities WHERE canonical=?"
        db.execute(f"DELETE FROM edges WHERE parent=({row}) AND child=({row})", (parent, child))
        assert db.changes() == 1
        db.close()

    delete("lunch", "ichiran")
    (shibuya,) = matched(path, "Shibuya")
    assert photos(path, shibuya) == ({"ramen.jpg"}, set())
    delete("chair", "ikea")
    assert matched(path, "IKEA") == []  # the photo hangs on the chair alone


def test_only_photos_of_the_cube_are_named(path: Path) -> None:
    with Album.open(path) as album:
        beach = next(row for row in range(len(album)) if album.photo(row).id == "beach.jpg")
    (anna,) = matched(path, "Anna", [beach])
    assert (anna.photos, anna.reached) == ((), (beach,))
    assert [anna.leads_to(row) for row in range(len(TEXTS))] == [row == beach for row in range(len(TEXTS))]
    assert matched(path, "IKEA", [beach]) == []


def test_depth_and_limit_bound_the_walk(path: Path) -> None:
    assert matched(path, "Anna", depth=1) == []  # Bella → dog → Anna: the photo hangs on Bella
    assert len(matched(path, "Anna", depth=2)) == 1
    assert matched(path, "Shibuya", depth=0) == []
    with Album.open(path) as album:
        every = np.arange(len(album))
        both = album.match_entities(name_vectors(["Anna"])[0], every, -1.0, limit=2)
        assert len(both) == 2
        assert both[0].name == "Anna"


def test_merged_names_share_their_edges(path: Path, build_album: BuildAlbum) -> None:
    texts = ("Coffee with Anna", "Anna's garden", "A garden in Graz")
    merged = build_album(
        [
            Encoded(Photo(f"{n}.jpg", None, None, memories=(Memory("note", text),)), mentions=extract(text))
            for n, text in enumerate(texts)
        ],
        "merged.gamer",
    )
    (graz,) = matched(merged, "Graz")
    assert photos(merged, graz) == ({"2.jpg"}, {"1.jpg"})


def test_what_too_many_photos_lead_to_counts_for_those_that_show_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_layer, "MOST_REACHED", 1)
    (anna,) = matched(path, "Anna")
    assert photos(path, anna) == ({"dog.jpg"}, set())


def test_few_and_many_photos_are_searched_alike(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def everything() -> list[list[EntityMatch]]:
        rows = [None, [0, 1], [2, 4], [3]]
        return [matched(path, name, some) for name in ("Anna", "Shibuya", "IKEA") for some in rows]

    expected = everything()
    monkeypatch.setattr(entity_layer, "FEW", 0)
    assert everything() == expected
    assert any(expected)
