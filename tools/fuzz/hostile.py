"""Inputs made to be dear, for every target: the same byte patterns at a given size, and some for one format.

Sizes are of the input; what it declares may be larger, as in a picture of 200 megapixels in some kilobytes.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from functools import cache

from tools.fuzz.targets import SEEDS, TARGETS

# Repeated to the wanted size.
PATTERNS = {
    "zeros": b"\x00",
    "ones": b"\xff",
    "spaces": b" ",
    "lines": b"\n",
    "letters": b"a",
    "digits": b"7",
    "digits and commas": b"7,",
    "quotes": b'"',
    "backslashes": b"\\",
    "accents": "é\u0301".encode(),
    "lists": b"[",
    "objects": b'{"a":',
    "tags": b"<a>",
    "words": b"what did i and two days after the ",
    "dates": b"12.03.24, 10:11 - Anna: ",
    "names": b"Anna and Berta in Oslo, 19 euros; ",
}


def inputs(target: str, size: int) -> dict[str, bytes]:
    """Name → input of about `size` bytes for one of TARGETS; those of a format of its own may be smaller."""
    made = {name: (one * (size // len(one) + 1))[:size] for name, one in PATTERNS.items()}
    for seed in sorted((SEEDS / target).iterdir()):
        data = seed.read_bytes()
        made[f"{seed.name}, repeated"] = data * max(1, size // len(data))
        made[f"{seed.name}, and spaces"] = data + b" " * size
    return made | (_OF_FORMATS[target](size) if target in _OF_FORMATS else {})


def _pictures(size: int) -> dict[str, bytes]:
    rows = min(10_000, size // 10)  # of 20,000 pixels: 200 megapixels for a megabyte
    return {"a picture of megapixels": _png(20_000, rows), "one row of 2^31": _png(1 << 31, 1)}


@cache
def _png(width: int, height: int) -> bytes:
    """A PNG that declares so many grey pixels and compresses its rows, at most 200 MB of them, well."""
    packer, packed = zlib.compressobj(9), io.BytesIO()
    for _ in range(min(height, 10_000)):
        packed.write(packer.compress(bytes(min(width, 20_000) + 1)))
    packed.write(packer.flush())
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", packed.getvalue()), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def _xmp(size: int) -> dict[str, bytes]:
    return {
        "nested": b"<a>" * (size // 7) + b"</a>" * (size // 7),
        "attributes": b"<a " + b" ".join(b'a%d="1"' % n for n in range(size // 10)) + b"/>",
        "entities": b'<!DOCTYPE a [<!ENTITY b "'
        + b"x" * (size // 2)
        + b'">]><a>'
        + b"&b;" * (size // 6)
        + b"</a>",
    }


def _json(size: int) -> dict[str, bytes]:
    return {
        "keys": b"{" + b",".join(b'"%d":1' % n for n in range(size // 9)) + b"}",
        "a number": b'{"a": ' + b"9" * size + b"}",
        "a list": b"[" + b"1," * (size // 2) + b"1]",
    }


def _lines(size: int) -> dict[str, bytes]:
    photos = b"".join(
        b'{"id": "%d", "memories": [{"source": "note", "text": "x"}]}\n' % n for n in range(size // 62)
    )
    text = b"Anna in Oslo, 19 euros. " * (size // 24)
    return {
        "photos": photos,
        "one memory": b'{"id": "a", "memories": [{"source": "note", "text": "' + text + b'"}]}\n',
    }


_OF_FORMATS: dict[str, Callable[[int], dict[str, bytes]]] = {
    "exif": _pictures,
    "rendered": _pictures,
    "xmp": _xmp,
    "sidecar": _json,
    "manifest": _json,
    "jsonl": _lines,
}
assert set(_OF_FORMATS) <= set(TARGETS)
