"""`gamer mcp`: an album's tools for an assistant that speaks the Model Context Protocol."""

from __future__ import annotations

import signal
from datetime import datetime
from pathlib import Path

import click

from .console import one_line
from .options import (
    PATH,
    album_bundle_option,
    backend_option,
    memory_option,
    now_option,
    random_option,
    threads_option,
)


@click.command()
@click.argument("album", type=PATH)
@album_bundle_option
@now_option
@click.option(
    "--local",
    is_flag=True,
    help="The assistant runs on this machine: tell also what is marked sharing=low or sensitivity=high.",
)
@backend_option
@threads_option
@memory_option
@random_option
def mcp(
    album: Path,
    bundle: Path | None,
    now: datetime | None,
    local: bool,
    backend: str,
    threads: int,
    max_memory: int | None,
    allow_random: bool,
) -> None:
    """Serve the tools over ALBUM on standard input and output, to an assistant that starts this command.

    An assistant sends what it reads to its model, which usually runs elsewhere: photos and memories marked
    sharing=low or sensitivity=high are not told to it, unless --local is given. Nothing is changed.

    \b
    {"mcpServers": {"photos": {"command": "gamer", "args": ["mcp", "/home/me/my.gamer"]}}}
    """
    with one_line("mcp", extra="mcp"):
        from ..agent.mcp_server import serve
        from ..agent.toolbox import Toolbox
        from ..models.models import Models
        from ..search.engine import Engine
        from .search import find_bundle

        memory = max_memory and max_memory * 1_000_000
        models = Models.open(bundle or find_bundle(album), backend, threads, memory, allow_random)
        toolbox = Toolbox(Engine.over(models, album), now, leaving=not local)
        # A thread waits for standard input, and Python would wait for the thread: Ctrl-C ends the process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        serve(toolbox)
