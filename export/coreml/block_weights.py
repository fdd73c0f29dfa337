"""Core ML's weights in 4-bit blocks with the best-fitting scale and zero point, as on ONNX; coremltools takes
them from each block's extremes. A matrix whose codes are given keeps these: the converter does not say which
constant it asks about, so that they are looked up by the values.

coremltools' pass over a program's constants is used; only the function that computes a constant's codes is
replaced. coremltools is imported on the first use.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ..quantize.block_codes import Blocks4, nearest_blocks

PASS = "gamer::nearest_blocks_weights"


_given = dict[bytes, Blocks4]()


@contextlib.contextmanager
def using(given: Iterable[Blocks4]) -> Iterator[None]:
    """Takes these codes for the matrices that they stand for, while the block runs."""
    _given.update((_key(blocks.dequantize()), blocks) for blocks in given)
    try:
        yield
    finally:
        _given.clear()


def _key(matrix: Any) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(matrix, np.float16).tobytes()).digest()


@lru_cache(maxsize=1)
def register() -> None:
    """Registers PASS with the converter. Further calls do nothing."""
    from coremltools.converters.mil.mil.passes.pass_registry import register_pass
    from coremltools.optimize.coreml._quantization_passes import linear_quantize_weights

    @register_pass(namespace="gamer")
    class nearest_blocks_weights(linear_quantize_weights):
        @classmethod
        def blockwise_compress_by_dtype(
            cls, original_data: Any, dtype: Any, mode: str, block_sizes: list[int]
        ) -> Any:
            parameters = super().blockwise_compress_by_dtype(original_data, dtype, mode, block_sizes)
            return (
                parameters
                if parameters is None or original_data.ndim != 2 or block_sizes[0] != 1
                else nearest(original_data, parameters, block_sizes[1])
            )


def nearest(matrix: Any, theirs: Any, size: int) -> Any:
    """`theirs`, coremltools' parameters, with codes [N, K], scales and offsets [N, K / size] of `matrix`.

    The dtypes stay as they are in `theirs`. `size`: the block size; 0 means K.
    """
    blocks = _given.get(_key(matrix))
    if blocks is None or blocks.codes.shape[2] != (size or matrix.shape[1]):
        blocks = nearest_blocks(np.asarray(matrix, np.float32), size or matrix.shape[1])
    return theirs._replace(
        data=blocks.codes.reshape(matrix.shape).astype(theirs.data.dtype),
        scale=blocks.scales.astype(theirs.scale.dtype),
        offset=blocks.zeros.astype(theirs.offset.dtype),
    )
