"""Memories and turns as JSON, as the commands print and export them."""

from __future__ import annotations

from typing import Any

from gamer.index.memory.records import Item, StoredTurn

from ..wall_time import iso


def item_json(item: Item) -> dict[str, Any]:
    """A memory as JSON."""
    value = item.value
    return {
        "id": f"m{item.id}", "kind": value.kind, "block": value.block, "key": value.key,
        "text": value.text, "at": iso(value.at),
        "past": item.past, "ends": iso(value.ends),
        "keywords": list(value.keywords), "origin": value.origin, "sharing": value.sharing,
        "turns": [f"t{turn}" for turn in value.sources],
    }  # fmt: skip


def turn_json(stored: StoredTurn) -> dict[str, Any]:
    """A turn as JSON."""
    turn = stored.turn
    return {
        "id": f"t{stored.id}", "chat": turn.chat, "speaker": turn.speaker, "at": iso(turn.at),
        "text": turn.text, "pictures": list(turn.pictures), "sharing": turn.sharing,
        "session": stored.session,
    }  # fmt: skip
