"""The routes: a FastAPI application around one Engine, or one bundle's language model, behind the Guard.

Parses requests, runs the engine in a bounded pool of threads, and answers in JSON. A photo is addressed by
its row number: no part of a URL is ever used as a file path.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata, resources
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import FastAPI, HTTPException, Path, Query, Request, Response, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse
from fastapi.security import HTTPBearer
from pydantic import BeforeValidator
from starlette.exceptions import HTTPException as StarletteHTTPException

from gamer.index import AlbumError, may_leave
from gamer.index.errors import NoSuchMemory, UnfitMemory
from gamer.index.fields import FIELDS, detailed, values
from gamer.index.records import FAVOURITE

from ..defaults import SIMILAR as K
from ..errors import BundleError, RuntimeFailure
from ..search.answer import SimilarPhotos
from ..search.options import SearchOptions
from ..wall_time import moment
from . import overview as glance
from . import words
from .albums import Placed, add_albums, placed
from .ask import add_ask
from .browse import add_browse
from .completions import add_chat
from .idle import IdleUpdates
from .live import Edition, LiveAlbum, Threads
from .memories import Memories, add_memories
from .people import add_people
from .pictures import SHOWN_BY_BROWSERS, Original
from .server.guard import CHAT, COOKIE, HEALTH, SEARCH, SESSION, SIMILAR, UPLOADS, Guard
from .server.problem import Problems, Refusal, Refused, problems, without_folder
from .server.receive import add_uploads
from .server.settings import ServerSettings
from .talk import add_talk
from .uploads import Uploads
from .views import (
    MAX_PHOTOS,
    ClipView,
    Health,
    MemoryView,
    OpenedRequest,
    Overview,
    PhotoView,
    SearchRequest,
    SearchResult,
    Stats,
    digits,
)

if TYPE_CHECKING:
    from ..models.models import Models
    from ..search.engine import Engine

DISTRIBUTION = "gamer-on-device"
SCHEMA = "/api/v1/openapi.json"
STATIC = {
    "index.html": "text/html; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
    "theme.js": "text/javascript; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "ask.js": "text/javascript; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "words.js": "text/javascript; charset=utf-8",
    "draw.js": "text/javascript; charset=utf-8",
    "trusted.js": "text/javascript; charset=utf-8",
    "map.js": "text/javascript; charset=utf-8",
    "vendor/leaflet.js": "text/javascript; charset=utf-8",
    "vendor/leaflet.css": "text/css; charset=utf-8",
    "timeline.js": "text/javascript; charset=utf-8",
    "graph.js": "text/javascript; charset=utf-8",
    "layers.js": "text/javascript; charset=utf-8",
    "similar.js": "text/javascript; charset=utf-8",
    "memory.js": "text/javascript; charset=utf-8",
    "talk.js": "text/javascript; charset=utf-8",
    "photos.js": "text/javascript; charset=utf-8",
    "browse.js": "text/javascript; charset=utf-8",
    "filters.js": "text/javascript; charset=utf-8",
    "layout.js": "text/javascript; charset=utf-8",
    "selection.js": "text/javascript; charset=utf-8",
    "upload.js": "text/javascript; charset=utf-8",
    "kept.js": "text/javascript; charset=utf-8",
    "people.js": "text/javascript; charset=utf-8",
    "titles.js": "text/javascript; charset=utf-8",
    "stars.js": "text/javascript; charset=utf-8",
    "zoom.js": "text/javascript; charset=utf-8",
    "viewer.js": "text/javascript; charset=utf-8",
    "land.json": "application/json",
    "icon.svg": "image/svg+xml",
}
NO_ALBUM = f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>GAMER on the device</title>
<h1>There is no album here</h1>
<p>This server has a bundle alone. Its language model answers at <code>{CHAT}</code>, as OpenAI's API does.
<p>To search photos, start <code>gamer serve ALBUM</code>.
</html>
"""
SEARCHES_AT_ONCE = 4
DECODERS_AT_ONCE = 2  # decoding a photo of 120 megapixels takes 360 MB
MAX_ROW = 2**31 - 1

Row = Annotated[
    int,
    Path(ge=0, le=MAX_ROW, description="the photo's number in this album, as in a hit"),
    BeforeValidator(digits),
]

