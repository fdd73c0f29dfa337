"""Clips as files: their time and place, their frames, the parts of long ones, and files that are broken."""

from __future__ import annotations

import importlib.util
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gamer.index import IngestError, Photo, load_photo, scan
from gamer.index.clips import LONGEST, fragment, is_clip, part, part_of, whole
from gamer.index.ingest.clips import clip_decoder, clip_frames, clip_header
from tests.clips import BLUE, GREEN, RED, make, pipe, scene

NOON = 1_714_557_600_000  # 2024-05-01T10:00:00Z


def near(pixels: Any, colour: tuple[int, int, int]) -> bool:
    return bool(np.abs(np.median(pixels.reshape(-1, 3), axis=0) - colour).max() < 25)


def only(folder: Path) -> Photo:
    (photo,) = scan(folder)
    assert isinstance(photo, Photo)
    return photo


def test_ids_name_parts_as_media_fragments_do() -> None:
    photo = Photo("a/beach.mp4", taken_at=1_000)
    second = part(photo, 12_500, 30_000)
    assert (second.id, second.taken_at) == ("a/beach.mp4#t=12.5,30", 13_500)
    assert part_of(second.id) == (12_500, 30_000)
    assert whole(second.id) == photo.id
    assert part(second, 0, 12_500).id == "a/beach.mp4#t=0,12.5"
    assert fragment(second.id) == "#t=12.5,30"
    for name in ("beach.mp4", "beach#t=5,2.mp4", "beach.mp4#t=5,5", "x#t=1,2,3", "#t=1e3,2000", "x#t=-1,2"):
        assert part_of(name) is None
        assert whole(name) == name
    assert is_clip("A.MOV")
    assert not is_clip("a.heic")
    assert not is_clip(None)


@pytest.mark.parametrize(
    ("name", "tags", "taken", "offset", "placed"),
    [
        ("a.mp4", {"creation_time": "2024-05-01T10:00:00Z"}, NOON, None, False),
        (
            "a.mp4",
            {"creation_time": "2024-05-01T10:00:00Z", "location": "+48.8577+002.2950/"},
            NOON,
            120,
            True,
        ),
        (
            "a.mov",
            {"creation_time": "2024-05-01T10:00:00Z", "location": "+48.8577+002.2950/"},
            NOON,
            120,
            True,
        ),
        ("VID_20240501_080000.mp4", {"creation_time": "2024-05-01T10:00:00Z"}, NOON, -120, False),
        (
            "a.mov",
            {
                "creation_time": "2020-01-01T00:00:00Z",
                "com.apple.quicktime.creationdate": "2024-05-01T13:00:00+0300",
                "com.apple.quicktime.location.ISO6709": "+48.8577+002.2950+035.100/",
            },
            NOON,
            180,
            True,
        ),
    ],
)
def test_time_and_place_come_from_the_container(
    tmp_path: Path, name: str, tags: dict[str, str], taken: int, offset: int | None, placed: bool
) -> None:
    make(tmp_path / name, [(RED, 1)], metadata=tags)
    photo = only(tmp_path)
    assert (photo.taken_at, photo.utc_offset, photo.tz_source != "local") == (taken, offset, True)
    assert (photo.lat is not None) == placed
    if placed:
        assert [photo.lat, photo.lon] == pytest.approx([48.8577, 2.295], abs=1e-4)


def test_without_a_time_in_the_container_the_name_gives_it(tmp_path: Path) -> None:
    make(tmp_path / "screen 2024-02-14 15.30.00.webm", [(RED, 1)])
    photo = only(tmp_path)
    assert (photo.tz_source, photo.taken_at) == ("name", 1_707_924_600_000)


@pytest.mark.parametrize("name", ["a.mov", "a.webm"])
def test_frames_are_spread_evenly_and_have_their_times(tmp_path: Path, name: str) -> None:
    found = clip_frames.frames(make(tmp_path / name, [(RED, 2), (GREEN, 2), (BLUE, 2)]))
    assert found.length == pytest.approx(6_000, abs=300)
    assert found.times == (
        500,
        1500,
        2500,
        3500,
        4500,
        5500,
    )
    assert [near(p, c) for p, c in zip(found.pixels, (RED, RED, GREEN, GREEN, BLUE, BLUE), strict=True)] == [
        True
    ] * 6
    assert near(clip_frames.poster(tmp_path / name), GREEN)
    assert near(load_photo(Photo(f"{name}#t=4,6", str(tmp_path / name))), BLUE)


def test_pictures_are_turned_as_the_phone_was_held(tmp_path: Path) -> None:
    sky = scene(BLUE)
    sky[:, :48] = RED  # on the left: at the top once the picture is turned clockwise
    (turned,) = clip_frames.frames(make(tmp_path / "a.mp4", [(sky, 1)], rotated=True), most=1).pixels
    assert turned.shape == (96, 64, 3)
    assert near(turned[:40], RED)
    assert near(turned[56:], BLUE)


