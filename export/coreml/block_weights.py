"""Core ML's weights in 4-bit blocks with the best-fitting scale and zero point, as on ONNX; coremltools takes
them from each block's extremes.

coremltools' pass over a program's constants is used; only the function that computes a constant's codes is
replaced. coremltools is imported on the first use.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..quantize.block_codes import nearest_blocks

PASS = "gamer::nearest_blocks_weights"


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
    blocks = nearest_blocks(np.asarray(matrix, np.float32), size or matrix.shape[1])
    return theirs._replace(
        data=blocks.codes.reshape(matrix.shape).astype(theirs.data.dtype),
        scale=blocks.scales.astype(theirs.scale.dtype),
        offset=blocks.zeros.astype(theirs.offset.dtype),
    )
