"""Files that are damaged in real life or made hostile on purpose: each is a Skip with its reason, in bounded
memory.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pillow_heif
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import IngestError, Memory, Photo, Size, Skip, load_pixels, scan
from gamer.index.ingest import chat, heif, jsonl, pixels
from gamer.index.ingest.metadata import xmp
from tests.paths import ROOT

pillow_heif.register_heif_opener()
SUFFIXES = ("jpg", "png", "webp", "tiff", "heic")


def gradient(width: int = 96, height: int = 64) -> Image.Image:
    """Bright on the left, so that a rotation is visible."""
    return Image.fromarray(np.tile(np.linspace(255, 0, width, dtype=np.uint8)[None, :, None], (height, 1, 3)))


def exif(orientation: int = 1) -> Image.Exif:
    tags = Image.Exif()
    tags[0x0112] = orientation
    tags[0x010F] = "Maker"
    sub = tags.get_ifd(0x8769)
    sub[0x9003], sub[0x9011] = "2024:02:29 23:30:00", "-05:00"
    gps = tags.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "N", (48.0, 12.0, 0.0), "E", (16.0, 24.0, 0.0)
    gps[5], gps[6] = b"\x00", 1e9  # an altitude beyond the moon
    return tags


# HEIC has its rotation in boxes of its own, which pillow-heif does not write: the shared photos show that the
# tag beside them is not applied a second time.
@pytest.mark.parametrize(
    ("suffix", "orientation"), [*((s, o) for s in SUFFIXES[:-1] for o in (1, 3, 6, 8)), ("heic", 1)]
)
def test_each_format_is_turned_upright_once(tmp_path: Path, suffix: str, orientation: int) -> None:
    back = {
        1: None,
        3: Image.Transpose.ROTATE_180,
        6: Image.Transpose.ROTATE_90,
        8: Image.Transpose.ROTATE_270,
    }[orientation]
    stored = gradient() if back is None else gradient().transpose(back)
    stored.save(tmp_path / f"p.{suffix}", exif=exif(orientation).tobytes(), quality=95)
    (photo,) = scan(tmp_path)
    assert isinstance(photo, Photo)
    assert (photo.taken_at, photo.tz_source, photo.lat, photo.lon) == (
        1_709_267_400_000,
        "offset",
        48.2,
        16.4,
    )
    pixels = load_pixels(tmp_path / f"p.{suffix}")
    assert pixels.shape == (64, 96, 3)
    assert pixels[:, :8].mean() > 230
    assert pixels[:, -8:].mean() < 25


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("share", [0.02, 0.3, 0.6, 0.97])
def test_a_cut_picture_is_refused_in_every_format(tmp_path: Path, suffix: str, share: float) -> None:
    complete = tmp_path / f"whole.{suffix}"
    noise = np.random.default_rng(0).integers(0, 255, (300, 400, 3), dtype=np.uint8)
    Image.fromarray(noise).save(complete, exif=exif())
    path = tmp_path / f"cut.{suffix}"
    path.write_bytes(complete.read_bytes()[: int(complete.stat().st_size * share)])
    with pytest.raises(IngestError, match=rf"cut\.{suffix}"):
        load_pixels(path)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_heif_boxes_are_accepted_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "boxes.heic"
    path.write_bytes(
        struct.pack(">I4sI4sI", 24, b"ftyp", 0, b"heic", 0)[:20]
        + struct.pack(">I4sI", 12 + len(data), b"meta", 0)
        + data
    )
    try:
        heif.check_complete(path)
    except IngestError as error:
        assert "\n" not in str(error)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_picture_with_flipped_bytes_gives_a_photo_or_a_skip(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.getbasetemp() / "flipped"
    folder.mkdir(exist_ok=True)
    suffix = data.draw(st.sampled_from(SUFFIXES))
    good = folder.parent / f"good.{suffix}"
    if not good.exists():
        gradient().save(good, exif=exif())
    raw = bytearray(good.read_bytes())
    for at in data.draw(st.lists(st.integers(0, len(raw) - 1), min_size=1, max_size=8)):
        raw[at] = data.draw(st.integers(0, 255))
    path = folder / f"p.{suffix}"
    path.write_bytes(raw)
    try:
        for item in scan(folder):
            if isinstance(item, Photo):
                assert load_pixels(path).ndim == 3
            else:
                assert "\n" not in item.reason
    except IngestError as error:
        assert "\n" not in str(error)
    finally:
        path.unlink()


def test_odd_names_are_read_and_links_pipes_and_closed_folders_are_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "ünï çødé.jpg",
        "写真 (1).jpg",
        "صورة.jpg",
        "фото.jpg",
        "emoji 🐈.jpg",
        "a'b\"c%.jpg",
        "x" * 200 + ".jpg",
    ]
    for name in names:
        gradient().save(tmp_path / name)
    (tmp_path / "closed").mkdir()
    gradient().save(tmp_path / "closed" / "p.jpg")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.jpg").symlink_to(tmp_path / "self.jpg")
    (tmp_path / "twin.jpg").symlink_to(tmp_path / "фото.jpg")
    os.mkfifo(tmp_path / "pipe.jpg")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "folder.jpg").mkdir()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.jpg")).write_bytes(
        (tmp_path / "фото.jpg").read_bytes()
    )
    (tmp_path / "clip.MOV").write_bytes(b"")
    scandir = os.scandir

    def refusing(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    items = list(scan(tmp_path))
    assert sorted(item.id for item in items if isinstance(item, Photo)) == sorted(names)
    reasons = {Path(item.where).name: item.reason for item in items if isinstance(item, Skip)}
    assert set(reasons) == {
        "closed",
        "loop",
        "self.jpg",
        "twin.jpg",
        "pipe.jpg",
        "bad\\udcff.jpg",
        "clip.MOV",
    }
    assert "video" in reasons["clip.MOV"]
    assert "Permission denied" in reasons["closed"]


def test_sidecars_that_are_no_files_do_not_hold_the_scan_up(tmp_path: Path) -> None:
    gradient().save(tmp_path / "a.jpg")
    os.mkfifo(tmp_path / "a.jpg.xmp")
    (tmp_path / "a.jpg.json").symlink_to("/dev/zero")
    items = list(scan(tmp_path))
    assert [item.reason for item in items if isinstance(item, Skip)] == [
        "this sidecar is not used: not a regular file"
    ] * 2
    assert [item.id for item in items if isinstance(item, Photo)] == ["a.jpg"]


def test_a_folder_of_300_levels_is_skipped_with_its_reason(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)
    deep.mkdir(parents=True)
    gradient().save(tmp_path / "top.png")
    gradient().save(deep / "bottom.png")
    items = list(scan(tmp_path))
    assert [item.id for item in items if isinstance(item, Photo)] == ["top.png"]
    assert ["deep" in item.reason for item in items if isinstance(item, Skip)] == [True]


def test_a_number_beyond_floats_is_a_skip(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        '{"id": "a", "memories": [{"source": "note", "text": "x"}], "lat": 1' + "0" * 400 + ', "lon": 1}\n'
    )
    (item,) = scan(tmp_path / "a.jsonl")
    assert isinstance(item, Skip)
    assert "line.lat: must be a finite number" in item.reason


def test_five_hundred_nested_lists_in_xmp_give_their_keyword_once() -> None:
    head = (
        '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:d="http://purl.org/dc/elements/1.1/">'
    )
    item = "<r:Description><d:subject><r:Bag><r:li>kite</r:li>", "</r:Bag></d:subject></r:Description>"
    parsed = xmp.parse((head + item[0] * 500 + item[1] * 500 + "</r:RDF>").encode())
    assert parsed.memories == (Memory("note", "kite"),)


def test_logs_of_too_many_messages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "MAX_LINES", 10)
    for name, lines in (("a", 8), ("b", 4), ("c", 30)):
        (tmp_path / f"{name}.txt").write_text("2023-12-31 21:15 Ann: ahoy\n" * lines)
    reasons = [item.reason for item in scan(tmp_path) if isinstance(item, Skip)]
    assert [reason.split(";")[0] for reason in reasons] == [
        "with the logs before it more than 10 messages",
        "a chat log of more than 10 lines",
    ]


def _blank_png(path: Path, width: int, height: int, *, short: bool = False) -> None:
    """Written row by row, because the picture is larger than the memory that the test should take."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(1)
    rows = b"" if short else b"".join(packer.compress(b"\x00" * (1 + 3 * width)) for _ in range(height))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows + packer.flush()) + chunk(b"IEND", b"")
    )


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="a process's peak memory is read from /proc"
)
def test_the_largest_pictures_and_bombs_are_handled_in_a_gigabyte(tmp_path: Path) -> None:
    """Each is decoded or refused in a separate process, which reports its peak memory."""
    _blank_png(tmp_path / "108-megapixels.png", 12_000, 9_000)
    _blank_png(tmp_path / "bomb.png", 30_000, 30_000, short=True)
    _blank_png(tmp_path / "just-too-large.png", 14_000, 9_000)
    Image.new("L", (16_320, 12_240), 90).save(tmp_path / "200-megapixels.jpg")
    Image.new("RGB", (9_000, 9_000)).save(tmp_path / "progressive.jpg", progressive=True, subsampling=0)
    Image.new("RGB", (6_000, 6_000)).save(tmp_path / "large.webp", quality=10, method=0)
    Image.new("RGB", (9_000, 9_000)).save(tmp_path / "too-large.webp", quality=10, method=0)
    Image.new("L", (8_000, 8_000)).save(tmp_path / "large.tiff", compression="tiff_deflate")
    code = f"""
import re
from pathlib import Path
from gamer.index import IngestError, Photo, load_pixels, scan
for item in scan(Path({str(tmp_path)!r})):
    if isinstance(item, Photo):
        try:
            print(item.id, "x".join(map(str, load_pixels(Path(item.path)).shape[:2])))
        except IngestError as error:
            print(item.id, "refused:", str(error).partition(": ")[2])
    else:
        print(Path(item.where).name, "skipped:", item.reason)
# ru_maxrss would count pytest's own memory
print("peak", re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=dict(os.environ)
    )
    assert done.returncode == 0, done.stderr
    lines = {line.split(" ")[0]: line.split(" ", 1)[1] for line in done.stdout.splitlines()}
    assert int(lines.pop("peak")) < 1_000_000, done.stdout
    assert {name for name, outcome in lines.items() if "refused" in outcome or "skipped" in outcome} == {
        "bomb.png",
        "just-too-large.png",
        "too-large.webp",
    }, done.stdout
    assert lines["108-megapixels.png"] == "3000x4000"
    assert lines["200-megapixels.jpg"] == "3060x4080"


def test_a_file_of_empty_lines_is_not_read_to_its_end(tmp_path: Path) -> None:
    """Five million of them are 5 KB of gzip. Empty lines between photos are as many as the photos."""
    path = tmp_path / "empty.jsonl.gz"
    line = b'{"id": "%d", "memories": [{"source": "note", "text": "x"}]}\n\n'
    path.write_bytes(gzip.compress(b"".join(line % n for n in range(20)) + b"\n" * 100_000))
    *photos, last = jsonl.scan(path)
    assert len(photos) == 20
    assert isinstance(last, Skip)
    assert "lines are empty" in last.reason
    assert int(last.where.split(":")[1]) < 11_000


def _progressive(repeats: int, side: int) -> bytes:
    """A progressive JPEG whose last scan, a few bytes for an even picture, stands `repeats` times more."""
    written = io.BytesIO()
    Image.new("L", (side, side), 128).save(written, "JPEG", progressive=True)
    data = written.getvalue()
    last = data[data.rindex(b"\xff\xda") : -2]
    return data[:-2] + last * repeats + data[-2:]


def test_the_scans_of_a_jpeg_are_counted_without_those_of_its_thumbnail_and_video(tmp_path: Path) -> None:
    plain = _progressive(0, 64)
    count = pixels.scans(plain)
    assert count == plain.count(b"\xff\xda") == pixels.scans(_progressive(40, 64)) - 40
    thumbnail = b"\xff\xe1" + (2 + len(plain)).to_bytes(2) + plain
    assert pixels.scans(plain[:2] + thumbnail + plain[2:] + b"\xff\xda" * 1_000) == count
    for cut in range(len(plain)):
        assert pixels.scans(plain[:cut]) <= count


def test_a_small_jpeg_of_thousands_of_scans_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    side = 2_000
    most = pixels.MAX_SCANNED // side**2
    (tmp_path / "bomb.jpg").write_bytes(_progressive(most, side))
    (tmp_path / "many.jpg").write_bytes(_progressive(200, side))
    with pytest.raises(IngestError, match=rf"a JPEG of more than {most} scans"):
        load_pixels(tmp_path / "bomb.jpg")
    assert load_pixels(tmp_path / "many.jpg").shape == (side, side, 3)


def test_pictures_are_opened_where_their_size_and_scans_are_limited_and_nowhere_else() -> None:
    opening = re.compile(r"\b(?:Image|image_module)\.open\(|\bimread\(|\bfrombytes\(")
    rooms = (ROOT / room for room in ("index", "runtime", "export"))
    files = [path for room in rooms for path in room.rglob("*.py")]
    opens = [path for path in files if opening.search(path.read_text(encoding="utf-8"))]
    assert opens == [ROOT / "index" / "ingest" / "pixels.py"]


@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_picture_is_returned_smaller_but_no_smaller_than_wanted(
    tmp_path: Path, suffix: str, orientation: int
) -> None:
    if suffix == "heic" and orientation != 1:
        pytest.skip("pillow-heif writes no rotation")
    path = tmp_path / f"p.{suffix}"
    gradient(1300, 900).save(path, exif=exif(orientation).tobytes(), quality=95)
    full = load_pixels(path)
    for least in (Size(100), Size(200), Size(0, 600), Size(100, 900), Size(1000)):
        small = load_pixels(path, least=least)
        short, long = sorted(small.shape[:2])
        assert short >= min(least.shorter, 900)
        assert long >= min(least.longer, 1300)
        assert (small.shape[0] > small.shape[1]) == (full.shape[0] > full.shape[1])
        if least == Size(100):
            assert short < 300  # a JPEG is decoded at an eighth, others are averaged
        step = tuple(a // b for a, b in zip(full.shape[:2], small.shape[:2], strict=True))
        assert abs(small.mean(dtype=float) - full[:: step[0], :: step[1]].mean(dtype=float)) < 3


def test_the_first_scan_says_whether_a_jpeg_may_have_more(tmp_path: Path) -> None:
    image, path = gradient(64, 48), tmp_path / "p.jpg"
    for progressive in (False, True):
        image.save(path, progressive=progressive)
        assert pixels._has_many_scans(path) is progressive
    image.convert("L").save(path)
    assert not pixels._has_many_scans(path)
    data = path.read_bytes()
    for cut in range(0, len(data), 7):
        path.write_bytes(data[:cut])
        assert pixels._has_many_scans(path) in (True, False)
