"""Fixtures of the server's tests: the application with the sample album, called without a socket or served
on a port, a small album of real files, one for memories, and a browser.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gamer.index import Album, Memory, Photo

pytest.importorskip("fastapi", reason="needs the serve extra")

from starlette.testclient import TestClient

from gamer.bench.chrome import Page, browser, find
from gamer.bench.serving import serving
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.server.guard import Guard
from gamer.runtime.serve.server.settings import Rate, ServerSettings
from tests.albums import album_of, built, note

HERE = "http://127.0.0.1:8765"
NO_LIMIT = Rate(burst=1e9, per_second=1e9)


def calling(of: Engine | LiveAlbum, settings: ServerSettings | None = None, **more: Any) -> TestClient:
    """A client of the application of an album, by default without a token and without a limit of requests."""
    app = create_app(of, settings or ServerSettings(rate=NO_LIMIT), **more)
    return TestClient(app, base_url=HERE, raise_server_exceptions=False)


@pytest.fixture(scope="session")
def engine(bundle: Path, sample_album: Path) -> Iterator[Engine]:
    with Engine.open(bundle, sample_album) as opened:
        yield opened


@pytest.fixture(scope="session")
def app(engine: Engine) -> Guard:
    """Made once: it takes longer than most requests, and keeps nothing that the album does not."""
    return create_app(engine, ServerSettings(rate=NO_LIMIT))


@pytest.fixture
def client(app: Guard) -> TestClient:
    """Calls the application directly, without a socket, and without the cookies of another test."""
    return TestClient(app, base_url=HERE, raise_server_exceptions=False)


@pytest.fixture(scope="session")
def served(engine: Engine) -> Iterator[str]:
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        yield address


@pytest.fixture(scope="module")
def one_photo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("built"), [{"id": "a.jpg", "memories": note("the harbour")}])


@pytest.fixture
def own_album(one_photo: Path, tmp_path: Path) -> Path:
    """An album of one photo, without memories of its owner."""
    shutil.copy(one_photo, tmp_path / "a.gamer")
    return tmp_path / "a.gamer"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Page]:
    binary = find()
    if binary is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with browser(binary) as page:
        yield page


@pytest.fixture
def page(chromium: Page) -> Iterator[Page]:
    """The browser without a page: that of the test before still asks its server, which has ended."""
    chromium.open("about:blank", "location.href === 'about:blank'")
    chromium.events.clear()
    chromium.call("Emulation.clearDeviceMetricsOverride")
    chromium.look(1440, 900)
    yield chromium


@pytest.fixture
def shots(tmp_path: Path) -> Path:
    folder = Path(os.environ.get("GAMER_SHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a picture that EXIF rotates, a plain picture, a truncated one, one that `album` deletes,
    a text file with a picture's name, and a folder with a picture's name.
    """
    from PIL import Image

    wide = Image.new("RGB", (400, 200), (200, 30, 30))
    wide.paste((30, 30, 200), (200, 0, 400, 200))  # left half red, right half blue
    exif = Image.Exif()
    exif[0x0112] = 6  # shown a quarter turn clockwise, so that the top half is red
    wide.save(tmp_path / "turned.jpg", exif=exif, quality=95)
    wide.save(tmp_path / "plain.png")
    (tmp_path / "secret.jpg").write_text("root:x:0:0")
    (tmp_path / "cut.jpg").write_bytes((tmp_path / "turned.jpg").read_bytes()[:300])
    (tmp_path / "folder.jpg").mkdir()
    wide.save(tmp_path / "moved.jpg")
    return tmp_path


NAMES = ("turned.jpg", "plain.png", "secret.jpg", "cut.jpg", "folder.jpg", "moved.jpg")


@pytest.fixture
def album(files: Path) -> Iterator[Album]:
    """An album with a photo for each of NAMES, then one without a file, then one whose path is too long for
    any file system. "moved.jpg" is deleted after indexing. No model is used.
    """
    paths = [str(files / name) for name in NAMES]
    photos = [
        Photo(path.rsplit("/", 1)[-1], path, 1_000 * row, lat=48.2, lon=16.4)
        for row, path in enumerate(paths)
    ]
    photos += [
        Photo("told", None, memories=(Memory("note", "nobody took a picture"),)),
        Photo("../../etc/passwd", "/" + "x" * 5000),
    ]
    path = album_of(files / "small.gamer", photos)
    (files / "moved.jpg").unlink()
    shutil.copy(files / "plain.png", files / "elsewhere.jpg")
    with Album.open(path) as opened:
        yield opened
