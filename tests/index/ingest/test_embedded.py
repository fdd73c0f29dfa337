"""Captions and keywords inside the pictures themselves: XMP packets of four formats, IPTC-IIM, EXIF's
description; and hostile ones.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, TiffImagePlugin
from PIL.PngImagePlugin import PngInfo

from gamer.index import Memory, Photo, scan

XMP = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?><x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:CreateDate="2022-01-01T00:00:00"
 xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" photoshop:DateCreated="2021-07-03T18:20:00">
<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Großmutter am Fluss</rdf:li></rdf:Alt></dc:description>
<dc:subject><rdf:Bag><rdf:li>river</rdf:li><rdf:li>summer</rdf:li></rdf:Bag></dc:subject>
<Iptc4xmpExt:PersonInImage><rdf:Bag><rdf:li>Anna</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>""".encode()
MEMORIES = (
    Memory("caption", "Großmutter am Fluss"),
    Memory("note", "river, summer"),
    Memory("people", "Anna"),
)


def picture() -> Image.Image:
    return Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))


def photo(folder: Path) -> Photo:
    (item,) = scan(folder)
    assert isinstance(item, Photo)
    return item


def iptc(*sets: tuple[int, int, bytes]) -> bytes:
    """A JPEG segment of Photoshop's with IPTC-IIM datasets (IIM 4.2, chapter 3)."""
    data = b"".join(
        struct.pack(">BBBH", 0x1C, record, number, len(value)) + value for record, number, value in sets
    )
    block = b"8BIM" + struct.pack(">HHI", 0x0404, 0, len(data)) + data + b"\x00" * (len(data) % 2)
    segment = b"Photoshop 3.0\x00" + block
    return b"\xff\xed" + struct.pack(">H", len(segment) + 2) + segment


def jpeg_with(path: Path, segment: bytes, exif: Image.Exif | None = None) -> None:
    picture().save(path, exif=exif or Image.Exif())
    plain = path.read_bytes()
    path.write_bytes(plain[:2] + segment + plain[2:])


