"""The album without a query in a headless Chromium: a long timeline, filters, stars, selections and zoom."""

from __future__ import annotations

import json
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from PIL import Image

from gamer.bench.chrome import CTRL, SHIFT, Page
from gamer.bench.serving import serving
from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, Memory, Photo
from gamer.index.records import FAVOURITE, Level
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve import live as living
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.live import LiveAlbum
from gamer.runtime.serve.server.settings import ServerSettings
from tests.albums import album_of
from tests.fakes import DIM, FakeText, fake_models
from tests.runtime.serve.conftest import NO_LIMIT

pytestmark = pytest.mark.slow
DAY, FIRST, PHOTOS = 86_400_000, 1_672_531_200_000, 900  # from 2023 on, a photo a day
CELLS = "[...document.querySelectorAll('#cells .cell')]"
SEEN = "(box) => box.top < innerHeight && box.bottom > 90"
IN_VIEW = f"{CELLS}.filter((cell) => ({SEEN})(cell.getBoundingClientRect()))"
BROWSED = f"{IN_VIEW}.length && {IN_VIEW}.every((cell) => cell.querySelector('img.there'))"
SEARCH = "new URLSearchParams(location.search)"


def cell(name: str) -> str:
    return f"{CELLS}.find((cell) => cell.dataset.photo === '{name}')"


def photo(folder: Path, number: int) -> Photo:
    noted = (Memory("note", "the harbour"),) if number % 100 == 50 else ()
    shown = (Memory("people", "Anna, Ben" if number == 30 else "Anna"),) if number % 300 == 30 else ()
    sharing: Level | None = "low" if number == 897 else None
    path, time = str(folder / f"{number % 7}.jpg"), FIRST + number * DAY
    camera = "Leica M6" if number % 450 == 7 else None
    memories = noted + shown
    return Photo(f"p{number}", path, time, "local", 48.2, 16.4, memories, sharing, camera=camera)


