"""Sidecars: XMP in both spellings, Takeout's JSON under its many names, osxphotos' JSON.

Whatever a sidecar holds, the result is a photo or a Skip.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from gamer.index import IngestError, Memory, Photo, Skip, scan
from gamer.index.ingest.metadata import sidecar_json, xmp
from gamer.index.ingest.metadata.photo_metadata import PhotoMetadata
from gamer.index.ingest.metadata.sidecars import Sidecars

APPLE = """<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
 <rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/">
  <dc:description><rdf:Alt><rdf:li xml:lang="x-default">Oma's Geburtstag</rdf:li></rdf:Alt></dc:description>
  <dc:title><rdf:Alt><rdf:li xml:lang="x-default">Torte</rdf:li></rdf:Alt></dc:title>
  <dc:subject><rdf:Bag><rdf:li>cake</rdf:li><rdf:li>Anna</rdf:li></rdf:Bag></dc:subject>
  <photoshop:DateCreated>2019-04-15T14:40:24-04:00</photoshop:DateCreated>
 </rdf:Description>
 <rdf:Description rdf:about="" xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">
  <Iptc4xmpExt:PersonInImage>
    <rdf:Bag><rdf:li>Anna</rdf:li><rdf:li>Ben, Jr.</rdf:li></rdf:Bag>
  </Iptc4xmpExt:PersonInImage>
 </rdf:Description>
 <rdf:Description rdf:about="" xmlns:exif="http://ns.adobe.com/exif/1.0/">
  <exif:GPSLongitude>94,17.3263W</exif:GPSLongitude><exif:GPSLatitude>39,3,4.84N</exif:GPSLatitude>
 </rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
