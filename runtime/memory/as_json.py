"""Memories and turns as JSON, as the commands print and export them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from gamer.index.memory.records import Item, StoredTurn


def milliseconds(now: datetime) -> int:
    """Wall time as ms, as if it were UTC."""
    return int(now.replace(tzinfo=UTC).timestamp() * 1000)


def clock(at: int) -> str:
    """The date and time, to the second, of ms of wall time."""
    return (datetime(1970, 1, 1) + timedelta(milliseconds=at)).isoformat(timespec="seconds")


def item_json(item: Item) -> dict[str, Any]:
    """A memory as JSON."""
    value = item.value
    return {
        "id": f"m{item.id}", "kind": value.kind, "block": value.block, "key": value.key,
        "text": value.text, "at": clock(value.at),
        "past": item.past, "ends": None if value.ends is None else clock(value.ends),
        "keywords": list(value.keywords), "origin": value.origin, "sharing": value.sharing,
        "turns": [f"t{turn}" for turn in value.sources],
    }  # fmt: skip


def turn_json(stored: StoredTurn) -> dict[str, Any]:
    """A turn as JSON."""
    turn = stored.turn
    return {
        "id": f"t{stored.id}", "chat": turn.chat, "speaker": turn.speaker, "at": clock(turn.at),
        "text": turn.text, "pictures": list(turn.pictures), "sharing": turn.sharing,
        "session": stored.session,
    }  # fmt: skip
