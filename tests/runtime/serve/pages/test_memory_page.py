"""The page's view of the owner's memories in a headless Chromium: seen, added, corrected, forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album, OpenedLog
from gamer.index.memory.records import Turn
from gamer.index.memory.store import MemoryStore
from gamer.runtime.memory import by_hand
from gamer.runtime.memory.update import Updater
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.server.settings import ServerSettings
from tests.fakes import fake_models
from tests.runtime.serve.conftest import NO_LIMIT

pytestmark = pytest.mark.slow
HOSTILE = "<img src=x onerror=\"document.title='owned'\"></script><b>bold</b> " + "long" * 60
IDLE = "!document.querySelector('#own').hidden && document.querySelector('#own').ariaBusy === 'false'"
LISTED = IDLE + " && document.querySelectorAll('#own-kinds section').length === 4"
HOUR, START = 3_600_000, 1_767_258_000_000  # 2026-01-01 09:00


@pytest.fixture
def address(own_album: Path, page: Page) -> Iterator[str]:
    """A server with an album whose owner moved once."""
    said = ("I live in Porto.", "I live in Lisbon.", "I like tea. My sister visited me in March.")
    with MemoryStore.open(own_album) as store:
        store.add_turns([Turn(f"u{n}", "c", "me", START + n * 2 * HOUR, text) for n, text in enumerate(said)])
        Updater(store).run(START + 9 * HOUR)
        by_hand.add(store, "procedural", "goal: run", HOSTILE, True)
    engine = Engine(fake_models(), Album.open(own_album))
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as served:
        yield served
        page.open("about:blank", "location.href === 'about:blank'")  # asks nothing of a server that has ended
    engine.close()


def row(text: str) -> str:
    """The list's row that has the text."""
    found = f"(li) => li.innerText.includes({json.dumps(text)})"
    return f"[...document.querySelectorAll('#own-kinds li')].find({found})"


def button(text: str, name: str) -> str:
    return f"[...{row(text)}.querySelectorAll('button')].find((b) => b.textContent.startsWith('{name}'))"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1440, 900), ("phone", 320, 640)])
def test_the_memories_are_listed_by_kind_and_nothing_in_them_is_markup(
    page: Page, address: str, shots: Path, name: str, width: int, height: int, dark: bool
) -> None:
    page.look(width, height, dark)
    page.open(address + "/?view=memory", LISTED)
    kinds = page.ask("[...document.querySelectorAll('#own-kinds h2')].map((h2) => h2.textContent)")
    assert kinds == ["About you", "Goals and habits", "What you said", "What happened"]
    lisbon = page.ask(row("Lisbon") + ".innerText")
    assert "home" in lisbon
    assert "1 January 2026" in lisbon
    assert "from 1 thing you said" in lisbon
    assert page.ask(f"{row('bold')}.querySelector('p').textContent") == "goal: run " + HOSTILE
    assert page.ask("document.querySelectorAll('#own img, #own b').length") == 0
    page.ask(f"{row('Lisbon')}.querySelector('summary').click()")
    page.wait(f"{row('Lisbon')}.querySelectorAll('blockquote').length >= 2 && {IDLE}")
    unfolded = page.ask(row("Lisbon") + ".innerText")
    assert "I live in Lisbon." in unfolded
    assert "Porto" in unfolded
    page.picture(shots / f"memory-{name}-{'dark' if dark else 'light'}.png", full_page=True)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((value) => value < 60)"
    assert page.ask(ground) is dark
    assert page.ask("document.title") == "Memory · GAMER"
    assert page.complaints() == []


def test_no_width_makes_the_page_wider_than_the_screen(page: Page, address: str) -> None:
    page.open(address + "/?view=memory", LISTED)
    for width in (320, 390, 620, 621, 700, 860, 861, 1000, 1920):
        page.look(width, 800)
        page.wait(f"innerWidth === {width}")
        assert page.ask("document.documentElement.scrollWidth") <= width, width


def test_the_view_has_an_address_and_back_leaves_it(page: Page, address: str) -> None:
    found = "!document.querySelector('#found').hidden && document.querySelector('#own').hidden"
    page.open(address + "/", found + " && document.querySelector('#cells .cell[data-row]')")
    page.ask("document.querySelector('#to-own').click()")
    page.wait(LISTED + " && document.activeElement.id === 'own-title' && location.search === '?view=memory'")
    assert page.ask("document.querySelector('#to-own').ariaCurrent") == "page"
    page.ask("history.back()")
    page.wait(found + " && location.search === '' && document.querySelector('#cells .cell[data-row]')")
    page.ask("history.forward()")
    page.wait(LISTED)
    # A search leaves it, too, and the map that was hidden is drawn.
    page.open(address + "/?view=memory&again", LISTED)
    page.press("/")
    page.type("harbour")
    page.press("Enter")
    page.wait(
        found + " && document.querySelector('.rank') && document.querySelector('#map').offsetWidth > 100"
    )
    page.wait("document.querySelector('#map .land').getAttribute('d').length > 1000")
    assert [line for line in page.complaints() if "404" not in line] == []  # the photo has no file


