"""`gamer serve`: opens the album, listens, prints the address, and stops cleanly.

Parses, calls, prints; in this package only this file exits the process.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path

import click

from ..cli.console import one_line
from ..cli.options import backend_option, memory_option, random_option, threads_option
from ..cli.search import find_bundle


@click.command()
@click.argument("album", type=click.Path(path_type=Path))
@click.option(
    "-b",
    "--bundle",
    type=click.Path(path_type=Path),
    default=None,
    help="Bundle directory. [default: $GAMER_BUNDLE, else out/pocket beside or above the album]",
)
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
@backend_option
@threads_option
@memory_option
@random_option
def serve(
    album: Path,
    bundle: Path | None,
    host: str,
    port: int,
    token: str | None,
    backend: str,
    threads: int,
    max_memory: int | None,
    allow_random: bool,
) -> None:
    """Search ALBUM from a web page, and over a local HTTP API (its schema: /api/v1/openapi.json).

    \b
    gamer serve out/album.gamer -b out/pocket
    """
    with one_line("serve", extra="serve"):
        from ..search.engine import Engine
        from .app import create_app
        from .listen import server
        from .settings import ServerSettings, bind, url

        settings = ServerSettings(host, token)
        engine = Engine.open(
            bundle or find_bundle(album),
            album,
            backend,
            threads,
            max_memory and max_memory * 1_000_000,
            allow_random,
        )
        listening = bind(host, port)
        click.echo(
            f"{album}: {len(engine.album)} photos at {url(host, listening.getsockname()[1])} (Ctrl-C stops)"
        )
        if not settings.loopback:
            click.echo(
                "gamer serve: plain HTTP, readable to whoever shares the network: prefer an SSH tunnel to "
                "127.0.0.1",
                err=True,
            )
        # uvicorn raises the signal again after it has stopped; this turns it into KeyboardInterrupt.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with suppress(KeyboardInterrupt):
            server(create_app(engine, settings)).run(sockets=[listening])
        engine.close()
        click.echo("gamer serve: stopped", err=True)
