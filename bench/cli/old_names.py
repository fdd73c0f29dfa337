"""Old names of the commands of `gamer bench`, which keep working for a release, with a hint.

A study that was a command had options of its own: an option that is a setting of the study becomes `--set`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from shlex import join
from typing import Any

import click

from gamer.runtime.cli.console import one_line

from ..study import settings
from ..study.studies import STUDIES

_DATA, _SET = "DATA", "--set"
# Old options by what they are now: an option, a setting, or DATA.
_RENAMED = {
    "--data": _DATA,
    "--keep": "--cache",
    "--results": "--cache",
    "--work": "--cache",
    "-m": "method",
    "-n": "vectors",
    "-q": "queries",
    "-r": "repetitions",
}
# Arguments of a study that were no data: the option or the setting that they are now.
_ARGUMENTS = {"alpha": "recipe", "exports": "-b", "llm-tasks": "-b", "update": "recipe"}


class OldNames(click.Group):
    """A group that takes an old name for what it is called now, and has one line for what a command's imports
    raise, such as the paper's figures where one is missing.
    """

    def invoke(self, ctx: click.Context) -> Any:
        with one_line("bench", extra="bench"):
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and (words := renamed(args[0], args[1:])):
            if args[0] != "paper":  # a short name that stays
                click.echo(f"gamer bench {args[0]} is now: gamer bench {join(words)}", err=True)
            args = words
        return super().resolve_command(ctx, args)


def renamed(name: str, args: Sequence[str]) -> list[str]:
    """The words after `gamer bench` that mean the same today; none for a name that there never was."""
    if name in ("table", "paper"):
        return ["report", *(word for word in args if word != "--results")]
    if name not in STUDIES:
        return []
    if name == "memory" and "--fit" in args:
        name, args = "memory-fit", [word for word in args if word != "--fit"]
    with one_line(f"bench {name}", extra=STUDIES[name].extra):
        known = settings.of(STUDIES[name].work().settings)
    words, data, values = ["study", name], list[str](), dict[str, list[str]]()
    for option, value in _options(args, {key for key, one in known.items() if one.kind is bool}):
        now = _RENAMED.get(option, option) if option else _ARGUMENTS.get(name, _DATA)
        key = now.removeprefix("--")
        if now == _DATA:
            data.append(value)
        elif key in known:
            values.setdefault(key, []).append(value)
        else:
            words += [now, value] if value else [now]
    given = (word for key, texts in values.items() for word in (_SET, f"{key}={','.join(texts)}"))
    return [*words, *data, *given]


def _options(args: Sequence[str], flags: set[str]) -> Iterator[tuple[str, str]]:
    """(option, value) of each; an argument has no option, and an option of `flags` the value "true"."""
    words = iter(args)
    for word in words:
        option, equals, value = word.partition("=")
        key = option.removeprefix("--").removeprefix("no-")
        if not word.startswith("-"):
            yield "", word
        elif key in flags:
            yield f"--{key}", "false" if option.startswith("--no-") else "true"
        elif equals:
            yield option, value
        else:
            yield option, "" if option in ("--json", "--help", "--quick") else next(words, "")
