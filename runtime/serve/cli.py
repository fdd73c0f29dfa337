"""`gamer serve`: opens the album or the bundle, listens, prints the address, and stops cleanly.

Parses, calls, prints; in this package only this file exits the process.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..bundle.manifest import MANIFEST_NAME
from ..cli.console import one_line
from ..cli.options import album_bundle_option, running_of, running_options
from ..door.album import Album
from ..door.bundle import Bundle, Running, find_bundle
from ..errors import RuntimeFailure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .albums import Albums, Placed
    from .live import LiveAlbum
    from .memories import Memories
    from .server.guard import Guard
    from .server.settings import ServerSettings


Served = list[tuple[str, str]]  # what is served, and its address on the server


@click.command()
@click.argument("albums", metavar="[ALBUM]...", type=click.Path(path_type=Path), nargs=-1)
@album_bundle_option
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; beyond loopback a token is required.",
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any that is free."
)
@click.option(
    "--token",
    envvar="GAMER_TOKEN",
    default=None,
    help="16 or more characters that every request must know. [default: $GAMER_TOKEN]",
)
@click.option(
    "--upload",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIR",
    help="Take photos from the page into this folder, and index it. [default: take none]",
)
@running_options
def serve(
    albums: tuple[Path, ...],
    bundle: Path | None,
    host: str,
    port: int,
    token: str | None,
    upload: Path | None,
    **how: Any,
) -> None:
    """Search ALBUM from a web page, and over a local HTTP API (its schema: /api/v1/openapi.json).

    Of several albums the first is at /, and its page leads to the others, at /albums/NAME/. The language
    model of the first one's bundle answers at /v1/chat/completions, as OpenAI's API does. With a bundle in
    place of ALBUM, or with -b alone, there is no album to search, and the language model is all.

    \b
    gamer serve out/album.gamer
    gamer serve out/album.gamer out/trips.gamer
    gamer serve out/pocket
    """
    with one_line("serve", extra="serve"):
        from .server.listen import server
        from .server.settings import ServerSettings, bind, url

        settings = ServerSettings(host, token)
        for album in albums:
            if not (album / MANIFEST_NAME).is_file():
                continue
            if bundle is not None:
                raise RuntimeFailure(f"{album} is a bundle, and so is {bundle}: name one of them")
            if len(albums) > 1:
                raise RuntimeFailure(f"{album} is a bundle, not an album: name it with -b")
            albums, bundle = (), album
        running = running_of(how)
        with ExitStack() as closing:
            if upload is not None and len(albums) != 1:
                raise RuntimeFailure("--upload: no album, or several, to index photos into; name one")
            app: Albums | Guard
            if albums:
                app, served = _albums(albums, bundle, running, settings, upload, closing)
            else:
                app, served = _model(bundle, running, settings)
            listening = bind(host, port)
            at = url(host, listening.getsockname()[1])
            lines = [f"{what} at {at}{address.removeprefix('/')}" for what, address in served]
            click.echo("\n".join(lines) + " (Ctrl-C stops)")
            if not settings.loopback:
                click.echo(
                    "gamer serve: plain HTTP, readable to whoever shares the network: prefer an SSH tunnel "
                    "to 127.0.0.1",
                    err=True,
                )
            # uvicorn raises the signal again after it has stopped; this turns it into KeyboardInterrupt.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
            with suppress(KeyboardInterrupt):
                server(app).run(sockets=[listening])
        click.echo("gamer serve: stopped", err=True)


def _albums(
    albums: Sequence[Path],
    bundle: Path | None,
    running: Running,
    settings: ServerSettings,
    upload: Path | None,
    closing: ExitStack,
) -> tuple[Albums | Guard, Served]:
    """Albums of one bundle share its models. Each album is opened once, however often it is named."""
    from .albums import Albums, placed
    from .live import LiveAlbum
    from .memories import Memories
    from .server.guard import Guard

    bundles, opened = dict[Path, Bundle](), list[tuple[LiveAlbum, Memories]]()
    for album in {album.resolve(): album for album in albums}.values():
        folder = bundle or find_bundle(album)
        if folder not in bundles:
            bundles[folder] = Bundle(folder, running)
        live = LiveAlbum(Album(album, bundles[folder]))
        memories = Memories(live.file)
        closing.callback(_sweep, memories)
        closing.callback(live.close)
        opened.append((live, memories))
    places = placed([live for live, _ in opened])
    apps, served = dict[str, Guard](), Served()
    for place, (_, memories) in zip(places, opened, strict=True):
        apps[place.address] = _app(place.live, memories, places, settings, upload, closing)
        with place.live.edition() as edition:
            served.append((f"{place.live.path}: {len(edition.album)} photos", place.address))
    return (Albums(apps) if len(apps) > 1 else apps["/"]), served


def _app(
    live: LiveAlbum,
    memories: Memories,
    places: Sequence[Placed],
    settings: ServerSettings,
    upload: Path | None,
    closing: ExitStack,
) -> Guard:
    from .app import create_app
    from .idle import IdleUpdates
    from .uploads import Uploads

    idle = IdleUpdates(live.file.memory.learn)
    uploads = None if upload is None else Uploads(live, upload)
    app = create_app(live, settings, memories, idle, uploads, places)
    idle.start()
    closing.callback(idle.stop)
    if uploads is not None:
        closing.callback(uploads.stop)
        uploads.start()
    return app


def _sweep(memories: Memories) -> None:
    """Called after the album was closed."""
    if why := memories.sweep():
        click.echo(f"gamer serve: forgotten, but {why}, then run `gamer memory forget ALBUM`", err=True)


def _model(bundle: Path | None, running: Running, settings: ServerSettings) -> tuple[Guard, Served]:
    """Raises RuntimeFailure for a bundle whose language model cannot be talked to."""
    from ..models.language.chat import Chat
    from .app import create_model_app

    if bundle is None:
        raise RuntimeFailure("name an album, or a bundle to serve its language model")
    models = Bundle(bundle, running).models
    chat = Chat(models)
    if not chat.has_template:
        raise RuntimeFailure(f"{bundle}: no chat template: export a model for dialogues again")
    return create_model_app(models, settings), [(f"{bundle}: {chat.name}, no album,", "/")]
