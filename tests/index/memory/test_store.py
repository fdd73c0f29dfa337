"""The person's memories in the album's file: what is current, what is forgotten, and what stays whole."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import Album, AlbumError, AlbumWriter
from gamer.index.album.declarations import person_tables
from gamer.index.album.declarations.person_tables import PERSON
from gamer.index.album.export_jsonl import export_jsonl
from gamer.index.album.leaving import open_leaving
from gamer.index.memory import erasing, writing
from gamer.index.memory.carrying import carry
from gamer.index.memory.records import MAX_TURN, NewItem, Turn
from gamer.index.memory.store import MemoryStore
from tests.index.retelling import Retelling

SECRET = "Zanzibar-Quokka-4711"


@pytest.fixture
def store(album_path: Path) -> Iterator[MemoryStore]:
    with MemoryStore.open(album_path) as opened:
        yield opened


def turn(number: int, text: str = "I like tea", **changes: object) -> Turn:
    return replace(Turn(f"u{number}", "kitchen", "me", number * 1_000, text), **changes)  # type: ignore[arg-type]


def core(key: str, text: str, at: int, *sources: int) -> NewItem:
    return NewItem("core", key, text, at, sources=sources)


def values(store: MemoryStore) -> list[tuple[str, int, int | None, bool]]:
    return [(i.value.text, i.value.at, i.value.ends, i.past) for i in store.items()]


def test_an_album_without_memories_has_no_tables_of_them(store: MemoryStore) -> None:
    assert store.items() == []
    assert store.turns([1]) == []
    assert store.search(["tea"], 5) == []
    with Album.open(store.path) as album:
        names = {name for (name,) in album._file.sql("SELECT name FROM sqlite_schema")}
    assert not {name for name in names if name.startswith("person")}


def test_the_latest_value_is_current_in_whatever_order_they_arrive(store: MemoryStore) -> None:
    for text, at in (("Lisbon", 9), ("Porto", 5), ("Oslo", 7), ("Lisbon", 9)):
        store.add_item(core("home", text, at))
    assert values(store) == [("Porto", 5, 7, True), ("Oslo", 7, 9, True), ("Lisbon", 9, None, False)]


def test_a_value_that_was_said_again_gives_way_only_to_a_later_one(store: MemoryStore) -> None:
    """Every order of the same four statements gives the same history."""
    store.add_turns([turn(number) for number in range(1, 10)])
    statements = (("Lisbon", 3), ("Lisbon", 9), ("Oslo", 5), ("Oslo", 6))
    said = [core("home", text, 1_000 * number, number) for text, number in statements]
    for order in permutations(said):
        for item in order:
            store.add_item(item)
        assert values(store) == [
            ("Lisbon", 3_000, 5_000, True), ("Oslo", 5_000, 9_000, True), ("Lisbon", 9_000, None, False)
        ]  # fmt: skip
        store._db.execute("DELETE FROM person_items; DELETE FROM person_sources")
    for text, at in (("Lisbon", 3), ("Lisbon", 9), ("Oslo", 5)):  # a person's own, without turns
        store.add_item(core("home", text, at))
    assert values(store)[-1] == ("Lisbon", 9, None, False)
    assert_clean(store.path)


def test_a_turn_is_stored_once_and_digested_once(store: MemoryStore) -> None:
    assert store.add_turns([turn(1), turn(1), turn(2)]) == [1, 1, 2]
    fact = NewItem("semantic", "turn 1", "I like tea", 1_000, ("tea",), sources=(1,))
    assert store.digest(1, 1, [fact])
    assert not store.digest(1, 1, [replace(fact, text="again")])
    assert [item.value for item in store.items()] == [fact]
    assert store.close_session([1], [])
    assert not store.close_session([1, 2], [core("home", "Rome", 1)])
    assert store.turns([2])[0].session is None
    assert len(store.items()) == 1


def test_six_goals_leave_the_five_latest(store: MemoryStore) -> None:
    for number in range(6):
        store.add_item(NewItem("procedural", f"goal {number}", f"run {number} km", number + 1))
    assert [item.value.key for item in store.items("procedural", past=False)] == [
        f"goal {n}" for n in range(1, 6)
    ]


def test_forgetting_takes_what_was_drawn_and_the_bytes(store: MemoryStore) -> None:
    store.add_turns([turn(n, f"I keep bicycle {n} in the shed") for n in range(1, 200)])
    (told,) = store.add_turns([turn(500, f"My gate code is {SECRET} since today")])
    assert told is not None
    (reply,) = store.add_turns([turn(501, f"Noted: {SECRET}.", speaker="assistant", drawn=(told,))])
    fact = store.add_item(core("gate code", SECRET, 500_000, told))
    store.close_session(
        [1, 2, told], [NewItem("episodic", "turn 1", f"bicycles, {SECRET}", 1, sources=(1, 2, told))]
    )
    assert SECRET.encode() in store.path.read_bytes() + beside(store.path)
    gone = store.forget([], [fact], 1)
    assert gone.turns == (told, reply)
    assert len(gone.items) == 2
    assert gone.erased
    for word in (SECRET, "quokka", "zanzibar"):
        assert word.encode() not in store.path.read_bytes() + beside(store.path)
    assert store.turns([1])[0].session is None, "the rest of the session is open again"
    assert store.add_turns([turn(500, "My gate code again")]) == [None]
    assert store.search(["zanzibar"], 3) == []
    assert store.add_turns([turn(502)]) == [reply + 1 if reply else 0]
    assert_clean(store.path)


def beside(path: Path) -> bytes:
    log = path.with_name(path.name + "-wal")
    return log.read_bytes() if log.exists() else b""


def assert_clean(path: Path) -> None:
    with Album.open(path) as album:
        assert album.verify() == []


def test_a_reader_that_holds_the_log_is_reported(store: MemoryStore) -> None:
    store.add_turns([turn(1, SECRET)])
    with MemoryStore.open(store.path, write=False) as reader:
        assert reader.turns([1])
        store._db.set_busy_timeout(0)
        assert not store.forget([1], [], 1).erased


def test_a_damaged_turn_can_be_forgotten(store: MemoryStore) -> None:
    store.add_turns([turn(1, "I like quinces"), turn(2, "I like tea")])
    store._db.execute("UPDATE person_turns SET text = 'I like pears' WHERE id = 1")
    gone = store.forget([1], [], 1)
    assert gone.erased
    assert gone.texts == ("I like pears",)
    assert store.search(["quinces", "quince", "pears"], 3) == []
    assert store.search(["tea"], 3)
    assert b"quinc" not in store.path.read_bytes() + beside(store.path)
    assert_clean(store.path)


def test_a_full_disk_is_reported_by_forget(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_turns([turn(1, SECRET)])

    def full(db: apsw.Connection, texts: object) -> str:
        raise apsw.FullError("database or disk is full")

    monkeypatch.setattr(erasing, "_erase", full)
    gone = store.forget([1], [], 1)
    assert not gone.erased
    assert "disk is full" in gone.left


def test_a_snapshot_is_searched(store: MemoryStore) -> None:
    store.add_turns([turn(1)])
    with MemoryStore.open(store.path, write=False) as reader:
        assert [row for row, _ in reader.search(["tea"], 3)] == [1]
        with pytest.raises(apsw.ReadOnlyError):
            reader._db.execute("DELETE FROM person_turns")


def test_a_source_linked_between_two_reads_is_no_damage(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_turns([turn(1), turn(2)])
    store.add_item(core("home", "Rome", 1_000, 1))
    read = person_tables.sources

    def meanwhile(db: apsw.Connection, child: str, row: int) -> tuple[int, ...]:
        monkeypatch.setattr(person_tables, "sources", read)
        with MemoryStore.open(store.path) as other:
            other.add_item(core("home", "Rome", 2_000, 2))
        return read(db, child, row)

    monkeypatch.setattr(person_tables, "sources", meanwhile)
    assert [item.value.sources for item in store.items()] == [(1,)]
    assert [item.value.sources for item in store.items()] == [(1, 2)]


@pytest.mark.parametrize("replaced", [True, False])
def test_a_file_that_was_replaced_or_deleted_is_noticed(store: MemoryStore, replaced: bool) -> None:
    store.add_turns([turn(1)])
    new = store.path.with_name("new.gamer")
    shutil.copy(Path(__file__).parents[2] / "golden" / "album_v3.gamer", new)
    new.replace(store.path) if replaced else store.path.unlink()
    with pytest.raises(AlbumError, match="deleted or replaced"):
        store.add_turns([turn(2)])
    if replaced:
        assert_clean(store.path)


def test_a_new_album_takes_the_memories_over(store: MemoryStore) -> None:
    (told,) = store.add_turns([turn(1)])
    store.add_item(core("home", "Rome", 1_000, told or 0))
    store.add_turns([turn(3)])
    store.forget([2], [], 1)
    store.close()
    new = store.path.with_name("new.gamer")
    shutil.copy(Path(__file__).parents[2] / "golden" / "album_v3.gamer", new)
    assert carry(store.path, new)
    assert carry(store.path, new)
    with MemoryStore.open(new) as taken:
        assert values(taken) == [("Rome", 1_000, None, False)]
        assert taken.search(["tea"], 3)
        assert taken.add_turns([turn(3)]) == [None]
    assert_clean(new)
    assert not carry(store.path.with_name("none.gamer"), new)


def test_a_killed_change_leaves_nothing(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_turns([turn(1)])
    monkeypatch.setattr(writing, "put", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        store.digest(1, 1, [core("home", "Rome", 1, 1)])
    monkeypatch.undo()
    assert store.items() == []
    assert store.digest(1, 1, [core("home", "Rome", 1, 1)])


def test_two_conversations_at_once(album_path: Path) -> None:
    def talk(name: str) -> None:
        with MemoryStore.open(album_path) as own:
            for number in range(15):
                own.add_turns([Turn(f"{name}{number}", name, "me", number, "hello there")])

    both = [threading.Thread(target=talk, args=(name,)) for name in "ab"]
    [thread.start() for thread in both], [thread.join() for thread in both]  # type: ignore[func-returns-value]
    with MemoryStore.open(album_path) as store:
        assert sorted(t.turn.uid for t in store.undigested(99)) == sorted(
            f"{a}{n}" for a in "ab" for n in range(15)
        )


def test_memories_are_in_no_export_and_no_leaving_view(store: MemoryStore, tmp_path: Path) -> None:
    store.add_turns([turn(1, SECRET)])
    store.add_item(core("code", SECRET, 1, 1))
    with Album.open(store.path) as album:
        export_jsonl(album, tmp_path / "out.jsonl", everything=True)
        told = open_leaving(album, Retelling())
    assert SECRET not in (tmp_path / "out.jsonl").read_text()
    with told:
        assert not PERSON.exist(told._file.connection)


def test_a_compacted_album_keeps_them(store: MemoryStore) -> None:
    store.add_turns([turn(1)])
    store.close()
    with AlbumWriter.extend(store.path) as writer:
        writer.compact()
    with MemoryStore.open(store.path) as again:
        assert again.turns([1])[0].turn == turn(1)


def test_an_old_album_takes_memories(tmp_path: Path) -> None:
    path = tmp_path / "old.gamer"
    shutil.copy(Path(__file__).parents[2] / "golden" / "album_v1.gamer", path)
    with MemoryStore.open(path) as store:
        assert store.add_turns([turn(1)]) == [1]
    assert_clean(path)


def test_a_flipped_bit_is_found(store: MemoryStore) -> None:
    store.add_turns([turn(1)])
    store._db.execute("UPDATE person_turns SET text = 'I like pea'")
    with pytest.raises(AlbumError, match="t1 is damaged"):
        store.turns([1])
    with Album.open(store.path) as album:
        assert any("turn t1" in line for line in album.verify())


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE person_sources",
        "CREATE TRIGGER person_turns_x AFTER INSERT ON person_turns BEGIN DELETE FROM photos; END",
        "CREATE TABLE person_other(x)",
        "ALTER TABLE person_items ADD COLUMN more TEXT",
        "UPDATE person_meta SET value = '9' WHERE key = 'version'",
    ],
)
def test_crafted_tables_are_refused(store: MemoryStore, sql: str) -> None:
    store.add_turns([turn(1)])
    store.close()
    apsw.Connection(str(store.path)).execute(sql)
    with pytest.raises(AlbumError):
        MemoryStore.open(store.path)


@pytest.mark.parametrize("text", ["", " \n", "x" * (MAX_TURN + 1), "\ud800"])
def test_a_turn_that_cannot_be_stored_is_refused(text: str) -> None:
    with pytest.raises(AlbumError):
        turn(1, text)


def test_a_turn_of_a_megabyte_is_stored_and_found(store: MemoryStore) -> None:
    store.add_turns([turn(1, ("tea " * 300_000)[: MAX_TURN - 7] + " walrus")])
    assert store.search(["walrus"], 3)[0][0] == 1
    assert store.forget([1], [], 1).erased


WORDS = st.lists(st.sampled_from(["tea", "rome", "école", "猫", 'a"b', "OR", "*"]), min_size=1).map(" ".join)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 9), WORDS),
        st.tuples(st.just("draw"), st.integers(1, 9), WORDS),
        st.tuples(st.just("forget"), st.integers(1, 9), WORDS),
    ),
    max_size=14,
)


@settings(max_examples=12, deadline=None)
@given(STEPS)
def test_any_order_of_changes_leaves_a_sound_album(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("store") / "a.gamer"
    shutil.copy(Path(__file__).parents[2] / "golden" / "album_v3.gamer", path)
    forgotten: set[str] = set()
    with MemoryStore.open(path) as store:
        for what, number, words in steps:
            known = [stored.id for stored in store.turns(range(1, 30))]
            if what == "add":
                (row,) = store.add_turns([turn(number, words)])
                assert (row is None) == (f"u{number}" in forgotten)
            elif what == "draw" and known:
                store.add_item(core(words[:20], words, number, *known[:number]))
            elif what == "forget" and known:
                gone = store.forget([known[number % len(known)]], [], 1)
                forgotten |= {f"u{n}" for n in range(1, 10)} & {
                    uid for (uid,) in store._db.execute("SELECT uid FROM person_forgotten")
                }
                assert gone.erased
            store.search([words], 5)
        for item in store.items():
            assert len(store.turns(item.value.sources)) == len(item.value.sources)
    assert_clean(path)


def test_the_lock_file_of_a_killed_writer_goes_and_that_of_a_living_one_stays(album_path: Path) -> None:
    lock = album_path.with_name(album_path.name + ".lock")
    lock.touch()
    MemoryStore.open(album_path).close()
    assert not lock.exists()
    with AlbumWriter.extend(album_path):
        MemoryStore.open(album_path).close()
        assert lock.exists()
        with pytest.raises(AlbumError, match="another program is writing"):
            AlbumWriter.extend(album_path)


@pytest.mark.parametrize(
    "noted", ["", "[" * 100_000, "9" * 5_000, "NaN", "[1]", "[1, 2]", "[-1, [0]]", 7, b"\xff"]
)
def test_a_damaged_note_of_changes_is_none(store: MemoryStore, noted: object) -> None:
    """It only says what a reader may keep: no reason to build the album again, and no traceback."""
    store.add_turns([turn(1)])
    with contextlib.closing(apsw.Connection(str(store.path))) as db:
        db.execute("INSERT OR REPLACE INTO person_meta VALUES('changes', ?)", (noted,))
    store.add_turns([turn(2)])
    assert store.heads()[0] == 1
    assert store.forget([1], [], 1).erased
    assert [row.id for row in store.all_turns()] == [2]
