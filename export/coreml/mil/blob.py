"""The weight file of an ML program (storage format 2): a 64-byte header, then for each tensor a 64-byte
record and its bytes.

Little-endian. Header: uint32 count, uint32 version, zeros. Record: uint32 0xDEADBEEF, uint32 type code,
uint64 number of bytes, uint64 offset of the bytes, uint64 number of unused bits at their end. Elements
narrower than a byte are packed from the least significant bit on, across byte borders. Every offset and size
is checked against the file before it is used. The file is mapped, not read into memory.
"""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...errors import ExportError
from .dtypes import DType

VERSION, SENTINEL, RECORD = 2, 0xDEADBEEF, struct.Struct("<IIQQQ")
NUMPY = {
    "FLOAT16": "<f2",
    "FLOAT32": "<f4",
    "INT8": "<i1",
    "UINT8": "<u1",
    "INT16": "<i2",
    "UINT16": "<u2",
    "INT32": "<i4",
    "UINT32": "<u4",
}


class Blob:
    """A memory-mapped weight file. Raises ExportError for a file that is missing or of another format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._bytes: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        except (OSError, ValueError) as error:
            raise ExportError(f"{path}: the weight file cannot be read ({error}): export again") from None
        if len(self._bytes) < 64 or struct.unpack_from("<II", self._bytes[:8].tobytes())[1] != VERSION:
            raise ExportError(f"{path}: not a weight file of storage format {VERSION}: export again")

    def read(self, offset: int, dtype: DType, shape: tuple[int, ...]) -> Tensor:
        """The tensor whose record is at `offset`.

        Raises ExportError if the record is not of that type and size, or reaches beyond the file.
        """
        count = math.prod(shape)
        if offset < 64 or offset + 64 > len(self._bytes):
            raise ExportError(
                f"{self.path}: no record at offset {offset} of {len(self._bytes)} bytes: export again"
            )
        sentinel, code, size, start, unused = RECORD.unpack_from(self._bytes[offset : offset + 64].tobytes())
        if sentinel != SENTINEL or code != dtype.blob or not dtype.blob:
            raise ExportError(
                f"{self.path}: the record at offset {offset} holds type {code}, not {dtype.name}: export "
                "again"
            )
        if (
            size != (count * dtype.bits + 7) // 8
            or start < 64
            or start + size > len(self._bytes)
            or unused > 7
        ):
            raise ExportError(
                f"{self.path}: the record at offset {offset} does not hold {count} × {dtype.name}: export "
                "again"
            )
        return unpack(self._bytes[start : start + size], dtype, count).reshape(shape)


def unpack(raw: NDArray[np.uint8], dtype: DType, count: int) -> Tensor:
    """The first `count` elements of the stored bytes `raw`, as a tensor [count] of type `dtype.held`."""
    if dtype.bits >= 8:
        # astype copies: torch requires writable memory.
        return torch.from_numpy(raw.view(NUMPY[dtype.name]).astype(NUMPY[dtype.name].lstrip("<"))).to(
            dtype.held
        )
    # Eight elements fill exactly `bits` bytes; each such group becomes a 64-bit word.
    padded = np.zeros(-(-len(raw) // dtype.bits) * dtype.bits, np.uint8)
    padded[: len(raw)] = raw
    words = np.zeros(len(padded) // dtype.bits, np.uint64)
    for position, column in enumerate(padded.reshape(-1, dtype.bits).T):
        words |= column.astype(np.uint64) << np.uint64(8 * position)
    out = np.empty((len(words), 8), np.uint8)
    for position in range(8):
        out[:, position] = (words >> np.uint64(dtype.bits * position)) & np.uint64((1 << dtype.bits) - 1)
    values = torch.from_numpy(out.reshape(-1)[:count])
    if not dtype.signed:
        return values
    half = 1 << (dtype.bits - 1)
    return (values.to(torch.int16) - 2 * half * (values >= half)).to(dtype.held)
