"""/api/v1/timeline, /photos, /favourites, /exports: an album without a query, filtered, marked, taken along.

Photos that are to change or to leave are named by their ids: their rows change when others are removed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path as FilePath
from typing import Annotated, TypeVar

from apsw import Connection
from fastapi import Depends, FastAPI, Path, Query, Response
from fastapi.responses import StreamingResponse
from pydantic import BeforeValidator, Field

from gamer.index.album.declarations import collection_tables
from gamer.index.album.declarations.collection_tables import Collection

from .live import Edition, LiveAlbum, Threads
from .selections import Selected, Selections, listing, zipped
from .server.problem import Refused, problems
from .views import (
    Box,
    CollectionRequest,
    Detailed,
    Export,
    ExportRequest,
    FavouritesRequest,
    Filter,
    FolderName,
    Marked,
    Named,
    PersonName,
    PhotoPage,
    PlaceName,
    Shelf,
    Source,
    Time,
    Title,
    digits,
    truth,
    whole,
)

AT_ONCE = 4
MAX_PAGE = 500
MAX_TITLES = 100
EXPORTS = "/api/v1/exports"
COLLECTIONS = "/api/v1/collections"
T = TypeVar("T")
Moment = Annotated[Time, BeforeValidator(whole)]
RowNumber = Annotated[int, Field(ge=0, le=2**31 - 1), BeforeValidator(digits)]
CollectionKey = Annotated[int, Path(ge=1, le=2**31 - 1), BeforeValidator(digits)]
Key = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{22}$", description="as POST /api/v1/exports gave it")]


def in_address(
    details: Annotated[Detailed, Depends()],
    start: Annotated[Moment | None, Query(description="wall time in ms, included")] = None,
    end: Annotated[Moment | None, Query(description="wall time in ms, included")] = None,
    box: Annotated[Box | None, Query(description="south, west, north, east in degrees")] = None,
    place: Annotated[PlaceName | None, Query(description="a name of the gazetteer")] = None,
    source: Annotated[Source | None, Query(description="of a memory that the photo has")] = None,
    person: Annotated[PersonName | None, Query(description="a name that the photo is told with")] = None,
    folder: Annotated[FolderName | None, Query(description="of its file, as the overview has it")] = None,
    favourites: Annotated[bool, BeforeValidator(truth), Query(description="only those")] = False,
) -> Filter:
    return Filter(
        start=start,
        end=end,
        box=box,
        place=place,
        source=source,
        person=person,
        folder=folder,
        favourites=favourites,
        **details.model_dump(),
    )


Wanted = Annotated[Filter, Depends(in_address)]


def add_browse(api: FastAPI, live: LiveAlbum) -> None:
    """Adds the routes."""
    threads, selections = Threads(live, AT_ONCE), Selections()

    @api.get("/api/v1/timeline", responses=problems(404, 503), tags=["album"])
    async def timeline(wanted: Wanted) -> Shelf:
        """How many photos each month has, of those that the filter lets through."""
        return await threads.read(partial(_shelf, wanted))

    @api.get("/api/v1/photos", responses=problems(404, 503), tags=["photos"])
    async def list_photos(
        wanted: Wanted,
        offset: Annotated[int, Query(ge=0, le=2**31 - 1), BeforeValidator(digits)] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_PAGE), BeforeValidator(digits)] = 200,
    ) -> PhotoPage:
        """Photos in the order of the timeline: newest first, without a date last."""
        return await threads.read(partial(_page, wanted, offset, limit))

    @api.get("/api/v1/titles", responses=problems(404, 503), tags=["photos"])
    async def titles(
        row: Annotated[list[RowNumber], Query(max_length=MAX_TITLES, description="as in hits")],
    ) -> tuple[Title, ...]:
        """What photos show and where they were taken, in a word each; rows that do not exist are left out."""
        return await threads.read(lambda edition: edition.catalogue.titles(row))

    @api.post("/api/v1/favourites", responses=problems(408, 413, 503), tags=["photos"])
    async def mark_favourites(asked: FavouritesRequest) -> Marked:
        """Marks photos as favourites in the album file, or takes their marks away."""
        return await threads.run(partial(_mark, live, asked))

    async def write(change: Callable[[Connection, FilePath], T]) -> T:
        def changed() -> T:
            with live.file.writing() as writer:
                return writer.change_optional(change)

        return await threads.run(changed)

    @api.get(COLLECTIONS, responses=problems(503), tags=["album"])
    async def list_collections() -> tuple[Collection, ...]:
        """Searches and selections that the owner keeps in the album's file, the newest first."""

        def listed() -> tuple[Collection, ...]:
            with live.file.again() as album:
                return album.reader.reading(collection_tables.read)

        return await threads.run(listed)

    @api.post(COLLECTIONS, status_code=204, responses=problems(408, 413, 503), tags=["album"])
    async def keep_collection(asked: CollectionRequest) -> None:
        """Keeps one, in place of that of the same name."""
        await write(lambda db, _: collection_tables.keep(db, asked.name, asked.search, asked.ids))

    @api.put(
        f"{COLLECTIONS}/{{key}}", status_code=204, responses=problems(404, 408, 413, 503), tags=["album"]
    )
    async def rename_collection(key: CollectionKey, asked: Named) -> None:
        """Renames one; another of that name is no longer kept."""
        if not await write(lambda db, _: collection_tables.rename(db, key, asked.name)):
            raise Refused(404, "collection_gone")

    @api.delete(f"{COLLECTIONS}/{{key}}", status_code=204, responses=problems(404, 503), tags=["album"])
    async def forget_collection(key: CollectionKey) -> None:
        """Keeps one no longer; its photos stay."""
        if not await write(lambda db, _: collection_tables.forget(db, "id = ?", key)):
            raise Refused(404, "collection_gone")

    @api.post(EXPORTS, responses=problems(408, 413, 503), tags=["photos"])
    async def select_photos(asked: ExportRequest) -> Export:
        """Says what of a selection may be taken along, and keeps it to be fetched.

        The server remembers the latest 16.
        """
        return await threads.read(lambda edition: selections.make(edition, asked))

    @api.get(
        f"{EXPORTS}/{{key}}/photos.zip",
        response_class=StreamingResponse,
        responses={200: {"content": {"application/zip": {}}}, **problems(404)},
        tags=["photos"],
    )
    async def fetch_photos(key: Key) -> Response:
        """The files of a selection, unchanged, in a zip that is made while it is sent."""
        pieces = zipped(_held(selections, key))
        return StreamingResponse(pieces, 200, _download("photos.zip"), "application/zip")

    @api.get(
        f"{EXPORTS}/{{key}}/photos.txt",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **problems(404)},
        tags=["photos"],
    )
    async def fetch_list(key: Key) -> Response:
        """The photos of a selection, a line each: id, wall time, file name, with tabs between."""
        text = listing(_held(selections, key))
        return Response(text, 200, _download("photos.txt"), "text/plain; charset=utf-8")


def _shelf(wanted: Filter, edition: Edition) -> Shelf:
    rows = edition.catalogue.rows(wanted)
    return Shelf(edition.name, len(rows), *edition.catalogue.months(rows))


def _page(wanted: Filter, offset: int, limit: int, edition: Edition) -> PhotoPage:
    rows = edition.catalogue.rows(wanted)[offset : offset + limit]
    return PhotoPage(edition.name, edition.catalogue.listed(rows))


def _mark(live: LiveAlbum, asked: FavouritesRequest) -> Marked:
    with live.file.writing() as writer:
        known = {photo.id for photo in writer.known()}
        wanted = [photo for photo in dict.fromkeys(asked.ids) if photo in known]
        changed = writer.mark_favourites(wanted, asked.favourite) if wanted else []
    live.look()
    with live.edition() as edition:
        return Marked(tuple(changed), edition.name)


def _held(selections: Selections, key: str) -> tuple[Selected, ...]:
    selected = selections.get(key)
    if selected is None:
        raise Refused(404, "selection_gone")
    return selected


def _download(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
