"""An album opened as it may be told elsewhere: nothing that must stay is in it, and all else is as before."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from gamer.index import Album, AlbumWriter, Encoded, Event, Memory, Mention, Photo
from gamer.index.album.ids import event_id
from gamer.index.album.leaving_view import UNNAMED, open_leaving
from tests.index.conftest import BuildAlbum, name_vectors
from tests.paths import ROOT

# Whatever of these words comes out of a view, in any of its answers, has leaked.
SECRETS = ("clinic", "affair", "vault", "Zed")
PHOTOS = (
    Encoded(
        Photo("open.jpg", "/p/open.jpg", 1_000, "local", 48.0, 11.0, (Memory("note", "a red kite at noon"),)),
        {"text": name_vectors(["kite"]), "image": name_vectors(["kite"])},
        (Mention("kite", "thing"),),
    ),
    Encoded(
        Photo(
            "clinic.jpg",
            "/p/clinic.jpg",
            2_000,
            "local",
            49.0,
            12.0,
            (Memory("note", "the clinic with Zed"), Memory("chat", "kite")),
            sensitivity="high",
        ),
        {"text": name_vectors(["clinic", "kite"]), "image": name_vectors(["clinic"])},
        (Mention("clinic", "place"), Mention("Zed", "person", "clinic")),
    ),
    Encoded(
        Photo(
            "half.jpg",
            None,
            3_000,
            "local",
            50.0,
            13.0,
            (
                Memory("note", "an affair", sharing="low"),
                Memory("caption", "two blue cups"),
                Memory("place", "The vault", sensitivity="high"),
            ),
        ),
        {"text": name_vectors(["affair", "cups"]), "image": name_vectors(["cups"])},
        (Mention("affair", "thing"), Mention("cups", "thing", "affair")),
    ),
    Encoded(
        Photo("cup.jpg", None, 4_000, "local", 50.0, 13.0, (Memory("caption", "a blue cup"),)),
        {"text": name_vectors(["cup"])},
        (Mention("cup", "thing"),),
    ),
)


@pytest.fixture
def path(build_album: BuildAlbum) -> Path:
    built = build_album(PHOTOS)
    whole = Event(
        event_id("clinic.jpg"), "At the clinic", "With Zed.", ("clinic.jpg", "half.jpg"), place="vault"
    )
    with AlbumWriter.extend(built) as writer:
        writer.set_events([whole, Event(event_id("open.jpg"), "Kites", "High up.", ("open.jpg", "cup.jpg"))])
        writer.finish(name_vectors)
    return built


def test_a_photo_that_must_stay_is_an_empty_row_and_not_among_those_shown(path: Path) -> None:
    with Album.open(path) as album:
        view, rows = open_leaving(album)
        assert rows.tolist() == [0, 2, 3] and len(view) == 4
        assert view.photo(1) == Photo("withheld 1", sensitivity="high")
        assert view.photo(0) == album.photo(0) and view.photo(3) == album.photo(3)
        assert view.times()[1] == np.iinfo(np.int64).min and np.isnan(view.positions()[1]).all()
        assert not np.isfinite(view.scores("image", name_vectors(["clinic"])[0])[1])
        assert album.photo(1).path == "/p/clinic.jpg"  # the album itself is as it was


def test_a_memory_that_must_stay_is_not_read_found_or_placed(path: Path) -> None:
    with Album.open(path) as album:
        view, _ = open_leaving(album)
        half = view.photo(2)
        assert half.memories == (Memory("caption", "two blue cups"),) and half.lat is None
        assert not np.isfinite(view.scores("text", name_vectors(["affair"])[0])[2])
        assert np.isfinite(view.scores("image", name_vectors(["cups"])[0])[2])
        assert set(view.search_text("blue cups", 9).rows.tolist()) == {2, 3}
        for word in (*SECRETS, "an affair with Zed"):
            assert view.search_text(word, 9).rows.size == 0, word
        assert album.search_text("affair", 9).rows.tolist() == [2]


def test_the_statistics_of_words_are_those_of_what_may_be_told(path: Path) -> None:
    with Album.open(path) as album:
        view, _ = open_leaving(album)
        (known,), (unknown,) = view.words("clinic").words, view.words("nowhere").words
        assert known.rarity == unknown.rarity != album.words("clinic").words[0].rarity


def test_entities_and_events_do_not_tell_what_must_stay(path: Path) -> None:
    with Album.open(path) as album:
        view, _ = open_leaving(album)
        assert "kite" in view.entity_names(99) and "clinic" not in view.entity_names(99)
        assert view.activate(np.array([1, 2])).size == 0
        everything = np.arange(4)
        assert [m.name for m in view.match_entities(name_vectors(["clinic"])[0], everything, 0.9)] == []
        events = {event.photos: event for event in view.events()}
        assert events[("open.jpg", "cup.jpg")].name == "Kites"
        torn = events[("half.jpg",)]
        assert (torn.id, torn.name, torn.summary, torn.place) == (event_id("half.jpg"), UNNAMED, "", None)
        assert torn.start == torn.end == 3_000 and view.event_of(2) == torn and view.event_of(1) is None


def test_no_answer_of_a_view_holds_a_secret(path: Path) -> None:
    with Album.open(path) as album:
        view, _ = open_leaving(album)
        answers = [
            view.photos(range(4)),
            view.events(),
            view.entity_names(99),
            [view.memories_of(source) for source in ("note", "chat", "place", "caption")],
            view.ids(),
            view.prompt_memories(range(4)),
            view.entities.listing(),
        ]
        assert not [word for word in SECRETS if word.lower() in repr(answers).lower()]


def test_an_album_in_which_nothing_must_stay_is_unchanged(build_album: BuildAlbum) -> None:
    with Album.open(build_album([PHOTOS[0], PHOTOS[3]])) as album:
        view, rows = open_leaving(album)
        assert rows.tolist() == [0, 1] and view.photos(rows) == album.photos(rows)
        assert view.search_text("kite", 5).scores.tolist() == album.search_text("kite", 5).scores.tolist()


def test_many_withheld_memories_leave_no_gap_in_the_ids(build_album: BuildAlbum) -> None:
    chats = tuple(Memory("chat", f"secret {i}", sharing="low") for i in range(3_000))
    photo = Photo("a.jpg", memories=(*chats, Memory("note", "a lamp")))
    with Album.open(build_album([Encoded(photo)])) as album:
        view, _ = open_leaving(album)
        assert view.photo(0).memories == (Memory("note", "a lamp"),)
        assert (
            view.search_text("lamp", 5).rows.tolist() == [0] and not view.search_text("secret", 5).rows.size
        )


@pytest.mark.parametrize("version", [1, 2, 3])
def test_albums_of_every_format_are_opened_so(version: int, tmp_path: Path) -> None:
    copy = tmp_path / "a.gamer"
    shutil.copy(ROOT / "tests" / "golden" / f"album_v{version}.gamer", copy)
    with Album.open(copy) as album:
        view, rows = open_leaving(album)
        stays = [row for row in range(len(album)) if album.photo(row).sharing == "low"]
        assert stays and sorted({*range(len(album))} - {*rows.tolist()}) == stays
        assert all(view.photo(row).memories == () for row in stays)
        assert (
            view.search_text("dog running", 5).rows.tolist()
            == album.search_text("dog running", 5).rows.tolist()
        )
