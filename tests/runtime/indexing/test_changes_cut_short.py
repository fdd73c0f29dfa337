"""Every command that changes an album, on a disk of every size and killed at any moment, with fake models.

What is left is the album before the command, after it, or after some of its commits: whole, and clean by
`verify`. The command reports what it could not do in one line.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gamer.index import Album, AlbumError, AlbumWriter, Event, event_id
from gamer.index.album.export_jsonl import export_jsonl
from gamer.runtime.indexing import build, captions
from tests.fakes import fake_models
from tests.forked import clean, needs_fork
from tests.paths import GOLDEN

PAGE = 4096
PHOTOS = 60
Change = Callable[[Path, Path], object]  # album, a JSONL file with more photos


def lines(count: int) -> str:
    photos = [
        {"id": f"{n}.jpg", "memories": [{"source": "note", "text": f"the harbour {n} with Anna, 19 euros"}]}
        for n in range(count)
    ]
    return "".join(json.dumps(photo) + "\n" for photo in photos)


def with_writer(change: Callable[[AlbumWriter], object]) -> Change:
    def run(album: Path, more: Path) -> None:
        with AlbumWriter.extend(album) as writer:
            change(writer)

    return run


def events(writer: AlbumWriter) -> None:
    ids = [known.id for known in writer.known()]
    writer.set_events(
        [Event(event_id(ids[n]), f"day {n}", "", tuple(ids[n : n + 4])) for n in range(0, 40, 4)]
    )


def remove(writer: AlbumWriter) -> None:
    wanted = {f"{n}.jpg" for n in range(20)}
    writer.remove([known.id for known in writer.known() if known.id in wanted], for_good=True)


def merge(writer: AlbumWriter) -> None:
    try:
        writer.merge("Anna", "harbour")
    except AlbumError as error:
        if "one entity already" not in str(error):  # merged before it was killed
            raise


def export(album: Path, more: Path) -> None:
    with Album.open(album) as opened:
        export_jsonl(opened, album.with_name("out.jsonl"))


CHANGES: dict[str, Change] = {
    "add": lambda album, more: build.add(album, more, fake_models()),
    "update": lambda album, more: build.update(album, fake_models()),
    "reencode": lambda album, more: build.update(album, fake_models("another")),
    "remove": with_writer(remove),
    "merge": with_writer(merge),
    "events": with_writer(events),
    "caption": lambda album, more: captions.caption_album(
        album, fake_models(), captions.captioner("template", fake_models())
    ),
    "compact": with_writer(AlbumWriter.compact),
    "repair": with_writer(AlbumWriter.repair),
    "export": export,
}


@pytest.fixture
def album(tmp_path: Path) -> Path:
    (tmp_path / "photos.jsonl").write_text(lines(PHOTOS))
    (tmp_path / "more.jsonl").write_text(lines(PHOTOS + 80))
    return build.build(tmp_path / "photos.jsonl", fake_models(), tmp_path / "a.gamer").path


def ids(path: Path) -> set[str]:
    with Album.open(path) as opened:
        assert opened.verify() == []
        return {photo.id for photo in opened.photos(range(len(opened)))}


def on_a_full_disk(source: Path, more: Path, disk: Path, change: Change, sizes: range) -> None:
    """The change with so many free pages, each in turn, until five times in a row there was room enough."""
    path, ballast, done = disk / "a.gamer", disk / "ballast", 0
    before = ids(source)
    room = disk.with_name("roomy.gamer")
    room.write_bytes(source.read_bytes())
    change(room, more)
    after = ids(room)
    for pages in sizes:
        for file in disk.iterdir():
            file.unlink()
        path.write_bytes(source.read_bytes())
        with ballast.open("wb") as filler:
            left = os.statvfs(disk)
            filler.write(bytes(max(0, left.f_bavail * left.f_frsize - pages * PAGE)))
        try:
            change(path, more)
            done += 1
        except (AlbumError, OSError) as error:
            assert "\n" not in str(error), error
            assert "space" in str(error) or "full" in str(error), error
            done = 0
        ballast.unlink()  # reading needs some free space
        left_over = ids(path)
        assert before & after <= left_over <= before | after, pages
        assert not done or left_over == after, f"reported as done with {pages} free pages"
        if done == 5:
            return
    assert done, "no size was enough"


@pytest.mark.parametrize(
    "step", [pytest.param(23, marks=pytest.mark.quick), pytest.param(7, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", CHANGES)
def test_a_command_on_a_full_disk_keeps_the_album(
    album: Path, small_disk: Path, name: str, step: int
) -> None:
    on_a_full_disk(album, album.with_name("more.jsonl"), small_disk, CHANGES[name], range(0, 300, step))


def test_an_upgrade_on_a_full_disk_keeps_the_album(album: Path, small_disk: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.gamer"
    old.write_bytes((GOLDEN / "album_v1.gamer").read_bytes())
    on_a_full_disk(old, old, small_disk, with_writer(lambda writer: None), range(0, 300, 41))


def change_album(name: str, path: Path, more: Path) -> None:
    CHANGES[name](path, more)


def killed(source: Path, more: Path, name: str, chance: random.Random) -> None:
    path = source.with_name("killed.gamer")
    path.write_bytes(source.read_bytes())
    process = clean().Process(target=change_album, args=(name, path, more))
    process.start()
    time.sleep(chance.uniform(0, 0.12))
    process.kill()
    process.join()
    left_over = ids(path)
    change_album(name, path, more)  # a killed command leaves nothing that stands in the way of the next
    done = ids(path)
    assert left_over <= ids(source) | done
    assert {file.name for file in path.parent.glob("killed*")} == {"killed.gamer"}


def kills(album: Path, name: str, times: int) -> None:
    chance = random.Random(name)
    for _ in range(times):
        killed(album, album.with_name("more.jsonl"), name, chance)


@needs_fork
@pytest.mark.parametrize(
    "times", [pytest.param(2, marks=pytest.mark.quick), pytest.param(10, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("name", sorted(CHANGES.keys() - {"export"}))
def test_killed_commands_leave_an_album_that_the_same_command_completes(
    album: Path, name: str, times: int
) -> None:
    kills(album, name, times)