@pytest.fixture(scope="module")
def long_album(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    for colour in range(7):
        Image.new("RGB", (400, 300), (60 + 20 * colour, 120, 180 - 20 * colour)).save(
            folder / f"{colour}.jpg"
        )
    meta = AlbumMeta("made-up", "colours", DIM, 0.6)
    photos = [photo(folder, number) for number in range(PHOTOS)]
    return album_of(folder / "a.gamer", photos, names=FakeText().encode, meta=meta)


@pytest.fixture
def path(long_album: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(living, "LOOK_EVERY", 0.0)
    copy = long_album.with_name("copy.gamer")
    for beside in ("", "-wal", "-shm"):
        copy.with_name(copy.name + beside).unlink(missing_ok=True)
    return Path(shutil.copy(long_album, copy))


@pytest.fixture
def address(path: Path) -> Iterator[str]:
    live = LiveAlbum.of(Engine(fake_models(), Album.open(path)))
    with serving(create_app(live, ServerSettings(rate=NO_LIMIT))) as served:
        yield served
    live.close()


def test_a_long_album_is_one_page_of_which_only_what_is_in_view_is_there(
    page: Page, address: str, shots: Path
) -> None:
    page.open(address + "/", BROWSED)
    page.picture(shots / "browse.png")
    assert page.ask("document.querySelector('#cells .cell').ariaLabel") == "18 June 2025"
    assert page.ask("document.querySelector('#cells h2').textContent") == "June 2025"
    assert page.ask(f"{CELLS}.length") < 120
    page.ask("scrollTo(0, document.documentElement.scrollHeight)")
    page.wait(f"{BROWSED} && {cell('p0')}")
    assert page.ask(f"{CELLS}.length") < 120
    march = page.ask(
        "[...document.querySelector('#jump').options].find((o) => o.text === 'March 2024').value"
    )
    page.ask(f"document.querySelector('#jump').value = {march}")
    page.ask("document.querySelector('#jump').dispatchEvent(new Event('change'))")
    heading = "[...document.querySelectorAll('#cells h2')].find((h) => h.textContent === 'March 2024')"
    page.wait(f"{BROWSED} && {heading}.getBoundingClientRect().top < 200")
    assert page.complaints() == []


def test_arrows_go_through_months_and_the_focus_comes_back_from_the_photo(page: Page, address: str) -> None:
    page.open(address + "/", BROWSED)
    focused = "document.activeElement.dataset.photo"
    page.press("/")
    page.press("ArrowDown")
    page.wait(f"{focused} === 'p899'")
    page.press("End")
    page.wait(f"{focused} === 'p0' && {BROWSED}")
    page.press("Home")
    columns = int(page.ask("document.querySelector('#cells').ariaColCount"))
    for _ in range(-(-18 // columns)):  # the last row of June's eighteen photos is above May's first
        page.press("ArrowDown")
    page.wait(f"{focused} === 'p881'")
    page.press("Enter")
    page.wait("document.querySelector('#viewer[open] dl')")
    page.press("ArrowRight")
    page.wait("document.querySelector('#viewer-title').title === 'p880'")
    page.press("Escape")
    page.wait(f"!document.querySelector('#viewer').open && {focused} === 'p880'")
    roles = page.ask(
        "['row', 'rowheader', 'gridcell'].map((r) => document.querySelector(`#cells [role=${r}]`) !== null)"
    )
    assert roles == [True, True, True]


def test_a_person_is_chosen_from_the_names_with_their_counts_and_kept_by_a_query(
    page: Page, address: str
) -> None:
    field = "document.querySelector('#filter-person')"
    page.open(address + "/", f"{BROWSED} && !document.querySelector('#filter-people').hidden")
    assert page.ask(f"[...{field}.options].map((one) => one.text).join()") == "anybody,Anna (3),Ben (1)"
    page.ask(f"{field}.value = 'Anna'; {field}.dispatchEvent(new Event('change'))")
    page.wait("document.querySelector('#status').textContent === '3 photos'")
    page.press("/")
    page.type("harbour")
    page.press("Enter")
    page.wait("document.querySelectorAll('.card .rank').length === 3")
    assert page.ask(f"[{SEARCH}.get('q'), {SEARCH}.get('person')].join()") == "harbour,Anna"


def test_photos_of_one_camera_are_shown_by_choosing_it(page: Page, address: str) -> None:
    field = "document.querySelector('#filter-camera')"
    page.open(address + "/", f"{BROWSED} && !document.querySelector('#filter-cameras').hidden")
    assert page.ask(f"[...{field}.options].map((one) => one.text).join()") == "any,Leica M6 (2)"
    page.ask(f"{field}.value = 'Leica M6'; {field}.dispatchEvent(new Event('change'))")
    page.wait(f"document.querySelector('#status').textContent === '2 photos' && {cell('p457')}")
    page.ask(f"{cell('p457')}.click()")
    page.wait("document.querySelector('#viewer').innerText.includes('Leica M6')")
    assert page.ask(f"{SEARCH}.get('camera')") == "Leica M6"


def test_filters_are_in_the_address_combine_and_are_kept_by_a_query(
    page: Page, address: str, shots: Path
) -> None:
    page.open(address + "/?from=2024-01-01&source=note", f"{BROWSED} && document.querySelector('.chip')")
    assert page.ask("document.querySelector('#status').textContent") == "5 photos"
    page.ask("document.querySelector('#filter details').open = true")
    page.ask("document.querySelector('#filter-to').value = '2024-12-31'")
    page.ask("document.querySelector('#filter-to').dispatchEvent(new Event('change'))")
    page.wait(f"document.querySelector('#status').textContent === '3 photos' && {BROWSED}")
    page.picture(shots / "browse-filter.png")
    assert page.ask(f"{SEARCH}.get('to')") == "2024-12-31"
    page.press("/")
    page.type("harbour")
    page.press("Enter")
    page.wait("document.querySelectorAll('.card .rank').length === 3")
    assert page.ask(f"[{SEARCH}.get('q'), {SEARCH}.get('source')].join()") == "harbour,note"
    page.ask("document.querySelector('#filter-said .cue').click()")
    page.wait(f"!{SEARCH}.has('from') && document.querySelectorAll('.card .rank').length === 5")
    page.ask("history.back(); history.back()")
    page.wait("document.querySelector('#status').textContent === '3 photos'")
    page.open(address + "/?place=Atlantis", "!document.querySelector('#empty').hidden")
    assert "Atlantis" in page.ask("document.querySelector('#empty').innerText")


def test_a_star_marks_the_photo_in_the_album_and_undo_takes_it_back(
    page: Page, address: str, path: Path
) -> None:
    def stored() -> bool:
        with Album.open(path) as album:
            return FAVOURITE in album.photo(899).memories

    page.open(address + "/", BROWSED)
    pressed = f"{cell('p899')}.querySelector('.star').ariaPressed"
    page.ask(f"{cell('p899')}.focus()")
    page.press("f")
    page.wait(f"{pressed} === 'true' && document.querySelector('#said.up button')")
    assert stored()
    assert page.ask("document.activeElement.ariaLabel").endswith("favourite")
    page.ask("document.querySelector('#filter-favourites').click()")
    page.wait(f"document.querySelector('#status').textContent === '1 photo' && {BROWSED}")
    page.ask("document.querySelector('#said button').click()")
    page.wait(f"{pressed} === 'false'")
    assert not stored()
    assert page.complaints() == []


def test_a_selection_is_made_by_clicks_and_keys_and_saved_without_what_must_stay(
    page: Page, address: str, shots: Path, tmp_path: Path
) -> None:
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    picked = "document.querySelector('#pick-count').textContent"
    page.open(address + "/", BROWSED)
    page.click(cell("p899"), CTRL)
    page.wait(f"{picked} === '1 selected'")
    page.click(cell("p896"), SHIFT)
    page.wait(f"{picked} === '4 selected'")
    page.press("ArrowRight", SHIFT)
    page.wait(f"{picked} === '5 selected'")
    page.press(" ")
    page.wait(f"{picked} === '4 selected'")
    page.picture(shots / "browse-selected.png")
    page.ask("document.querySelector('#pick-zip').click()")
    page.wait("document.querySelector('#take').open")
    assert "1 photo is labelled to stay" in page.ask("document.querySelector('#take-says').textContent")
    page.ask("document.querySelector('#take-acts .go').click()")
    saved = tmp_path / "photos.zip"
    page.wait("document.querySelector('#said').textContent.startsWith('Saving 3 photos')")
    deadline = time.monotonic() + 30
    while not saved.exists():
        assert time.monotonic() < deadline, "nothing was saved"
        time.sleep(0.05)
    with zipfile.ZipFile(saved) as archive:
        assert len(archive.namelist()) == 3
    page.ask(f"{cell('p896')}.focus()")
    page.press("a", CTRL)
    page.wait(f"{picked} === '{PHOTOS} selected'")
    page.press("Escape")
    page.wait("document.querySelector('#picked').hidden")


def test_a_photo_is_looked_at_closely_by_keys_and_by_the_wheel(page: Page, address: str) -> None:
    page.open(address + "/", BROWSED)
    page.click(cell("p899"))
    page.wait(
        "document.querySelector('#viewer[open] dl') && document.querySelector('#viewer-picture img').complete"
    )
    scale = "new DOMMatrix(getComputedStyle(document.querySelector('#viewer-picture img')).transform).a"
    page.press("+")
    page.wait(f"{scale} === 1.5")
    page.wait("document.querySelector('#viewer-picture img').src.endsWith('/image')")  # the file itself
    wheel = {"x": 400, "y": 400, "deltaX": 0, "deltaY": -300}
    page.call("Input.dispatchMouseEvent", type="mouseWheel", **wheel)
    page.wait(f"{scale} > 2")
    page.press("0")
    page.wait(f"{scale} === 1")
    page.press("ArrowRight")
    page.wait("document.querySelector('#viewer-title').title === 'p898'")
    page.press("Escape")
    page.wait("!document.querySelector('#viewer').open")


def test_the_page_shows_what_another_program_has_added(page: Page, address: str, path: Path) -> None:
    page.open(address + "/", BROWSED)
    with AlbumWriter.extend(path) as writer:
        writer.add([Encoded(photo(path.parent, PHOTOS))])
    page.ask("document.dispatchEvent(new Event('visibilitychange'))")
    page.wait(f"{BROWSED} && {cell(f'p{PHOTOS}')}")


def test_a_long_album_fits_a_small_phone(page: Page, address: str, shots: Path) -> None:
    page.look(320, 640)
    page.open(address + "/?favourites=only&from=2024-01-01", "!document.querySelector('#empty').hidden")
    assert page.ask("document.documentElement.scrollWidth") == 320
    page.open(address + "/", BROWSED)
    page.ask(f"{CELLS}[0].querySelector('.tick').click()")
    page.wait("!document.querySelector('#picked').hidden")
    page.picture(shots / "browse-320.png")
    assert page.ask("document.documentElement.scrollWidth") == 320
    box = json.loads(page.ask("JSON.stringify(document.querySelector('#picked').getBoundingClientRect())"))
    assert box["left"] >= 0
    assert box["right"] <= 320
