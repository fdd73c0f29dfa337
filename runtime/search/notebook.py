"""An answer as a notebook shows it: its photos, small, with a line below each."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path

SIDE = 200  # pixels of a picture
SHOWN = 24  # pictures at most
_FIGURE = (
    '<figure style="display:inline-block;margin:4px;width:{side}px;vertical-align:top">{image}'
    '<figcaption style="font-size:small">{caption}</figcaption></figure>'
)


def html(title: str, photos: Sequence[tuple[str | None, str]]) -> str:
    """`photos`: (path, caption). A picture that cannot be read is left out, its caption is not."""
    figures = [
        _FIGURE.format(side=SIDE, image=_image(path), caption=escape(caption[:160]))
        for path, caption in photos[:SHOWN]
    ]
    return f"<div><p>{escape(title)}</p>{''.join(figures)}</div>"


def _image(path: str | None) -> str:
    from PIL import Image

    from gamer.index import IngestError, Photo, Size, load_photo

    if path is None or not Path(path).is_file():
        return ""
    try:
        image, written = Image.fromarray(load_photo(Photo(path, path), least=Size(SIDE))), io.BytesIO()
    except IngestError:
        return ""
    image.thumbnail((SIDE, SIDE))
    image.save(written, "JPEG", quality=80)
    return f'<img src="data:image/jpeg;base64,{base64.b64encode(written.getvalue()).decode()}">'
