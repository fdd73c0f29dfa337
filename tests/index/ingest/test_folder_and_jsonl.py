"""Folders and album JSONL: the shared photos compared with their manifest, and inputs that do not fit."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from gamer.index import IngestError, Memory, Photo, Skip, load_pixels, scan
from gamer.index.ingest.metadata import exif
from gamer.index.ingest.metadata.moment import moment_of, to_millis


def test_the_shared_photos_are_read_as_their_manifest_says(shared_data: Path) -> None:
    folder = shared_data / "photos"
    files = json.loads((folder / "manifest.json").read_text())["files"]
    items = list(scan(folder))
    photos = {item.id: item for item in items if isinstance(item, Photo)}
    skipped = {Path(item.where).name for item in items if isinstance(item, Skip)}
    assert [item.id for item in items if isinstance(item, Photo)] == sorted(photos)
    for expected in files:
        name, state = expected["file"], expected["expect"]
        if state == "unreadable":
            assert name in skipped, name
            continue
        _same_time_and_place(photos[name], expected["exif"])
        assert photos[name].sha256 == expected["sha256"]
        if state == "header-only":
            with pytest.raises(IngestError, match=name):
                load_pixels(folder / name)
            continue
        if "silent-loss" in expected["tags"]:  # the decoder would report nothing
            with pytest.raises(IngestError, match="cut off after 60000"):
                load_pixels(folder / name)
            continue
        pixels = load_pixels(folder / name)
        width, height = expected["stored_width"], expected["stored_height"]
        turned = expected["format"] != "HEIF" and (expected["exif"]["orientation"] or 1) >= 5
        assert pixels.dtype == np.uint8, name
        assert pixels.shape == ((width, height, 3) if turned else (height, width, 3)), name


def _same_time_and_place(photo: Photo, expected: dict[str, Any]) -> None:
    if expected["timestamp"] is None:
        assert photo.taken_at is None, photo.id
    elif photo.tz_source == "local":
        assert photo.taken_at == int(
            datetime.fromisoformat(expected["timestamp"]).replace(tzinfo=UTC).timestamp() * 1000
        ), photo.id
    else:  # the manifest holds wall time
        wall = datetime.fromisoformat(expected["timestamp"]).replace(tzinfo=UTC).timestamp() * 1000
        assert photo.wall == wall, photo.id
        assert photo.utc_offset is not None, photo.id
        assert photo.utc_offset % 15 == 0, photo.id
    if expected["lat"] is None:
        assert photo.lat is None, photo.id
        assert photo.lon is None, photo.id
    else:
        assert photo.lat == pytest.approx(expected["lat"], abs=2e-6), photo.id
        assert photo.lon == pytest.approx(expected["lon"], abs=2e-6), photo.id


def test_all_eight_orientations_give_the_same_upright_picture(shared_data: Path) -> None:
    pictures = [
        load_pixels(shared_data / "photos" / f"landscape_{i}.jpg").astype(np.int64) for i in range(1, 9)
    ]
    assert all(np.abs(picture - pictures[0]).mean() < 25 for picture in pictures)


def test_a_folder_gives_its_pictures_and_a_skip_with_a_reason_for_the_rest(tmp_path: Path) -> None:
    (tmp_path / "b" / "ünï").mkdir(parents=True)
    Image.new("RGB", (8, 6), "red").save(tmp_path / "b" / "ünï" / "x.png")
    Image.new("RGBA", (8, 6), (0, 0, 0, 0)).save(tmp_path / "a.WEBP")
    (tmp_path / "c.jpg").write_bytes(b"no picture")
    (tmp_path / "clip.mp4").write_bytes(b"...")
    (tmp_path / "notes.txt").write_text("not asked for")
    (tmp_path / ".hidden.jpg").write_bytes(b"")
    (tmp_path / "b" / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dangling.jpg").symlink_to(tmp_path / "nowhere")
    items = list(scan(tmp_path))
    assert [item.id for item in items if isinstance(item, Photo)] == ["a.WEBP", "b/ünï/x.png"]
    reasons = {Path(item.where).name: item.reason for item in items if isinstance(item, Skip)}
    assert set(reasons) == {"c.jpg", "clip.mp4", "loop", "dangling.jpg"}
    assert all("\n" not in reason for reason in reasons.values())
    assert (load_pixels(tmp_path / "a.WEBP") > 250).all()  # transparency over white


def test_a_source_that_is_neither_folder_nor_jsonl_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("")
    for source in (tmp_path / "x.csv", tmp_path / "missing"):
        with pytest.raises(IngestError):
            scan(source)


def test_declared_pixels_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    Image.new("1", (3000, 2000)).save(path)
    with pytest.raises(IngestError, match="declares 3000 x 2000"):
        load_pixels(path, max_pixels=1_000_000)
    header = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\x86\xa0\x00\x01\x86\xa0\x08\x02\x00\x00\x00"
    path.write_bytes(header + b"\x00\x00\x00\x00" * 8)
    with pytest.raises(IngestError):
        load_pixels(path)


def test_sixteen_bit_grey_is_not_clipped(tmp_path: Path) -> None:
    Image.fromarray(np.full((4, 4), 0x8000, np.uint16)).save(tmp_path / "grey.png")
    assert (load_pixels(tmp_path / "grey.png") == 0x80).all()


class Tags(dict[int, Any]):
    """As much of PIL.Image.Exif as the reader uses."""

    def __init__(self, gps: dict[int, Any], **times: Any) -> None:
        super().__init__({0x0132: times.get("plain")})
        self.blocks = {
            0x8769: {
                0x9003: times.get("original"),
                0x9011: times.get("offset"),
                0x9004: times.get("digitized"),
            },
            0x8825: gps,
        }

    def get_ifd(self, tag: int) -> dict[int, Any]:
        return self.blocks[tag]


def _dms(*parts: float) -> tuple[IFDRational, ...]:
    return tuple(IFDRational(part) for part in parts)


ZERO = IFDRational(0, 0)


@pytest.mark.parametrize(
    ("gps", "expected"),
    [
        ({1: "N", 2: _dms(48, 30, 0), 3: "E", 4: _dms(11, 15, 36)}, (48.5, 11.26)),
        ({1: "S", 2: _dms(48, 30, 0), 3: "W", 4: _dms(11, 15, 36)}, (-48.5, -11.26)),
        ({1: b"S\x00", 2: _dms(1), 3: b"W\x00", 4: _dms(2)}, (-1.0, -2.0)),
        ({1: "N", 2: _dms(0, 0, 0), 3: "E", 4: _dms(0, 0, 0)}, None),
        ({1: "N", 2: (ZERO, ZERO, ZERO), 3: "E", 4: (ZERO, ZERO, ZERO)}, None),
        ({1: "N", 2: _dms(91, 0, 0), 3: "E", 4: _dms(11, 0, 0)}, None),
        ({1: "N", 2: _dms(48, 99, 0), 3: "E", 4: _dms(11, 0, 0)}, None),
        ({1: "X", 2: _dms(48, 0, 0), 3: "E", 4: _dms(11, 0, 0)}, None),
        ({1: "N", 2: _dms(48, 0, 0)}, None),
        ({1: 7, 2: "abc", 3: None, 4: 5}, None),
        ({}, None),
    ],
)
def test_a_gps_position_is_read_and_an_impossible_one_is_none(
    gps: dict[int, Any], expected: tuple[float, float] | None
) -> None:
    assert exif.position(Tags(gps)) == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ({"original": "2020:01:01 12:00:00", "offset": "+02:00"}, ("2020-01-01T10:00:00+00:00", "offset")),
        ({"original": "2020:01:01 12:00:00", "offset": "bad"}, ("2020-01-01T12:00:00+00:00", "local")),
        (
            {"original": "0000:00:00 00:00:00", "plain": "2020:01:01 12:00:00"},
            ("2020-01-01T12:00:00+00:00", "local"),
        ),
        ({"digitized": b"2020:01:01 12:00:00\x00"}, ("2020-01-01T12:00:00+00:00", "local")),
        ({"original": 7, "plain": ("x",)}, None),
        ({"original": "2020:13:45 99:99:99"}, None),
        ({"original": "1700:01:01 12:00:00"}, None),
    ],
)
def test_the_time_is_read_from_the_first_valid_tag(
    times: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    moment = exif.taken_at(Tags({}, **times))
    assert (moment and (datetime.fromtimestamp(moment.ms / 1000, UTC).isoformat(), moment.tz)) == expected


@pytest.mark.parametrize(
    ("lat", "lon", "local", "utc"),
    [
        (39.05, -94.29, "2021-07-11T15:00:00", "2021-07-11T20:00:00"),  # Kansas City, summer time
        (39.05, -94.29, "2021-01-11T15:00:00", "2021-01-11T21:00:00"),  # and winter time
        (27.7, 85.3, "2021-01-11T15:00:00", "2021-01-11T09:15:00"),  # Kathmandu, +05:45
        (
            -17.7,
            178.1,
            "2021-01-01T01:00:00",
            "2020-12-31T12:00:00",
        ),  # Fiji in its summer time, the day before in UTC
        (0.0, -30.0, "2021-01-11T15:00:00", "2021-01-11T17:00:00"),  # the Atlantic: nautical
    ],
)
def test_a_local_time_gets_the_zone_of_its_position(lat: float, lon: float, local: str, utc: str) -> None:
    moment = moment_of(datetime.fromisoformat(local), (lat, lon))
    assert moment is not None
    assert moment.tz == "position"
    assert moment.ms == to_millis(datetime.fromisoformat(utc))
    assert moment.wall == to_millis(datetime.fromisoformat(local))


def test_an_exif_object_that_always_raises_gives_no_time_and_no_position() -> None:
    class Hostile:
        def __iter__(self) -> None:
            raise RuntimeError

        def get_ifd(self, tag: int) -> None:
            raise SyntaxError

    assert exif.taken_at(Hostile()) is None
    assert exif.position(Hostile()) is None


GOOD = {
    "id": "1",
    "taken_at": "2024-05-01T12:00:00+02:00",
    "lat": 48,
    "lon": 11.5,
    "memories": [{"source": "chat", "text": "hi"}],
    "sharing": "low",
}
BAD: list[tuple[bytes, str]] = [
    (b"{", "must be JSON"),
    (b"[1]", "the line: must be an object, not a list"),
    (b"\xff\xfe", "not UTF-8"),
    (b"[" * 200_000, "must be JSON"),
    (
        json.dumps({**GOOD, "id": 5}).encode(),
        "the line.id: must be a string with text in it",
    ),
    (json.dumps({**GOOD, "id": "2", "taken_at": "yesterday"}).encode(), "ISO 8601"),
    (
        json.dumps({**GOOD, "id": "2", "lat": 91}).encode(),
        "the line.lat: must be a finite number from -90",
    ),
    (json.dumps({**GOOD, "id": "2", "lon": None}).encode(), "must have lat and lon, or neither"),
    (json.dumps({**GOOD, "id": "2", "lat": True}).encode(), "the line.lat: must be"),
    (
        b'{"id": "2", "lat": NaN, "lon": 1, "memories": [{"source": "chat", "text": "x"}]}',
        "the line.lat: must be",
    ),
    (
        json.dumps({**GOOD, "id": "2", "memories": [{"source": "rumour", "text": "x"}]}).encode(),
        "the line.memories[0].source: must be one of: chat, social",
    ),
    (json.dumps({**GOOD, "id": "2", "memories": "x"}).encode(), "the line.memories: must be a list"),
    (json.dumps({**GOOD, "id": "2", "memories": []}).encode(), "nothing to find"),
    (
        json.dumps({**GOOD, "id": "2", "sharing": "medium"}).encode(),
        "line.sharing: must be one of: low, high",
    ),
    (b'{"id": "\\ud800", "memories": [{"source": "chat", "text": "x"}]}', "that can be stored"),
    (json.dumps(GOOD).encode(), "already given"),
]


@pytest.mark.parametrize("packed", [False, True])
def test_a_jsonl_gives_its_photos_and_a_skip_with_a_reason_for_each_bad_line(
    tmp_path: Path, packed: bool
) -> None:
    picture = Image.new("RGB", (4, 4))
    tags = Image.Exif()
    tags[0x0132] = "2020:01:01 12:00:00"
    picture.save(tmp_path / "p.jpg", exif=tags)
    lines = [json.dumps(GOOD).encode(), *(line for line, _ in BAD), b"", b'{"id": "last", "path": "p.jpg"}']
    path = tmp_path / ("album.jsonl.gz" if packed else "album.jsonl")
    path.write_bytes(gzip.compress(b"\n".join(lines)) if packed else b"\n".join(lines))
    first, *skips, last = scan(path)
    assert first == Photo(
        "1", None, 1_714_557_600_000, "offset", 48.0, 11.5, (Memory("chat", "hi"),), "low", utc_offset=120
    )
    assert isinstance(last, Photo)
    assert last.path == str(tmp_path / "p.jpg")
    assert last.taken_at == 1_577_880_000_000
    assert last.sha256
    for number, (skip, (_, reason)) in enumerate(zip(skips, BAD, strict=True), start=2):
        assert isinstance(skip, Skip)
        assert skip.where == f"{path.name}:{number}"
        assert any(part in skip.reason for part in reason.split("|")), (skip, reason)


def test_a_memory_keeps_its_own_labels_and_an_unknown_label_is_a_skip(tmp_path: Path) -> None:
    line = {
        "id": "1",
        "memories": [
            {"source": "note", "text": "x", "sensitivity": "high"},
            {"source": "people", "text": "Anna"},
        ],
    }
    (tmp_path / "a.jsonl").write_text(
        json.dumps(line)
        + "\n"
        + json.dumps({"id": "2", "memories": [{"source": "note", "text": "x", "sharing": "no"}]})
    )
    photo, skip = scan(tmp_path / "a.jsonl")
    assert isinstance(photo, Photo)
    assert photo.memories == (
        Memory("note", "x", sensitivity="high"),
        Memory("people", "Anna"),
    )
    assert isinstance(skip, Skip)
    assert "memories[0].sharing: must be" in skip.reason


def test_a_file_of_malformed_lines_is_left_after_10_000_of_them(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"x\n" * 3_000_000))
    skips = list(scan(path))
    assert len(skips) == 10_001
    assert all(isinstance(skip, Skip) for skip in skips)
    assert isinstance(skips[-1], Skip)
    assert "the rest of the file is not read" in skips[-1].reason


def test_a_truncated_gzip_ends_in_a_skip(tmp_path: Path) -> None:
    path = tmp_path / "album.jsonl.gz"
    path.write_bytes(
        gzip.compress(b"\n".join(json.dumps({**GOOD, "id": str(i)}).encode() for i in range(5000)))[:-200]
    )
    items = list(scan(path))
    assert isinstance(items[-1], Skip)
    assert "cannot be read further" in items[-1].reason
