"""The page in a headless Chromium: what it shows, by keys alone, on a phone, in the dark, and when things go
wrong.

$GAMER_SHOTS names a folder for the pictures, for a person to look at: these tests check that the page works,
not how it looks.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album
from gamer.runtime.search.answer import Answer
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import STATIC, create_app
from gamer.runtime.serve.server.settings import ServerSettings
from tests.paths import ROOT
from tests.runtime.serve.conftest import NO_LIMIT

pytestmark = pytest.mark.slow
COFFEE = "/?q=coffee+I+photographed+last+spring&now=2026-11-21"
TOKEN = "correct-horse-battery"
ANSWERED = (
    "document.querySelector('.card:not(.waiting)') && "
    "document.querySelector('#results').getAttribute('aria-busy') === 'false'"
)
# With its pictures. A long answer on a small screen never is: pictures far below are not loaded.
SHOWN = f"{ANSWERED} && [...document.images].every((image) => image.complete)"
# The start page, with the pictures that are in view.
BROWSED = (
    "document.querySelector('#cells .cell[data-row]') && [...document.querySelectorAll('#cells .cell')]"
    ".every((cell) => cell.getBoundingClientRect().top > innerHeight || cell.querySelector('img.there'))"
)
# The outline of the land as drawn: the world and its copies to both sides are a path each.
LAND = "[...document.querySelectorAll('#map .land')].map((path) => path.getAttribute('d')).join()"
FOLDER = ROOT / "runtime" / "serve" / "static"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1440, 900), ("phone", 390, 844)])
def test_an_answer_is_shown_with_its_map_timeline_graph_and_layers(
    page: Page, served: str, shots: Path, name: str, width: int, height: int, dark: bool
) -> None:
    page.look(width, height, dark)
    page.open(served + COFFEE, SHOWN)
    page.picture(shots / f"{name}-{'dark' if dark else 'light'}.png", full_page=name == "phone")
    assert page.ask("document.querySelector('.card strong').title") == "coffee"
    assert page.ask("document.querySelector('.card img').naturalWidth") > 100
    assert "last spring" in page.ask("document.querySelector('#understood').textContent")
    assert page.ask("document.querySelectorAll('#map .marker').length") > 0
    assert len(page.ask(LAND)) > 1_000
    assert page.ask("document.querySelectorAll('#timeline .cube').length") == 1
    assert page.ask("document.querySelectorAll('#timeline .bar-month').length") > 5
    assert page.ask("document.querySelectorAll('#graph .node.entity').length") > 0
    assert page.ask("document.querySelectorAll('#graph .edge').length") > 1
    assert page.ask("document.querySelectorAll('#layers tbody tr').length") >= 5
    assert page.ask("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    dark_ground = page.ask(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((value) => value < 60)"
    )
    assert dark_ground is dark
    assert page.complaints() == []


def test_the_page_can_be_used_with_keys_alone(page: Page, served: str) -> None:
    page.open(served + "/?now=2026-11-21", BROWSED)
    page.press("/")
    page.type("my cat")
    page.press("Enter")
    page.wait(SHOWN + " && document.querySelector('.card strong').title === 'chelsea'")
    assert "q=my+cat" in page.ask("location.search")
    assert page.ask("document.title").startswith("my cat")
    assert re.match(
        r"\d+ photos? of 19 in [\d.]+ ms", page.ask("document.querySelector('[role=status]').textContent")
    )
    page.press("ArrowDown")
    assert page.ask("document.activeElement.querySelector('strong').title") == "chelsea"
    assert page.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.press("ArrowRight")
    second = page.ask("document.activeElement.querySelector('strong').title")
    assert second != "chelsea"
    assert page.ask("document.querySelectorAll('#photos [tabindex=\"0\"]').length") == 1
    page.press("Enter")
    page.wait("document.querySelector('#viewer[open] dl')")
    assert page.ask("document.querySelector('#viewer-title').title").endswith(second)
    page.press("ArrowLeft")
    page.wait("document.querySelector('#viewer-title').title.endsWith('chelsea')")
    page.press("Escape")
    page.wait(
        "!document.querySelector('#viewer').open && "
        "document.activeElement.querySelector('strong').title === 'chelsea'"
    )
    page.press("ArrowUp")
    assert page.ask("document.activeElement.id") == "query"
    page.press("Escape")
    assert page.ask("document.querySelector('#query').value") == ""
    assert page.complaints() == []


def test_every_control_has_a_name(page: Page, served: str) -> None:
    page.open(served + COFFEE, SHOWN)
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    controls = [
        n
        for n in nodes
        if not n["ignored"]
        and n["role"]["value"]
        in ("button", "link", "searchbox", "combobox", "spinbutton", "textbox", "img", "image")
    ]
    assert len(controls) > 15
    # An image inside a button is part of the button's name.
    nameless = [
        n["role"]["value"]
        for n in controls
        if not n["name"]["value"] and n["role"]["value"] not in ("img", "image")
    ]
    assert nameless == []


def test_the_start_page_shows_the_album_and_examples_that_find_something(page: Page, served: str) -> None:
    page.open(served + "/", BROWSED + " && document.querySelector('.chip')")
    assert "19 photos" in page.ask("document.querySelector('#status').textContent")
    page.ask("document.querySelector('.chip').click()")
    page.wait(SHOWN + " && document.querySelector('.rank')")
    assert page.ask(
        "new URLSearchParams(location.search).get('q') === document.querySelector('.chip').textContent"
    )
    page.ask("history.back()")
    page.wait(BROWSED + " && !document.querySelector('.rank') && document.querySelector('#photos').hidden")


def test_a_time_that_fits_no_photo_is_reported_in_the_banner(page: Page, served: str) -> None:
    page.open(served + "/?q=coffee+in+1995", SHOWN)
    assert page.ask("document.querySelector('#banner').innerText")


def test_a_doubtful_answer_says_so_before_its_photos(
    page: Page, engine: Engine, monkeypatch: pytest.MonkeyPatch, shots: Path
) -> None:
    search = engine.search

    def unlikely(*args: Any, **options: Any) -> Answer:
        return replace(search(*args, **options), presence=0.08)

    monkeypatch.setattr(engine, "search", unlikely)
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(address + "/?q=my+wedding", SHOWN)
        page.picture(shots / "doubtful.png")
        banner = page.ask("document.querySelector('#banner').innerText")
        assert banner.startswith("Probably not in this album.")
        assert "8 %" in banner
        assert page.ask("document.querySelectorAll('.rank').length") > 0


def test_the_text_of_a_query_is_never_read_as_markup(page: Page, served: str) -> None:
    page.open(served + "/?q=%3Cimg+src%3Dx+onerror%3D%22document.title%3D1%22%3E+cat", SHOWN)
    assert "<img" in page.ask("document.querySelector('h1').textContent")
    assert page.ask("document.querySelectorAll('h1 *').length") == 0


def test_a_refused_query_and_a_silent_server_are_shown(page: Page, served: str) -> None:
    page.open(served + "/?q=cat&k=0", "!document.querySelector('#empty').hidden")
    assert "greater than or equal to 1" in page.ask("document.querySelector('#empty').innerText")
    page.open(served + "/", BROWSED)
    page.call(
        "Network.emulateNetworkConditions",
        offline=True,
        latency=0,
        downloadThroughput=-1,
        uploadThroughput=-1,
    )
    try:
        page.press("/")
        page.type("cat")
        page.press("Enter")
        page.wait("!document.querySelector('#empty').hidden")
        assert "Is gamer serve still running?" in page.ask("document.querySelector('#empty').innerText")
    finally:
        page.call(
            "Network.emulateNetworkConditions",
            offline=False,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )
    page.ask("document.querySelector('#empty button').click()")
    page.wait(SHOWN + " && document.querySelector('.rank')")


def test_a_photo_that_moved_away_leaves_a_placeholder_with_the_reason(
    page: Page, engine: Engine, album: Album, shots: Path
) -> None:
    with serving(create_app(Engine(engine.models, album), ServerSettings(rate=NO_LIMIT))) as address:
        page.open(
            address + "/",
            "document.querySelectorAll('.gone').length >= 4 && !document.body.innerText.includes('Looking…')",
        )
        page.picture(shots / "moved.png")
        assert "moved.jpg is no longer where the album found it" in page.ask("document.body.innerText")


def test_the_token_is_asked_for_once_and_kept_from_scripts(page: Page, engine: Engine, shots: Path) -> None:
    with serving(create_app(engine, ServerSettings("127.0.0.1", TOKEN, NO_LIMIT))) as address:
        page.open(address + COFFEE, "document.querySelector('#login').open")
        page.type("wrong-wrong-wrong-wrong")
        page.press("Enter")
        page.wait("document.querySelector('#login-error').textContent === 'That is not its token.'")
        page.picture(shots / "token.png")
        page.ask("document.querySelector('#token').value = ''")
        page.type(TOKEN)
        page.press("Enter")
        page.wait(SHOWN + " && document.querySelector('.card strong').title === 'coffee'")
        assert page.ask("document.cookie") == ""


def test_the_theme_button_is_remembered(page: Page, served: str) -> None:
    page.open(served + "/", BROWSED)
    page.ask("document.querySelector('#theme').click()")
    page.open(served + "/?again", BROWSED + " && document.documentElement.dataset.theme === 'dark'")
    page.ask("localStorage.clear()")


def test_the_page_fetches_from_its_own_server_alone(page: Page, served: str) -> None:
    page.open(served + COFFEE, SHOWN)
    asked = {
        event["params"]["request"]["url"]
        for event in page.events
        if event["method"] == "Network.requestWillBeSent"
    }
    assert len(asked) > 15
    assert all(url.startswith((served + "/", "data:")) for url in asked)


def test_the_files_of_the_page_are_those_of_the_table_and_name_no_other_host() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert {path.name for path in files} == {name for name in STATIC if "/" not in name}
    for path in files:
        text = path.read_text(encoding="utf-8")
        hosts = set(re.findall(r"https?://([\w.-]+)", text)) - {
            "www.w3.org"
        }  # the SVG namespace is a name, not an address
        assert not hosts, f"{path.name}: {hosts}"
        if path.suffix == ".html":
            assert "<style" not in text
            assert not re.search(r"<script>|\son\w+=|style=", text)
        if path.suffix == ".js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)


def test_the_map_library_is_the_release_unchanged() -> None:
    """SHA-256 of `dist/leaflet.js` and `dist/leaflet.css` in the npm package leaflet 1.9.4."""
    released = {
        "vendor/leaflet.js": "db49d009c841f5ca34a888c96511ae936fd9f5533e90d8b2c4d57596f4e5641a",
        "vendor/leaflet.css": "a7837102824184820dfa198d1ebcd109ff6d0ff9a2672a074b9a1b4d147d04c6",
    }
    assert set(released) == {name for name in STATIC if "/" in name}
    assert {name: sha256((FOLDER / name).read_bytes()).hexdigest() for name in released} == released


def test_the_map_is_moved_by_its_buttons_and_by_keys(page: Page, served: str, shots: Path) -> None:
    page.open(served + COFFEE, SHOWN)
    fitted = page.ask(LAND)
    page.ask("document.querySelector('[data-map=world]').click()")
    world = page.ask(LAND)
    assert world != fitted
    page.picture(shots / "world.png")
    page.ask("document.querySelector('[data-map=fit]').click()")
    page.wait(f"{LAND} !== {json.dumps(world)}")
    at = "document.querySelector('#map .leaflet-map-pane').style.transform"
    before = page.ask(at)
    page.ask("document.querySelector('#map').focus()")
    page.press("ArrowLeft")
    page.wait(f"{at} !== {json.dumps(before)}")
    assert page.complaints() == []


@pytest.mark.parametrize(
    "address",
    [
        "/",
        COFFEE,
        "/?q=coffee+in+1995",
        "/?q=cat&k=0",
        "/?q=" + "garden" * 30,
        "/?q=my+cat&how=ask&now=2026-11-21",
    ],
)
def test_no_page_is_wider_than_a_small_phone(page: Page, served: str, address: str) -> None:
    page.look(320, 640)
    page.open(served + address, f"({ANSWERED}) || ({BROWSED}) || !document.querySelector('#empty').hidden")
    assert page.ask("document.documentElement.scrollWidth") == 320
    if page.ask("Boolean(document.querySelector('.card'))"):
        page.ask("document.querySelector('.card').click()")
        page.wait("document.querySelector('#viewer[open] dl')")
        assert page.ask("document.querySelector('#viewer').scrollWidth") <= 320


def test_back_closes_the_photo_and_keeps_the_answer(page: Page, served: str) -> None:
    page.look(320, 640)
    page.open(served + COFFEE, SHOWN)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    for leave in ("history.back()", "document.querySelector('#close').click()"):
        page.ask("document.querySelectorAll('.card')[1].click()")
        page.wait("document.querySelector('#viewer[open] dl') && history.state?.photo")
        page.ask(leave)
        page.wait("!document.querySelector('#viewer[open]') && !history.state?.photo")
        assert "coffee" in page.ask("location.search")
        assert page.ask("document.querySelector('#results').getAttribute('aria-busy')") == "false"
        # The focus comes back with the dialog's "close" event, some time after the dialog is closed.
        page.wait("document.activeElement.querySelector('.rank').textContent === '2'")
    assert page.complaints() == []


def test_similar_photos_are_an_answer_of_their_own_and_back_returns_to_the_one_before(
    page: Page, served: str, shots: Path
) -> None:
    page.look(320, 640)
    page.open(served + COFFEE, SHOWN)
    page.ask("document.querySelectorAll('.card')[1].click()")
    page.wait("document.querySelector('#viewer[open] dl') && history.state?.photo")
    asked = page.ask("document.querySelector('#viewer-title').title").removeprefix("2. ")
    page.picture(shots / "viewer-320.png")
    assert page.ask(
        "document.querySelector('.facts').scrollWidth <= document.querySelector('.facts').clientWidth"
    )
    # Reached and pressed by keys: the button is the first of what is beside the picture.
    page.ask("document.querySelector('#similar').focus()")
    assert page.ask("document.activeElement.textContent") == "Similar photos"
    page.press("Enter")
    page.wait(f"{ANSWERED} && document.querySelector('h1').textContent.startsWith('Photos like ')")
    page.picture(shots / "similar-320.png", full_page=True)
    assert page.ask("new URLSearchParams(location.search).get('like')") == asked
    assert not page.ask("document.querySelector('#viewer').open")
    assert page.ask("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    assert page.ask("document.querySelectorAll('.card .rank').length") == 12
    assert page.ask("document.querySelector('#query').value") == ""
    assert page.ask("document.querySelector('#understood').textContent") == "by what the pictures show"
    page.wait("document.activeElement.querySelector('.rank')?.textContent === '1' && scrollY === 0")
    assert re.search(r", cosine 0\.\d\d$", page.ask("document.activeElement.getAttribute('aria-label')"))
    page.press("ArrowRight")
    assert page.ask("document.activeElement.querySelector('.rank').textContent") == "2"
    page.press("Enter")
    page.wait("document.querySelector('#viewer[open] dl') && history.state?.photo")
    assert "Why: cosine 0." in page.ask("document.querySelector('#viewer-facts').textContent")
    page.press("Escape")
    page.wait("!document.querySelector('#viewer[open]') && !history.state?.photo")
    page.ask("history.back()")
    page.wait(SHOWN + " && document.querySelector('.card strong').title === 'coffee'")
    assert "coffee" in page.ask("document.querySelector('#query').value")
    assert "like=" not in page.ask("location.search")
    page.ask("history.forward()")
    page.wait(f"{ANSWERED} && document.querySelector('h1').textContent.startsWith('Photos like ')")
    assert page.complaints() == []


def test_similar_photos_can_be_opened_by_their_address_and_left_by_a_search(
    page: Page, served: str, shots: Path
) -> None:
    page.open(served + "/?like=chelsea&k=4", SHOWN + " && document.querySelector('.rank')")
    page.picture(shots / "similar.png")
    assert page.ask("document.querySelectorAll('.card').length") == 4
    assert page.ask("document.querySelectorAll('#map .marker').length") > 0
    page.ask("document.querySelector('#understood button').click()")
    page.wait("document.querySelector('#viewer[open] dl')")
    assert page.ask("document.querySelector('#viewer-title').title") == "chelsea"
    page.press("Escape")
    page.wait("!document.querySelector('#viewer[open]') && !history.state?.photo")
    page.press("/")
    page.type("coffee")
    page.press("Enter")
    page.wait(SHOWN + " && document.querySelector('.card strong').title === 'coffee'")
    assert page.ask("location.search") == "?q=coffee&k=4"
    page.open(served + "/?like=nobody", "!document.querySelector('#empty').hidden")
    assert "no photo with this id" in page.ask("document.querySelector('#empty').innerText")


def test_what_is_said_of_many_years_is_one_chip_and_tall_pictures_are_shown_whole(
    page: Page, served: str
) -> None:
    page.open(served + "/?q=moon+at+Christmas&now=2026-11-21", SHOWN)
    chips = page.ask("[...document.querySelectorAll('.cue')].map((chip) => chip.textContent)")
    assert len(chips) == 1
    assert re.fullmatch(r"time: “at Christmas” × \d", chips[0])
    fits = page.ask("""(() => {
        const image = document.querySelector(".card img"), fit = () => getComputedStyle(image).objectFit;
        const before = fit();
        Object.defineProperty(image, "naturalHeight", { value: 3 * image.naturalWidth });
        image.dispatchEvent(new Event("load"));
        return [before, fit()];
    })()""")
    assert fits == ["cover", "contain"]


def test_a_card_says_what_it_shows_and_where_in_words(page: Page, served: str) -> None:
    page.open(served + COFFEE + "&lang=de", SHOWN)
    first = "document.querySelector('.card')"
    assert page.ask(f"{first}.querySelector('strong').textContent") == "Espresso"
    assert page.ask(f"{first}.querySelector('.when').textContent") == "Vienna, Österreich · 18. Apr. 2026"
    page.ask(f"{first}.click()")
    page.wait("document.querySelector('#viewer[open] dl')")
    facts = page.ask("document.querySelector('#viewer-facts').innerText")
    assert "Vienna, Österreich" in facts
    assert "°" not in facts
    assert "Dafür spricht, das Stärkste zuerst: " in facts
    assert "Sinn der Erinnerung" in facts
    assert not page.ask("document.querySelector('.odds').open"), "numbers are behind a fold"
    page.ask("document.querySelector('.odds summary').click()")
    assert page.ask("document.querySelector('.odds .why').innerText.includes(',')")
    # One without a label is called by its place, and says when beside it.
    page.open(served + "/?q=Eileen+Collins&lang=de", SHOWN)
    assert page.ask(f"{first}.querySelector('strong').textContent") == "Orlando, Vereinigte Staaten"
    assert re.fullmatch(r"\d+\. \w+\.? \d{4}", page.ask(f"{first}.querySelector('.when').textContent"))
    assert page.complaints() == []


def test_options_are_behind_one_button_that_says_when_one_is_set(page: Page, served: str) -> None:
    page.look(390, 844)
    page.open(served + "/?q=coffee", SHOWN)
    assert not page.ask("document.querySelector('#mode').checkVisibility()")
    assert not page.ask("document.querySelector('#options-open').classList.contains('set')")
    page.ask("document.querySelector('#options-open').click()")
    assert page.ask("document.querySelector('#mode').checkVisibility()")
    assert page.ask("document.querySelector('.options').getBoundingClientRect().right <= innerWidth")
    page.ask(
        "(() => { const mode = document.querySelector('#mode'); mode.value = 'paper';"
        " mode.dispatchEvent(new Event('change')); })()"
    )
    page.wait(f"{ANSWERED} && location.search.includes('mode=paper')")
    page.open(served + "/?q=coffee&mode=strict", ANSWERED)
    assert page.ask("document.querySelector('#mode').value") == "strict"
    # Ranked by the pictures' vectors alone: no share of a card's bar is a memory's.
    shares = "[...document.querySelectorAll('.card .part')].map((part) => part.className)"
    assert set(page.ask(shares)) == {"part part-product"}
    page.wait("document.querySelector('#options-open').classList.contains('set')")
    assert page.complaints() == []
