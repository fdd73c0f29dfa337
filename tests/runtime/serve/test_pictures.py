"""Thumbnails and originals: upright, bounded, cached; and nothing but pictures, whatever an album's paths
name.
"""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gamer.index import Album, AlbumError, Size, load_pixels
from gamer.runtime.serve.pictures import PictureGone, Pictures, media_type

TURNED, PLAIN, SECRET, CUT, FOLDER, MOVED, TOLD, ABSURD = range(8)


def test_a_thumbnail_is_upright_and_small(album: Album) -> None:
    thumbnail = Pictures(album).thumbnail(TURNED, 100)
    image = Image.open(io.BytesIO(thumbnail.data))
    assert image.format == "WEBP"
    assert image.size == (50, 100)
    pixels = np.asarray(image.convert("RGB"))
    top, bottom = pixels[5, 25], pixels[95, 25]
    assert top[0] > 150 > top[2]
    assert bottom[2] > 150 > bottom[0]


def test_a_large_photo_is_decoded_small_and_looks_the_same(album: Album, files: Path) -> None:
    y, x = np.mgrid[0:1800, 0:2400]
    large = Image.fromarray(np.stack([x / 9.5, y / 7.1, (x + y) / 17], 2).astype(np.uint8))
    large.save(files / "turned.jpg", quality=95)
    seen = Image.open(io.BytesIO(Pictures(album).thumbnail(TURNED, 320).data)).convert("RGB")
    assert seen.size == (320, 240)
    whole = Image.fromarray(load_pixels(files / "turned.jpg")).resize((320, 240), Image.Resampling.LANCZOS)
    assert load_pixels(files / "turned.jpg", least=Size(640)).shape == (900, 1200, 3)
    assert np.abs(np.asarray(seen, float) - np.asarray(whole, float)).mean() < 3


def test_a_small_picture_is_not_enlarged(album: Album) -> None:
    assert Image.open(io.BytesIO(Pictures(album).thumbnail(PLAIN, 1600).data)).size == (400, 200)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (SECRET, "cannot be read as a picture"),
        (CUT, "cannot be read as a picture"),
        (FOLDER, "no longer where the album found it"),
        (MOVED, "moved.jpg is no longer where the album found it"),
        (TOLD, "memories only"),
        (ABSURD, "no longer where"),
    ],
)
def test_what_is_no_picture_is_refused_in_one_line_without_its_folder(
    album: Album, files: Path, row: int, words: str
) -> None:
    with pytest.raises(PictureGone) as caught:
        Pictures(album).thumbnail(row, 320)
    message = str(caught.value)
    assert words in message
    assert str(files) not in message
    assert "\n" not in message
    if row != CUT:  # its header is a picture's: the file itself may be downloaded
        with pytest.raises(PictureGone):
            Pictures(album).original(row)


def test_a_pipe_is_not_opened(album: Album, files: Path) -> None:
    """Opening a FIFO waits for a writer for ever."""
    os.mkfifo(files / "moved.jpg")
    with pytest.raises(PictureGone):
        Pictures(album).thumbnail(MOVED, 320)
    with pytest.raises(PictureGone):
        Pictures(album).original(MOVED)


def test_a_row_that_is_not_there_is_an_error(album: Album) -> None:
    with pytest.raises(AlbumError):
        Pictures(album).thumbnail(99, 320)


def test_an_original_is_typed_by_its_bytes(album: Album) -> None:
    pictures = Pictures(album)
    assert pictures.original(TURNED).media_type == "image/jpeg"
    assert pictures.original(PLAIN).media_type == "image/png"


def test_the_cache_holds_no_more_than_its_bytes_and_notices_a_new_file(album: Album, files: Path) -> None:
    pictures = Pictures(album)
    first = pictures.thumbnail(PLAIN, 320)
    assert pictures.thumbnail(PLAIN, 320) is first
    Image.new("RGB", (400, 200)).save(files / "plain.png")
    os.utime(files / "plain.png", ns=(1, 1))
    second = pictures.thumbnail(PLAIN, 320)
    assert second.tag != first.tag
    assert second.data != first.data
    tight = Pictures(album, cache_bytes=len(second.data) + 10)
    for size in (320, 800, 1600, 320):
        tight.thumbnail(TURNED, size)
        tight.thumbnail(PLAIN, size)
        kept = tight._kept
        assert kept._held == sum(len(entry.data) for entry in kept._kept.values()) <= len(second.data) + 10


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF"])
def test_the_type_of_a_picture_is_known_by_its_first_bytes(kind: str) -> None:
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, kind)
    assert media_type(out.getvalue()[:32]) == f"image/{kind.lower()}"


def test_heic_is_a_picture_and_sound_is_not() -> None:
    assert media_type(b"\0\0\0\x18ftypheic\0\0\0\0") == "image/heic"
    assert media_type(b"\0\0\0\x18ftypM4A \0\0\0\0") is None


@given(st.text(max_size=40))
def test_text_is_no_picture(text: str) -> None:
    """No text file's beginning passes: not /etc/passwd, not HTML, not SVG, not one that starts with BM or
    RIFF.
    """
    for start in ("", "BM", "RIFF", "<svg ", "root:x:0:0", "GIF", "II", "MM"):
        head = (start + text).encode("utf-8", "surrogatepass")[:32]
        if (
            not head.startswith((b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*"))
            and b"WEBP" not in head
            and b"ftyp" not in head
            and b"\0" not in head
        ):
            assert media_type(head) is None