@pytest.mark.parametrize("name", ["a.jpg", "a.png", "a.webp", "a.tif"])
def test_an_xmp_packet_is_read_from_every_format(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "a.png":
        text = PngInfo()
        text.add_itxt("XML:com.adobe.xmp", XMP.decode())
        picture().save(path, pnginfo=text)
    elif name == "a.tif":
        tags = TiffImagePlugin.ImageFileDirectory_v2()
        tags[700] = XMP
        tags.tagtype[700] = 1
        picture().save(path, tiffinfo=tags)
    else:
        picture().save(path, xmp=XMP)
    result = photo(tmp_path)
    assert result.memories == MEMORIES
    assert result.wall == datetime(2021, 7, 3, 18, 20, tzinfo=UTC).timestamp() * 1000


def test_an_xmp_packet_is_read_from_heic(tmp_path: Path) -> None:
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    picture().resize((64, 64)).save(tmp_path / "a.heic", xmp=XMP)
    assert photo(tmp_path).memories == MEMORIES


@pytest.mark.parametrize(
    ("charset", "caption"),
    [
        (b"\x1b%G", "Großmutter".encode()),
        (None, "Großmutter".encode()),
        (None, "Großmutter".encode("latin-1")),
    ],
)
def test_iptc_is_read_in_utf8_and_in_latin_1(tmp_path: Path, charset: bytes | None, caption: bytes) -> None:
    head = ((1, 90, charset),) if charset else ()
    jpeg_with(
        tmp_path / "a.jpg",
        iptc(*head, (2, 5, b"The river"), (2, 25, b"river"), (2, 25, b"summer"), (2, 120, caption)),
    )
    captions = (Memory("caption", "The river"), Memory("caption", "Großmutter"))
    assert photo(tmp_path).memories == (*captions, Memory("note", "river, summer"))


def test_the_same_caption_in_three_places_is_one_memory(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "The river"
    exif[0x9003] = "2020:01:02 03:04:05"
    jpeg_with(tmp_path / "a.jpg", iptc((2, 5, b"The river"), (2, 120, b"The river")), exif)
    (tmp_path / "a.xmp").write_bytes(XMP.replace("Großmutter am Fluss".encode(), b"The river"))
    assert photo(tmp_path).memories == (Memory("caption", "The river"), *MEMORIES[1:])


@pytest.mark.parametrize(
    "junk",
    [
        "OLYMPUS DIGITAL CAMERA         ",
        "SONY DSC",
        "DCIM\\100GOPRO\\GOPR0123.JPG",
        "Minolta digital camera",
        "default",
        "   ",
    ],
)
def test_texts_that_cameras_write_are_no_captions(tmp_path: Path, junk: str) -> None:
    exif = Image.Exif()
    exif[0x010E] = junk
    jpeg_with(tmp_path / "a.jpg", iptc((2, 120, junk.encode())), exif)
    assert photo(tmp_path).memories == ()


def test_a_caption_that_mentions_a_camera_is_kept(tmp_path: Path) -> None:
    jpeg_with(tmp_path / "a.jpg", iptc((2, 120, b"Ben with his first digital camera")))
    assert photo(tmp_path).memories == (Memory("caption", "Ben with his first digital camera"),)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_in_a_packet_lose_the_photo(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, packet: bool
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    marker = b"http://ns.adobe.com/xap/1.0/\x00" if packet else b"Photoshop 3.0\x008BIM\x04\x04\x00\x00"
    segment = (
        (b"\xff\xe1" if packet else b"\xff\xed")
        + struct.pack(">H", len(marker) + len(data) + 2)
        + marker
        + data
    )
    jpeg_with(folder / "a.jpg", segment)
    assert photo(folder).id


def test_an_entity_bomb_is_not_expanded(tmp_path: Path) -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;</x>'
    picture().save(tmp_path / "a.jpg", xmp=bomb)
    assert photo(tmp_path).memories == ()


def test_only_short_texts_are_taken_for_texts_of_a_camera() -> None:
    """A description of 20,000 dots is a caption like any other: the cameras' pattern is not tried on it."""
    from gamer.index.ingest.metadata.photo_metadata import memories_of

    assert memories_of("", "." * 20_000, (), ()) == (Memory("caption", "." * 20_000),)
    assert memories_of("", "  OLYMPUS DIGITAL CAMERA  ", (), ()) == ()
    assert memories_of("", "SONY DSC", (), ()) == ()


def _chunks(png: bytes) -> list[bytes]:
    found: list[bytes] = []
    at = 8
    while at < len(png):
        end = at + 12 + int.from_bytes(png[at : at + 4], "big")
        found, at = [*found, png[at:end]], end
    return found


@pytest.mark.parametrize("is_behind", [False, True])
def test_a_png_tells_of_itself_before_its_pixels_or_behind_them(tmp_path: Path, is_behind: bool) -> None:
    exif, told = Image.Exif(), PngInfo()
    exif[0x0132] = "2019:01:02 03:04:05"
    told.add_itxt("XML:com.adobe.xmp", XMP.decode())
    file = tmp_path / "a.png"
    picture().save(file, exif=exif, pnginfo=told)
    chunks = _chunks(file.read_bytes())
    behind = [c for c in chunks if c[4:8] in (b"eXIf", b"iTXt")]
    assert len(behind) == 2
    if is_behind:
        rest = [c for c in chunks if c not in behind]
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join([*rest[:-1], *behind, rest[-1]]))
    item = photo(tmp_path)
    assert item.memories == MEMORIES
    assert item.taken_at == 1000 * datetime(2019, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()


def test_a_png_is_not_decoded_for_what_it_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    picture().save(tmp_path / "a.png")
    monkeypatch.setattr(ImageFile.ImageFile, "load", lambda self: pytest.fail("decoded"))
    assert photo(tmp_path).memories == ()
