"""Commands killed at a system call leave a whole album, and finish when run again (tools/kills.py)."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
import pytest

from gamer.main import main
from gamer.runtime.indexing import build
from tests.fakes import fake_models
from tools import kills

FAST = (
    "remove", "merge", "compact", "repair", "export-jsonl", "memory add", "memory forget all", "things merge",
)  # fmt: skip

# What changes no album, bundle or checkpoint. `serve` does for its page, by what the other commands use.
READ_ONLY = """
bench compare, bench device, bench flops, bench latency, bench ops, bench quality, bench report, bench sample,
bench study, doctor, generate, index copies, index names, index stats, mcp, memory list, memory show,
people list, people show, search, similar, ask, serve, things list, things show, verify
"""


def commands_of(group: click.Command, *path: str) -> Iterator[str]:
    """The words of every command below a group."""
    if not isinstance(group, click.Group):
        yield " ".join(path)
        return
    context = click.Context(group)
    for name in group.list_commands(context):
        one = group.get_command(context, name)
        assert one is not None
        yield from commands_of(one, *path, name)


def test_every_command_that_writes_is_killed() -> None:
    words = {command.words for command in kills.COMMANDS.values()}
    read_only = {name.strip() for name in READ_ONLY.split(",")}
    for name in set(commands_of(main)) - read_only:
        assert any(of.startswith(f"{name} ") for of in words), f"{name}: add it to COMMANDS of tools/kills.py"


@pytest.fixture(scope="module")
def traced() -> None:
    if not hasattr(os, "fork"):
        pytest.skip("kills forks; this system cannot fork")
    if shutil.which("strace") is None:
        if os.environ.get("CI"):
            pytest.fail("commands are killed by strace: apt-get install strace")
        pytest.skip("commands are killed by strace: apt-get install strace")


@pytest.fixture
def case(traced: None, fresh_process: ProcessPoolExecutor, tmp_path: Path) -> kills.Case:
    source, folder = tmp_path / "photos.jsonl", tmp_path / "case"
    other = '{"id": "other.jpg", "memories": [{"source": "note", "text": "a harbour"}]}\n'
    source.write_text(kills.PEOPLE + other, encoding="utf-8")
    folder.mkdir()
    build.build(source, fake_models(), folder / kills.ALBUM)
    return fresh_process.submit(kills.furnished, folder).result()


def test_a_command_killed_at_a_system_call_finishes_when_it_is_run_again(
    case: kills.Case, fresh_process: ProcessPoolExecutor
) -> None:
    runs = [fresh_process.submit(kills.kill, case, name, 2, random.Random(name)) for name in FAST]
    assert all(run.result().kills for run in runs)


def unnoticed(case: kills.Case) -> None:
    """A command that cannot be run a second time, as a killed one that left half of its work would be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(kills.COMMANDS, "remove", kills.Command("index remove {album} {photo}"))
        patch.setattr(kills, "contents", lambda path: "")
        kills.kill(case, "remove", 20, random.Random(4))


def test_harm_is_noticed(case: kills.Case, fresh_process: ProcessPoolExecutor) -> None:
    with pytest.raises(AssertionError, match="no photo with id"):
        fresh_process.submit(unnoticed, case).result()


@pytest.fixture(scope="module")
def whole(
    traced: None,
    fresh_process: ProcessPoolExecutor,
    bundle: Path,
    sample_album: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> kills.Case:
    """With the real models. Each run is of a copy: what the commands change is not this."""
    photos, folder = sample_album.with_name("sample.jsonl"), tmp_path_factory.mktemp("whole") / "case"
    return fresh_process.submit(kills.prepared, bundle, photos, folder).result()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name, command in kills.COMMANDS.items() if not command.is_long and name not in FAST],
)
def test_every_command_survives_being_killed(
    whole: kills.Case, fresh_process: ProcessPoolExecutor, name: str
) -> None:
    assert fresh_process.submit(kills.kill, whole, name, 2, random.Random(name)).result().kills