def test_ten_bits_are_read(tmp_path: Path) -> None:
    path = make(tmp_path / "a.mp4", [(GREEN, 1)], pix_fmt="yuv420p10le")
    assert near(clip_frames.poster(path), GREEN)


def test_a_long_clip_is_split_where_the_picture_changes(tmp_path: Path) -> None:
    path = make(tmp_path / "a.mp4", [(RED, 12), (GREEN, 14), (BLUE, 10)], rate=2)
    found = clip_frames.parts(path)
    assert [(round(start / 1000), round(end / 1000)) for start, end in found] == [(0, 12), (12, 26), (26, 36)]
    assert clip_frames.parts(make(tmp_path / "b.mp4", [(RED, 2), (GREEN, 3)])) == [(0, 5_000)]


def test_parts_are_neither_many_nor_short() -> None:
    times = list(range(0, 300_000, 1_000))
    bounds = [0, *clip_frames.cuts(times, [1.0] * len(times), 300_000), 300_000]
    lengths = np.diff(bounds)
    assert len(lengths) == clip_frames.MAX_PARTS
    assert lengths.min() >= clip_frames.SHORTEST
    assert clip_frames.cuts(times, [0.3] * len(times), 300_000) == []


def test_a_live_photo_is_one_item(tmp_path: Path) -> None:
    from PIL import Image

    for name in ("IMG_1.jpg", "IMG_2.JPG", "IMG_3.jpg"):
        Image.fromarray(scene(RED)).save(tmp_path / name)
    make(tmp_path / "IMG_1.MOV", [(RED, 3)])
    make(tmp_path / "IMG_2.mp4", [(RED, 8)], rate=1)  # as long as a clip of its own
    tag = {"com.apple.quicktime.content.identifier": "3F2504E0"}
    make(tmp_path / "IMG_3.mov", [(RED, 8)], rate=1, metadata=tag)
    make(tmp_path / "IMG_4.mov", [(RED, 3)])
    names = [item.id for item in scan(tmp_path) if isinstance(item, Photo)]
    assert names == ["IMG_1.jpg", "IMG_2.JPG", "IMG_2.mp4", "IMG_3.jpg", "IMG_4.mov"]


def test_without_pyav_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "a.mp4", [(RED, 1)])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(IngestError, match=r"videos need PyAV: .* -m pip install -e .*\[clips\]"):
        clip_frames.frames(path)


def boxes_cut(data: bytes) -> bytes:
    return data[: data.index(b"moov") + 40]


def claims(name: bytes, at: int, value: bytes) -> Any:
    """Overwrites bytes behind a box's name: what the header claims."""

    def change(data: bytes) -> bytes:
        start = data.index(name) + 4 + at
        return data[:start] + value + data[start + len(value) :]

    return change


HUGE = struct.pack(">I", 0xFFFFFFFF)
BROKEN = {
    "empty": lambda data: b"",
    "no video": lambda data: b"\0" * 4_000,
    "cut in its table": boxes_cut,
    "without a table": lambda data: data[: data.index(b"moov") - 4],
    "of no frames": claims(b"stsz", 8, struct.pack(">I", 0)),
    "four billion frames of four billion bytes": claims(b"stsz", 4, HUGE + HUGE),
    "four billion times": claims(b"stts", 4, struct.pack(">III", 1, 0xFFFFFFFF, 0xFFFFFFFF)),
    "four billion chunks": claims(b"stco", 4, HUGE),
    "100,000 pixels wide": claims(b"avc1", 24, struct.pack(">HH", 65_535, 65_535)),
    "no codec": claims(b"stsd", 12, b"zzzz"),
    "no track": lambda data: data.replace(b"trak", b"free"),
    "not a picture": lambda data: data.replace(b"vide", b"soun"),
    "an endless box": lambda data: data[:4] + b"ftyp" + data[8:32] + struct.pack(">I4s", 8, b"free") * 20_000,
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_clips_are_refused_or_read_in_bounded_time_and_memory(tmp_path: Path, name: str) -> None:
    good = make(tmp_path / "good.mp4", [(RED, 1)], options={"movflags": "faststart"}).read_bytes()
    path = tmp_path / "a.mp4"
    path.write_bytes(BROKEN[name](good))
    try:
        found = clip_frames.frames(path)
        assert all(pixels.size < 10_000_000 for pixels in found.pixels)
        assert found.length < LONGEST
    except IngestError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)


