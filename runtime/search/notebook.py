"""An answer as a notebook shows it: its photos, small, with a line below each."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

SIDE, QUALITY = 200, 80  # of a picture: pixels, and as JPEG counts it
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
    from gamer.index import IngestError, Photo, Size, load_photo
    from gamer.index.ingest.shown import jpeg

    if path is None or not Path(path).is_file():
        return ""
    try:
        small = jpeg(load_photo(Photo(path, path), least=Size(SIDE)), SIDE, QUALITY)
    except IngestError:
        return ""
    return f'<img src="data:image/jpeg;base64,{base64.b64encode(small).decode()}">'