PhotoId = Annotated[str, Query(min_length=1, description="the photo's id, as in a hit")]
Number = Annotated[int, Query(ge=1, le=MAX_PHOTOS, description="how many photos"), BeforeValidator(digits)]


def create_app(
    engine: Engine | LiveAlbum,
    settings: ServerSettings,
    memories: Memories | None = None,
    idle: IdleUpdates | None = None,
    uploads: Uploads | None = None,
    albums: Sequence[Placed] = (),
) -> Guard:
    """The ASGI application that serves one album, and the language model of its bundle.

    `engine`: as a LiveAlbum by a caller that closes what is open at the end. `memories`: given by a caller
    that erases what is left once the album is closed (`Memories.sweep`). `idle`: given by a caller that
    starts and stops it; without one nothing is updated in idle time. `uploads`: likewise; without
    one no file is taken. `albums`: all that the server has, if there are several.
    """
    live = engine if isinstance(engine, LiveAlbum) else LiveAlbum.of(engine)
    api = _api("Search one photo album by what a person says. Nothing leaves the machine.", settings)
    guard = Guard(api, settings, streamed={UPLOADS: uploads.largest} if uploads else None)
    _errors(api, live.path)
    _search(api, live)
    add_ask(api, live)
    memories = memories or Memories(live.file)
    add_talk(api, live, idle or IdleUpdates(live.file.memory.learn), memories)
    add_chat(api, live.models)
    add_browse(api, live)
    add_uploads(api, uploads)
    _photos(api, live)
    add_albums(api, live, albums or placed([live]))
    add_memories(api, live, memories)
    add_people(api, live, memories)
    _session(api, guard)
    _page(api)
    return guard


def create_model_app(models: Models, settings: ServerSettings) -> Guard:
    """The ASGI application that serves a bundle's language model, without an album."""
    api = _api("Ask a language model. Nothing leaves the machine.", settings)
    guard = Guard(api, settings)
    _errors(api)
    add_chat(api, models)
    _session(api, guard)

    async def index() -> Response:
        return Response(NO_ALBUM, 200, media_type=STATIC["index.html"])

    api.add_api_route("/", index, include_in_schema=False, response_class=Response)
    return guard


def _api(summary: str, settings: ServerSettings) -> FastAPI:
    return FastAPI(
        title="GAMER on the device",
        version=metadata.version(DISTRIBUTION),
        summary=summary,
        openapi_url=SCHEMA,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # The names of a generated client's functions: `search`, `add_memory`.
        generate_unique_id_function=lambda route: route.name,
        responses=problems(401) if settings.token else problems(),
        dependencies=[Security(HTTPBearer(auto_error=False))] if settings.token else [],
    )


def _errors(api: FastAPI, album: FilePath | None = None) -> None:
    """`album`: its folder is left out of what is said of it."""

    def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, StarletteHTTPException)
        if isinstance(error, Refused):
            return error.refusal.response(request.url.path)
        # The router's own errors only repeat the name of their status.
        text = {"Not Found": "no such address", "Method Not Allowed": "no such method at this address"}.get(
            error.detail
        )
        said = f"{text}: see {SCHEMA}" if text else str(error.detail)
        return Refusal(error.status_code, said, error.headers).response(request.url.path)

    def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return Refusal(422, f"{where}: {first['msg']}").response(request.url.path)

    def failed(request: Request, error: Exception) -> Response:
        return Refused(500, "failed").refusal.response(request.url.path)

    def told(status: int) -> Callable[[Request, Exception], Response]:
        def response(request: Request, error: Exception) -> Response:
            said = str(error) if album is None else without_folder(str(error), album)
            return Refusal(status, said).response(request.url.path)

        return response

    handlers: dict[type[Exception], Callable[[Request, Exception], Response]] = {
        StarletteHTTPException: http,
        RequestValidationError: invalid,
        BundleError: told(503),
        RuntimeFailure: told(422),
        AlbumError: told(503),
        NoSuchMemory: told(404),
        UnfitMemory: told(422),
        Exception: failed,
    }
    for kind, handler in handlers.items():
        api.add_exception_handler(kind, handler)


