"""MIL's element types: how they are stored in a weight file, and the torch types that hold their values."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ...errors import ExportError


@dataclass(frozen=True)
class DType:
    """An element type. `name`: in MIL. `held`: the torch type that holds the values.

    `bits`, `blob`: the width and the type code in a weight file; code 0: never stored there.
    """

    name: str
    held: torch.dtype
    bits: int
    blob: int
    signed: bool = True

    @property
    def floating(self) -> bool:
        return bool(self.held.is_floating_point)


# torch does not compute in uint16 and uint32, so wider signed types hold their values.
DTYPES = {
    d.name: d
    for d in (
        DType("BOOL", torch.bool, 8, 0, False),
        DType("FLOAT16", torch.float16, 16, 1),
        DType("FLOAT32", torch.float32, 32, 2),
        DType("INT4", torch.int8, 4, 8),
        DType("INT8", torch.int8, 8, 4),
        DType("INT16", torch.int16, 16, 6),
        DType("INT32", torch.int32, 32, 14),
        DType("UINT1", torch.uint8, 1, 9, False),
        DType("UINT2", torch.uint8, 2, 10, False),
        DType("UINT3", torch.uint8, 3, 12, False),
        DType("UINT4", torch.uint8, 4, 11, False),
        DType("UINT6", torch.uint8, 6, 13, False),
        DType("UINT8", torch.uint8, 8, 3, False),
        DType("UINT16", torch.int32, 16, 7, False),
        DType("UINT32", torch.int64, 32, 15, False),
    )
}
# The element types by the names that `cast` and similar operations use.
BY_CAST_NAME = {
    "fp16": DTYPES["FLOAT16"],
    "fp32": DTYPES["FLOAT32"],
    "bool": DTYPES["BOOL"],
    "int8": DTYPES["INT8"],
    "uint8": DTYPES["UINT8"],
    "int16": DTYPES["INT16"],
    "uint16": DTYPES["UINT16"],
    "int32": DTYPES["INT32"],
}


def dtype(name: str) -> DType:
    """The element type called `name` in MIL. Raises ExportError for an unknown name."""
    if name not in DTYPES:
        raise ExportError(
            f"element type {name} is not one that the MIL interpreter knows ({', '.join(DTYPES)})"
        )
    return DTYPES[name]


def cast_dtype(name: str) -> DType:
    """The element type by the name that `cast` uses ("fp16"). Raises ExportError for an unknown name."""
    if name not in BY_CAST_NAME:
        raise ExportError(
            f"cast to {name!r} is not one that the MIL interpreter knows ({', '.join(BY_CAST_NAME)})"
        )
    return BY_CAST_NAME[name]
