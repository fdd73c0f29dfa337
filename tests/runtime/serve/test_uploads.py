"""Uploads: what is taken, under which name it is saved, how it is indexed, and the page that sends it."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from click.testing import CliRunner
from PIL import Image
from starlette.testclient import TestClient

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album
from gamer.index.album.writing.storage import WriterLock
from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve import live as living
from gamer.runtime.serve import uploads as receiving
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.cli import serve
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.server.guard import UPLOADS
from gamer.runtime.serve.server.settings import MAX_BODY, ServerSettings
from gamer.runtime.serve.uploads import UploadRefused, Uploads, safe_name
from tests.fakes import fake_models
from tests.runtime.serve.conftest import HERE, NO_LIMIT, calling

TOKEN = "sixteen letters!".replace(" ", "-")

DROP = """(() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([new Uint8Array(BYTES)], "dropped.jpg"));
  document.body.dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
})()"""


def picture(colour: int = 90, kind: str = "JPEG", size: int = 40) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (size, size), (colour, 90, 60)).save(out, kind)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def live(own_album: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveAlbum]:
    monkeypatch.setattr(living, "LOOK_EVERY", 0.0)
    opened = LiveAlbum.of(Engine(fake_models(), Album.open(own_album)))
    yield opened
    opened.close()


Make = Callable[..., Uploads]


@pytest.fixture
def make(live: LiveAlbum, folder: Path) -> Iterator[Make]:
    made: list[Uploads] = []

    def new(**limits: Any) -> Uploads:
        made.append(Uploads(live, folder, **{"quiet": 0.0, "spare": 0, **limits}))
        return made[-1]

    yield new
    for uploads in made:
        uploads.stop()


def client(live: LiveAlbum, uploads: Uploads | None, token: str | None = None) -> TestClient:
    return calling(live, ServerSettings(token=token, rate=NO_LIMIT), uploads=uploads)


def send(browser: TestClient, name: str, data: bytes, **headers: str) -> Any:
    return browser.post(UPLOADS, params={"name": name}, content=data, headers=headers)


def ended(uploads: Uploads) -> Any:
    until = time.monotonic() + 20
    while uploads.state.state in ("waiting", "indexing") and time.monotonic() < until:
        time.sleep(0.01)
    return uploads.state


@pytest.mark.parametrize(
    ("given", "saved"),
    [
        ("a.jpg", "a.jpg"),
        ("../../etc/a.JPG", "a.JPG"),
        ("C:\\photos\\a.png", "a.png"),
        (".hidden.jpg", "hidden.jpg"),
        ("\u00ad.jpg", None),
        ("...jpg", None),
        ("a\x00b\n\u202ec.jpg", "abc.jpg"),
        ("what? <no>.jpg", "what_ _no_.jpg"),
        ("/.jpg", None),
        ("a.jpg/", None),
        ("a.jpg.exe", None),
        ("a.svg", None),
        ("jpg", None),
        ("..", None),
    ],
)
def test_a_name_becomes_one_that_is_safe_or_is_refused(given: str, saved: str | None) -> None:
    if saved is not None:
        assert safe_name(given) == saved
        return
    with pytest.raises(UploadRefused) as refused:
        safe_name(given)
    assert refused.value.status_code == 415


def test_a_long_name_is_cut_between_characters() -> None:
    assert safe_name("é" * 300 + ".jpg") == "é" * 60 + ".jpg"


def test_files_are_saved_whole_never_over_another_and_once(live: LiveAlbum, make: Make, folder: Path) -> None:
    browser = client(live, make())
    (folder / "a.jpg").write_bytes(b"mine")
    one, other = picture(), picture(200)
    assert send(browser, "a.jpg", one).json() == {"name": "a-2.jpg", "new": True}
    assert send(browser, "a.jpg", other).json() == {"name": "a-3.jpg", "new": True}
    assert send(browser, "a.jpg", one).json() == {"name": "a-2.jpg", "new": False}
    assert (folder / "a.jpg").read_bytes() == b"mine"
    assert (folder / "a-2.jpg").read_bytes() == one
    assert sorted(path.name for path in folder.iterdir()) == ["a-2.jpg", "a-3.jpg", "a.jpg"]


def test_what_is_no_picture_too_large_or_without_room_leaves_nothing(
    live: LiveAlbum, make: Make, folder: Path
) -> None:
    browser = client(live, make(largest=2000))
    assert send(browser, "a.jpg", b"<svg onload=alert(1)>").status_code == 415
    assert send(browser, "a.txt", picture()).status_code == 415
    assert send(browser, "a.jpg", b"x" * 2001).status_code == 413
    # without Content-Length, so that only counting finds out
    assert browser.post(UPLOADS + "?name=a.jpg", content=iter([b"x" * 1500] * 2)).status_code == 413
    assert browser.post(UPLOADS, content=picture()).status_code == 422
    full = client(live, make(spare=1 << 62))
    assert send(full, "a.jpg", picture()).status_code == 507
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_fills_while_a_file_comes_is_said(
    live: LiveAlbum, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, original = client(live, make()), Path.open

    def full(path: Path, *mode: Any, **more: Any) -> Any:
        return (
            original(Path("/dev/full"), "wb")
            if path.name.startswith(".upload-")
            else original(path, *mode, **more)
        )

    monkeypatch.setattr(Path, "open", full)
    answer = send(browser, "a.jpg", picture())
    assert answer.status_code == 507
    assert "No space left" in answer.json()["detail"]


def test_a_picture_larger_than_other_bodies_is_taken(live: LiveAlbum, make: Make, folder: Path) -> None:
    large = picture() + b"\0" * MAX_BODY
    assert send(client(live, make()), "a.jpg", large).status_code == 200
    assert (folder / "a.jpg").read_bytes() == large


def test_only_the_page_itself_may_send_and_only_with_the_token(
    live: LiveAlbum, make: Make, folder: Path
) -> None:
    browser = client(live, make(), TOKEN)
    assert send(browser, "a.jpg", picture()).status_code == 401
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert send(browser, "a.jpg", picture(), origin="http://evil.example", **bearer).status_code == 403
    assert send(browser, "a.jpg", picture(), **{"sec-fetch-site": "cross-site", **bearer}).status_code == 403
    assert list(folder.iterdir()) == []
    assert send(browser, "a.jpg", picture(), origin=HERE, **bearer).status_code == 200


def test_without_the_option_nothing_is_taken(live: LiveAlbum) -> None:
    browser = client(live, None)
    answer = send(browser, "a.jpg", picture())
    assert answer.status_code == 404
    assert "--upload" in answer.json()["detail"]
    assert send(browser, "a.jpg", b"x" * (MAX_BODY + 1)).status_code == 413
    assert browser.get(UPLOADS).json()["on"] is False


def test_what_was_sent_is_indexed_into_the_album_which_the_server_then_shows(
    live: LiveAlbum, make: Make, folder: Path
) -> None:
    uploads = make()
    browser = client(live, uploads)
    for name, data in (
        ("new.jpg", picture(10)),
        ("b.png", picture(200, "PNG")),
        ("cut.jpg", picture(size=900)[:900]),
    ):
        assert send(browser, name, data).status_code == 200
    uploads.start()
    done = ended(uploads)
    assert (done.state, done.added, done.skipped, done.error) == ("idle", 2, 1, None)
    said = browser.get(UPLOADS).json()
    assert said["skips"][0]["name"] == "cut.jpg"
    assert str(folder) not in json.dumps(said)
    assert {photo["id"] for photo in browser.get("/api/v1/photos").json()["photos"]} == {"new.jpg", "b.png"}


def test_a_busy_album_is_tried_again_and_a_failure_is_said_while_the_files_stay(
    live: LiveAlbum, make: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiving, "BUSY", 0.01)
    uploads = make()
    lock = WriterLock(live.path)
    send(client(live, uploads), "a.jpg", picture())
    uploads.start()
    time.sleep(0.1)
    assert uploads.state.state in ("waiting", "indexing")
    lock.release()
    assert ended(uploads).added == 1

    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeFailure(f"{live.path}: no room in {folder}")

    monkeypatch.setattr("gamer.runtime.indexing.build.add", fails)
    send(client(live, uploads), "b.jpg", picture(200))
    failed = ended(uploads)
    assert (failed.state, failed.error) == ("failed", "a.gamer: no room in in")
    assert (folder / "b.jpg").is_file()


def test_a_server_that_stops_ends_the_run_between_two_photos(
    live: LiveAlbum, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads, told = make(), list[int]()

    def endless(*_: Any, progress: Callable[[int, int, str], None], **__: Any) -> None:
        while True:
            told.append(1)
            progress(len(told), 10, "a.jpg")
            time.sleep(0.001)

    monkeypatch.setattr("gamer.runtime.indexing.build.add", endless)
    uploads.saved()
    uploads.start()
    while not told:
        time.sleep(0.001)
    uploads.stop()
    before = len(told)
    time.sleep(0.02)
    assert len(told) == before


def test_a_folder_that_is_none_or_has_no_album_is_refused(live: LiveAlbum, tmp_path: Path) -> None:
    with pytest.raises(RuntimeFailure, match="create it first"):
        Uploads(live, tmp_path / "nowhere")
    alone = CliRunner().invoke(serve, ["--upload", str(tmp_path)])
    assert alone.exit_code
    assert "no album" in alone.output


@pytest.mark.slow
def test_the_page_sends_files_and_shows_them_once_they_are_indexed(
    page: Page, live: LiveAlbum, make: Make, tmp_path: Path
) -> None:
    uploads = make()
    uploads.start()
    (tmp_path / "new.jpg").write_bytes(picture(150))
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    with serving(create_app(live, ServerSettings(rate=NO_LIMIT), uploads=uploads)) as address:
        page.open(address + "/", "!document.querySelector('#upload-open').hidden")
        root = page.call("DOM.getDocument")["root"]["nodeId"]
        field = page.call("DOM.querySelector", nodeId=root, selector="#upload-files")["nodeId"]
        files = [str(tmp_path / name) for name in ("new.jpg", "bad.jpg")]
        page.call("DOM.setFileInputFiles", nodeId=field, files=files)
        page.wait("document.querySelector('#upload-said').textContent === '1 photo added'")
        assert page.ask("document.querySelector('#upload-skips').textContent").startswith("bad.jpg: ")
        page.wait("document.querySelectorAll('#cells .cell').length === 1")
        page.wait("document.querySelector('#cells .cell img.there')")
        page.ask(DROP.replace("BYTES", str(list(picture(220)))))
        page.wait("document.querySelectorAll('#cells .cell').length === 2")
