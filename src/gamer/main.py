"""The `gamer` command: a table of sub-commands, each imported from its package on first use.

The sub-commands parse their own arguments.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import NoReturn

import click

COMMANDS = {
    "export": (
        "gamer.export.cli",
        "export",
        "Quantize, lower and prove a recipe's models: one bundle.",
    ),
    "verify": (
        "gamer.export.cli",
        "verify",
        "Check a bundle: its files, and what runs here against torch.",
    ),
    "pack": ("gamer.runtime.cli.pack", "pack", "Write a bundle to one file, for a phone."),
    "unpack": ("gamer.runtime.cli.pack", "unpack", "Make a bundle's directory of such a file."),
    "train": (
        "gamer.export.training.cli",
        "train",
        "Train a recipe's projection experts on your own album.",
    ),
    "index": ("gamer.main", "index", "Build an album from photos or a JSONL; change it, look into it."),
    "search": ("gamer.runtime.cli.search", "search", "Find the photos that a sentence means."),
    "similar": ("gamer.runtime.cli.similar", "similar", "Find the photos most similar to one of an album."),
    "ask": (
        "gamer.runtime.cli.ask",
        "ask",
        "Answer a question that takes several steps: the day of, before.",
    ),
    "generate": (
        "gamer.runtime.cli.generate",
        "generate",
        "Let the language model of a bundle or a file answer a prompt.",
    ),
    "bench": ("gamer.bench.cli.bench", "bench", "Measure latency, quality and cost; draw the report."),
    "chat": ("gamer.runtime.cli.chat", "chat", "Talk with an album that remembers what you say."),
    "memory": (
        "gamer.runtime.cli.memory",
        "memory",
        "List, correct, export, forget what an album knows about you.",
    ),
    "people": (
        "gamer.runtime.cli.people",
        "people",
        "List, name, merge, split and forget the people in photos.",
    ),
    "things": (
        "gamer.runtime.cli.things",
        "things",
        "List your things that recur; merge, split and forget them.",
    ),
    "doctor": (
        "gamer.runtime.cli.doctor",
        "doctor",
        "Show this machine, and how a bundle's components do on it.",
    ),
    "serve": (
        "gamer.runtime.serve.cli",
        "serve",
        "Search an album from a web page, and over a local HTTP API.",
    ),
    "mcp": ("gamer.runtime.cli.mcp", "mcp", "Serve an album's tools to an assistant, by MCP."),
}
# The commands as `gamer --help` shows them.
SECTIONS = {
    "Photos": ("index", "search", "similar", "ask", "chat", "serve", "mcp"),
    "What an album knows": ("memory", "people", "things"),
    "Models": ("export", "verify", "pack", "unpack", "train", "generate"),
    "This machine": ("doctor", "bench"),
}
EXTRAS = {"export": "export", "verify": "export", "train": "export", "serve": "serve", "bench": "bench"}


# `gamer index` has commands from two packages: those that need models, and those that only need the album.
INDEX_COMMANDS = {
    "build": ("gamer.runtime.cli.index", "build", "Index a folder of photos or a JSONL: one album file."),
    "add": (
        "gamer.runtime.cli.index",
        "add",
        "Bring an album up to date with a folder: new, moved and edited photos.",
    ),
    "update": (
        "gamer.runtime.cli.index",
        "update",
        "Encode an album's photos again, also with another bundle's encoders.",
    ),
    "caption": (
        "gamer.runtime.cli.index",
        "caption",
        "Write a caption for each photo that nobody has described.",
    ),
    "copies": ("gamer.runtime.cli.copies", "copies", "List copies and bursts: what looks the same."),
    "opened": (
        "gamer.index.cli",
        "opened",
        "Keep what is searched and opened, for training; or delete it.",
    ),
    "remove": ("gamer.index.cli", "remove", "Take photos out of an album."),
    "prefer": ("gamer.index.cli", "prefer", "Say that one photo, or one entity, is better than another."),
    "names": ("gamer.index.cli", "names", "List the entities, with their aliases."),
    "merge": ("gamer.index.cli", "merge", "Make entities one: aliases, or all whose vectors agree."),
    "split": ("gamer.index.cli", "split", "Take merged entities apart again."),
    "events": (
        "gamer.runtime.cli.events",
        "events",
        "List the events; make them from times, positions and memories.",
    ),
    "event": ("gamer.runtime.cli.events", "event", "Rename, merge or split events."),
    "stats": ("gamer.index.cli", "stats", "Counts and bytes, by layer."),
    "verify": (
        "gamer.index.cli",
        "verify",
        "Check everything in an album; --repair builds again what is derived.",
    ),
    "compact": ("gamer.index.cli", "compact", "Write an album anew without holes."),
    "export-jsonl": (
        "gamer.index.cli",
        "export",
        "Write an album as JSON lines, without what is marked to stay at home.",
    ),
}
Table = dict[str, tuple[str, str, str]]


class _Lazy(click.Group):
    """A group that imports a command only when it is called, so that `gamer search` starts without torch."""

    table: Table = COMMANDS
    sections: dict[str, tuple[str, ...]] = SECTIONS

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.table:
            return None
        module, name, _ = self.table[cmd_name]
        try:
            command: click.Command = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("gamer"):
                raise
            from gamer.index.installing import install

            extra = EXTRAS.get(cmd_name, "all")
            click.echo(
                f"gamer {cmd_name}: {error.name} is not installed: {install(extra)}",
                err=True,
            )
            sys.exit(1)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, names in self.sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.table[name][2]) for name in names])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self.table:
            ctx.fail(f"no command {args[0]!r}; choose one of: {', '.join(self.table)}")
        return super().resolve_command(ctx, args)


class _LazyIndex(_Lazy):
    table = INDEX_COMMANDS
    sections = {"Commands": tuple(INDEX_COMMANDS)}  # noqa: RUF012 - as click's own attributes


@click.group(cls=_LazyIndex)
def index() -> None:
    """Build an album index, change it, and look into one."""


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gamer-on-device")
@click.pass_context
def main(ctx: click.Context) -> None:
    """GAMER on the device: find the photo a person means, on their own phone.

    \b
    gamer export pocket -o out/pocket                   models → a proven bundle
    gamer index build PHOTOS -b out/pocket -o my.gamer  photos → one-file album
    gamer search my.gamer "coffee last spring" --explain
    """
    ctx.obj = _exported


def _exported(model: Path, quant: str, target: str) -> Path:
    """The bundle of a checkpoint, for `gamer generate`: the runtime may not import the exporter."""
    bundle: Path = importlib.import_module("gamer.export.cached").bundle(model, quant, target)
    return bundle


def run() -> None:
    """The console script. A wrong argument gives one line, not click's usage page, and exit code 2."""
    # numpy's OpenBLAS starts its threads on import and lets them spin for 40 ms, on the cores that load the
    # models; 2⁴ cycles is the least that it takes.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        code = main(prog_name="gamer", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "gamer"
        used = ""
        if isinstance(error, click.MissingParameter) and error.ctx:
            used = f": {where} {' '.join(error.ctx.command.collect_usage_pieces(error.ctx))}"
        said = " ".join(error.format_message().split())
        _end(f"{where}: {said.rstrip('.') + used if used else said} (see {where} --help)", 2)
    except click.ClickException as error:
        _end(f"gamer: {error.format_message()}", 1)
    except (click.Abort, KeyboardInterrupt):
        _end("gamer: interrupted", 130)
    except BrokenPipeError:  # `gamer … | head`
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)


def _end(line: str, code: int) -> NoReturn:
    from gamer.index.console import plain

    click.echo(plain(line), err=True)
    sys.exit(code)


if __name__ == "__main__":
    run()
