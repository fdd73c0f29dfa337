"""Searches and selections that a person keeps under a name, in the album's file."""

from __future__ import annotations

import json

import pytest

from gamer.bench.chrome import Page

pytestmark = pytest.mark.slow
BROWSED = "document.querySelector('#cells img.there') && document.querySelector('.chip')"
KEPT = "[...document.querySelectorAll('#kept .chip')].map((one) => one.textContent)"


def keep(page: Page, button: str, name: str) -> None:
    page.ask(f"document.querySelector('{button}').click()")
    page.ask(f"document.querySelector('#keep-text').value = {json.dumps(name)}")
    page.ask("document.querySelector('#keep-form').requestSubmit()")
    page.wait("!document.querySelector('#keep-as').open")


@pytest.mark.parametrize("width", [390, 1280])
def test_a_search_and_a_selection_are_kept_found_again_and_dropped(
    page: Page, served: str, width: int
) -> None:
    page.look(width, 844)
    page.open(served, BROWSED)
    assert page.ask("document.querySelector('#keep').hidden"), "there is nothing to keep yet"
    page.open(
        served + "/?q=coffee+in+Vienna&favourites=&lang=de", "document.querySelector('.card[data-row]')"
    )
    keep(page, "#keep", "<b>Kaffee</b>")
    page.open(served, f"{BROWSED} && {KEPT}.length === 1")
    assert page.ask(KEPT) == ["<b>Kaffee</b>"]
    page.ask("document.querySelectorAll('#cells .tick')[1].click()")
    page.ask("document.querySelectorAll('#cells .tick')[2].click()")
    chosen = page.ask(
        "[...document.querySelectorAll('[aria-selected=true]')].map((one) => one.dataset.photo)"
    )
    assert len(chosen) == 2
    keep(page, "#pick-keep", "Two")
    # After a reload both are there; a selection selects, a search searches, in the page's language.
    page.open(served + "/?lang=fr", f"{BROWSED} && {KEPT}.length === 2")
    page.ask("document.querySelectorAll('#kept .chip')[0].click()")
    page.wait("document.querySelectorAll('[aria-selected=true]').length === 2")
    found = page.ask("[...document.querySelectorAll('[aria-selected=true]')].map((one) => one.dataset.photo)")
    assert found == chosen
    page.ask("document.querySelectorAll('#kept .chip')[1].click()")
    page.wait("document.querySelector('.card[data-row]') && document.querySelector('#query').value")
    assert page.ask("document.querySelector('#query').value") == "coffee in Vienna"
    assert "lang=fr" in page.ask("location.search")
    assert "lang=de" not in page.ask("location.search")
    # Another name, and then none of them.
    page.ask("document.querySelector('#kept .drop').click()")
    page.ask("document.querySelector('#keep-text').value = 'Pair'")
    page.ask("document.querySelector('#keep-form').requestSubmit()")
    page.open(served, f"{BROWSED} && {KEPT}.length === 2")
    assert page.ask(KEPT)[0].startswith("Pair")
    for left in (1, 0):
        page.ask("document.querySelector('#kept .less').click()")
        page.wait(f"{KEPT}.length === {left}")
    assert page.ask("document.querySelector('#kept').hidden")
    assert page.complaints() == []


def test_the_folders_of_the_photos_are_a_filter(page: Page, served: str) -> None:
    page.open(served, f"{BROWSED} && !document.querySelector('#filter-folders').hidden")
    names = page.ask("[...document.querySelector('#filter-folder').options].map((one) => one.value)")
    assert names[0] == ""
    assert all(not name.startswith("/") for name in names)
