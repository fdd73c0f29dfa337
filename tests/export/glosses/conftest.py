"""Tiny dictionaries, written by the tests."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
Write = Callable[[str, Sequence[tuple[str, str]]], Path]


def _base64(number: int) -> str:
    return (_base64(number >> 6) if number >> 6 else "") + _DIGITS[number & 63]


@pytest.fixture
def dictd(tmp_path: Path) -> Write:
    """Writes NAME.index and NAME.dict.dz of (headword, text) pairs; returns the path of the index."""

    def write(name: str, entries: Sequence[tuple[str, str]]) -> Path:
        text, lines = b"", list[str]()
        for headword, entry in entries:
            data = entry.encode()
            lines.append(f"{headword}\t{_base64(len(text))}\t{_base64(len(data))}\n")
            text += data
        (tmp_path / f"{name}.dict.dz").write_bytes(gzip.compress(text))
        index = tmp_path / f"{name}.index"
        index.write_text("".join(lines), encoding="utf-8")
        return index

    return write


@pytest.fixture
def stardict(tmp_path: Path) -> Write:
    """Writes NAME.ifo, .idx and .dict of (headword, text) pairs; returns the path of the .ifo."""

    def write(name: str, entries: Sequence[tuple[str, str]]) -> Path:
        text, index = b"", b""
        for headword, entry in entries:
            data = entry.encode()
            index += headword.encode() + b"\0" + struct.pack(">II", len(text), len(data))
            text += data
        (tmp_path / f"{name}.dict").write_bytes(text)
        (tmp_path / f"{name}.idx").write_bytes(index)
        ifo = tmp_path / f"{name}.ifo"
        ifo.write_text("StarDict's dict ifo file\nversion=2.4.2\nsametypesequence=m\nlicence=CC0\n")
        return ifo

    return write
