"""`gamer chat` and `gamer memory …` as the shell calls them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gamer.index.errors import AlbumError
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.main import main
from gamer.runtime.memory.update import Updater


def gamer(*words: object, said: str = "") -> Result:
    return CliRunner().invoke(main, [str(word) for word in words], input=said)


def ok(*words: object, said: str = "") -> str:
    result = gamer(*words, said=said)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_conversation_through_the_shell(album: Path) -> None:
    said = "I live in Porto.\n\nWhere do I live?\n"
    assert "Porto, as you said on" in ok("chat", album, "--plain", said=said)
    lines = [json.loads(line) for line in ok("chat", album, "--json", said=said).splitlines()]
    assert lines[0]["text"] == "Noted."
    assert lines[1]["core"][0]["text"] == "Porto"
    assert "Porto" in ok("memory", "list", album, "--kind", "turns")


def test_what_fails_after_an_answer_is_said_in_a_line_of_its_own(
    album: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise AlbumError("the disk is full")

    monkeypatch.setattr(Updater, "run", fails)
    said = gamer("chat", album, said="I live in Porto.\n")
    assert said.exit_code == 1
    assert said.output.splitlines() == ["Noted.", "gamer chat: the disk is full"]


def test_an_answer_turns_no_order_of_the_terminal_around(album: Path) -> None:
    said = "My dentist is Dr. \u202eReteP.\nWho is my dentist?\n"
    answer = ok("chat", album, said=said)
    assert "Dr. \ufffdReteP" in answer
    assert "\u202e" not in answer


def test_a_memory_is_added_shown_corrected_exported_and_forgotten(album: Path, tmp_path: Path) -> None:
    assert "no memories" in ok("memory", "list", album)
    row = ok("memory", "add", album, "Porto", "--kind", "core", "--key", "home").strip()
    new = ok("memory", "edit", album, row, "Lisbon").strip()
    shown = json.loads(ok("memory", "show", album, new, "--json"))
    assert shown["text"] == "Lisbon"
    assert [other["text"] for other in shown["other_values"]] == ["Porto"]
    assert "Porto" not in ok("memory", "list", album)
    assert "Porto" in ok("memory", "list", album, "--past")
    out = tmp_path / "out.jsonl"
    assert "0 lines" in ok("memory", "export", album, out)
    assert "2 lines" in ok("memory", "export", album, out, "--all")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert len(out.read_text().splitlines()) == 2
    assert [path.name for path in tmp_path.glob("*.partial")] == []
    assert f"forgotten: {new}" in ok("memory", "forget", album, new)
    assert "Lisbon" not in ok("memory", "list", album, "--past")
    assert "no core" not in ok("memory", "forget", album, "--all")
    assert "no memories" in ok("memory", "list", album, "--past")


def test_notes_without_a_key_are_no_values_of_each_other(album: Path) -> None:
    one, _ = ok("memory", "add", album, "tea").strip(), ok("memory", "add", album, "coffee")
    assert json.loads(ok("memory", "show", album, one, "--json"))["other_values"] == []


def test_a_damaged_turn_is_forgotten_by_its_id(album: Path) -> None:
    with MemoryStore.open(album) as store:
        store.add_turns([Turn("a", "k", "me", 1, "I like tea")])
        store._db.execute("UPDATE person_turns SET text = 'I like pea'")
    assert "t1 is damaged" in gamer("memory", "show", album, "t1").stderr
    assert "forgotten: t1" in ok("memory", "forget", album, "t1")


def test_an_update_counts_and_personality_is_switched(album: Path) -> None:
    with MemoryStore.open(album) as store:
        store.add_turns([Turn("a", "k", "me", 1, "I live in Porto.")])
    assert json.loads(ok("memory", "update", album, "--json")) == {"turns": 1, "sessions": 1, "encoded": 0}
    assert ok("memory", "personality", album).strip() == "off"
    assert ok("memory", "personality", album, "on").startswith("on")


@pytest.mark.parametrize(
    "words",
    [
        ("show", "m99"),
        ("edit", "t1", "x"),
        ("forget", "t99"),
        ("forget", "x1"),
        ("add", " "),
        ("add", "x", "--kind", "core"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(album: Path, words: tuple[str, ...]) -> None:
    result = gamer("memory", words[0], album, *words[1:])
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