def test_a_memory_is_added_corrected_and_forgotten_by_keys(page: Page, address: str, shots: Path) -> None:
    page.open(address + "/?view=memory", LISTED)
    page.ask("document.querySelector('#own-text').focus()")
    page.type("The key lies under the stone")
    page.ask("document.querySelector('#own-add .go').focus()")
    page.press("Enter")
    page.wait(f"{row('under the stone')} && {LISTED} && document.activeElement.id === 'own-text'")
    assert page.ask("document.querySelector('#own-status').textContent") == "Added."
    page.ask(button("under the stone", "Edit") + ".focus()")
    page.press("Enter")
    page.wait("document.activeElement.matches('#own-kinds textarea')")
    page.press("Escape")
    page.wait(f"document.activeElement === {button('under the stone', 'Edit')}")
    page.press("Enter")
    page.wait("document.activeElement.matches('#own-kinds textarea')")
    page.ask("document.activeElement.value = ''")
    page.type("The key lies on the shelf")
    page.ask("document.querySelector('#own-kinds form button').focus()")
    page.press("Enter")
    page.wait(f"{row('on the shelf')} && !{row('under the stone')} && {LISTED}")
    page.wait(f"document.activeElement === {button('on the shelf', 'Edit')}")
    page.ask("document.querySelector('#own-past').click()")
    page.wait(f"{row('under the stone')} && {IDLE}")
    assert "no longer so" in page.ask(row("under the stone") + ".innerText")
    page.ask(button("on the shelf", "Forget") + ".focus()")
    page.press("Enter")
    page.wait("document.querySelector('#forget').open && document.activeElement.id === 'forget-no'")
    assert "on the shelf" in page.ask("document.querySelector('#forget').innerText")
    page.press("Escape")
    page.wait("!document.querySelector('#forget').open")
    page.wait(f"document.activeElement === {button('on the shelf', 'Forget')}")
    page.press("Enter")
    page.wait("document.querySelector('#forget').open")
    page.ask("document.querySelector('#forget-yes').focus()")
    page.press("Enter")
    page.wait(f"!{row('on the shelf')} && {LISTED}")
    assert page.ask("document.querySelector('#own-status').textContent") == "Forgotten: 1 memory."
    assert page.complaints() == []


def test_forgetting_says_what_goes_too(page: Page, address: str, shots: Path) -> None:
    page.open(address + "/?view=memory", LISTED)
    page.ask(button("Lisbon", "Forget") + ".click()")
    page.wait("document.querySelector('#forget').open")
    says = page.ask("document.querySelector('#forget-says').textContent")
    assert "1 thing that was said" in says
    assert "2 memories" in says
    page.picture(shots / "memory-forget.png")
    page.ask("document.querySelector('#forget-yes').click()")
    page.wait(f"!{row('Lisbon')} && {LISTED} && document.activeElement.id === 'own-core'")
    assert (
        page.ask("document.querySelector('#own-status').textContent")
        == "Forgotten: 3 memories and 1 thing that was said."
    )


def test_what_the_server_refuses_is_said_and_a_key_is_wanted(page: Page, address: str) -> None:
    page.open(address + "/?view=memory", LISTED)
    page.ask("""(() => {
        const kind = document.querySelector('#own-kind');
        kind.value = 'core';
        kind.dispatchEvent(new Event('change'));
        document.querySelector('#own-text').value = '猫'.repeat(1500);
    })()""")
    assert page.ask("document.querySelector('#own-add').checkValidity()") is False
    page.ask("document.querySelector('#own-key').value = 'cats'")
    page.ask("document.querySelector('#own-add').requestSubmit()")
    page.wait(f"!document.querySelector('#own-error').hidden && {IDLE}")
    assert "4500 bytes" in page.ask("document.querySelector('#own-error').textContent")
    # What was written is not lost.
    assert page.ask("document.querySelector('#own-text').value.length") == 1500


def test_what_another_program_forgot_is_said_and_listed_no_more(
    page: Page, address: str, own_album: Path
) -> None:
    page.open(address + "/?view=memory", LISTED)
    with MemoryStore.open(own_album) as store:
        everything = [item.id for item in store.items()]
        by_hand.forget(store, OpenedLog(own_album), [], everything, keep_bytes=True)
    page.ask(button("Lisbon", "Forget") + ".click()")
    page.wait("document.querySelector('#forget').open")
    page.ask("document.querySelector('#forget-yes').click()")
    page.wait(f"!document.querySelector('#own-error').hidden && !{row('Lisbon')} && {LISTED}")
    assert "there is no m" in page.ask("document.querySelector('#own-error').textContent")


