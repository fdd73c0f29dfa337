"""Core ML's weights in 4-bit blocks with the scale and zero point that fit best, as on ONNX: coremltools' own
take each block's extremes.

Its pass over the program's constants stays; what it asks for one constant's codes is answered here. Imports
coremltools when first asked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..quantize.block_codes import nearest_blocks

PASS = "gamer::nearest_blocks_weights"


@lru_cache(maxsize=1)
def register() -> None:
    """Makes PASS known to the converter."""
    from coremltools.converters.mil.mil.passes.pass_registry import register_pass
    from coremltools.optimize.coreml._quantization_passes import linear_quantize_weights

    @register_pass(namespace="gamer")
    class nearest_blocks_weights(linear_quantize_weights):
        @classmethod
        def blockwise_compress_by_dtype(
            cls, original_data: Any, dtype: Any, mode: str, block_sizes: list[int]
        ) -> Any:
            theirs = super().blockwise_compress_by_dtype(original_data, dtype, mode, block_sizes)
            return (
                theirs
                if theirs is None or original_data.ndim != 2 or block_sizes[0] != 1
                else nearest(original_data, theirs, block_sizes[1])
            )


def nearest(matrix: Any, theirs: Any, size: int) -> Any:
    """`theirs` with our codes [N, K], scales and offsets [N, K / size], in its own types."""
    blocks = nearest_blocks(np.asarray(matrix, np.float32), size or matrix.shape[1])
    return theirs._replace(
        data=blocks.codes.reshape(matrix.shape).astype(theirs.data.dtype),
        scale=blocks.scales.astype(theirs.scale.dtype),
        offset=blocks.zeros.astype(theirs.offset.dtype),
    )
