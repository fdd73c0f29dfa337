"""Which pictures are worth reading, and what is read in them. rapidocr's own models, no network."""

from __future__ import annotations

import socket
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing.ocr import TextReader, worth_reading

NOISE = np.random.default_rng(0)


def photograph() -> Image.Image:
    """Soft shapes with grain, as cameras make them."""
    small = NOISE.integers(40, 220, (12, 16, 3), dtype=np.uint8)
    soft = np.asarray(Image.fromarray(small).resize((800, 600), Image.Resampling.BICUBIC), np.int16)
    return Image.fromarray((soft + NOISE.integers(-6, 7, soft.shape)).clip(0, 255).astype(np.uint8))


def price_tag(picture: Image.Image) -> Image.Image:
    draw = ImageDraw.Draw(picture)
    draw.rectangle((200, 150, 620, 400), fill="white")
    draw.text((220, 170), "OAK CHAIR", font=ImageFont.load_default(52), fill="black")
    draw.text((220, 240), "$ 119.00", font=ImageFont.load_default(80), fill="black")
    draw.text((220, 350), "incl. VAT, made in Sweden", font=ImageFont.load_default(26), fill="black")
    return picture


def screen() -> Image.Image:
    picture = Image.new("RGB", (540, 960), "white")
    ImageDraw.Draw(picture).text((40, 100), "Gate B42", font=ImageFont.load_default(60), fill="black")
    return picture


def saved(picture: Image.Image, path: Path, maker: str = "") -> Path:
    tags = Image.Exif()
    if maker:
        tags[0x010F] = maker
    picture.save(path, exif=tags)
    return path


def worth(path: Path, labels: tuple[tuple[str, float], ...] = ()) -> bool:
    return worth_reading(path, np.asarray(Image.open(path).convert("RGB")), labels)


def test_auto_reads_screens_tags_and_menus_and_no_plain_photographs(tmp_path: Path) -> None:
    plain = saved(photograph(), tmp_path / "a.jpg", "Canon")
    assert not worth(plain)
    assert not worth(saved(photograph(), tmp_path / "forwarded.jpg"))
    assert worth(plain, (("menu", 0.4),))
    assert not worth(plain, (("menu", 0.05), ("tabby", 0.9)))
    assert worth(saved(photograph(), tmp_path / "Screenshot 2024.png"))
    assert worth(saved(screen(), tmp_path / "b.png"))
    assert worth(saved(price_tag(photograph()), tmp_path / "c.jpg", "Canon"))


def test_an_unknown_mode_lists_the_choices() -> None:
    with pytest.raises(RuntimeFailure, match="auto, all, off"):
        TextReader("some")


def test_text_is_read_without_a_network_and_only_where_the_mode_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rapidocr", reason="needs the ocr extra")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    reader = TextReader("auto")
    tag = price_tag(photograph())
    text = reader.read(saved(tag, tmp_path / "tag.jpg", "Canon"), np.asarray(tag), ())
    assert "OAK CHAIR" in text
    assert "119.00" in text
    blank = photograph()
    assert reader.read(saved(blank, tmp_path / "blank.jpg", "Canon"), np.asarray(blank), ()) == ""
    assert TextReader("all").read(tmp_path / "blank.jpg", np.asarray(blank), ()) == ""
    assert TextReader("off").read(tmp_path / "tag.jpg", np.asarray(tag), ()) == ""
