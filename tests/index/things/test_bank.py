"""The bank of things in an album: it grows and shrinks with the photos, and keeps what its owner changed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import cast

import apsw
import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Encoded, Event, Memory, Photo, event_id
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.leaving import open_leaving
from gamer.index.things import bank
from gamer.index.things.extract import extract
from gamer.index.things.records import Thing
from tests.index.conftest import BuildAlbum
from tests.index.retelling import Retelling

DAY = 86_400_000
TEXTS = {
    "a": "my red canvas bag",
    "b": "My bag on the bench",
    "c": "a blue bag",
    "d": "my red bag and a mug",
}


def photo(name: str, text: str, day: int | None = 0) -> Encoded:
    return Encoded(Photo(name, None, None if day is None else day * DAY, memories=(Memory("note", text),)))


def grow(path: Path, again: bool = False) -> bank.Grown:
    with AlbumWriter.extend(path) as writer:
        return writer.change_optional(lambda db, at: bank.grow(db, at, extract, again))


def change(path: Path, what: str, *given: object) -> object:
    with AlbumWriter.extend(path) as writer:
        return writer.change_optional(lambda db, at: getattr(bank, what)(db, at, *given))


def things(path: Path) -> dict[str, Thing]:
    with Album.open(path) as album:
        assert album.verify() == []
        return {thing.name: thing for thing in album.reading(bank.things)}


def photos(path: Path) -> dict[str, tuple[str, ...]]:
    return {name: thing.photos for name, thing in things(path).items()}


@pytest.fixture
def path(build_album: BuildAlbum) -> Path:
    made = build_album([photo(name, text, day) for day, (name, text) in enumerate(TEXTS.items())])
    grow(made)
    return made


def test_sightings_of_one_head_are_one_thing_unless_an_attribute_contradicts(path: Path) -> None:
    found = things(path)
    assert photos(path) == {
        "red canvas bag": ("a", "b", "d"),
        "blue bag": ("c",),
        "mug": ("d",),
        "bench": ("b",),
    }
    bag = found["red canvas bag"]
    assert (bag.days, bag.owned, bag.recurrence) == (3, 3, 3)
    assert next(iter(found)) == "red canvas bag"


def test_a_bank_of_some_photos_is_the_one_that_was_before_the_others(
    build_album: BuildAlbum, path: Path
) -> None:
    """As when an album grows: `a` and `b` are the first two days."""
    first = build_album([photo(name, TEXTS[name], day) for day, name in enumerate("ab")], "early.gamer")
    grow(first)
    with Album.open(path) as album:
        early = album.reading(partial(bank.things, photos={"a", "b"}))
        assert album.reading(partial(bank.things, photos=set())) == []
    assert {one.name: one for one in early} == things(first)
    (bag,) = (one for one in early if one.head == "bag")
    assert bag.told == (("category", "bag", 2), ("color", "red", 1), ("material", "canvas", 1))


def test_a_thing_may_be_told_by_its_first_sightings_alone(path: Path) -> None:
    with Album.open(path) as album:
        whole, one = (album.reading(partial(bank.things, most=most)) for most in (9, 1))
    assert {thing.name: thing for thing in whole} == things(path)
    (bag,) = (thing for thing in one if thing.photos == ("a", "b", "d"))
    assert {count for _, _, count in bag.told} == {1}
    assert bag.recurrence == 3


def test_an_album_of_no_things_gets_no_tables(build_album: BuildAlbum) -> None:
    made = build_album([photo("a", "Ein schöner Tag am See")])
    assert grow(made) == bank.Grown(1, 0)
    with apsw.Connection(str(made)) as db:
        assert not db.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'thing%'").fetchall()
    assert photos(made) == {}


def test_a_new_photo_adds_and_a_removed_one_takes_away(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.add([photo("e", "the blue bag again", 9)])
        writer.remove(["a", "b"])
    assert grow(path).read == 1
    assert photos(path) == {"blue bag": ("c", "e"), "red bag": ("d",), "mug": ("d",)}


def test_only_changed_memories_are_read_again(path: Path) -> None:
    assert grow(path).read == 0
    with AlbumWriter.extend(path) as writer:
        writer.update([photo("d", "a mug")])
    assert grow(path).read == 1
    assert photos(path)["red canvas bag"] == ("a", "b")


def test_growing_step_by_step_gives_what_growing_at_once_gives(build_album: BuildAlbum, path: Path) -> None:
    slow = build_album([photo("a", TEXTS["a"])], "slow.gamer")
    for day, (name, text) in enumerate(TEXTS.items()):
        if name != "a":
            with AlbumWriter.extend(slow) as writer:
                writer.add([photo(name, text, day)])
        grow(slow)
    assert things(slow) == things(path)


def test_a_thing_recurs_over_events_and_undated_photos_count_for_no_day(build_album: BuildAlbum) -> None:
    made = build_album([photo("a", "my cup", None), photo("b", "my cup", None), photo("c", "my cup", None)])
    with AlbumWriter.extend(made) as writer:
        writer.set_events(
            [Event(event_id("a"), "one", "", ("a", "b")), Event(event_id("c"), "two", "", ("c",))]
        )
    grow(made)
    cup = things(made)["cup"]
    assert (cup.days, cup.events, cup.recurrence) == (0, 2, 2)


def test_merging_is_undone_by_splitting(path: Path) -> None:
    before = things(path)
    red, blue = before["red canvas bag"].id, before["blue bag"].id
    change(path, "merge", red, [blue])
    (merged,) = [thing for thing in things(path).values() if thing.head == "bag"]
    assert (merged.id, merged.photos, merged.aliases) == (red, ("a", "b", "c", "d"), (blue,))
    assert change(path, "split", red, ()) == [blue]
    assert things(path) == before


def test_what_is_split_by_photos_stays_apart(path: Path) -> None:
    red = things(path)["red canvas bag"].id
    new = max(cast(list[int], change(path, "split", red, ["d"])))
    with AlbumWriter.extend(path) as writer:
        writer.add([photo("e", "my red bag", 9)])
        writer.update([photo("d", "my red bag, worn", 3)])
    grow(path)
    by_id = {thing.id: thing.photos for thing in things(path).values()}
    assert (by_id[red], by_id[new]) == (("a", "b", "e"), ("d",))


def test_a_forgotten_thing_stays_forgotten_when_it_is_seen_again(path: Path) -> None:
    change(path, "forget", [things(path)["red canvas bag"].id])
    with AlbumWriter.extend(path) as writer:
        writer.add([photo("e", "my red bag", 9)])
    grow(path)
    assert set(photos(path)) == {"blue bag", "mug", "bench"}


@pytest.mark.parametrize(
    ("what", "given"),
    [("merge", (1, [1])), ("merge", (1, [99])), ("split", (1, ())), ("split", (1, ["zz"])),
     ("forget", ([99],)),
     ("split", (1, ["a", "b", "d"]))],
)  # fmt: skip
def test_what_cannot_be_changed_is_said_and_nothing_is(
    path: Path, what: str, given: tuple[object, ...]
) -> None:
    before = things(path)
    with pytest.raises(AlbumError, match=r"th1|th99|photo"):
        change(path, what, *given)
    assert things(path) == before


def test_things_are_told_to_nobody_outside(path: Path, tmp_path: Path) -> None:
    with Album.open(path) as album:
        view = open_leaving(album, Retelling())
        export_jsonl(album, tmp_path / "out.jsonl", everything=True)
    assert view.reading(bank.things) == []
    view.close()
    assert "drinkware" not in (tmp_path / "out.jsonl").read_text()


def test_a_changed_row_is_seen(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute("UPDATE thing_sightings SET color='pink' WHERE photo='c'")
    with Album.open(path) as album:
        assert any("thing" in problem for problem in album.verify())
        with pytest.raises(AlbumError, match="damaged"):
            album.reading(bank.things)


def test_a_program_that_does_not_know_the_tables_may_remove_photos(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        rows = writer.change_optional(lambda db, _: db.execute("SELECT * FROM thing_photos").fetchall())
        seen = writer.change_optional(lambda db, _: db.execute("SELECT * FROM thing_sightings").fetchall())
        writer.remove(["a"])
        writer.change_optional(
            lambda db, _: (
                db.executemany("INSERT OR IGNORE INTO thing_photos VALUES(?,?)", rows),
                db.executemany(f"INSERT OR IGNORE INTO thing_sightings VALUES({','.join('?' * 18)})", seen),
            )
        )
    with Album.open(path) as album:
        assert any("not in the album" in problem for problem in album.verify())
        assert "a" not in {name for thing in album.reading(bank.things) for name in thing.photos}
    grow(path)
    assert photos(path)["red bag"] == ("b", "d")


def test_a_later_version_is_refused(path: Path) -> None:
    with apsw.Connection(str(path)) as db:
        db.execute("UPDATE thing_meta SET value='2'")
    with Album.open(path) as album, pytest.raises(AlbumError, match="update the program"):
        album.reading(bank.things)
    with pytest.raises(AlbumError, match="update the program"):
        grow(path)


def test_rules_of_another_program_version_are_read_when_asked(path: Path) -> None:
    before = things(path)
    assert grow(path, again=True).read == 4
    assert {name: replace(thing, id=0) for name, thing in things(path).items()} == {
        name: replace(thing, id=0) for name, thing in before.items()
    }


def test_what_a_person_changed_survives_a_new_reading(path: Path) -> None:
    found = things(path)
    change(path, "forget", [found["blue bag"].id])
    change(path, "merge", found["mug"].id, [found["bench"].id])
    with AlbumWriter.extend(path) as writer:
        writer.add([photo("0", "a blue bag", -1)])  # now the first to be read
    before = things(path)
    grow(path, again=True)
    assert things(path) == before