def test_a_long_list_is_shown_in_parts(page: Page, address: str, own_album: Path) -> None:
    with MemoryStore.open(own_album) as store:
        for n in range(60):
            by_hand.add(store, "episodic", "", f"event {n}", False)
    page.open(address + "/?view=memory", LISTED)
    section = "document.querySelector('#own-episodic').closest('section')"
    shown = f"{section}.querySelectorAll('li').length"
    assert page.ask(shown) == 50
    assert page.ask(f"{section}.querySelector('.total').textContent") == "63"
    page.ask(f"{section}.querySelector('ul + button').click()")
    page.wait(f"{shown} === 63 && {section}.querySelector('ul + button').hidden && {IDLE}")
    page.wait(f"{section}.querySelectorAll('li')[50].contains(document.activeElement)")


def test_what_is_said_is_answered_and_listed(page: Page, address: str, shots: Path) -> None:
    page.open(address + "/?view=memory", LISTED)
    page.ask("document.querySelector('#talk-text').focus()")
    turn = "document.querySelector('#talk-said li:last-child')"
    ended = "document.querySelector('#talk-said').ariaBusy === 'false'"
    idle = ended + " && document.activeElement.id === 'talk-text'"
    for said, answered in (("I live in Rome.", "Noted."), ("Where do I live?", "Rome"), ("<b>me</b>?", "")):
        page.type(said)
        page.press("Enter")
        page.wait(f"{turn}.firstChild.textContent === {json.dumps(said)} && {idle}")
        assert answered in page.ask(turn + ".innerText")
    page.wait(f"{row('I live in Rome.')} && {LISTED}")
    page.picture(shots / "talk.png")
    assert page.ask("document.querySelectorAll('#talk b').length") == 0
    assert [line for line in page.complaints() if "404" not in line] == []  # the photo has no file


def test_every_control_of_the_view_has_a_name_of_its_own(page: Page, address: str) -> None:
    page.open(address + "/?view=memory", LISTED)
    page.call("Accessibility.enable")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    roles = ("button", "link", "textbox", "combobox", "checkbox", "searchbox", "DisclosureTriangle")
    controls = [n for n in nodes if not n["ignored"] and n["role"]["value"] in roles]
    names = [n["name"]["value"] for n in controls]
    assert len(names) > 20
    assert "" not in names
    assert "Edit: Lisbon" in names
    assert "Forget: Lisbon" in names


@pytest.mark.parametrize(("name", "width", "height"), [("desktop", 1280, 900), ("phone", 320, 640)])
def test_an_answer_shows_its_photos_and_leads_to_its_memories(
    page: Page, address: str, shots: Path, name: str, width: int, height: int
) -> None:
    page.look(width, height)
    page.open(address + "/?view=memory", LISTED)
    page.ask("document.querySelector('#talk-text').focus()")
    turn = "document.querySelector('#talk-said li:last-child')"
    ended = "document.querySelector('#talk-said').ariaBusy === 'false'"
    idle = ended + " && document.activeElement.id === 'talk-text'"
    page.type("Where did I live before?")
    page.press("Enter")
    page.wait(f"{turn}.querySelector('.from button') && {idle}")
    page.picture(shots / f"talk-{name}.png", full_page=True)
    assert page.ask("document.documentElement.scrollWidth <= innerWidth")
    thumbs = f"{turn}.querySelectorAll('.thumbs button')"
    assert page.ask(f"{thumbs}.length") == 0  # a fact needs no photo
    page.type("Show me all photos.")
    page.press("Enter")
    page.wait(f"{thumbs}.length && {idle}")
    page.ask(f"{thumbs}[0].focus(), {thumbs}[0].click()")
    page.wait("document.querySelector('#viewer').open && document.querySelector('#viewer-facts dl')")
    page.ask("document.querySelector('#talk-of').click()")
    shown = "!document.querySelector('#viewer').open && !document.querySelector('#talk-shown').hidden"
    page.wait(f"{shown} && document.activeElement.id === 'talk-text'")  # what is typed before goes nowhere
    page.type("This is my blue mug.")
    page.press("Enter")
    page.wait(f"{turn}.textContent.includes('Noted.') && {idle} && {LISTED}")
    assert page.ask("document.querySelector('#talk-shown').hidden")
    assert page.ask(f"{turn}.querySelectorAll('.thumbs button').length") == 1
    page.picture(shots / f"talk-shown-{name}.png")
    # The memory is past, so that it is not listed until the answer leads there.
    first = "document.querySelector('#talk-said li .from button')"
    id = page.ask(f"{first}.textContent.match(/m\\d+/)[0]")
    assert page.ask(f"document.querySelector('#own-kinds [data-id={id}]')") is None
    page.ask(f"{first}.click()")
    page.wait(
        f"document.activeElement.tagName === 'SUMMARY' && {row('Porto')}.contains(document.activeElement)"
    )
    assert [line for line in page.complaints() if "404" not in line] == []  # the photo has no file
