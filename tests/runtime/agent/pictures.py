"""Pictures as cameras write them, each of one colour, and what of them a made-up endpoint was sent."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from gamer.index import Memory, Photo

from .fake_endpoint import Fake
from .small_album import photo

Colour = tuple[int, int, int]
SERIAL = "SERIAL-4711"
BLUE, RED, GREEN, PINK, GREY = (0, 0, 250), (250, 0, 0), (0, 250, 0), (250, 100, 250), (90, 90, 90)


def camera_picture(path: Path, colour: Colour, size: tuple[int, int] = (320, 240)) -> str:
    """A JPEG with position, time, serial number, comment and colour profile."""
    image, tags = Image.new("RGB", size, colour), Image.Exif()
    tags[0x010F], tags[0x0132] = "Camera", "2026:05-02 10:00:00"
    tags.get_ifd(0x8825)[1], tags.get_ifd(0x8825)[2] = "N", (48.0, 12.0, 30.0)
    tags.get_ifd(0x8769)[0xA431] = SERIAL
    image.save(path, exif=tags, comment=SERIAL.encode(), icc_profile=SERIAL.encode())
    assert SERIAL.encode() in path.read_bytes()
    return str(path)


def album_of_pictures(folder: Path) -> list[Photo]:
    """Photos that may be seen, that must stay, and of which there is nothing to see."""

    def with_file(name: str, colour: Colour, *memories: str, **more: Any) -> Photo:
        size = (1600, 1200) if name == "harbour" else (320, 240)
        return photo(name, more.pop("taken", None), *memories, path=taken_at(name, colour, size), **more)

    def taken_at(name: str, colour: Colour, size: tuple[int, int]) -> str:
        return camera_picture(folder / f"{name}.jpg", colour, size)

    (folder / "broken.jpg").write_bytes(b"no picture")
    half = with_file("half", PINK, taken="2026-05-04T10:00:00")
    marked = Memory("people", "Zebulon", sharing="low")
    return [
        with_file("harbour", BLUE, "boats in the harbour", taken="2026-05-01T10:00:00"),
        with_file("clinic", RED, taken="2026-05-02T10:00:00", sensitivity="high"),
        with_file("vault", GREEN, taken="2026-05-03T10:00:00", sharing="low"),
        Photo(**{**vars(half), "memories": (marked,)}),
        with_file("boat", GREY, taken="2026-05-05T10:00:00"),
        photo(
            "gone", "2026-05-06T10:00:00", ("label", "lamp"), path=str(folder / "secret place" / "gone.jpg")
        ),
        photo("broken", "2026-05-07T10:00:00", ("label", "lamp"), path=str(folder / "broken.jpg")),
        photo("words", "2026-05-08T10:00:00", "words without a picture"),
    ]


def sent(fake: Fake) -> Iterator[tuple[bytes, Any]]:
    """The pictures of all requests: bytes, and as decoded."""
    for _, _, body in fake.requests:
        for part in (p for m in body["messages"] if isinstance(m["content"], list) for p in m["content"]):
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(",")
                assert head == "data:image/jpeg;base64"
                raw = base64.b64decode(data, validate=True)
                yield raw, Image.open(io.BytesIO(raw))


def colours(fake: Fake) -> list[Colour]:
    """Of the pictures that were sent, the nearest of the album's colours."""
    return [_nearest(image.convert("RGB").resize((1, 1)).getpixel((0, 0))) for _, image in sent(fake)]


def _nearest(pixel: Any) -> Colour:
    known = (BLUE, RED, GREEN, PINK, GREY)
    return min(known, key=lambda colour: sum(abs(a - b) for a, b in zip(colour, pixel, strict=True)))
