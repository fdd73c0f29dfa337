"""What a shown picture shows, by the name that the person gave it: remembered, found again, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, FloatArray
from gamer.index.errors import AlbumError
from gamer.index.memory.carrying import carry
from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory.objects import is_named, objects_of
from gamer.runtime.memory.pictures import Answered, PhotoFacts
from gamer.runtime.memory.response import NOTHING, SHOWN

from .conftest import START, Talk

TOLD = (
    PhotoFacts(
        "cafe",
        ("Breakfast with Anna, 4.80 euros for an espresso!",),
        1_776_502_800_000,
        "Vienna, AT",
        ("Anna",),
        (),
    ),
    PhotoFacts("cat", ("Chelsea has no shame.",), None, "", (), ("tabby cat",)),
    PhotoFacts("hat", ("Marta lost her hat here.",), None, "Rome, Italy", (), ()),
    PhotoFacts("ticket", (), 1_776_502_800_000, "", (), (), "Flight TP 1367\nDeparture 14:35"),
)
MUG, CAR = np.eye(8, dtype=np.float32)[0], np.eye(8, dtype=np.float32)[1]


class Pictures:
    """Photos with vectors; one is near to another if their first number is great in both."""

    encoder = "an encoder"

    def __init__(self) -> None:
        self.vectors: dict[str, FloatArray] = {"mug": MUG, "mug again": MUG, "car": CAR}

    def told(self, question: str, only: Sequence[str] = ()) -> tuple[PhotoFacts, ...]:
        return tuple(told for told in TOLD if not only or told.photo in only)

    def answer(self, question: str, now: datetime, leaving: Sequence[str] = ()) -> Answered:
        return Answered("by the tools", ("cat",), ())

    def holds(self, photo: str) -> bool:
        return photo in self.vectors or any(told.photo == photo for told in TOLD)

    def vector(self, photo: str) -> FloatArray | None:
        return self.vectors.get(photo)

    def near(self, vector: FloatArray) -> tuple[str, ...]:
        return tuple(photo for photo, other in self.vectors.items() if float(other @ vector) > 0.5)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("This is my blue mug.", ["blue mug"]),
        ("That's Rex, my dog, in the garden.", ["rex", "dog"]),
        ("Here are our bikes, and this is my tent.", ["bikes"]),
        ("This is my mug. This is our boat.", ["mug", "boat"]),
        ("Is this my blue mug?", []),
        ("This is my.", []),
        ("My blue mug is at work.", []),
        ("This is my " + "very " * 40 + "long name.", []),
    ],
)
def test_names(said: str, names: list[str]) -> None:
    assert objects_of(said) == names


def test_a_name_is_meant_by_all_of_its_words() -> None:
    assert is_named("blue mug", "Where are my blue mugs?")
    assert not is_named("blue mug", "Where is my mug?")


def show(store: MemoryStore, said: str, picture: str, photos: Pictures) -> Talk:
    talk = Talk(store, photos=photos)
    talk.chat.say(said, START, pictures=[picture])
    return talk


def test_a_named_object_is_found_by_its_picture(store: MemoryStore) -> None:
    photos = Pictures()
    talk = show(store, "This is my blue mug.", "mug", photos)
    said = talk.say("Where is my blue mug?")
    assert said.photos == ("mug", "mug again")
    assert said.text == SHOWN
    assert talk.say("Which photos show my blue mug?").photos == ("mug", "mug again")
    assert talk.say("Which photos show a dog?").text == "by the tools"
    del photos.vectors["mug"]  # its vector is still known
    assert talk.say("Where is my blue mug?").photos == ("mug again",)


@pytest.mark.parametrize(
    "line",
    ["Show me the dog", "find the coffee", "Photos of Anna, please", "How many photos of boats?"],
)
def test_who_asks_to_be_shown_something_is_answered_by_the_tools(store: MemoryStore, line: str) -> None:
    assert Talk(store, photos=Pictures()).say(line).text == "by the tools"


@pytest.mark.parametrize("line", ["I want to learn Spanish.", "I took the bus.", "I would like a cat."])
def test_a_wish_of_ones_own_is_noted(store: MemoryStore, line: str) -> None:
    assert Talk(store, photos=Pictures()).say(line).text == "Noted."


@pytest.mark.parametrize("line", ["What is the wifi password in Lisbon?", "Who was with me?"])
def test_what_is_not_known_is_said_to_be_not_known(store: MemoryStore, line: str) -> None:
    assert Talk(store).ask("I moved to Porto in March.", line) == NOTHING


def test_somebody_elses_home_is_theirs(store: MemoryStore) -> None:
    talk = Talk(store)
    talk.ask("I live in Braga.", "Clara lives in Faro.")
    assert talk.ask("Clara moved to Porto.", "Where does Clara live?").startswith("Porto")
    assert talk.ask("Where did Clara live before?").startswith("Faro")
    assert talk.ask("Where do I live?").startswith("Braga")


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("Where did Marta lose her hat?", "Rome, Italy, by a photo."),
        ("Where did I see a hat?", "Rome, Italy, by a photo."),
        ("Where did I buy a hat?", NOTHING),
        ("What time is my flight?", "In a photo of 18 April 2026 is written: “Departure 14:35”"),
        ("What time is my train?", NOTHING),
    ],
)
def test_where_a_photo_was_taken_and_what_is_printed_in_it_answer(
    store: MemoryStore, asked: str, answer: str
) -> None:
    assert Talk(store, photos=Pictures()).ask(asked) == answer


def test_a_fact_shows_no_photos(store: MemoryStore) -> None:
    said = Talk(store, photos=Pictures()).say("I live in Porto.", "Where do I live?")
    assert said.text.startswith("Porto, as you said on")
    assert said.photos == ()


def test_one_word_is_enough_for_a_name_and_names_add_up(store: MemoryStore) -> None:
    talk = show(store, "This is my mug.", "mug", Pictures())
    talk.chat.say("This is my mug.", START.replace(hour=10), pictures=["car"])
    assert [(one.name, one.picture) for _, one in store.objects()] == [("mug", "car"), ("mug", "mug")]
    items = {item.id: item for item in store.items("semantic")}
    assert [items[row].value.at for row, _ in store.objects()] == sorted(
        (item.value.at for item in items.values()), reverse=True
    )


def test_what_is_forgotten_takes_the_name_and_the_vector_along(store: MemoryStore) -> None:
    vector = np.linspace(0.1, 0.9, 64, dtype=np.float32)
    photos = Pictures()
    photos.vectors["mug"] = vector / np.linalg.norm(vector)
    show(store, "This is my blue mug.", "mug", photos)
    ((row, _),) = store.objects()
    data = store._db.execute("SELECT data FROM person_objects").get
    assert bytes(data) in store.path.read_bytes() + Path(f"{store.path}-wal").read_bytes()
    assert store.forget([], [row], 5).erased
    assert store.objects() == []
    assert bytes(data) not in store.path.read_bytes()
    with Album.open(store.path) as album:
        assert album.verify() == []


def test_a_damaged_object_is_told_of(store: MemoryStore) -> None:
    show(store, "This is my blue mug.", "mug", Pictures())
    store._db.execute("UPDATE person_objects SET name = 'red mug'")
    with pytest.raises(AlbumError, match="is damaged"):
        store.objects()
    with Album.open(store.path) as album:
        assert any("object of m" in line for line in album.verify())


def make_version_1(album: Path) -> None:
    db = apsw.Connection(str(album))
    db.execute(
        "DROP TABLE person_objects; UPDATE person_meta SET value = '1' WHERE key = 'version'"
    ).fetchall()
    db.close()


def test_memories_of_version_1_are_read_and_upgraded_by_the_first_turn(album: Path) -> None:
    with MemoryStore.open(album) as store:
        Talk(store).say("I live in Porto.", "Hello there all.")
    make_version_1(album)
    with MemoryStore.open(album, write=False) as store:
        assert [item.value.text for item in store.items("core")] == ["Porto"]
        assert store.objects() == []
    with Album.open(album) as opened:
        assert opened.verify() == []
    with MemoryStore.open(album) as store:
        show(store, "This is my blue mug.", "mug", Pictures())
        assert len(store.objects()) == 1
        assert store.setting("version") == "2"


def test_memories_of_version_1_are_carried_into_a_new_album(album: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.gamer"
    new.write_bytes(album.read_bytes())
    with MemoryStore.open(album) as store:
        Talk(store).say("I live in Porto.", "Hello there all.")
    make_version_1(album)
    assert carry(album, new)
    with MemoryStore.open(new) as store:
        assert store.setting("version") == "2"
        assert [item.value.text for item in store.items("core")] == ["Porto"]


def test_a_version_that_the_tables_do_not_fit_is_refused(album: Path) -> None:
    with MemoryStore.open(album) as store:
        Talk(store).say("I live in Porto.")
    apsw.Connection(str(album)).execute("DROP TABLE person_objects").fetchall()
    with pytest.raises(AlbumError, match="version 2"):
        MemoryStore.open(album)


def test_photos_are_shown_only_where_they_are_asked_for_and_tell_what_is_not_known_otherwise(
    store: MemoryStore,
) -> None:
    talk = Talk(store, photos=Pictures())
    said = talk.say("How much was the espresso?")
    assert "4.80 euros" in said.text
    assert "15 April 2026" not in said.text
    assert said.photos == ()
    assert said.sources == ("cafe",)
    shown = talk.chat.say("show me the cat", talk.now)
    assert shown.photos == ("cat",)
    again = talk.chat.say("what's her name?", talk.now)
    assert "Chelsea" in again.text
    assert again.photos == ()
    assert again.sources == ("cat",)
    assert talk.chat.say("Where was that taken?", talk.now).text == NOTHING
    says = talk.chat.say("what does it say about that?", talk.now)
    assert "Chelsea" in says.text
    assert says.sources == ("cat",)
    assert talk.chat.say("let me see it", talk.now).photos == ("cat",)


def test_a_question_that_comes_with_a_picture_is_asked_of_it(store: MemoryStore) -> None:
    talk = Talk(store, photos=Pictures())
    for asked, answer in (
        ("Where was this taken?", "Rome, Italy."),
        ("When was that taken?", "The album does"),
    ):
        said = talk.chat.say(asked, START, pictures=["hat"])
        assert said.text.startswith(answer)
        assert said.sources == ("hat",)