IMMICH = """<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:exif="http://ns.adobe.com/exif/1.0/" exif:DateTimeOriginal="2020-05-06T07:08:09"
  exif:GPSLatitude="48.2"
 exif:GPSLongitude="16.4" xmlns:digiKam="http://www.digikam.org/ns/1.0/"><digiKam:TagsList><rdf:Seq><rdf:li>Places/Vienna</rdf:li></rdf:Seq></digiKam:TagsList>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


def picture(path: Path, taken: str | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    tags = Image.Exif()
    if taken:
        tags.get_ifd(0x8769)[0x9003] = taken
    Image.new("RGB", (12, 8), "navy").save(path, exif=tags)
    return path


def only(folder: Path) -> Photo:
    (item,) = scan(folder)
    assert isinstance(item, Photo), item
    return item


@pytest.mark.parametrize("name", ["p.xmp", "p.jpg.xmp", "P.JPG.XMP"])
def test_an_apple_sidecar_is_read(tmp_path: Path, name: str) -> None:
    picture(tmp_path / "p.jpg", "2000:01:01 00:00:00")
    (tmp_path / name).write_text(APPLE, encoding="utf-8")
    photo = only(tmp_path)
    assert (photo.taken_at, photo.tz_source) == (ms("2019-04-15T18:40:24"), "offset")
    assert photo.lat == pytest.approx(39.051344, abs=1e-5)
    assert photo.lon == pytest.approx(-94.288772, abs=1e-5)
    assert [(m.source, m.text) for m in photo.memories] == [
        ("caption", "Torte"),
        ("caption", "Oma's Geburtstag"),
        ("note", "cake"),
        ("people", "Anna, Ben Jr."),
    ]


def test_an_immich_sidecar_in_attributes_is_read(tmp_path: Path) -> None:
    picture(tmp_path / "p.png")
    (tmp_path / "p.png.xmp").write_text(IMMICH)
    photo = only(tmp_path)
    assert (photo.taken_at, photo.tz_source, photo.lat, photo.lon) == (
        ms("2020-05-06T05:08:09"),
        "position",
        48.2,
        16.4,
    )  # Vienna, summer time
    assert photo.memories == (Memory("note", "Vienna"),)


def test_the_sidecars_place_gives_the_exif_time_its_zone(tmp_path: Path) -> None:
    picture(tmp_path / "p.jpg", "2020:01:01 12:00:00")
    geo = {"latitude": 27.7, "longitude": 85.3}
    (tmp_path / "p.jpg.json").write_text(json.dumps({"geoData": geo, "imageViews": "1"}))
    photo = only(tmp_path)
    assert (photo.taken_at, photo.tz_source) == (ms("2020-01-01T06:15:00"), "position")


HOSTILE = [
    b"",
    b"<",
    b"\x00" * 50,
    b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
    b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><l>&b;</l>',
    b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
    b'<?xml version="1.0" encoding="klingon"?><a/>',
    b"<a>" * 100_000,
]


@pytest.mark.parametrize("data", HOSTILE)
def test_a_hostile_sidecar_is_a_skip_beside_its_photo(tmp_path: Path, data: bytes) -> None:
    picture(tmp_path / "p.jpg")
    (tmp_path / "p.xmp").write_bytes(data)
    (tmp_path / "p.jpg.json").write_bytes(data)
    *skips, photo = scan(tmp_path)
    assert isinstance(photo, Photo)
    assert photo.memories == ()
    assert [Path(s.where).name for s in skips if isinstance(s, Skip)] == ["p.xmp", "p.jpg.json"]
    assert all("\n" not in s.reason for s in skips if isinstance(s, Skip))


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_parsed_or_refused_in_one_line(data: bytes) -> None:
    for parse in (xmp.parse, sidecar_json.parse):
        try:
            assert isinstance(parse(data), PhotoMetadata | None)
        except IngestError as error:
            assert "\n" not in str(error)


FIELDS = st.sampled_from(
    [
        "exif:GPSLatitude",
        "exif:GPSLongitude",
        "exif:DateTimeOriginal",
        "photoshop:DateCreated",
        "dc:title",
        "dc:subject",
    ]
)
NAMESPACES = (
    'xmlns:exif="http://ns.adobe.com/exif/1.0/" '
    'xmlns:photoshop="http://ns.adobe.com/photoshop/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(FIELDS, st.from_regex(r"[-+0-9.,:TNSEWZ ]{0,30}", fullmatch=True)))
def test_no_values_in_wellformed_xmp_make_the_parser_raise(fields: dict[str, str]) -> None:
    values = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
    rdf = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f"<rdf:Description {NAMESPACES}>{values}</rdf:Description></rdf:RDF>"
    )
    metadata = xmp.parse(rdf.encode())
    assert metadata.position is None or (abs(metadata.position[0]) <= 90 and abs(metadata.position[1]) <= 180)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "photoTakenTime",
        "timestamp",
        "geoData",
        "latitude",
        "longitude",
        "description",
        "people",
        "name",
        "DateTimeOriginal",
        "EXIF:GPSLatitude",
        "Keywords",
    ]
)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON) | st.lists(st.dictionaries(KEYS, JSON))),
    st.booleans(),
)
def test_no_values_in_wellformed_json_make_the_parser_raise(fields: dict[str, Any], listed: bool) -> None:
    metadata = sidecar_json.parse(json.dumps([fields] if listed else fields).encode())
    for memory in metadata.memories if metadata else ():
        memory.text.encode("utf-8")
        assert memory.text
        assert "\x00" not in memory.text


TAKEOUT = {
    "title": "p.jpg",
    "description": "Tram 28 in Lisbon",
    "imageViews": "3",
    "creationTime": {"timestamp": "1700000000"},
    "photoTakenTime": {"timestamp": "1628944000", "formatted": "Aug 14, 2021, 12:26:40 PM UTC"},
    "geoData": {"latitude": 0.0, "longitude": 0.0, "altitude": 0.0},
    "geoDataExif": {"latitude": 38.7139, "longitude": -9.1394, "altitude": -99999.0},
    "people": [{"name": "Anna"}, {"name": "Ben"}, {}, "x"],
}


def test_takeout_sidecars_are_read(tmp_path: Path) -> None:
    picture(tmp_path / "p.jpg", "2001:01:01 00:00:00")
    (tmp_path / "p.jpg.supplemental-metadata.json").write_text(json.dumps(TAKEOUT))
    (tmp_path / "metadata.json").write_text('{"title": "an album"}')
    photo = only(tmp_path)
    assert (photo.taken_at, photo.tz_source, photo.lat, photo.lon) == (
        1_628_944_000_000,
        "offset",
        38.7139,
        -9.1394,
    )
    assert photo.utc_offset == 60  # Lisbon, summer time
    assert photo.memories == (Memory("caption", "Tram 28 in Lisbon"), Memory("people", "Anna, Ben"))


@pytest.mark.parametrize(
    ("clock", "offset"),
    [
        ("2021:08:14 18:11:40", 345),  # Kathmandu's
        ("2021:08:14 04:26:41", -480),  # a second late
        ("2021:08:14 12:26:40", 0),
        ("2021:08:14 12:35:40", None),  # no zone is nine minutes ahead: somebody corrected the time
        ("2001:01:01 00:00:00", None),  # nor years behind
        (None, None),
    ],
)
def test_takeouts_instant_without_a_place_has_the_wall_clock_of_the_header(
    tmp_path: Path, clock: str | None, offset: int | None
) -> None:
    picture(tmp_path / "p.jpg", clock)
    (tmp_path / "p.jpg.json").write_text(json.dumps({**TAKEOUT, "geoDataExif": {}}))
    photo = only(tmp_path)
    assert (photo.taken_at, photo.tz_source, photo.utc_offset) == (1_628_944_000_000, "offset", offset)


def test_takeouts_instant_has_the_wall_clock_of_another_sources_place(tmp_path: Path) -> None:
    picture(tmp_path / "p.jpg")
    (tmp_path / "p.jpg.json").write_text(json.dumps({**TAKEOUT, "geoDataExif": {}}))
    (tmp_path / "p.jpg.xmp").write_text(IMMICH.replace("DateTimeOriginal", "Unread"))
    photo = only(tmp_path)
    assert (photo.taken_at, photo.utc_offset, photo.lat, photo.lon) == (
        1_628_944_000_000,
        120,
        48.2,
        16.4,
    )  # Vienna, summer time


def test_takeout_with_a_place_and_a_time_of_zero_gives_neither(tmp_path: Path) -> None:
    picture(tmp_path / "p.jpg")
    (tmp_path / "p.jpg.json").write_text(
        json.dumps({**TAKEOUT, "geoDataExif": {}, "photoTakenTime": {"timestamp": "0"}})
    )
    photo = only(tmp_path)
    assert photo.lat is None
    assert photo.taken_at is None


LONG = "PXL_20230714_101112131_a_very_long_name_of_a_photo"  # 50 characters


@pytest.mark.parametrize(
    ("pictures", "sidecar", "owner"),
    [
        (["a.jpg"], "a.jpg.json", "a.jpg"),
        (["a.jpg"], "a.jpg.supplemental-metadata.json", "a.jpg"),
        (["a.jpg"], "a.jpg.supplemental-me.json", "a.jpg"),
        (["a.jpg"], "a.jpg.s.json", "a.jpg"),
        (["a.jpg"], "a.supplemental-metadata.json", "a.jpg"),
        (["a.jpg"], "a.json", "a.jpg"),
        (["a.jpg", "a(1).jpg"], "a.jpg(1).json", "a(1).jpg"),
        (["a.jpg", "a(1).jpg"], "a.jpg.supplemental-metadata(1).json", "a(1).jpg"),
        (["a.jpg", "a(1).jpg"], "a.jpg.supplemental-metadata.json", "a.jpg"),
        (["a(2).jpg"], "a(2).jpg.supplemental-metadata.json", "a(2).jpg"),
        ([f"{LONG}.jpg"], f"{LONG}.jpg.supplemental-metadata.json"[:46] + ".json", f"{LONG}.jpg"),
        ([f"{LONG[:40]}.jpg"], f"{LONG[:40]}.jpg.supplemental-metadata"[:46] + ".json", f"{LONG[:40]}.jpg"),
        (["ä 写真 (3).JPG"], "Ä 写真 (3).jpg.supplemental-meta.json", "ä 写真 (3).JPG"),
    ],
)
def test_takeouts_sidecar_names_are_matched(pictures: list[str], sidecar: str, owner: str) -> None:
    sidecars = Sidecars(Path("x"), [*pictures, sidecar])
    assert [name for name in pictures if sidecars.json_of(name)] == [owner]
    assert sidecars.json_of(owner) == Path("x") / sidecar


@pytest.mark.parametrize("twin", ["a-edited.jpg", "a-bearbeitet.jpg", "a-edited(1).jpg", "a(1)-edited.jpg"])
def test_an_edited_copy_shares_the_sidecar_of_its_original(twin: str) -> None:
    sidecar = "a.jpg.supplemental-metadata(1).json" if "(1)" in twin else "a.jpg.supplemental-metadata.json"
    assert Sidecars(Path("x"), [twin, sidecar]).json_of(twin) == Path("x") / sidecar


@pytest.mark.parametrize(
    "other",
    [
        "b.jpg.json",
        "a.jpg.backup.json",
        "a.png.json",
        "aa.jpg.supplemental-metadata.json",
        "a.jpg.supplemental-metadata(2).json",
    ],
)
def test_a_sidecar_of_another_photo_is_not_used(other: str) -> None:
    assert Sidecars(Path("x"), ["a.jpg", "a(1).jpg", other]).json_of("a.jpg") is None


def test_osxphotos_json_is_read(tmp_path: Path) -> None:
    picture(tmp_path / "p.jpg")
    written = {
        "_CreatedBy": "osxphotos",
        "EXIF:ImageDescription": "Bride Wedding day",
        "XMP:Description": "Bride Wedding day",
        "XMP:Title": "I found one!",
        "XMP:TagsList": ["wedding"],
        "IPTC:Keywords": ["wedding"],
        "XMP:PersonInImage": ["Maria"],
        "XMP:Subject": ["wedding", "Maria"],
        "EXIF:GPSLatitude": 41.256566,
        "EXIF:GPSLongitude": 95.940257,
        "EXIF:GPSLatitudeRef": "N",
        "EXIF:GPSLongitudeRef": "W",
        "EXIF:DateTimeOriginal": "2019:04:15 14:40:24",
        "EXIF:OffsetTimeOriginal": "-04:00",
    }
    (tmp_path / "p.jpg.json").write_text(json.dumps([written]))
    photo = only(tmp_path)
    assert (photo.taken_at, photo.lat, photo.lon) == (ms("2019-04-15T18:40:24"), 41.256566, -95.940257)
    assert [m.text for m in photo.memories] == ["I found one!", "Bride Wedding day", "wedding", "Maria"]
