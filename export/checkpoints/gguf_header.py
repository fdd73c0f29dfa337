"""Walks a GGUF file's header and refuses lengths that the file cannot hold, before the gguf package reads it.

The package believes every length: an array of 2^60 numbers in a file of 100 bytes would keep it busy for
ever. Knows the layout (llama.cpp's docs/gguf.md, versions 2 and 3), and nothing of what keys mean.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path

_MAGIC = b"GGUF"
# Type of a value → its bytes; strings and arrays have lengths of their own.
_WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_MAX_DIMS = 4


def check(path: Path) -> None:
    """Raises ValueError if a length in the header reaches beyond the file, OSError if it cannot be read."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        if data[:4] != _MAGIC:
            raise ValueError("no GGUF magic")
        (version,) = struct.unpack_from("<H", data[:6].ljust(6), 4)
        _Walk(data, "<" if version else ">").header()


class _Walk:
    """A position in the file that only moves forward. `order`: that of the bytes, as in `struct`."""

    def __init__(self, data: mmap.mmap, order: str) -> None:
        self._data, self._order, self._at = data, order, 8

    def header(self) -> None:
        tensors, values = self._number("Q"), self._number("Q")
        for _ in range(values):
            self._skip(self._number("Q"))
            self._value(self._number("I"))
        for _ in range(tensors):
            self._tensor()

    def _value(self, kind: int) -> None:
        if kind == _STRING:
            self._skip(self._number("Q"))
        elif kind == _ARRAY:
            self._array(self._number("I"), self._number("Q"))
        else:
            self._skip(self._width(kind))

    def _array(self, kind: int, count: int) -> None:
        if kind != _STRING:
            self._skip(self._width(kind) * count)
            return
        for _ in range(count):
            self._skip(self._number("Q"))

    def _tensor(self) -> None:
        self._skip(self._number("Q"))
        dims = self._number("I")
        if dims > _MAX_DIMS:
            raise ValueError(f"a tensor of {dims} dimensions")
        self._skip(8 * dims + 4 + 8)  # sizes, type, offset

    def _width(self, kind: int) -> int:
        if kind not in _WIDTHS:
            raise ValueError(f"a value of the unknown type {kind}")
        return _WIDTHS[kind]

    def _number(self, code: str) -> int:
        begin = self._at
        self._skip(struct.calcsize(code))
        number: int = struct.unpack_from(self._order + code, self._data, begin)[0]
        return number

    def _skip(self, count: int) -> None:
        if count > len(self._data) - self._at:
            raise ValueError("a length in its header reaches beyond the file")
        self._at += count