def _search(api: FastAPI, live: LiveAlbum) -> None:
    threads = Threads(live, SEARCHES_AT_ONCE)

    @api.post(SEARCH, responses=problems(404, 408, 413, 503), tags=["search"])
    async def search(asked: SearchRequest) -> SearchResult:
        """The photos that a sentence means, best first, with what each layer did, how long it took, and the
        entity nodes it walked.
        """
        return await threads.read(partial(_found, asked))

    @api.get(SIMILAR, responses=problems(404, 503), tags=["search"])
    async def similar_photos(photo: PhotoId, k: Number = K) -> SimilarPhotos:
        """The photos most similar to one, best first: by its picture or, where it has none, by what is said.

        `asked` is the photo itself, and names its copies.
        """
        return await threads.read(partial(_similar, photo, k))


def _found(asked: SearchRequest, edition: Edition) -> SearchResult:
    answer = edition.opened.search(
        asked.query,
        asked.k,
        refine=asked.refine,
        mode=asked.mode,
        now=moment(asked.now),
        options=SearchOptions(within=edition.catalogue.within(asked.only)),
    )
    return glance.result(edition.engine, answer)


def _similar(photo: str, k: int, edition: Edition) -> SimilarPhotos:
    try:
        row = edition.album.row_of(photo)
    except AlbumError:
        raise Refused(404, "no_photo") from None
    return glance.without_folders(edition.opened.similar(row, k))


def _photos(api: FastAPI, live: LiveAlbum) -> None:
    readers, decoders = Threads(live, SEARCHES_AT_ONCE), Threads(live, DECODERS_AT_ONCE)

    @api.get("/api/v1/stats", tags=["album"])
    async def stats(
        lang: Annotated[words.Language, Query(description="of the queries")] = "en",
    ) -> Stats:
        """Counts, what encoded the album, and queries that fit it."""
        return await readers.read(lambda edition: _stats(edition, lang))

    @api.get("/api/v1/overview", tags=["album"])
    async def overview() -> Overview:
        """Photos by month and by place, for a timeline and a map."""
        return await readers.read(lambda edition: edition.overview)

    @api.post(
        "/api/v1/photos/{row}/opened", status_code=204, responses=problems(404, 408, 413), tags=["photos"]
    )
    async def opened(row: Row, asked: OpenedRequest) -> Response:
        """Notes that a query's photo was opened, if the album's owner keeps that; otherwise does nothing."""

        def note(edition: Edition) -> None:
            edition.opened.note_opened(asked.query, edition.album.photo(_known(edition, row)).id)

        await readers.read(note)
        return Response(None, 204)

    @api.get("/api/v1/photos/{row}", responses=problems(404), tags=["photos"])
    async def photo(row: Row) -> PhotoView:
        """What the album knows of one photo."""
        return await readers.read(lambda edition: _view(edition, _known(edition, row)))

    @api.get(
        "/api/v1/photos/{row}/thumbnail",
        response_class=Response,
        responses=_picture("image/webp"),
        tags=["photos"],
    )
    async def thumbnail(
        request: Request, row: Row, size: Annotated[Literal["320", "800", "1600"], Query()] = "320"
    ) -> Response:
        """The photo upright, as WebP, at most `size` pixels a side.

        404 when its file has moved away, or is no picture.
        """
        result = await decoders.read(
            lambda edition: edition.pictures.thumbnail(_known(edition, row), int(size))
        )
        headers = {"etag": f'"{result.tag}"', "cache-control": "private, no-cache"}
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(None, 304, headers)
        return Response(result.data, 200, headers, "image/webp")

    @api.get(
        "/api/v1/photos/{row}/image",
        response_class=FileResponse,
        responses=_picture("image/*", "video/*"),
        tags=["photos"],
    )
    async def image(row: Row) -> Response:
        """The photo's or clip's own file; what browsers do not show (TIFF, HEIC) comes as a download.

        A header `Range` asks for a part of it.
        """
        return _file(await decoders.read(lambda edition: edition.pictures.original(_known(edition, row))))

    @api.get(
        "/api/v1/photos/{row}/motion",
        response_class=FileResponse,
        responses=_picture("video/*"),
        tags=["photos"],
    )
    async def motion(row: Row) -> Response:
        """The clip of a Live Photo; 404 for other photos."""
        return _file(await decoders.read(lambda edition: edition.pictures.motion(_known(edition, row))))


