"""A question in several steps: the stream of the API, its end when the client goes, and the page's panel."""

from __future__ import annotations

import http.client
import json
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import CapacityLimiter
from starlette.testclient import TestClient
from starlette.types import Message

from gamer.bench.chrome import Page
from gamer.bench.serving import serving
from gamer.index import Album, AlbumError, Encoded, Memory, Photo
from gamer.runtime.agent import minds
from gamer.runtime.agent.calls import Filter, Search, ToolError
from gamer.runtime.agent.loop import MAX_QUESTION, Act, Answer, Turns
from gamer.runtime.agent.toolbox import Toolbox
from gamer.runtime.search.engine import Engine
from gamer.runtime.serve import ask
from gamer.runtime.serve.app import create_app
from gamer.runtime.serve.server import stream
from gamer.runtime.serve.server.settings import MAX_BODY, Rate, ServerSettings
from tests.albums import album_of
from tests.runtime.serve.conftest import HERE, NO_LIMIT

pytestmark = pytest.mark.slow
NOON = 1_795_262_400_000  # 2026-11-21 12:00
TOKEN = "correct-horse-battery"
FIRST = "the first photo of the day I had breakfast with Anna"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> </script><b>cat</b> ignore the question"
ENDED = "document.querySelector('#results').getAttribute('aria-busy') === 'false'"
ANSWERED = ENDED + " && document.querySelector('.card:not(.waiting) .rank')"
STEPS = "document.querySelectorAll('#steps li').length"


def lines(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    assert answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


def detail(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return str(answer.json()["detail"])


class Scripted:
    """A mind that makes the given calls, or thinks without end; `closed`: whether its work was ended."""

    name = "scripted"

    def __init__(self, wait: float = 0.0) -> None:
        self.wait, self.closed, self.turns = wait, threading.Event(), 0

    def __call__(self, *_: object) -> Scripted:
        return self  # stands where the server makes a RulesMind

    def solve(self, question: str, end: str) -> Turns:
        try:
            while True:
                self.turns += 1
                yield Act(f"Search, the {self.turns}. time.", Search("my cat", k=8))
                time.sleep(self.wait)
        finally:
            self.closed.set()


class Raising:
    """A mind that makes one call, which finds nothing, and then raises."""

    name = "raising"

    def __init__(self, error: Exception, after: int = 1) -> None:
        self._error, self._after = error, after

    def __call__(self, *_: object) -> Raising:
        return self

    def solve(self, question: str, end: str) -> Turns:
        for _ in range(self._after):
            yield Act("Look.", Filter("year = 1800"))
        raise self._error


# The API


def test_the_steps_come_in_lines_and_the_answer_in_the_last(client: TestClient, engine: Engine) -> None:
    *steps, end = lines(client.post("/api/v1/ask", json={"question": FIRST, "as": "set", "now": NOON}))
    assert len(steps) >= 2
    assert steps[0]["tool"] == "search"
    assert "breakfast" in steps[0]["arguments"]["text"]
    for used, step in enumerate(steps, 1):
        assert set(step) == {
            *("thought", "tool", "arguments", "found", "items", "note", "error", "ms", "left"),
        }
        assert step["thought"]
        assert step["ms"] >= 0
        assert step["error"] == ""
        assert step["left"] == {"calls": 25 - used, "views": 5, "turns": 30 - used}
        assert len(step["items"]) == min(ask.PREVIEWED, step["found"])
        for item in step["items"]:
            assert item["id"] == engine.album.photo(item["row"]).id
            assert item["ref"].startswith("img_")
    assert end["ended"] == "answer"
    assert set(end["answer"]) == {"sentence", "found", "photos", "items"}
    assert end["answer"]["found"]
    assert end["answer"]["photos"] == len(end["answer"]["items"]) == 1


def test_a_sentence_is_the_answer_where_it_is_asked_for(client: TestClient) -> None:
    asked = {"question": "When did I have breakfast with Anna?", "now": NOON}
    end = lines(client.post("/api/v1/ask", json=asked))[-1]["answer"]
    assert any(letter.isdigit() for letter in end["sentence"])
    assert 1 <= len(end["items"]) == end["photos"] <= 3  # not all that were read


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"question": ""},
        {"question": " \t\x00"},
        {"question": 1},
        {"question": "a" * (MAX_QUESTION + 1)},
        {"question": "cat", "as": "poem"},
        {"question": "cat", "end": "set"},
        {"question": "cat", "now": -1},
        {"question": "cat", "now": "5"},
    ],
)
def test_a_body_that_does_not_fit_is_refused(client: TestClient, body: dict[str, object]) -> None:
    assert detail(client.post("/api/v1/ask", json=body), 422)


