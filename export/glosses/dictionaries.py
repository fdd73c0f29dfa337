"""Reads dictionaries: dictd (.index with .dict or .dict.dz), StarDict (.ifo, .idx, .dict), and TSV.

All are foreign files: what is read of them is bounded, and a damaged one is one line (ExportError). Entries
are plain text; what a text says is entries.py's.
"""

from __future__ import annotations

import gzip
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from ..errors import ExportError

MAX_FILE = 400_000_000  # bytes, unpacked; the largest of FreeDict has 100 MB
MAX_ENTRIES = 2_000_000
MAX_HEADWORD, MAX_ENTRY = 120, 20_000  # bytes; longer headwords are skipped, longer entries are cut
MAX_ABOUT = 1_500
_DICT = (".dict.dz", ".dict")
_DIGITS = {c: n for n, c in enumerate(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
# (headword, text of the entry)
Entries = Iterator[tuple[str, str]]


def read(path: Path) -> Entries:
    """The entries of a dictionary by its .index, .ifo or .tsv file. Raises ExportError for a damaged one."""
    readers = {".index": _dictd, ".ifo": _stardict, ".tsv": _tsv}
    try:
        for number, entry in enumerate(readers[path.suffix](path)):
            if number >= MAX_ENTRIES:
                raise ValueError(f"more than {MAX_ENTRIES:,} entries")
            yield entry
    except (OSError, EOFError, ValueError, KeyError, IndexError, struct.error, zlib.error) as error:
        raise ExportError(f"{path}: this dictionary cannot be read ({str(error)[:100]})") from None


def about(path: Path) -> str:
    """What a dictionary says of itself and its licence, as one line of at most MAX_ABOUT characters."""
    if path.suffix == ".index":
        index = (line.split(b"\t") for line in whole(path).splitlines() if line.startswith(b"00"))
        info = next((parts for parts in index if len(parts) > 2 and b"info" in parts[0]), None)
        place = None if info is None else (_number(info[1]), _number(info[2]))
        text = "" if place is None else _cut(b"", whole(_beside(path, *_DICT)), *place)[1]
    elif path.suffix == ".ifo":
        text = whole(path)[:10_000].decode("utf-8", "replace")
    else:
        lines = whole(path)[:10_000].decode("utf-8", "replace").splitlines()
        text = " ".join(line.lstrip("# ") for line in lines if line.startswith("#"))
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line[:MAX_ABOUT] or "its licence is not stated in its file"


def whole(path: Path) -> bytes:
    """The bytes of a file, unpacked if it is gzip's or dictzip's. Raises ValueError beyond MAX_FILE."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with gzip.open(path) if packed else path.open("rb") as stream:
        data = stream.read(MAX_FILE + 1)
    if len(data) > MAX_FILE:
        raise ValueError(f"{path.name} has more than {MAX_FILE / 1e6:.0f} MB")
    return data


def _beside(path: Path, *endings: str) -> Path:
    for ending in endings:
        if (found := path.with_suffix(ending)).is_file():
            return found
    raise ValueError(f"no {path.with_suffix(endings[0]).name} beside it")


def _dictd(path: Path) -> Entries:
    text = whole(_beside(path, *_DICT))
    for number, line in enumerate(whole(path).splitlines(), 1):
        parts = line.split(b"\t")
        if len(parts) < 3:
            raise ValueError(f"line {number} of the index has not three fields")
        if parts[0].startswith(b"00") or not 0 < len(parts[0]) <= MAX_HEADWORD:
            continue
        yield _cut(parts[0], text, _number(parts[1]), _number(parts[2]))


def _number(digits: bytes) -> int:
    value = 0
    for digit in digits[:12]:
        value = value << 6 | _DIGITS[digit]
    return value


def _cut(headword: bytes, text: bytes, at: int, length: int) -> tuple[str, str]:
    if at + length > len(text):
        raise ValueError("an entry lies behind the end of the file")
    entry = text[at : at + min(length, MAX_ENTRY)]
    return headword.decode("utf-8", "replace"), entry.decode("utf-8", "replace")


def _stardict(path: Path) -> Entries:
    said = dict(line.split("=", 1) for line in whole(path)[:10_000].decode().splitlines()[1:] if "=" in line)
    wide = said.get("idxoffsetbits") == "64"
    place = struct.Struct(">QI" if wide else ">II")
    index, text = whole(_beside(path, ".idx", ".idx.gz")), whole(_beside(path, *_DICT))
    typed = "sametypesequence" not in said
    at = 0
    while at < len(index):
        end = index.index(b"\0", at, at + 2_000)
        offset, length = place.unpack_from(index, end + 1)
        if 0 < end - at <= MAX_HEADWORD:
            headword, entry = _cut(index[at:end], text, offset, length)
            yield headword, entry[1:].rstrip("\0") if typed else entry
        at = end + 1 + place.size


def _tsv(path: Path) -> Entries:
    for number, line in enumerate(whole(path).decode().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            headword, tab, text = line.partition("\t")
            if not tab:
                raise ValueError(f"line {number} has no tab between word and glosses")
            if len(headword.encode()) <= MAX_HEADWORD:
                yield headword, re.sub(r"\t", "; ", text[:MAX_ENTRY])
