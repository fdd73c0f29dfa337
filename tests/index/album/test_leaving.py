"""An album opened as it may be told elsewhere: it answers as if what must stay had never been in it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import Album, AlbumWriter, Event, Memory, Photo
from gamer.index.album.ids import event_id
from gamer.index.album.leaving import open_leaving, partly_withheld
from gamer.index.album.sharing import leaving, may_leave
from gamer.index.records import Level
from tests.albums import album_of
from tests.index.conftest import META, BuildAlbum, name_vectors
from tests.index.retelling import Retelling
from tests.paths import ROOT

ENCODER = Retelling()
# Whatever of these words comes out of a view, in any of its answers, has leaked.
SECRETS = ("clinic", "affair", "vault", "Zed")
PHOTOS = (
    Photo("open.jpg", "/p/open.jpg", 1_000, "local", 48.0, 11.0, (Memory("note", "a red Kite at noon"),)),
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
    Photo(
        "half.jpg",
        None,
        3_000,
        "local",
        50.0,
        13.0,
        (
            Memory("note", "an affair with blue cups", sharing="low"),
            Memory("caption", "two blue cups"),
            Memory("place", "The vault", sensitivity="high"),
        ),
    ),
    Photo("cup.jpg", None, 4_000, "local", 50.0, 13.0, (Memory("caption", "a blue cup by a kite"),)),
)


@pytest.fixture
def path(build_album: BuildAlbum) -> Path:
    built = build_album([ENCODER.encoded(photo) for photo in PHOTOS])
    whole = Event(
        event_id("clinic.jpg"), "At the clinic", "With Zed.", ("clinic.jpg", "half.jpg"), place="vault"
    )
    with AlbumWriter.extend(built) as writer:
        writer.set_events([whole, Event(event_id("open.jpg"), "Kites", "High up.", ("open.jpg", "cup.jpg"))])
        writer.finish(name_vectors)
    return built


def without(photos: Sequence[Photo]) -> list[Photo]:
    """The photos as they would be in an album that never had what must stay."""
    return [replace(photo, memories=leaving(photo)) for photo in photos if may_leave(photo)]


def answers(album: Album) -> dict[str, Any]:
    """Everything that an album can be asked, but for its file's path."""
    rows = np.arange(len(album))
    queries = ("kite", "blue cups", "affair", "a clinic")
    vectors = name_vectors(["a red Kite at noon", "two blue cups", "an affair with blue cups", "cup"])
    return {
        "photos": album.photos(rows),
        "ids": album.ids(),
        "times": album.times().tolist(),
        "positions": np.nan_to_num(album.positions(), nan=999).tolist(),
        "text": [album.search_text(query, 9).scores.tolist() for query in queries],
        "words": [[word.rarity for word in album.words(query).words] for query in queries],
        "scores": {name: [album.scores(name, v).tolist() for v in vectors] for name in album.channels()},
        "names": album.entity_names(99),
        "listing": album.listed_entities(),
        "matched": [[m.name for m in album.match_entities(v, rows, 0.1)] for v in vectors],
        "activated": album.activate(rows).tolist(),
        "events": album.events(),
        "memories": [album.memories_of(source) for source in ("note", "chat", "place", "caption")],
        "prompt": album.prompt_memories(range(len(album))),
    }


def test_what_must_stay_is_absent_and_the_album_itself_is_as_it_was(path: Path) -> None:
    with Album.open(path) as album, open_leaving(album, ENCODER) as view:
        assert view.ids() == ["open.jpg", "half.jpg", "cup.jpg"]
        half = view.photo(1)
        assert half.memories == (Memory("caption", "two blue cups"),)
        assert half.lat is None
        assert partly_withheld(album) == {"half.jpg"}
        assert not [word for word in SECRETS if word.lower() in repr(answers(view)).lower()]
        assert album.photo(1).path == "/p/clinic.jpg"
        assert len(album.events()) == 2