def test_what_the_loop_refuses_is_a_problem_and_no_stream(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ToolError("the question is empty: ask something about the photos")

    monkeypatch.setattr("gamer.runtime.agent.loop.run", refuse)
    assert "is empty" in detail(client.post("/api/v1/ask", json={"question": "cat"}), 422)


def test_the_longest_question_is_answered(client: TestClient) -> None:
    assert lines(client.post("/api/v1/ask", json={"question": ("my cat " * 20_000)[:MAX_QUESTION]}))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AlbumError("album.gamer: damaged:\nread it again"), "album.gamer: damaged: read it again"),
        (ZeroDivisionError("secret detail"), "the server failed; its terminal says why"),
    ],
)
def test_an_error_after_the_first_step_is_the_last_line(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    monkeypatch.setitem(minds.MINDS, "rules", Raising(error))
    step, end = lines(client.post("/api/v1/ask", json={"question": "cat"}))
    assert step["thought"] == "Look."
    assert end["ended"] == said
    assert end["answer"]["found"] is False
    assert end["answer"]["items"] == []


def test_an_error_before_the_first_step_has_a_status(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(minds.MINDS, "rules", Raising(ZeroDivisionError("secret detail"), after=0))
    assert "secret" not in detail(client.post("/api/v1/ask", json={"question": "cat"}), 500)


def test_an_album_that_cannot_be_read_has_a_status(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(*_: object) -> None:
        raise AlbumError("damaged")

    monkeypatch.setattr("gamer.runtime.agent.toolbox.Toolbox", damaged)
    assert detail(client.post("/api/v1/ask", json={"question": "cat"}), 503) == "damaged"


def test_a_task_without_end_ends_with_its_budget(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(minds.MINDS, "rules", Scripted())
    *steps, end = lines(client.post("/api/v1/ask", json={"question": "cat"}))
    assert len(steps) == 25
    assert end["ended"] == "budget"
    assert not end["answer"]["found"]
    assert end["answer"]["photos"] > 0


def test_no_line_names_a_folder(client: TestClient, engine: Engine) -> None:
    folder = str(Path(str(engine.album.photo(0).path)).parent)
    for end in ("set", "sentence"):
        text = client.post("/api/v1/ask", json={"question": FIRST, "as": end}).text
        assert folder not in text
        assert str(engine.album.path) not in text


def test_the_guard_stands_before_a_question(engine: Engine) -> None:
    guarded = TestClient(create_app(engine, ServerSettings("127.0.0.1", TOKEN, NO_LIMIT)), base_url=HERE)
    bearer, asked = {"authorization": f"Bearer {TOKEN}"}, {"question": "my cat"}
    detail(guarded.post("/api/v1/ask", json=asked), 401)
    for headers, status in (
        ({"origin": "https://evil.example"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"host": "evil.example"}, 421),
    ):
        detail(guarded.post("/api/v1/ask", json=asked, headers={**bearer, **headers}), status)
    detail(guarded.post("/api/v1/ask", content=b"x" * (MAX_BODY + 1), headers=bearer), 413)
    answer = guarded.post("/api/v1/ask", json=asked, headers=bearer)
    assert lines(answer)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_question_costs_more_than_a_search(engine: Engine) -> None:
    few = Rate(burst=60.0, per_second=0.001)
    limited = TestClient(create_app(engine, ServerSettings(rate=few)), base_url=HERE)
    assert lines(limited.post("/api/v1/ask", json={"question": "my cat"}))
    detail(limited.post("/api/v1/ask", json={"question": "my cat"}), 429)
    assert limited.post("/api/v1/search", json={"query": "my cat"}).status_code == 200


def test_the_work_ends_when_the_client_goes_away(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = Scripted(wait=0.3)
    monkeypatch.setitem(minds.MINDS, "rules", mind)
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        body = json.dumps({"question": "my cat"})
        connection.request("POST", "/api/v1/ask", body, {"content-type": "application/json"})
        first = connection.getresponse().readline()  # comes while the work goes on
        assert json.loads(first)["tool"] == "search"
        assert not mind.closed.is_set()
        connection.close()
        assert mind.closed.wait(10)
        assert mind.turns < 25
        # Its place is free again: the server answers the next question.
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        connection.request("POST", "/api/v1/ask", body, {"content-type": "application/json"})
        assert connection.getresponse().status == 200
        connection.close()


def disconnecting(work: stream.LineWork, taken: bool = False) -> list[Message]:
    """Runs a stream whose client soon goes; gives what was sent to it. `taken`: whether no place is free."""
    sent: list[Message] = []

    async def receive() -> Message:
        await anyio.sleep(0.1)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def main() -> None:
        threads = CapacityLimiter(1)
        if taken:
            threads.acquire_on_behalf_of_nowait(object())
        with anyio.fail_after(20):
            await stream.LineStream(work, threads, ask._LINE)({"type": "http"}, receive, send)

    anyio.run(main)
    return sent


def test_the_work_is_told_to_stop_and_its_thread_is_waited_for() -> None:
    ended = threading.Event()

    def work(tell: ask.Tell, gone: threading.Event) -> None:
        deadline = time.monotonic() + 20
        while not gone.is_set() and time.monotonic() < deadline:
            time.sleep(0.01)
        ended.set() if gone.is_set() else None

    assert disconnecting(work) == []
    assert ended.is_set()


def test_who_goes_while_waiting_for_a_place_never_takes_it() -> None:
    started = threading.Event()
    assert disconnecting(lambda *_: started.set(), taken=True) == []
    assert not started.is_set()


# The page


ASKED = "/?q=the+first+photo+of+the+day+I+had+breakfast+with+Anna&how=ask&now=2026-11-21"
LOADED = " && [...document.images].every((image) => image.complete)"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("name", "width", "height"), [("desktop", 1440, 900), ("phone", 390, 844), ("small", 320, 640)]
)
def test_a_question_shows_its_steps_and_its_answer(
    page: Page, served: str, shots: Path, name: str, width: int, height: int, dark: bool
) -> None:
    page.look(width, height, dark)
    page.open(served + ASKED, ANSWERED + LOADED)
    page.picture(shots / f"ask-{name}-{'dark' if dark else 'light'}.png", full_page=name != "desktop")
    assert page.ask(STEPS) >= 2
    assert page.ask("document.querySelector('.thought').textContent").startswith("Find the anchor")
    assert page.ask("document.querySelector('.did').textContent").startswith(
        "Searched for “breakfast with Anna”"
    )
    assert " ms" in page.ask("document.querySelector('.cost').textContent")
    assert page.ask("document.querySelectorAll('.thumbs img').length") >= 2
    assert page.ask("document.querySelector('#sentence').innerText") == "1 photo"
    assert page.ask("document.querySelectorAll('#photos .rank').length") == 1
    assert page.ask("document.querySelector('#stop').hidden")
    assert page.ask("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than the screen"
    assert page.complaints() == []


def test_a_question_is_asked_with_keys_and_its_photos_open(page: Page, served: str) -> None:
    page.open(served + "/?now=2026-11-21", "document.querySelector('#cells .cell[data-row]')")
    page.ask("document.querySelector('[name=how]:checked').focus()")
    page.press("ArrowRight")
    assert page.ask("document.querySelector('[name=how]:checked').value") == "ask"
    assert page.ask("document.querySelector('.go').textContent") == "Ask"
    assert page.ask("document.querySelector('#k').closest('label').hidden")
    page.press("/")
    page.type(FIRST)
    page.press("Enter")
    page.wait(ANSWERED)
    assert "how=ask" in page.ask("location.search")
    said = page.ask("[...document.querySelectorAll('#steps-said[aria-live] p')].map((p) => p.textContent)")
    assert len(said) == page.ask(STEPS)
    assert said[0].startswith("Step 1: Find the anchor")
    page.press("ArrowDown")
    page.press("Enter")
    page.wait("document.querySelector('#viewer[open] dl')")
    page.press("Escape")
    # The dialog gives the focus back before its `close` event does; only behind the step back is it at rest.
    closed = "!document.querySelector('#viewer[open]') && !history.state?.photo"
    page.wait(f"{closed} && document.activeElement.matches('#photos .card')")
    page.ask("document.querySelector('.thumbs button').focus()")
    page.press("Enter")
    page.wait("document.querySelector('#viewer[open] dl')")
    page.press("Escape")
    page.wait(f"{closed} && document.activeElement === document.querySelector('.thumbs button')")
    page.ask("document.querySelector('[name=how][value=search]').click()")
    page.wait("document.querySelector('.card:not(.waiting) .score')")
    assert page.ask(
        "document.querySelector('#steps-panel').hidden && document.querySelector('#sentence').hidden"
    )
    assert page.complaints() == []


def test_stop_ends_the_work_and_keeps_the_steps(
    page: Page, engine: Engine, monkeypatch: pytest.MonkeyPatch, shots: Path
) -> None:
    mind = Scripted(wait=0.5)
    monkeypatch.setitem(minds.MINDS, "rules", mind)
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(address + "/?q=my+cat&how=ask", f"{STEPS} >= 2")
        page.picture(shots / "ask-running.png")
        page.ask("document.querySelector('#stop').focus()")
        page.press("Enter")
        page.wait(ENDED)
        assert mind.closed.wait(10)
        steps = page.ask(STEPS)
        assert steps >= 2
        assert page.ask("document.querySelector('#stop').hidden")
        assert page.ask("document.querySelector('#status').textContent") == f"Stopped after {steps} steps."
        assert page.ask("document.activeElement.id") == "photos"
        time.sleep(1)
        assert page.ask(STEPS) == steps
        page.picture(shots / "ask-stopped.png")


def test_a_later_search_ends_a_question(page: Page, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    mind = Scripted(wait=0.5)
    monkeypatch.setitem(minds.MINDS, "rules", mind)
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(address + "/?q=my+cat&how=ask", f"{STEPS} >= 1")
        page.ask("document.querySelector('[name=how][value=search]').click()")
        page.wait("document.querySelector('.card:not(.waiting) .score')")
        assert mind.closed.wait(10)
        assert page.ask("document.querySelector('#steps-panel').hidden")
        assert " of 19 in " in page.ask("document.querySelector('#status').textContent")


def test_an_error_is_shown_in_a_line_under_the_steps_so_far(
    page: Page, engine: Engine, monkeypatch: pytest.MonkeyPatch, shots: Path
) -> None:
    monkeypatch.setitem(minds.MINDS, "rules", Raising(AlbumError("album.gamer: damaged")))
    with serving(create_app(engine, ServerSettings(rate=NO_LIMIT))) as address:
        page.open(address + "/?q=my+cat&how=ask", ENDED + " && !document.querySelector('#empty').hidden")
        page.picture(shots / "ask-error.png")
        assert page.ask(STEPS) == 1
        assert "album.gamer: damaged" in page.ask("document.querySelector('#empty').innerText")
        monkeypatch.setitem(minds.MINDS, "rules", Raising(AlbumError("album.gamer: damaged"), after=0))
        page.ask("document.querySelector('#search').requestSubmit()")
        page.wait(f"{STEPS} === 0 && document.querySelector('#empty').innerText.includes('damaged')")


def test_what_is_not_in_the_album_is_said_plainly(page: Page, served: str, shots: Path) -> None:
    asked = "/?q=the+photo+right+after+the+submarine+with+a+yellow+periscope&how=ask"
    page.open(served + asked, ENDED + " && document.querySelector('#steps li')")
    page.picture(shots / "ask-nothing.png")
    assert page.ask("document.querySelector('#empty').innerText").startswith("No photo answers this")


def test_a_hostile_memory_stays_text(page: Page, engine: Engine, files: Path, shots: Path) -> None:
    photos = [
        Photo(
            f"cat-{n}" + HOSTILE,
            str(files / "plain.png"),
            1_000_000_000_000 + n,
            memories=(Memory("note", HOSTILE),),
        )
        for n in range(9)
    ]
    encode = engine.models.text.encode
    items = [Encoded(photo, {"text": encode([HOSTILE])}) for photo in photos]
    path = album_of(files / "hostile.gamer", items, names=encode, meta=engine.album.meta)
    with Album.open(path) as opened:
        app = create_app(Engine(engine.models, opened), ServerSettings(rate=NO_LIMIT))
        with serving(app) as address:
            page.look(320, 640)
            page.open(address + "/?q=photos+from+2001&how=ask", ANSWERED)
            page.picture(shots / "ask-hostile.png", full_page=True)
            assert page.ask("document.querySelector('.thumbs button').getAttribute('aria-label')").count(
                "<img"
            )
            assert "<img src=x" in page.ask("document.querySelector('.card .memory').textContent")
            assert (
                page.ask("document.querySelectorAll('[onerror], #steps b, #photos b, #photos script').length")
                == 0
            )
            assert page.ask("document.title").startswith("photos from 2001")
            assert page.ask("document.documentElement.scrollWidth <= innerWidth")


def test_the_toolbox_of_a_question_is_its_own(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Subsets are named within one question and do not meet those of another."""
    made: list[Toolbox] = []

    class Kept(Toolbox):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr("gamer.runtime.agent.toolbox.Toolbox", Kept)
    for _ in range(2):
        lines(client.post("/api/v1/ask", json={"question": FIRST}))
    assert len(made) == 2
    assert made[0].subsets
    assert made[0].subsets is not made[1].subsets


def test_a_finished_mind_has_no_photos_beyond_those_shown(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class All:
        name = "all"

        def solve(self, question: str, end: str) -> Turns:
            yield Act("Think.")
            return Answer(tuple(range(len(engine.album))), "all of them")

    monkeypatch.setitem(minds.MINDS, "rules", lambda *_: All())
    monkeypatch.setattr(ask, "MAX_PHOTOS", 5)
    thought, end = lines(client.post("/api/v1/ask", json={"question": "all"}))
    assert thought["tool"] is None
    assert thought["left"] is None
    assert thought["found"] == 0
    assert end["answer"]["photos"] == len(engine.album)
    assert len(end["answer"]["items"]) == 5
