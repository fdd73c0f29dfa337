"""Times in file names: what phones and messengers write, and numbers that only look like a time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from gamer.index import Photo, scan
from gamer.index.ingest.metadata import file_names


def read(name: str) -> str | None:
    moment = file_names.moment(name)
    if moment is None:
        return None
    assert (moment.tz, moment.offset) == ("name", None)
    return datetime.fromtimestamp(moment.ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")


@pytest.mark.parametrize(
    ("name", "time"),
    [
        ("IMG-20260601-WA0001.jpg", "2026-06-01 12:00:00"),
        ("Screenshot_20250310-081500.png", "2025-03-10 08:15:00"),
        ("Screenshot_20250310-081500_Chrome.png", "2025-03-10 08:15:00"),
        ("Screenshot_2024-02-14-15-30-05.png", "2024-02-14 15:30:05"),
        ("Screenshot 2024-02-14 at 15.30.05.png", "2024-02-14 15:30:05"),
        ("PXL_20230708_123456789.jpg", "2023-07-08 12:34:56"),
        ("PXL_20230708_123456789.MP.jpg", "2023-07-08 12:34:56"),
        ("20240214_153005.jpg", "2024-02-14 15:30:05"),
        ("IMG_20240214_153005_1.jpg", "2024-02-14 15:30:05"),
        ("2024-02-14 15.30.05.jpg", "2024-02-14 15:30:05"),
        ("signal-2024-02-14-153005.jpeg", "2024-02-14 15:30:05"),
        ("WhatsApp Image 2024-02-14 at 15.30.05.jpeg", "2024-02-14 15:30:05"),
        ("FB_IMG_1517253000123.jpg", "2018-01-29 19:10:00"),
        ("mmexport1517253000123.jpg", "2018-01-29 19:10:00"),
        ("Bildschirmfoto vom 2024-02-14 15-30-05.png", "2024-02-14 15:30:05"),
    ],
)
def test_a_name_that_phones_and_messengers_give_holds_its_time(name: str, time: str) -> None:
    assert read(name) == time


@pytest.mark.parametrize(
    "name",
    [
        "DSC_0001.JPG",
        "IMG_1234.jpg",
        "20241399_120000.jpg",
        "20240230.jpg",
        "1202402141.jpg",
        "scan 18991231.png",
        "+4920240214123.jpg",
        "2024-0214.jpg",
        "",
    ],
)
def test_a_number_that_is_no_date_gives_no_time(name: str) -> None:
    assert read(name) is None


def test_an_impossible_time_of_day_is_passed_over_for_a_later_date() -> None:
    assert read("20240214_999999 20240215.jpg") == "2024-02-15 12:00:00"


@given(st.datetimes(datetime(1970, 1, 1), datetime(2099, 12, 31)), st.sampled_from(["", "-", "_", "."]))
def test_every_date_and_time_written_as_digits_is_read_back(time: datetime, separator: str) -> None:
    date = time.strftime(separator.join(("%Y", "%m", "%d")))
    assert read(f"IMG_{date}_{time:%H%M%S}.jpg") == f"{time:%Y-%m-%d %H:%M:%S}"


@given(st.text(max_size=400))
def test_no_name_makes_the_reader_raise(name: str) -> None:
    file_names.moment(name)


def test_a_name_counts_only_where_no_metadata_holds_a_time(tmp_path: Path) -> None:
    Image.new("RGB", (8, 8)).save(tmp_path / "IMG-20260601-WA0001.jpg")
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0x9003] = "2020:05:04 03:02:01"
    Image.new("RGB", (8, 8), "red").save(tmp_path / "IMG-20260602-WA0001.jpg", exif=exif)
    photos = {photo.id: photo for photo in scan(tmp_path) if isinstance(photo, Photo)}
    by_name, by_exif = photos["IMG-20260601-WA0001.jpg"], photos["IMG-20260602-WA0001.jpg"]
    assert (by_name.tz_source, by_name.utc_offset) == ("name", None)
    assert by_name.wall == datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp() * 1000
    assert by_exif.tz_source == "local"
    assert by_exif.wall == datetime(2020, 5, 4, 3, 2, 1, tzinfo=UTC).timestamp() * 1000
