"""What a photo shows: its own pixels, or of a clip the frame that stands for it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import clips
from ..errors import IngestError
from ..records import IndexedPhoto, Photo
from .clips import clip_frames
from .pixels import Size, load_pixels


def load_photo(photo: Photo | IndexedPhoto, least: Size | None = None) -> NDArray[np.uint8]:
    """uint8 [H, W, 3], RGB, upright. Raises IngestError, also for a photo without a file.

    `least`: as load_pixels.
    """
    if photo.path is None:
        raise IngestError(f"{photo.id}: there is no picture of it")
    path = Path(photo.path)
    if clips.is_clip(path):
        return clip_frames.poster(path, clips.part_of(photo.id))
    return load_pixels(path, least=least)


def jpeg(pixels: NDArray[np.uint8], side: int, quality: int) -> bytes:
    """A JPEG of uint8 [H, W, 3], at most `side` pixels each way."""
    from PIL import Image

    image, written = Image.fromarray(pixels), io.BytesIO()
    image.thumbnail((side, side))
    image.save(written, "JPEG", quality=quality)
    return written.getvalue()
