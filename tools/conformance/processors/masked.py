"""Runs AVX-512 kernels without VNNI on a processor that has both.

Copies the native libraries and patches their `cpuid` instructions, which mask.c then answers. User-mode
emulators have no AVX-512, so these kernels only run on a processor that has it. `prepare` needs objdump and a
C compiler; it raises Unavailable if they or AVX-512 are missing.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
PACKAGES = ("onnxruntime", "numpy", "numpy.libs", "numkong", "numkong.libs", "usearch", "usearch.libs")
CPUID, UD2 = b"\x0f\xa2", b"\x0f\x0b"


class Unavailable(Exception):
    """This machine cannot run the check; the message says why."""


def prepare(site: Path, folder: Path) -> dict[str, str]:
    """Copies the packages of `site` to `folder` and patches them.

    Returns the environment variables with which Python uses the copies.
    """
    if "avx512f" not in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        raise Unavailable("this processor has no AVX-512")
    compiler = shutil.which("gcc") or shutil.which("cc")
    if shutil.which("objdump") is None or compiler is None:
        raise Unavailable("objdump and a C compiler are wanted (binutils, gcc)")
    for name in PACKAGES:
        if (site / name).is_dir():
            shutil.copytree(site / name, folder / name, symlinks=True)
    for library in folder.rglob("*.so*"):
        if library.is_file() and not library.is_symlink():
            patch(library)
    shim = folder / "mask.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(shim), str(HERE / "mask.c")], check=True)
    return {"LD_PRELOAD": str(shim), "PYTHONPATH": os.pathsep.join((str(folder), str(site)))}


def patch(library: Path) -> int:
    """Overwrites every cpuid instruction of a library, located by disassembling it.

    Returns how many there were.
    """
    with subprocess.Popen(
        ["objdump", "-d", "--no-show-raw-insn", str(library)], stdout=subprocess.PIPE, text=True
    ) as disassembler:
        assert disassembler.stdout is not None
        lines = (re.match(r"\s*([0-9a-f]+):\s+cpuid\s*$", line) for line in disassembler.stdout)
        addresses = [int(match[1], 16) for match in lines if match]
    data = bytearray(library.read_bytes())
    segments = _segments(bytes(data))
    for address in addresses:
        offset = next(
            address - virtual + start
            for start, virtual, size in segments
            if virtual <= address < virtual + size
        )
        assert data[offset : offset + 2] == CPUID, f"{library}: no cpuid at {address:#x}"
        data[offset : offset + 2] = UD2
    library.unlink()
    library.write_bytes(bytes(data))
    return len(addresses)


def _segments(elf: bytes) -> list[tuple[int, int, int]]:
    """(offset in the file, virtual address, size) of each loaded segment of a 64-bit ELF file."""
    table, size, count = struct.unpack_from("<Q", elf, 32)[0], *struct.unpack_from("<HH", elf, 54)
    entries = [struct.unpack_from("<IIQQQQ", elf, table + n * size) for n in range(count)]
    return [(offset, virtual, length) for kind, _, offset, virtual, _, length in entries if kind == 1]
