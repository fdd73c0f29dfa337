"""`gamer serve`: opens the album or the bundle, listens, prints the address, and stops cleanly.

Parses, calls, prints; in this package only this file exits the process.
"""

from __future__ import annotations

import signal
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..bundle.manifest import MANIFEST_NAME
from ..cli.console import one_line
from ..cli.options import album_bundle_option, backend_option, memory_option, random_option, threads_option
from ..cli.search import find_bundle
from ..errors import RuntimeFailure

if TYPE_CHECKING:
    from .guard import Guard
    from .memories import Memories
    from .settings import ServerSettings


Options = tuple[str, int, int | None, bool]  # backend, threads, bytes of models, whether random ones may be


@click.command()
@click.argument("album", type=click.Path(path_type=Path), required=False)
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
@backend_option
@threads_option
@memory_option
@random_option
def serve(
    album: Path | None,
    bundle: Path | None,
    host: str,
    port: int,
    token: str | None,
    upload: Path | None,
    backend: str,
    threads: int,
    max_memory: int | None,
    allow_random: bool,
) -> None:
    """Search ALBUM from a web page, and over a local HTTP API (its schema: /api/v1/openapi.json).

    The language model of its bundle answers at /v1/chat/completions, as OpenAI's API does. With a bundle in
    place of ALBUM, or with -b alone, there is no album to search, and the language model is all.

    \b
    gamer serve out/album.gamer
    gamer serve out/pocket
    """
    with one_line("serve", extra="serve"):
        from .listen import server
        from .settings import ServerSettings, bind, url

        settings = ServerSettings(host, token)
        if album is not None and (album / MANIFEST_NAME).is_file():
            if bundle is not None:
                raise RuntimeFailure(f"{album} is a bundle, and so is {bundle}: name one of them")
            album, bundle = None, album
        options = (backend, threads, max_memory and max_memory * 1_000_000, allow_random)
        with ExitStack() as closing:
            if album is None:
                if upload is not None:
                    raise RuntimeFailure("--upload: there is no album to index photos into; name one")
                app, what = _model(bundle, options, settings)
            else:
                app, what = _album(album, bundle, options, settings, upload, closing)
            listening = bind(host, port)
            click.echo(f"{what} at {url(host, listening.getsockname()[1])} (Ctrl-C stops)")
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


def _album(
    album: Path,
    bundle: Path | None,
    options: Options,
    settings: ServerSettings,
    upload: Path | None,
    closing: ExitStack,
) -> tuple[Guard, str]:
    from ..memory.recall import encoder_of
    from ..search.engine import Engine
    from .app import create_app
    from .idle import IdleUpdates
    from .live import LiveAlbum
    from .memories import Memories
    from .uploads import Uploads

    engine = Engine.open(bundle or find_bundle(album), album, *options)
    live, memories = LiveAlbum(engine), Memories(album)
    closing.callback(_sweep, memories)
    closing.callback(live.close)
    idle = IdleUpdates(album, encoder_of(engine.models))
    closing.callback(idle.stop)
    uploads = None if upload is None else Uploads(live, upload)
    app = create_app(live, settings, memories, idle, uploads)
    idle.start()
    if uploads is not None:
        closing.callback(uploads.stop)
        uploads.start()
    return app, f"{album}: {len(engine.album)} photos"


def _sweep(memories: Memories) -> None:
    """Called after the album was closed."""
    if why := memories.sweep():
        click.echo(f"gamer serve: forgotten, but {why}, then run `gamer memory forget ALBUM`", err=True)


def _model(bundle: Path | None, options: Options, settings: ServerSettings) -> tuple[Guard, str]:
    """Raises RuntimeFailure for a bundle whose language model cannot be talked to."""
    from ..models.chat import Chat
    from ..models.models import Models
    from .app import create_model_app

    if bundle is None:
        raise RuntimeFailure("name an album, or a bundle to serve its language model")
    models = Models.open(bundle, *options)
    chat = Chat(models)
    if not chat.has_template:
        raise RuntimeFailure(f"{bundle}: no chat template: export a model for dialogues again")
    return create_model_app(models, settings), f"{bundle}: {chat.name}, no album,"
