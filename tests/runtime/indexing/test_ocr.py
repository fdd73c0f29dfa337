"""Which pictures are worth reading, and what is read in them by the part ocr. No network."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from gamer.export.components import printed
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.indexing.ocr import TextReader, worth_reading
from gamer.runtime.models.models import Models
from tests.console import gamer

# The whole lines of the page that scikit-image packages.
PAGE = (
    "Region-based segmentation",
    "Let us first determine markers of the coins and the",
    "background. These markers are pixels that we can label",
    "unambiguously as either object or background. Here,",
    "the markers are found at the two extreme parts of the",
    "histogram of grey values:",
)
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


@pytest.fixture(scope="module")
def reading_bundle(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pocket bundle with what reads text on ONNX, added by the command that the documentation names."""
    folder = tmp_path_factory.mktemp("ocr") / "pocket"
    shutil.copytree(bundle, folder)
    done = gamer("export", "pocket", "--targets", "onnx", "--parts", "ocr", "-o", folder)
    assert done.returncode == 0, done.stderr
    return folder


def reader(bundle: Path, mode: str = "auto") -> Callable[[Path, Image.Image], str]:
    """Reads the text in a picture that lies at a path."""
    models = Models.open(bundle)
    text = TextReader(lambda: models.lines, mode)
    return lambda path, image: text.read(path, np.asarray(image), (), lambda: np.asarray(image))


@pytest.mark.slow
def test_an_unknown_mode_lists_the_choices(reading_bundle: Path) -> None:
    with pytest.raises(RuntimeFailure, match="auto, all, off"):
        reader(reading_bundle, "some")


@pytest.mark.slow
def test_text_is_read_without_a_network_and_only_where_the_mode_says_so(
    reading_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    auto = reader(reading_bundle)
    tag = price_tag(photograph())
    text = auto(saved(tag, tmp_path / "tag.jpg", "Canon"), tag)
    assert text.splitlines() == ["OAK CHAIR", "$119.00", "incl. VAT, made in Sweden"]
    blank = photograph()
    assert auto(saved(blank, tmp_path / "blank.jpg", "Canon"), blank) == ""
    assert reader(reading_bundle, "all")(tmp_path / "blank.jpg", blank) == ""
    assert reader(reading_bundle, "off")(tmp_path / "tag.jpg", tag) == ""


@pytest.mark.slow
@pytest.mark.parametrize("angle", [0, 8, 90, 180, 270])
def test_a_photographed_page_and_drawn_lines_are_read_which_ever_way_they_lie(
    reading_bundle: Path, angle: int
) -> None:
    page = Image.fromarray(printed.page()).rotate(angle, fillcolor="white", expand=True)
    lines = [line.text for line in Models.open(reading_bundle).lines.read(np.asarray(page))]
    wanted = (*PAGE, "Gate B42 boarding 14:35", "Total 119.00 EUR", "WiFi: sunny-beach-2024")
    shares = [max((likeness(want, line) for line in lines), default=0.0) for want in wanted]
    assert min(shares) >= 0.9, (shares, lines)
    assert sum(shares) / len(shares) >= 0.98, (shares, lines)
    if not angle:
        assert lines[:6] == list(PAGE)


@pytest.mark.slow
def test_what_is_read_is_found_by_its_words_and_unread_screenshots_are_told(
    bundle: Path, reading_bundle: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "photos"
    folder.mkdir()
    screen().save(folder / "Screenshot_1.png")
    Image.fromarray(np.asarray(photograph())).save(folder / "soft.jpg")
    built = gamer("index", "build", folder, "-b", reading_bundle, "-o", tmp_path / "a.gamer")
    assert "text was not read" not in built.stdout
    found = json.loads(gamer("search", tmp_path / "a.gamer", "Gate B42", "--json").stdout)
    assert found["hits"][0]["id"] == "Screenshot_1.png"
    assert found["hits"][0]["memory"] == "Gate B42"
    off = gamer("index", "build", folder, "-b", reading_bundle, "-o", tmp_path / "b.gamer", "--ocr", "off")
    assert "screenshots whose text was not read: 1 (--ocr auto)" in off.stdout
    refused = gamer("index", "build", folder, "-b", bundle, "-o", tmp_path / "c.gamer", "--ocr", "all")
    assert refused.returncode == 1
    assert "has no networks that read text" in refused.stderr


def likeness(wanted: str, got: str) -> float:
    return SequenceMatcher(None, wanted, got, autojunk=False).ratio()
