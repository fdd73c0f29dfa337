"""`gamer mcp`: an album's tools for an assistant that speaks the Model Context Protocol."""

from __future__ import annotations

import signal
from datetime import datetime
from typing import TYPE_CHECKING

import click

from .options import album_command, now_option

if TYPE_CHECKING:
    from ..door.album import Album


@click.command()
@album_command("mcp", extra="mcp")
@now_option
@click.option(
    "--local",
    is_flag=True,
    help="The assistant runs on this machine: tell also what is marked sharing=low or sensitivity=high.",
)
def mcp(album: Album, now: datetime | None, local: bool) -> None:
    """Serve the tools over ALBUM on standard input and output, to an assistant that starts this command.

    An assistant sends what it reads to its model, which usually runs elsewhere: photos and memories marked
    sharing=low or sensitivity=high are not told to it, unless --local is given. Nothing is changed.

    \b
    {"mcpServers": {"photos": {"command": "gamer", "args": ["mcp", "/home/me/my.gamer"]}}}
    """
    from ..agent.mcp_server import serve

    toolbox = album.toolbox(now, leaving=not local)
    # A thread waits for standard input, and Python would wait for the thread: Ctrl-C ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(toolbox)
