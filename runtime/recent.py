"""A cache of what was asked for last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values that together take at most `room`; those not asked for longest go first. For any thread.

    `size`: what a value takes; by default `room` is their number.
    """

    def __init__(self, room: int, size: Callable[[Value], int] = lambda value: 1) -> None:
        self._room, self._size, self._held, self._lock = room, size, 0, Lock()
        self._kept: OrderedDict[Key, Value] = OrderedDict()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Key, value: Value) -> None:
        with self._lock:
            if key in self._kept:
                self._held -= self._size(self._kept.pop(key))
            self._kept[key] = value
            self._held += self._size(value)
            while self._held > self._room:
                self._held -= self._size(self._kept.popitem(last=False)[1])
