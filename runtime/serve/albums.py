"""Several albums in one server: the first one's page and API at /, each other's at /albums/NAME/.

Chooses an application by the address, which it gives without that beginning. Knows no route but the list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from .live import LiveAlbum
from .server.guard import Guard
from .views import AlbumView

FIRST, OTHERS = "/", "/albums/"


@dataclass(frozen=True)
class Placed:
    """An album of the server. `address`: where its page is, "/" or "/albums/NAME/"."""

    address: str
    live: LiveAlbum


def placed(albums: Sequence[LiveAlbum]) -> tuple[Placed, ...]:
    """The albums with their addresses, made from their files' names; no two have the same."""
    names = dict[str, LiveAlbum]()
    for live in albums:
        name, number = _word(live.path), 1
        while name in names:
            number += 1
            name = f"{_word(live.path)}-{number}"
        names[name] = live
    addresses = [FIRST, *(f"{OTHERS}{name}/" for name in list(names)[1:])]
    return tuple(map(Placed, addresses, names.values()))


def _word(path: Path) -> str:
    return re.sub("[^a-z0-9]+", "-", path.stem.lower()).strip("-") or "album"


def add_albums(api: FastAPI, live: LiveAlbum, albums: Sequence[Placed]) -> None:
    """Adds the list of the server's albums. `live`: the one that `api` serves."""

    @api.get("/api/v1/albums", tags=["album"])
    async def list_albums() -> list[AlbumView]:
        """The albums of this server, and the address of each one's page; its API begins there, too."""
        return [AlbumView(one.live.path.stem, one.address, one.live is live) for one in albums]


class Albums:
    """ASGI. One login and one limit of requests hold for all albums.

    `apps`: by their address; the one at "/" is asked for all that belongs to no other.
    """

    def __init__(self, apps: Mapping[str, Guard]) -> None:
        self._apps = apps
        for app in apps.values():
            app.share(apps[FIRST])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", FIRST)  # the start and end of the server have none
        address = "/".join([*path.split("/")[:3], ""])
        if address in self._apps and address != FIRST:
            within = path[len(address) - 1 :]
            await self._apps[address](dict(scope, path=within, raw_path=within.encode()), receive, send)
        else:
            await self._apps[FIRST](scope, receive, send)
