"""Makes classes that javac 17 wrote fit for dx, which knows Java 8: a lower class version, and no
private members, for since Java 11 nested classes reach these without bridges. `python lower_classes.py
IN.jar OUT.jar`.
"""

from __future__ import annotations

import struct
import sys
import zipfile
from pathlib import Path

JAVA_8, PRIVATE = 52, 0x0002
_SIZES = {
    3: 4,
    4: 4,
    5: 8,
    6: 8,
    7: 2,
    8: 2,
    9: 4,
    10: 4,
    11: 4,
    12: 4,
    15: 3,
    16: 2,
    17: 4,
    18: 4,
    19: 2,
    20: 2,
}  # of constants, after their tag


def lowered(data: bytes) -> bytes:
    """The class with version 52, and its fields and methods open to their package."""
    out = bytearray(data)
    struct.pack_into(">H", out, 6, min(JAVA_8, struct.unpack_from(">H", data, 6)[0]))
    at = _after_constants(data)
    (interfaces,) = struct.unpack_from(">H", data, at + 6)
    at += 8 + 2 * interfaces
    for _ in ("fields", "methods"):
        (count,) = struct.unpack_from(">H", data, at)
        at += 2
        for _ in range(count):
            (flags,) = struct.unpack_from(">H", data, at)
            struct.pack_into(">H", out, at, flags & ~PRIVATE)
            at = _after_attributes(data, at + 6)
    return bytes(out)


def _after_constants(data: bytes) -> int:
    (count,) = struct.unpack_from(">H", data, 8)
    at, number = 10, 1
    while number < count:
        tag = data[at]
        at += 1 + (2 + struct.unpack_from(">H", data, at + 1)[0] if tag == 1 else _SIZES[tag])
        number += 2 if tag in (5, 6) else 1  # long and double take two numbers
    return at


def _after_attributes(data: bytes, at: int) -> int:
    (count,) = struct.unpack_from(">H", data, at)
    at += 2
    for _ in range(count):
        at += 6 + struct.unpack_from(">I", data, at + 2)[0]
    return at


def main(source: Path, target: Path) -> None:
    with zipfile.ZipFile(source) as given, zipfile.ZipFile(target, "w") as made:
        for name in given.namelist():
            if name.endswith(".class") and name != "module-info.class":
                made.writestr(name, lowered(given.read(name)))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