def test_what_is_no_clip_says_so(tmp_path: Path) -> None:
    def reason(path: Path) -> str:
        with pytest.raises(IngestError) as caught:
            clip_frames.frames(path)
        return str(caught.value)

    sound = tmp_path / "sound.mp4"
    from tests.clips import av

    with av.open(str(sound), "w") as container:
        stream = container.add_stream("aac", rate=8_000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.rate = 8_000
        for packet in (*stream.encode(frame), *stream.encode()):
            container.mux(packet)
    assert "sound alone" in reason(sound)
    assert "no such file" in reason(pipe(tmp_path / "endless.mp4"))
    playlist = tmp_path / "list.mp4"
    playlist.write_text("#EXTM3U\nhttp://127.0.0.1:1/x.ts\n", encoding="utf-8")
    assert "cannot be read as a video" in reason(playlist)
    big = make(tmp_path / "big.mkv", [(scene(RED, (128, 64)), 1)], codec="mjpeg", pix_fmt="yuvj420p")
    assert near(clip_frames.poster(big), RED)


def test_a_decoder_that_dies_or_hangs_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "a.mp4", [(RED, 1)])
    script = tmp_path / "clip_frames.py"
    for body, said in (
        ("import os; os.abort()", "the decoder stopped with -6"),
        ("import time; time.sleep(60)", "took more than 1 seconds"),
        ('print(\'{"length": 1e999, "times": [0], "shapes": [[1, 1]]}\')', "makes no sense"),
        ('print(\'{"length": 5, "times": [0], "shapes": [[9, 9]]}\')', "makes no sense"),
        ("print('[]')", "makes no sense"),
    ):
        (tmp_path / "clip_decoder.py").write_text(body, encoding="utf-8")
        monkeypatch.setattr(clip_frames, "__file__", str(script))
        monkeypatch.setattr(clip_frames, "TIME_LIMIT", 1)
        with pytest.raises(IngestError, match=said):
            clip_frames.frames(path)


def test_no_message_of_the_decoder_waits_for_the_interpreter(tmp_path: Path) -> None:
    """A message told to Python takes its lock, which a decoder that is closed holds: the two would hang."""
    program = """
import json, sys
import av.logging, clip_decoder
clip_decoder.main(json.loads(sys.argv[1]))
with av.logging.Capture() as told:
    av.logging.log(av.logging.PANIC, "decoder", "message")
print(len(told))
"""
    request = {"path": str(make(tmp_path / "a.mp4", [(RED, 1)])), "part": None, "most": 3, "side": 64}
    done = subprocess.run(
        [sys.executable, "-c", program, json.dumps(request)],
        cwd=Path(clip_decoder.__file__).parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "0\n"
    assert "message" in done.stderr


def test_times_that_go_back_end_the_reading(tmp_path: Path) -> None:
    path = make(tmp_path / "a.mp4", [(RED, 3)])
    data = path.read_bytes()
    at = data.index(b"stts") + 8
    (entries,) = struct.unpack_from(">I", data, at)
    back = b"".join(struct.pack(">II", 1, 0x80000000) for _ in range(entries))
    path.write_bytes(data[: at + 4] + back + data[at + 4 + len(back) :])
    try:
        assert clip_frames.frames(path).times == tuple(sorted(clip_frames.frames(path).times))
    except IngestError as error:
        assert "cannot be read as a video" in str(error)


FLIPS = st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tags = {"com.apple.quicktime.creationdate": "2024-05-01T13:00:00+0300", "location": "+48.8577+002.2950/"}
    return make(tmp_path_factory.mktemp("good") / "a.mov", [(RED, 1)], metadata=tags)


def flipped(good: Path, flips: list[tuple[int, int]]) -> Path:
    data = bytearray(good.read_bytes())
    for place, value in flips:
        data[place % len(data)] = value
    path = good.with_name("flipped.mov")
    path.write_bytes(data)
    return path


@settings(max_examples=60, deadline=None, derandomize=True)
@given(flips=FLIPS)
def test_flipped_bytes_of_a_header_never_raise_anything_else(
    good: Path, flips: list[tuple[int, int]]
) -> None:
    try:
        clip_header.read(flipped(good, flips))
    except IngestError as error:
        assert "\n" not in str(error)


@settings(max_examples=4, deadline=None, derandomize=True)
@given(flips=FLIPS)
def test_flipped_bytes_never_take_the_program_down(good: Path, flips: list[tuple[int, int]]) -> None:
    try:
        assert clip_frames.frames(flipped(good, flips)).times
    except IngestError as error:
        assert "\n" not in str(error)


def test_the_decoder_imports_nothing_of_the_project() -> None:
    source = Path(clip_decoder.__file__).read_text(encoding="utf-8")
    assert "import gamer" not in source
    assert "from ." not in source
    assert "from gamer" not in source
