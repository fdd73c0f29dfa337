"""Checks every request before the routes see it, and sets the security headers of every response.

Checked are Host, sizes, Origin, token and rate, in this order. A page of another site must not reach the
album through the user's browser: a rebound DNS name fails on Host, a foreign page on Origin and
Sec-Fetch-Site, a frame or embedded picture on the headers. No CORS header is ever sent. Starlette's
TrustedHostMiddleware is not used, since it checks neither port nor Origin; and with all checks in one place
their order (no body is read before the token is checked) is easy to see and to test.
"""

from __future__ import annotations

import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import ceil

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problem import OPENAI, Refusal, Refused
from .settings import MAX_BODY, MAX_QUERY_STRING, Rate, ServerSettings

API = ("/api/", OPENAI)
HEALTH = "/api/v1/health"
SESSION = "/api/v1/session"
SEARCH = "/api/v1/search"
SIMILAR = "/api/v1/similar"
ASK = "/api/v1/ask"
TALK = "/api/v1/chat"
UPLOADS = "/api/v1/uploads"
CHAT = "/v1/chat/completions"
COOKIE = "gamer_session"
BODY_SECONDS = 10.0
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
SECURITY_HEADERS = {
    "content-security-policy": "default-src 'none'; "
    "script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action "
    "'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types default",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), interest-cohort=()",
}
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9.\-]{1,253})(?::\d{1,5})?")


class Guard:
    """ASGI middleware.

    `session`: the secret in the cookie, new at each start, so that no browser stores the token itself.
    `streamed`: the paths whose routes read the body of a POST themselves, with the bytes that it may have.
    """

    def __init__(
        self,
        app: ASGIApp,
        settings: ServerSettings,
        clock: Callable[[], float] = time.monotonic,
        streamed: Mapping[str, int] | None = None,
    ) -> None:
        self.app, self.settings, self._streamed = app, settings, streamed or {}
        self.session = secrets.token_urlsafe(32)
        self._buckets = Buckets(settings.rate, clock)

    def share(self, other: Guard) -> None:
        """From now on one session and one limit of requests hold for both."""
        self.session, self._buckets = other.session, other._buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        secured = _with_headers(send, scope["path"])
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is None and self._streams(scope) is not None:
            await self.app(scope, receive, secured)
            return
        if refusal is None:
            body = await _body(receive)
            if isinstance(body, Refusal):
                refusal = body
            else:
                await self.app(scope, _replay(body, receive), secured)
                return
        await refusal.response(scope["path"])(scope, receive, secured)

    def _streams(self, scope: Scope) -> int | None:
        return self._streamed.get(scope["path"]) if scope["method"] == "POST" else None

    def _refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        return (
            self._wrong_host(headers)
            or _too_large(scope, headers, self._streams(scope) or MAX_BODY)
            or _cross_origin(scope, headers)
            or self._unadmitted(scope, headers)
        )

    def _wrong_host(self, headers: Headers) -> Refusal | None:
        given = headers.getlist("host")
        match = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        if match is not None and self.settings.allows_host(match["name"]):
            return None
        wanted = (
            "localhost or 127.0.0.1" if self.settings.loopback else f"its IP address or {self.settings.host}"
        )
        return Refusal(421, f"this server does not answer to that Host: open it by {wanted}")

    def _unadmitted(self, scope: Scope, headers: Headers) -> Refusal | None:
        """Strangers have limits of their own, by address: behind one proxy they do not use up the owner's."""
        path, owner = scope["path"], self._is_owner(scope["path"], headers)
        client = scope["client"][0] if scope.get("client") else ""
        rate = self.settings.rate
        costs = {
            SEARCH: rate.search,
            SIMILAR: rate.search,
            ASK: rate.ask,
            TALK: rate.ask,
            CHAT: rate.ask,
        }
        cost = costs.get(path, 1.0) if owner else 1.0
        wait = self._buckets.take(client if owner else f"stranger {client}", cost)
        if wait:
            return Refused(429, "too_many", {"retry-after": str(wait)}, seconds=wait).refusal
        if owner or not path.startswith(API) or path == HEALTH:
            return None
        return Refused(401, "token", {"www-authenticate": "Bearer"}).refusal

    def _is_owner(self, path: str, headers: Headers) -> bool:
        """Whether a request has the token, or the cookie that stands for it; anybody where none is wanted."""
        token = self.settings.token
        if token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        bearer = scheme.lower() == "bearer" and _equal(given.strip(), token)
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return bearer or (path != SESSION and _equal(cookie, self.session))


def _equal(value: str, secret: str) -> bool:
    return hmac.compare_digest(value.encode("utf-8", "replace"), secret.encode())


def _too_large(scope: Scope, headers: Headers, most: int) -> Refusal | None:
    if len(scope["query_string"]) > MAX_QUERY_STRING:
        return Refusal(414, f"the address is too long: at most {MAX_QUERY_STRING} bytes after the ?")
    declared = headers.get("content-length", "0")
    if not declared.isascii() or not declared.isdigit():
        return Refusal(400, "Content-Length is not a number")
    return _body_too_large(most) if len(declared) > 15 or int(declared) > most else None


def _body_too_large(most: int) -> Refusal:
    return Refused(413, "body_large", {"connection": "close"}, n=most).refusal


def _cross_origin(scope: Scope, headers: Headers) -> Refusal | None:
    """A 403 for a request from a page of another site or port, which must neither read nor write.

    Programs that are not browsers send neither header and are let through.
    """
    if scope["path"].startswith(API) and headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return Refused(403, "other_site").refusal
    origin = headers.get("origin")
    if (
        scope["method"] not in SAFE_METHODS
        and origin is not None
        and origin != f"{scope['scheme']}://{headers['host']}"
    ):
        return Refused(403, "other_origin").refusal
    return None


async def _body(receive: Receive) -> bytes | Refusal:
    """The whole body, read before any route runs: at most MAX_BODY bytes, within BODY_SECONDS."""
    parts, size = [], 0
    try:
        with anyio.fail_after(BODY_SECONDS):
            while True:
                message = await receive()
                part = message.get("body", b"")
                size += len(part)
                if size > MAX_BODY:
                    return _body_too_large(MAX_BODY)
                parts.append(part)
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return b"".join(parts)
    except TimeoutError:
        return Refused(408, "body_late", {"connection": "close"}).refusal


def _replay(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def replay() -> Message:
        nonlocal sent
        if sent:
            return await receive()  # only the disconnect message can follow
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _with_headers(send: Send, path: str) -> Send:
    async def secured(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("cache-control", "no-store" if path.startswith(API) else "no-cache")
        await send(message)

    return secured


class Buckets:
    """One token bucket per client. Call `take` from one thread only (the event loop's).

    Written here because the limiter packages count requests in windows, remember clients without bound, or
    need a store; here a search also costs more than a thumbnail.

    Beyond `rate.clients`, the client not seen for longest is forgotten; its next bucket starts full.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()  # client → (tokens, when)

    def take(self, client: str, cost: float) -> int:
        """0 if the client may go on, else the seconds that it must wait."""
        now = self._clock()
        level, when = self._levels.pop(client, (self._rate.burst, now))
        level = min(self._rate.burst, level + (now - when) * self._rate.per_second)
        # The margin absorbs rounding, so that a client that waited as long as it was told is let through.
        allowed = level >= cost - 1e-9
        self._levels[client] = (level - cost if allowed else level, now)
        if len(self._levels) > self._rate.clients:
            self._levels.popitem(last=False)
        return 0 if allowed else max(1, ceil((cost - level) / self._rate.per_second))
