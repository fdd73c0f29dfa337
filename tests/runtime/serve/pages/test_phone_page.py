"""The page on a phone of 390 points: what is opened is seen at its place, and the map shows what it says."""

from __future__ import annotations

import json

import pytest

from gamer.bench.chrome import Page

pytestmark = pytest.mark.slow
BROWSED = "document.querySelector('#cells img.there') && document.querySelector('#map .place')"
FOUND = (
    "document.querySelector('.card[data-row]') && document.querySelector('#map .place') && "
    "document.querySelector('#results').getAttribute('aria-busy') === 'false'"
)
# The distance in pixels of each name on the map to the nearest dot, at the height of its line.
NAMES = """(() => {
  const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
  const places = [...document.querySelectorAll('#map .place')];
  const dots = places.map((dot) => middle(dot.getBoundingClientRect()));
  return [...document.querySelectorAll('#map .city')].map((name) => {
    const box = name.getBoundingClientRect(), y = middle(box)[1];
    const far = dots.map(([x, at]) => Math.hypot(Math.max(box.left - x, x - box.right, 0), at - y));
    return Math.min(...far);
  });
})()"""


# What loads above moves both, so that they are looked at together: the fields, in sight below their button.
OPENED = """(() => {
  const box = (name) => document.querySelector(name).getBoundingClientRect();
  const fields = box('#filter .fields'), button = box('#filter-open');
  return button.bottom <= fields.top && fields.top < fields.bottom && fields.bottom < 844;
})()"""


def test_the_filter_opens_where_it_is_and_its_map_shows_the_album(page: Page, served: str) -> None:
    page.look(390, 844)
    page.open(served, BROWSED)
    page.ask("document.querySelector('#filter-open').click()")
    page.wait("document.querySelector('#map').clientWidth > 0")
    page.wait(OPENED)
    page.wait("document.querySelectorAll('#map .city').length > 2")
    inside = page.ask(
        "(() => { const map = document.querySelector('#map').getBoundingClientRect();"
        " const seen = (dot) => dot.left > map.left && dot.right < map.right && dot.top > map.top;"
        " const places = [...document.querySelectorAll('#map .place')];"
        " return places.every((dot) => seen(dot.getBoundingClientRect())); })()"
    )
    assert inside, "the map shows the album's places without being asked for the world"
    below = page.ask("document.querySelector('#browse').getBoundingClientRect().top")
    assert below > page.ask("document.querySelector('#map').getBoundingClientRect().bottom")
    assert page.complaints() == []


def test_names_on_the_map_stay_beside_their_places_while_two_fingers_zoom(page: Page, served: str) -> None:
    page.look(390, 844)
    page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
    try:
        page.open(served + "/?q=the", FOUND)
        page.ask("document.querySelector('[data-map=world]').click()")
        page.ask("document.querySelector('#map').scrollIntoView({ block: 'center' })")
        x, y = page.ask(
            "(({ left, width, top, height }) => [left + width / 2, top + height / 2])"
            "(document.querySelector('#map').getBoundingClientRect())"
        )
        before = page.ask("document.querySelector('#map .land').getBoundingClientRect().width")

        def fingers(apart: int) -> list[dict[str, float]]:
            return [{"x": x - apart, "y": y, "id": 0}, {"x": x + apart, "y": y, "id": 1}]

        page.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=fingers(30))
        for apart in (40, 60, 90):
            page.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=fingers(apart))
        page.wait(f"document.querySelector('#map .land').getBoundingClientRect().width > {1.3 * before}")
        names = page.ask(NAMES)
        page.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        assert names, json.dumps(names)
        assert max(names) < 20, json.dumps(names)
    finally:
        page.call("Emulation.setTouchEmulationEnabled", enabled=False)
    assert page.complaints() == []


def test_a_short_word_on_a_card_is_as_wide_as_itself(page: Page, served: str) -> None:
    page.look(390, 844)
    page.open(served + "/?q=cat", FOUND)
    page.ask(
        "(() => { const tag = document.createElement('span'); tag.className = 'tag'; tag.textContent = '×2';"
        " document.querySelector('.card .line strong').after(tag); })()"
    )
    assert page.ask("document.querySelector('.card .line .tag').getBoundingClientRect().width") < 45


def test_more_photos_are_shown_on_demand(page: Page, served: str) -> None:
    page.look(390, 844)
    page.open(served + "/?q=cat", FOUND)
    first = page.ask("[...document.querySelectorAll('.card')].map((card) => card.dataset.row)")
    assert len(first) == 5
    page.ask("document.querySelector('#more').click()")
    page.wait("document.querySelectorAll('.card[data-row]').length === 19")
    rows = page.ask("[...document.querySelectorAll('.card')].map((card) => card.dataset.row)")
    assert rows[:5] == first
    page.wait(f"document.activeElement.dataset.row === '{rows[5]}'")
    assert page.ask("location.search") == "?q=cat&k=20"
    assert page.ask("document.querySelector('#more').hidden")
    assert page.complaints() == []
