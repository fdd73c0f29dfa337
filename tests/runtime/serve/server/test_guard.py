"""The guard: which requests reach a route, and which headers every answer has.

A small application is behind it; no album, no model.
"""

from __future__ import annotations

import json

import pytest

pytest.importorskip("fastapi", reason="needs the serve extra")

from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from gamer.runtime.errors import RuntimeFailure
from gamer.runtime.serve.server.guard import Buckets, Guard
from gamer.runtime.serve.server.problem import Refusal, Refused
from gamer.runtime.serve.server.settings import MAX_BODY, MAX_QUERY_STRING, Rate, ServerSettings, url

HERE = "http://127.0.0.1:8765"
TOKEN = "correct-horse-battery"
NO_LIMIT = Rate(burst=1e9, per_second=1e9)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    await JSONResponse({"path": scope["path"], "bytes": len(body)})(scope, receive, send)


def client(settings: ServerSettings | None = None, base: str = HERE) -> TestClient:
    return TestClient(Guard(echo, settings or ServerSettings(rate=NO_LIMIT)), base_url=base)


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST", "[::1]:8765", "127.0.0.2", "127.0.0.1:1"]
)
def test_loopback_names_are_answered(host: str) -> None:
    assert client().get("/api/v1/x", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.1.5:8765",
        "[::1].evil.example",
        "127.0.0.1:8765@evil.example",
        "",
        "localhost, evil.example",
        "0",
        "2130706433",
        "localhost:99999999",
    ],
)
def test_a_host_name_of_a_dns_rebinding_is_refused(host: str) -> None:
    """DNS rebinding: the browser believes that evil.example is 127.0.0.1, and says so in Host."""
    answer = client().get("/api/v1/x", headers={"host": host})
    assert answer.status_code == 421
    assert answer.json()["status"] == 421


def test_beyond_loopback_an_address_is_answered_and_a_name_is_not() -> None:
    settings = ServerSettings("0.0.0.0", TOKEN, NO_LIMIT)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert (
        client(settings).get("/api/v1/x", headers={"host": "192.168.1.5:8765", **bearer}).status_code == 200
    )
    assert client(settings).get("/api/v1/x", headers={"host": "evil.example", **bearer}).status_code == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org"])
def test_beyond_loopback_nothing_starts_without_a_token(host: str) -> None:
    with pytest.raises(RuntimeFailure, match="--token"):
        ServerSettings(host)
    assert not ServerSettings(host, TOKEN).loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    assert ServerSettings(host).loopback


@pytest.mark.parametrize(
    "token", ["", "short", "fifteen-letters", "sixteen letters.", "töken-töken-töken", "a" * 20 + "\n"]
)
def test_a_token_that_is_soon_guessed_or_does_not_fit_a_header_is_refused(token: str) -> None:
    with pytest.raises(RuntimeFailure, match="16 or more"):
        ServerSettings("127.0.0.1", token)


def test_the_token_is_taken_from_the_header_and_its_session_from_the_cookie_only() -> None:
    guarded = client(ServerSettings("127.0.0.1", TOKEN, NO_LIMIT))
    session = guarded.app.session  # type: ignore[attr-defined]
    get = guarded.get
    assert get("/api/v1/x").status_code == 401
    assert get("/api/v1/x").headers["www-authenticate"] == "Bearer"
    assert get("/api/v1/x", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert get("/api/v1/x", headers={"cookie": f"gamer_session={session}"}).status_code == 200
    for wrong in (
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer é",
    ):
        assert get("/api/v1/x", headers={b"authorization": wrong.encode("latin-1")}).status_code == 401, wrong
    assert get("/api/v1/x", headers={"cookie": f"gamer_session={TOKEN}"}).status_code == 401
    assert get(f"/api/v1/x?token={TOKEN}").status_code == 401
    # A cookie does not renew itself: only the token opens a session.
    assert guarded.post("/api/v1/session", headers={"cookie": f"gamer_session={session}"}).status_code == 401


def test_the_page_and_the_health_check_need_no_token() -> None:
    guarded = client(ServerSettings("127.0.0.1", TOKEN, NO_LIMIT))
    assert guarded.get("/").status_code == guarded.get("/api/v1/health").status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://localhost:8765",
        "http://127.0.0.1:9999",
        "https://127.0.0.1:8765",
        "",
    ],
)
def test_a_post_from_a_foreign_origin_is_refused(origin: str) -> None:
    assert client().post("/api/v1/search", headers={"origin": origin}).status_code == 403


def test_posts_from_our_own_origin_and_from_programs_are_accepted() -> None:
    assert client().post("/api/v1/search", headers={"origin": HERE}).status_code == 200
    assert client().post("/api/v1/search").status_code == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_the_page_of_another_site_cannot_load_a_photo(site: str) -> None:
    """An <img> of another site, or of another port of this machine, sends no Origin, but says in
    Sec-Fetch-Site where it stands.
    """
    assert client().get("/api/v1/photos/1/thumbnail", headers={"sec-fetch-site": site}).status_code == 403
    assert (
        client().get("/api/v1/photos/1/thumbnail", headers={"sec-fetch-site": "same-origin"}).status_code
        == 200
    )
    assert (
        client().get("/", headers={"sec-fetch-site": site}).status_code == 200
    )  # other sites may link to the page