def test_events_are_those_that_are_made_again(path: Path) -> None:
    def describe(copy: Path) -> None:
        with AlbumWriter.extend(copy) as writer:
            writer.set_events([Event(event_id("half.jpg"), "Cups", "", ("half.jpg", "cup.jpg"))])

    with Album.open(path) as album:
        with open_leaving(album, ENCODER) as view:
            assert view.events() == []
        with open_leaving(album, ENCODER, describe) as view:
            assert [event.name for event in view.events()] == ["Cups"]


def test_a_photo_with_a_withheld_memory_answers_as_its_equals_do(path: Path, build_album: BuildAlbum) -> None:
    unplaced = [replace(p, lat=None, lon=None) if p.id == "half.jpg" else p for p in PHOTOS]
    plain = build_album([ENCODER.encoded(photo) for photo in without(unplaced)])
    with (
        Album.open(path) as album,
        open_leaving(album, ENCODER) as view,
        Album.open(plain) as expected,
    ):
        assert answers(view) == answers(expected)


LEVELS: tuple[Level | None, ...] = (None, None, "low")
levels = st.sampled_from(LEVELS)
words = st.sampled_from(["a kite", "Kite", "kites", "Zed", "an affair", "blue cups", "IKEA chair: 119 euros"])


@st.composite
def albums(draw: st.DrawFn) -> list[Photo]:
    photos = []
    for number in range(draw(st.integers(1, 6))):
        memories = draw(st.lists(st.tuples(words, levels), max_size=4))
        photos.append(
            Photo(
                f"{number}.jpg",
                taken_at=draw(st.sampled_from([None, number * 1000])),
                memories=tuple(Memory("note", text, sharing=level) for text, level in memories),
                sharing=draw(levels),
            )
        )
    return photos


@settings(max_examples=60, deadline=None)
@given(albums())
def test_no_answer_depends_on_what_must_stay(
    tmp_path_factory: pytest.TempPathFactory, photos: list[Photo]
) -> None:
    folder = tmp_path_factory.mktemp("album")
    made = []
    for name, some in (("all", photos), ("without", without(photos))):
        items = [ENCODER.encoded(photo) for photo in some]
        made.append(album_of(folder / name, items, names=name_vectors, meta=META))
    with (
        Album.open(made[0]) as album,
        Album.open(made[1]) as expected,
        open_leaving(album, ENCODER) as view,
    ):
        assert answers(view) == answers(expected)


def test_what_the_owner_chose_of_entities_and_photos_holds(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.merge("Kite", "blue cup")
        writer.merge("Zed", "Kite")
        writer.prefer("cup.jpg", "open.jpg")
        writer.prefer("clinic.jpg", "open.jpg")
    with Album.open(path) as album, open_leaving(album, ENCODER) as view:
        roots = [entity.name for entity in view.listed_entities() if "blue cup" in entity.aliases]
        assert roots == ["Kite"]
        assert view.preferred([0, 2]) == [2, 0]


def test_an_album_in_which_nothing_must_stay_is_unchanged(build_album: BuildAlbum) -> None:
    built = build_album([ENCODER.encoded(PHOTOS[0]), ENCODER.encoded(PHOTOS[3])])
    with Album.open(built) as album, open_leaving(album, ENCODER) as view:
        assert answers(view) == answers(album)
        assert view.path == album.path


def test_the_folder_of_the_copy_is_closed_to_others_and_goes_with_it(path: Path) -> None:
    with Album.open(path) as album:
        view = open_leaving(album, ENCODER)
    folder = view.path.parent
    assert folder.stat().st_mode & 0o077 == 0
    assert view.path.name == path.name
    view.close()
    del view
    assert not folder.exists()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_albums_of_every_format_are_opened_so(version: int, tmp_path: Path) -> None:
    copy = tmp_path / "a.gamer"
    shutil.copy(ROOT / "tests" / "golden" / f"album_v{version}.gamer", copy)
    with Album.open(copy) as album, open_leaving(album, ENCODER) as view:
        stays = [photo.id for photo in album.photos(range(len(album))) if photo.sharing == "low"]
        assert stays
        assert view.ids() == [photo_id for photo_id in album.ids() if photo_id not in stays]
        found: Callable[[Album], list[str]] = lambda a: [  # noqa: E731
            a.ids()[row] for row in a.search_text("dog running", 5).rows
        ]
        assert found(view) == found(album)