def _known(edition: Edition, row: int) -> int:
    if row >= len(edition.album):
        raise Refused(404, "no_row", row=row, last=len(edition.album) - 1)
    return row


def _stats(edition: Edition, language: words.Language) -> Stats:
    totals, meta = edition.album.stats(), edition.album.meta
    return Stats(
        photos=totals.photos,
        with_time=totals.with_time,
        with_place=totals.with_place,
        memories=totals.memories,
        entities=totals.entities,
        file_bytes=totals.file_bytes,
        text_encoder=meta.text_encoder,
        image_encoder=meta.image_encoder,
        delta=meta.delta,
        k=edition.engine.models.manifest.thresholds.k,
        examples=tuple(example.text(language) for example in edition.examples),
        edition=edition.name,
    )


def _view(edition: Edition, row: int) -> PhotoView:
    stored = edition.album.photo(row)
    name = None if stored.path is None else stored.path.replace("\\", "/").rsplit("/", 1)[-1]
    memories = tuple(MemoryView(m.source, m.text) for m in stored.memories if m != FAVOURITE)
    found = edition.album.clips([stored.id]).get(stored.id)
    view = PhotoView(
        row=row,
        id=stored.id,
        name=name,
        here=edition.pictures.is_there(row),
        taken_at=stored.wall,
        tz_source=stored.tz_source,
        lat=stored.lat,
        lon=stored.lon,
        memories=memories,
        sharing=stored.sharing,
        sensitivity=stored.sensitivity,
        favourite=FAVOURITE in stored.memories,
        stays=not may_leave(stored),
        clip=None if found is None else ClipView(found.start / 1e3, found.end / 1e3, found.length / 1e3),
        live=edition.pictures.is_live(row),
    )
    return detailed(view, values(stored))


def _file(original: Original) -> Response:
    disposition = "inline" if original.media_type in SHOWN_BY_BROWSERS else "attachment"
    return FileResponse(
        original.path,
        200,
        {"cache-control": "private, no-cache"},
        original.media_type,
        filename=original.path.name,
        content_disposition_type=disposition,
    )


def _picture(*media_types: str) -> Problems:
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {"content": dict.fromkeys(media_types, binary)},
        **problems(404),
    }


def _session(api: FastAPI, guard: Guard) -> None:
    @api.get(HEALTH, tags=["server"])
    async def health() -> Health:
        """Whether the server answers, and whether it wants a token. Says nothing of the album."""
        return Health("ok", api.version, guard.settings.token is not None)

    @api.post(SESSION, status_code=204, responses=problems(408, 413), tags=["server"])
    async def log_in() -> Response:
        """Trades the token (the Guard has checked it) for a cookie that scripts cannot read and other sites
        cannot send.
        """
        response = Response(None, 204)
        if guard.settings.token is not None:
            response.set_cookie(COOKIE, guard.session, httponly=True, samesite="strict", path="/")
        return response


def _page(api: FastAPI) -> None:
    """Serves the page's files, read once from the package. Names that are not in STATIC give 404."""
    folder = resources.files(__package__) / "static"
    contents = {name: (folder / name).read_bytes() for name in STATIC}
    contents["fields.js"] = (
        f"export const DETAILS = {json.dumps([field.name for field in FIELDS])};\n".encode()
    )

    async def index(request: Request, lang: Annotated[str | None, Query()] = None) -> Response:
        language = words.chosen(lang, request.headers.get("accept-language", ""))
        headers = {"content-language": language, "vary": "accept-language"}
        return Response(words.page(language), 200, headers, STATIC["index.html"])

    async def file(name: str) -> Response:
        if name not in contents:
            raise HTTPException(404, "no such page: the album is searched at /")
        return Response(contents[name], 200, media_type=STATIC.get(name, STATIC["app.js"]))

    async def vendored(name: str) -> Response:
        return await file(f"vendor/{name}")

    for path in ("/", "/index.html"):
        api.add_api_route(path, index, include_in_schema=False, response_class=Response)
    api.add_api_route("/vendor/{name}", vendored, include_in_schema=False, response_class=Response)
    api.add_api_route("/{name}", file, include_in_schema=False, response_class=Response)