def test_bodies_and_query_strings_have_a_largest_size() -> None:
    assert client().post("/api/v1/x", content=b"x" * MAX_BODY).json()["bytes"] == MAX_BODY
    assert client().post("/api/v1/x", content=b"x" * (MAX_BODY + 1)).status_code == 413
    assert (
        client().post("/api/v1/x", content=(b"x" * 65536 for _ in range(17))).status_code == 413
    )  # chunked: no length was declared
    assert client().post("/api/v1/x", headers={"content-length": "-1"}).status_code == 400
    assert client().post("/api/v1/x", headers={"content-length": "9" * 5000}).status_code == 413
    assert client().get("/?" + "q" * MAX_QUERY_STRING).status_code == 200
    assert client().get("/?" + "q" * (MAX_QUERY_STRING + 1)).status_code == 414


def test_too_many_requests_are_refused_until_the_wait_is_over() -> None:
    now = [0.0]
    guard = Guard(echo, ServerSettings(rate=Rate(burst=20, per_second=2, search=10)), lambda: now[0])
    asked = TestClient(guard, base_url=HERE)
    assert [asked.post("/api/v1/search").status_code for _ in range(3)] == [200, 200, 429]
    refused = asked.get("/api/v1/stats")
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "1"
    assert "wait 1 s" in refused.json()["detail"]
    now[0] = 5.0
    assert asked.post("/api/v1/search").status_code == 200
    now[0] = 10.0
    assert [asked.get("/api/v1/similar?photo=a").status_code for _ in range(2)] == [200, 429]


def test_who_has_no_token_does_not_use_up_the_limit_of_who_has_it() -> None:
    settings = ServerSettings(token="t" * 32, rate=Rate(burst=5, per_second=1, search=1))
    asked = TestClient(Guard(echo, settings, lambda: 0.0), base_url="http://127.0.0.1")
    assert [asked.get("/api/v1/stats").status_code for _ in range(7)] == [401] * 5 + [429] * 2
    assert asked.get("/").status_code == 429  # the page is for strangers too, within their limit
    own = {"authorization": f"Bearer {'t' * 32}"}
    assert [asked.get("/api/v1/stats", headers=own).status_code for _ in range(6)] == [200] * 5 + [429]


@given(
    st.lists(st.tuples(st.floats(0, 5), st.sampled_from([1.0, 3.0, 10.0])), max_size=40),
    st.floats(10, 50),
    st.floats(0.5, 20),
)
def test_a_bucket_never_exceeds_its_rate_and_gives_after_the_wait_that_it_named(
    steps: list[tuple[float, float]], burst: float, speed: float
) -> None:
    now = [0.0]
    buckets = Buckets(Rate(burst=burst, per_second=speed), lambda: now[0])
    given_out = 0.0
    for pause, cost in steps:
        now[0] += pause
        wait = buckets.take("a", cost)
        if wait == 0:
            given_out += cost
        assert given_out <= burst + speed * now[0] + 1e-6
        if wait:
            now[0] += wait
            assert buckets.take("a", cost) == 0  # after the wait that it named
            given_out += cost


def test_each_client_has_its_own_bucket_and_their_number_is_bounded() -> None:
    buckets = Buckets(Rate(burst=1, per_second=0.001, clients=3), lambda: 0.0)
    assert buckets.take("a", 1) == 0
    assert buckets.take("a", 1) > 0
    assert buckets.take("b", 1) == 0
    for n in range(100):
        buckets.take(str(n), 1)
    assert len(buckets._levels) == 3


def test_every_answer_has_the_security_headers() -> None:
    for answer in (
        client().get("/"),
        client().get("/api/v1/x"),
        client().get("/", headers={"host": "evil.example"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "script-src 'self'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert client().get("/api/v1/x").headers["cache-control"] == "no-store"


def test_a_problem_is_one_line() -> None:
    answer = Refusal(404, "two\nlines\x1b[31m and\x00 " + "x" * 9999).response("/api/v1/photos")
    assert answer.media_type == "application/problem+json"
    assert b"\\n" not in answer.body
    assert b"\\u001b" not in answer.body
    assert len(answer.body) < 700


def test_printed_addresses_can_be_opened_on_this_machine() -> None:
    assert url("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert url("::1", 80) == "http://[::1]:80/"
    assert url("localhost", 80) == "http://localhost:80/"


def test_a_refusal_says_its_message_by_code_with_its_values_and_in_english() -> None:
    refused = Refused(404, "no_row", row=7, last=3)
    body = json.loads(bytes(refused.refusal.response("/api/v1/photos/7").body))
    assert (body["code"], body["given"]) == ("no_row", {"row": 7, "last": 3})
    assert body["detail"] == str(refused) == "no photo in row 7; rows are 0 to 3"
    hostile = Refused(404, "no_kind", name="a\x1b[31m\n" + "x" * 9999).refusal.response("/api/v1/photos")
    name = json.loads(bytes(hostile.body))["given"]["name"]
    assert name.isprintable()
    assert len(name) == 500
