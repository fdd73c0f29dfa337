"""Clips in the server and on its page: posters, files by ranges, the second meant, and Live Photos."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

import numpy as np
from PIL import Image
from starlette.testclient import TestClient

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album, AlbumWriter
from gamer.runtime.indexing.build import build
from gamer.runtime.models.models import ImageCode, Models
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.pictures import Pictures, media_type
from gamer.runtime.serve.server.settings import ServerSettings
from tests.clips import BLUE, GREEN, RED, make, scene
from tests.fakes import fake_models
from tests.runtime.serve.conftest import HERE, NO_LIMIT, calling


def colours() -> Models:
    """Fake models whose image vector is the mean colour itself."""
    models = fake_models()

    def encode_image(pixels: Any) -> ImageCode:
        vector = np.append(pixels.mean((0, 1)), np.zeros(5)).astype(np.float32)
        return ImageCode(vector / np.linalg.norm(vector), vector[None], ())

    vars(models)["encode_image"] = encode_image
    return models


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a clip and a Live Photo, and its album."""
    folder = tmp_path_factory.mktemp("clips") / "photos"
    folder.mkdir()
    make(folder / "beach.webm", [(RED, 2), (GREEN, 2), (BLUE, 2)])
    Image.fromarray(scene(GREEN)).save(folder / "IMG_1.jpg")
    make(folder / "IMG_1.MOV", [(GREEN, 2)])
    (folder / "fake.mp4").write_text("root:x:0:0", encoding="utf-8")
    return build(folder, colours(), folder.parent / "a.gamer").path


@pytest.fixture
def client(place: Path) -> Iterator[TestClient]:
    with Engine.over(colours(), place) as engine:
        yield calling(engine)


def row(place: Path, name: str) -> int:
    with Album.open(place) as album:
        return album.row_of(name)


def test_a_poster_is_made_on_demand_and_cached(place: Path) -> None:
    with Album.open(place) as album:
        pictures = Pictures(album)
        first = pictures.thumbnail(album.row_of("beach.webm"), 320)
        image = Image.open(io.BytesIO(first.data)).convert("RGB")
        red, green, blue = image.getpixel((48, 50))  # type: ignore[misc]
        assert image.size == (96, 64)
        assert green > 150 > max(red, blue)
        assert pictures.thumbnail(album.row_of("beach.webm"), 320) is first


def test_a_clip_is_sent_by_ranges_with_its_type(client: TestClient, place: Path) -> None:
    at = f"/api/v1/photos/{row(place, 'beach.webm')}"
    whole = client.get(f"{at}/image")
    assert whole.headers["content-type"] == "video/webm"
    assert whole.headers["accept-ranges"] == "bytes"
    assert whole.headers["content-disposition"].startswith("inline")
    part = client.get(f"{at}/image", headers={"range": "bytes=100-199"})
    assert part.status_code == 206
    assert part.content == whole.content[100:200]
    assert part.headers["content-range"] == f"bytes 100-199/{len(whole.content)}"
    assert client.get(f"{at}/image", headers={"range": "bytes=99999999-"}).status_code == 416
    assert "media-src 'self'" in whole.headers["content-security-policy"]
    view = client.get(at).json()
    assert view["clip"] == {"start": 0, "end": view["clip"]["length"], "length": view["clip"]["length"]}
    assert view["clip"]["length"] == pytest.approx(6, abs=0.3)
    assert view["live"] is False


def test_a_hit_says_the_second(client: TestClient, place: Path) -> None:
    found = client.post("/api/v1/search", json={"query": "the beach"}).json()["answer"]["hits"]
    clips = {hit["id"]: hit["clip"] for hit in found}
    assert clips["IMG_1.jpg"] is None
    assert 0 <= clips["beach.webm"]["second"] <= clips["beach.webm"]["end"]
    similar = client.get("/api/v1/similar", params={"photo": "IMG_1.jpg"}).json()["photos"]
    assert similar[0]["clip"]["second"] == pytest.approx(3, abs=1)  # green is in the middle


def test_the_motion_of_a_live_photo_is_sent(client: TestClient, place: Path) -> None:
    at = f"/api/v1/photos/{row(place, 'IMG_1.jpg')}"
    assert client.get(at).json()["live"] is True
    assert client.get(at).json()["clip"] is None
    assert client.get(f"{at}/motion").headers["content-type"] == "video/quicktime"
    assert client.get(f"/api/v1/photos/{row(place, 'beach.webm')}/motion").status_code == 404


def test_a_file_that_only_has_a_clips_name_is_not_sent(place: Path, tmp_path: Path) -> None:
    shutil.copy(place, tmp_path / "a.gamer")
    with AlbumWriter.extend(tmp_path / "a.gamer") as writer:
        writer.move("beach.webm", str(place.parent / "photos" / "fake.mp4"))
    engine = Engine.over(colours(), tmp_path / "a.gamer")
    caller = TestClient(create_app(engine, ServerSettings(rate=NO_LIMIT)), base_url=HERE)
    number = row(tmp_path / "a.gamer", "beach.webm")
    for route in ("image", "thumbnail"):
        assert caller.get(f"/api/v1/photos/{number}/{route}").status_code == 404
    engine.close()


def test_types_are_told_by_the_first_bytes() -> None:
    def brand(name: bytes) -> str | None:
        return media_type(b"\0\0\0\x18ftyp" + name + b"\0" * 8)

    assert [brand(name) for name in (b"isom", b"mp42", b"qt  ", b"heic", b"avif", b"M4A ", b"crx ")] == [
        "video/mp4",
        "video/mp4",
        "video/quicktime",
        "image/heic",
        None,
        None,
        None,
    ]
    assert media_type(b"\x1aE\xdf\xa3" + b"\0" * 20 + b"matroska") == "video/x-matroska"


PLAYER = "document.querySelector('#viewer-picture video')"


@pytest.mark.slow
def test_the_page_plays_a_clip_from_the_second_that_is_meant(page: Page, place: Path, shots: Path) -> None:
    engine = Engine.over(colours(), place)
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(f"{address}/?like=IMG_1.jpg", "document.querySelector('.card .tag')")
        assert page.ask("document.querySelector('.card .length').textContent").startswith("▶ 0:0")
        said = page.ask("document.querySelector('.card .tag').textContent")
        page.ask("document.querySelector('.card').click()")
        page.wait(f"{PLAYER}?.readyState >= 2")
        assert page.ask(f"{PLAYER}.videoWidth") == 96
        second = page.ask(f"{PLAYER}.currentTime")
        assert 2 <= second < 4
        assert said == f"at 0:0{int(second)}"
        page.wait("document.querySelector('#viewer-facts dl')?.textContent.includes('Clip')")
        page.picture(shots / "clip.png")
        page.ask(f"{PLAYER}.muted = true, {PLAYER}.play()")
        page.wait(f"{PLAYER}.currentTime > {second}")
        # Nothing lies over the player's bar, at the foot of it.
        bar = "[(at.left + at.right) / 2, at.bottom - 30]"
        x, y = page.ask(f"((at) => {bar})({PLAYER}.getBoundingClientRect())")
        assert page.ask(f"document.elementFromPoint({x}, {y}) === {PLAYER}")
        assert page.complaints() == []
    engine.close()
