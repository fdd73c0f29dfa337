"""Opens pictures: headers for their EXIF, pixels for the encoders. Bounds what a file may declare before anything is decoded.

Knows Pillow and pillow-heif, imported on first use. Knows no album. All errors are IngestError, one line.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import IngestError

MAX_PIXELS = 120_000_000  # 108-megapixel phones pass; 360 MB as RGB
_DRAFT_ABOVE = 24_000_000  # JPEGs above this are decoded at 1/2, 1/4 or 1/8: no encoder sees more, and memory stays bounded
FORMATS = ("JPEG", "PNG", "WEBP", "TIFF", "HEIF", "GIF", "BMP")


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The PIL image with its header read and nothing decoded; whatever goes wrong inside the block becomes an IngestError."""
    image_module = _pillow()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # our own bound speaks for Pillow's, and broken EXIF is expected here
            with image_module.open(path, formats=FORMATS) as image:
                yield image
    except IngestError:
        raise
    except FileNotFoundError:
        raise IngestError(f"{path}: no such file") from None
    except Exception as error:  # decoders raise OSError, SyntaxError, ValueError, struct.error, MemoryError, ...
        raise IngestError(f"{path}: cannot be read as a picture ({_reason(error, path)})") from None


def load_pixels(path: Path, max_pixels: int = MAX_PIXELS) -> NDArray[np.uint8]:
    """uint8 [H, W, 3], upright. Very large JPEGs come at a half, a quarter or an eighth of their size."""
    from PIL import ImageOps

    with opened(Path(path)) as image:
        width, height = image.size
        if width * height > max_pixels:
            raise IngestError(f"{path}: declares {width} x {height} pixels, more than {max_pixels}; scale it down first")
        if image.format in ("JPEG", "MPO") and width * height > _DRAFT_ABOVE:
            shrink = (width * height / _DRAFT_ABOVE) ** 0.5
            image.draft("RGB", (int(width / shrink / 1.5), int(height / shrink / 1.5)))
        image.load()
        # pillow-heif has already turned HEIC upright and reset the tag; a second turn is not possible through this call.
        upright = _turned(image, ImageOps)
        return np.array(_flat(upright), np.uint8)


def _turned(image: Any, image_ops: Any) -> Any:
    try:
        return image_ops.exif_transpose(image)
    except Exception:  # an EXIF block too broken to rewrite: the pixels are still good
        return image


def _flat(image: Any) -> Any:
    """RGB, transparency over white."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        rgba = image.convert("RGBA")
        ground = _pillow().new("RGBA", rgba.size, (255, 255, 255, 255))
        ground.alpha_composite(rgba)
        return ground.convert("RGB")
    if image.mode.startswith("I;16") or image.mode == "I":  # 16-bit grey: convert() would clip it to white
        return _pillow().fromarray((np.asarray(image).astype(np.int64) >> 8).clip(0, 255).astype(np.uint8)).convert("RGB")
    return image.convert("RGB")


@functools.cache
def _pillow() -> Any:
    import pillow_heif
    from PIL import Image

    pillow_heif.register_heif_opener()
    return Image


def _reason(error: Exception, path: Path) -> str:
    text = " ".join(str(error).replace(str(path), path.name).split())
    return text[:160] or type(error).__name__
