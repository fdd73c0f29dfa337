"""What an album survives: a writer killed at any moment, a full disk, a second writer, damaged and foreign
files, flipped bits.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import apsw
import numpy as np
import pytest

from gamer.index import (
    Album,
    AlbumError,
    AlbumWriter,
    Encoded,
    Event,
    FloatArray,
    Memory,
    Mention,
    Photo,
    event_id,
)
from gamer.index.album.export_jsonl import export_jsonl
from tests.forked import clean, needs_fork
from tests.index.conftest import DIM, META, SAMPLE, BuildAlbum, name_vectors

Model = dict[str, Photo]


def encoded(photo: Photo, seed: int) -> Encoded:
    vectors: FloatArray = np.random.default_rng(seed).standard_normal((1 + seed % 3, DIM)).astype(np.float32)
    return Encoded(
        photo,
        {"text": vectors},
        (Mention(f"thing {seed % 7}", "thing"), Mention(f"{seed % 5} euros", "price", f"thing {seed % 7}")),
    )


def a_photo(name: str, seed: int) -> Photo:
    words = ("harbour", "lamp", "garden", "train", "violin", "snow")[seed % 6]
    return Photo(
        name, f"/p/{name}", 1_000 * seed, "local", seed % 80, seed % 170, (Memory("note", f"{words} {seed}"),)
    )


def step(model: Model, seed: int) -> tuple[Callable[[AlbumWriter], None], Model]:
    """One change as a function of a writer, and the model after it."""
    rng, after = random.Random(seed), dict(model)
    kind = (
        rng.choice(["add", "add", "add", "update", "remove", "move", "prefer", "group"])
        if len(model) > 4
        else "add"
    )
    if kind == "add":
        new = [a_photo(f"{seed}-{i}.jpg", seed + i) for i in range(rng.randint(1, 4))]
        after |= {photo.id: photo for photo in new}
        return lambda w: w.add([encoded(p, seed) for p in new]), after
    if kind == "group":
        names = sorted(model)
        events = [
            Event(event_id(names[at]), f"event {seed}", "", tuple(names[at : at + 3]))
            for at in range(seed % 3, len(names), 4)
        ]
        return lambda w: w.set_events(events), after
    one, other = rng.sample(sorted(model), 2)
    if kind == "update":
        after[one] = a_photo(one, seed)
        return lambda w: w.update([encoded(after[one], seed)]), after
    if kind == "remove":
        del after[one]
        return lambda w: w.remove([one]), after
    if kind == "move":
        old = model[one]
        after[one] = Photo(one, f"/moved/{seed}", old.taken_at, old.tz_source, old.lat, old.lon, old.memories)
        return lambda w: w.move(one, f"/moved/{seed}"), after

    def prefer(writer: AlbumWriter) -> None:
        with contextlib.suppress(AlbumError):  # it may close a circle
            writer.prefer(one, other)

    return prefer, after


def write_until_killed(path: Path, model: Model, seed: int, sender: Connection) -> None:
    """Opens, changes, finishes and compacts the album in turn; reports each change once it has returned."""
    while True:
        for again in ("finish", "close", "compact"):
            with AlbumWriter.extend(path, hnsw_from=30) as writer:
                for _ in range(random.Random(seed).randint(1, 6)):
                    change, model = step(model, seed)
                    change(writer)
                    sender.send_bytes(b"+")
                    seed += 1
                if again == "finish":
                    writer.finish(name_vectors)
                elif again == "compact":
                    writer.compact()


def on_disk(path: Path) -> Model:
    with Album.open(path) as album:
        assert album.verify() == []
        album.search_text("harbour", 3)
        return {photo.id: photo for photo in album.photos(range(len(album)))}


def kill_writers(path: Path, times: int) -> int:
    """Kills a writer of the same album `times` times; returns how many changes were acknowledged."""
    rng, model, seed, changes = random.Random(4), on_disk(path), 1_000, 0
    for _ in range(times):
        reader, sender = multiprocessing.Pipe(duplex=False)
        writer = clean().Process(target=write_until_killed, args=(path, model, seed, sender))
        writer.start()
        sender.close()
        if rng.random() < 0.7:  # else it dies while it opens
            reader.poll(20)
        time.sleep(rng.uniform(0, 0.06))
        assert writer.is_alive(), "the writer failed by itself"
        writer.kill()
        writer.join()
        states = [model]
        with contextlib.suppress(EOFError):
            while reader.recv_bytes():
                states.append(step(states[-1], seed + len(states) - 1)[1])
        acknowledged = len(states) - 1
        states.append(step(states[-1], seed + acknowledged)[1])  # perhaps committed, but not yet reported
        actual = on_disk(path)
        assert actual in states[-2:], f"after {acknowledged} acknowledged changes"
        model, seed, changes = actual, seed + acknowledged + 1, changes + acknowledged
    return changes


def killing(build_album: BuildAlbum, times: int) -> None:
    path = build_album([])
    assert kill_writers(path, times) > times
    with AlbumWriter.extend(path) as writer:
        writer.compact()
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # killed writers leave no file behind


@needs_fork
@pytest.mark.quick
def test_an_album_survives_writers_killed_at_40_moments(build_album: BuildAlbum) -> None:
    killing(build_album, 40)


@needs_fork
@pytest.mark.slow
def test_an_album_survives_writers_killed_at_200_moments(build_album: BuildAlbum) -> None:
    killing(build_album, 200)


# A full disk


def fill(path: Path) -> tuple[set[str], str]:
    """Adds photos until it fails; returns what was acknowledged and the text of the error."""
    added: set[str] = set()
    with AlbumWriter.extend(path) as writer:
        for seed in range(100_000):
            photo = a_photo(f"{seed}.jpg", seed)
            try:
                writer.add([Encoded(photo, {"text": np.ones((8, DIM), np.float32)})])
            except AlbumError as error:
                return added, str(error)
            added.add(photo.id)
    raise AssertionError("the disk was never full")


def check_after_full(path: Path, added: set[str], words: str) -> None:
    assert path.name in words, words
    assert "\n" not in words, words
    assert "full" in words or "I/O" in words, words
    assert {photo for photo in on_disk(path) if photo not in {item.photo.id for item in SAMPLE}} == added
    assert added


def test_a_disk_that_runs_out_of_space_keeps_every_acknowledged_photo(
    album_path: Path, small_disk: Path
) -> None:
    path = small_disk / "album.gamer"
    path.write_bytes(album_path.read_bytes())
    added, words = fill(path)
    check_after_full(path, added, words)
    with (
        pytest.raises(AlbumError, match=r"full|written"),
        AlbumWriter.create(small_disk / "second.gamer", META) as writer,
    ):
        writer.add([Encoded(Photo(str(i), memories=(Memory("note", "x" * 20_000),))) for i in range(200)])
    assert not list(small_disk.glob("second*"))


@pytest.mark.parametrize("log", [False, True], ids=["closed", "with a log"])
def test_an_album_on_a_full_disk_is_read_or_the_full_disk_is_named(
    album_path: Path, small_disk: Path, log: bool
) -> None:
    path = small_disk / "album.gamer"
    path.write_bytes(album_path.read_bytes())
    if log:
        path.with_name("album.gamer-wal").write_bytes(b"a log that a killed writer left")
    with (small_disk / "ballast").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while filler.write(bytes(4096)):
            pass
    if log:
        with pytest.raises(AlbumError, match="the disk is full"):
            Album.open(path)
    else:
        with Album.open(path) as album:
            assert album.verify() == []
            assert len(album.photos(range(4))) == 4
            assert album.search_text("beach", 3).rows.size


@pytest.mark.parametrize("how", ["deleted", "replaced"])
@pytest.mark.parametrize("before", [0, 1], ids=["before the first change", "after a change"])
def test_a_writer_notices_that_its_album_was_deleted_or_replaced_and_leaves_no_log(
    build_album: BuildAlbum, how: str, before: int
) -> None:
    path, other = build_album(), build_album(SAMPLE[:2], name="other.gamer")
    wanted = other.read_bytes()
    with AlbumWriter.extend(path) as writer:
        if before:
            writer.add([Encoded(Photo("kept"))])
        path.unlink() if how == "deleted" else other.replace(path)
        with pytest.raises(AlbumError, match="deleted or replaced"):
            writer.add([Encoded(Photo("lost"))])
    assert {file.name for file in path.parent.iterdir() if file.name.startswith("album")} == (
        set() if how == "deleted" else {"album.gamer"}
    )
    if how == "deleted":
        path.write_bytes(wanted)
    assert path.read_bytes() == wanted
    with Album.open(path) as album:
        assert len(album) == 2
        assert album.verify() == []


def test_an_album_named_by_a_symbolic_link_stays_one_album(build_album: BuildAlbum, tmp_path: Path) -> None:
    path, link = build_album(), tmp_path / "link.gamer"
    link.symlink_to(path)
    with AlbumWriter.extend(link) as writer:
        with pytest.raises(AlbumError, match="another program is writing"):
            AlbumWriter.extend(path)
        writer.add([Encoded(Photo("new"))])
        writer.compact()
    assert link.is_symlink()
    assert len(on_disk(path)) == len(SAMPLE) + 1
    with AlbumWriter.create(link, META) as writer:
        writer.add(SAMPLE[:1])
        writer.finish(name_vectors)
    assert link.is_symlink()
    assert len(on_disk(path)) == 1


def rewritten(path: Path, how: str) -> None:
    """Puts a new file in an album's place: by compacting it, or by building another under the same name."""
    if how == "compact":
        with AlbumWriter.extend(path) as writer:
            writer.compact()
        return
    with AlbumWriter.create(path, META) as writer:
        writer.add(
            [Encoded(a_photo(f"new{n}.jpg", n), {"text": np.ones((8, DIM), np.float32)}) for n in range(40)]
        )
        writer.finish(name_vectors)


@pytest.mark.parametrize("how", ["compact", "create"])
def test_a_nearly_full_disk_leaves_the_old_album_or_the_new_one_complete(
    build_album: BuildAlbum, small_disk: Path, how: str
) -> None:
    """Every size of free space, a page apart, from none to enough: the old album or the new one is complete,
    and a failure is reported.
    """
    page, vectors = 4096, {"text": np.ones((8, DIM), np.float32)}
    source = build_album([*SAMPLE, *(Encoded(a_photo(f"{n}.jpg", n), vectors) for n in range(40))])
    old = set(on_disk(source))
    path, ballast, outcomes = small_disk / "album.gamer", small_disk / "ballast", []
    for free in range(0, 260 * page, page):
        for file in small_disk.iterdir():
            file.unlink()
        path.write_bytes(source.read_bytes())
        with ballast.open("wb") as filler:
            left = os.statvfs(small_disk)
            filler.write(bytes(max(0, left.f_bavail * left.f_frsize - free)))
        try:
            rewritten(path, how)
            outcomes.append("new")
        except AlbumError as error:
            assert "\n" not in str(error), error
            assert "space" in str(error), error
            outcomes.append("old")
        ballast.unlink()  # reading needs some free space
        photos = set(on_disk(path))
        assert photos == old if how == "compact" or outcomes[-1] == "old" else len(photos) == 40, free
        assert [f.name for f in small_disk.iterdir() if not f.name.endswith(("-wal", "-shm"))] == [
            "album.gamer"
        ], free
        if outcomes[-5:] == ["new"] * 5:
            break
    assert outcomes[0] == "old", outcomes
    assert outcomes[-1] == "new", outcomes


def fill_limited(path: Path, sender: Connection) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))
    sender.send(fill(path))


@needs_fork
def test_a_file_that_may_not_grow_keeps_every_acknowledged_photo(album_path: Path) -> None:
    reader, sender = multiprocessing.Pipe(duplex=False)
    child = clean().Process(target=fill_limited, args=(album_path, sender))
    child.start()
    sender.close()
    added, words = reader.recv()
    child.join()
    check_after_full(album_path, added, words)


# Several at once

HOLD = """
import sys, time
from pathlib import Path
from gamer.index import AlbumWriter
with AlbumWriter.extend(Path(sys.argv[1])) as writer:
    print("open", flush=True)
    sys.stdin.readline()
"""
READ = """
import sys
from pathlib import Path
from gamer.index import Album
path, wanted, seen = Path(sys.argv[1]), int(sys.argv[2]), 0
print("open", flush=True)
while seen < wanted:
    with Album.open(path) as album:
        n = len(album)
        assert seen <= n and len(album.times()) == n == album.in_cubes([]).rows.size, (seen, n)
        assert album.scores("text", [1.0] * 16).size == n and album.photo(n - 1).id and len(album) == n
        assert album.verify() == []
        seen = n
        if seen >= wanted:
            print("saw", seen, flush=True)
            sys.stdin.readline()  # so that one closes after the other
"""


def python(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def test_a_second_writer_is_refused_at_once(album_path: Path) -> None:
    with python(HOLD, str(album_path)) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "open\n"
        begin = time.monotonic()
        openings: tuple[Callable[[], object], ...] = (
            lambda: AlbumWriter.extend(album_path),
            lambda: AlbumWriter.create(album_path, META),
        )
        for opening in openings:
            with pytest.raises(AlbumError, match="another program is writing this album") as caught:
                opening()
            assert "\n" not in str(caught.value)
            assert str(album_path) in str(caught.value)
        assert time.monotonic() - begin < 60  # it does not wait for the first to end
        first.kill()
        first.wait()
    with AlbumWriter.extend(album_path) as writer:  # the lock ended with its process
        writer.remove(["dog.jpg"])
    assert [p.name for p in album_path.parent.iterdir()] == [album_path.name]


def test_two_readers_see_complete_albums_while_a_writer_adds_photos(album_path: Path) -> None:
    more = 60
    readers = [python(READ, str(album_path), str(4 + more)) for _ in range(2)]
    assert all(r.stdout is not None and r.stdout.readline() == "open\n" for r in readers)
    with Album.open(album_path) as early, AlbumWriter.extend(album_path) as writer:
        for seed in range(more):
            writer.add([encoded(a_photo(f"{seed}.jpg", seed), seed)])
        assert len(early) == 4 == len(early.times())
        assert early.verify() == []
        assert early.search_text("harbour", 9).rows.size == 0
    for reader in readers:
        assert reader.communicate(timeout=60)[0] == f"saw {4 + more}\n"
        assert reader.returncode == 0
    # The last to close takes SQLite's log away; of two that close at the same moment neither may be the last.
    assert [p.name for p in album_path.parent.iterdir()] == [album_path.name]


def test_an_album_that_grows_while_it_is_opened_is_not_called_truncated(
    album_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, before = apsw.Connection, album_path.stat().st_size

    def after_a_writer(*arguments: Any, **options: Any) -> apsw.Connection:
        monkeypatch.setattr(apsw, "Connection", real)
        with AlbumWriter.extend(album_path) as writer:
            writer.add([encoded(a_photo(f"{seed}.jpg", seed), seed) for seed in range(200)])
            writer.finish(name_vectors)
        return real(*arguments, **options)

    monkeypatch.setattr(apsw, "Connection", after_a_writer)
    with Album.open(album_path) as album:
        assert len(album) == 204
        assert album_path.stat().st_size > before


def test_an_album_that_is_being_read_is_not_replaced(album_path: Path) -> None:
    with Album.open(album_path) as reader:
        attempts: tuple[Callable[[], object], ...] = (
            lambda: AlbumWriter.extend(album_path).compact(),
            lambda: AlbumWriter.create(album_path, META).finish(name_vectors),
        )
        for attempt in attempts:
            with pytest.raises(AlbumError, match="another program has this album open"):
                attempt()
            assert len(reader) == 4
            assert reader.photo(0).id == "chair.jpg"
    assert len(on_disk(album_path)) == 4


# Damaged and foreign files


def damaged_files(good: bytes, folder: Path) -> Iterator[tuple[Path, str]]:
    other = folder / "other.db"
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE photos(x)")
    yield other, "another application"
    for name, content, words in (
        ("newer", good[:60] + b"\x00\x00\x00\x63" + good[64:], "format 99"),
        ("cut", good[: len(good) // 2], "truncated"),
        ("short", good[:50], "truncated"),
        ("empty", b"", "not an album"),
        ("text", b"hello" * 999, "not an SQLite file"),
        ("page", good[:100] + b"\xff" * 3996 + good[4096:], "damaged"),
        ("schema", good[:4000] + bytes(2000) + good[6000:], "damaged"),
    ):
        path = folder / name
        path.write_bytes(content)
        yield path, words


def test_an_unusable_file_is_refused_in_one_line_and_not_changed(album_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for path, words in damaged_files(album_path.read_bytes(), folder):
        before = path.read_bytes()
        for opening in (use, AlbumWriter.extend, change):
            with pytest.raises(AlbumError, match=words) as caught:
                opening(path)
            assert "\n" not in str(caught.value)
            assert path.name in str(caught.value)
        assert path.read_bytes() == before
        assert not [p for p in folder.iterdir() if p.name != path.name and p.name.startswith(path.name)]
        path.unlink()


def use(path: Path) -> None:
    with Album.open(path) as album:
        if problems := album.verify():
            raise AlbumError(f"{path}: damaged: {problems[0]}")


def change(path: Path) -> None:
    with AlbumWriter.extend(path) as writer:
        writer.add([Encoded(Photo("new"))])


def read_and_extend_as_nobody(path: Path, sender: Connection) -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    read = None
    try:
        with Album.open(path) as album:
            read = (album.verify(), [photo.id for photo in album.photos(range(4))])
        AlbumWriter.extend(path)
        sender.send((read, "it was opened for writing"))
    except (AlbumError, OSError) as error:
        sender.send((read, str(error)))


@needs_fork
@pytest.mark.parametrize("folder_mode", [0o755, 0o777], ids=["folder read-only", "folder writable"])
def test_a_read_only_album_can_be_read_and_not_written(
    album_path: Path, request: pytest.FixtureRequest, folder_mode: int
) -> None:
    """As a user who may read the file but not write it, nor perhaps its folder; no file stays beside it."""
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users

    def remove() -> None:
        folder.chmod(0o700)
        shutil.rmtree(folder)

    request.addfinalizer(remove)
    album_path = album_path.rename(folder / album_path.name)

    before = album_path.read_bytes()
    folder.chmod(folder_mode if os.geteuid() == 0 or folder_mode == 0o777 else 0o555)
    album_path.chmod(0o444)
    reader, sender = multiprocessing.Pipe(duplex=False)
    child = clean().Process(target=read_and_extend_as_nobody, args=(album_path, sender))
    child.start()
    sender.close()
    read, words = reader.recv() if reader.poll(30) else (None, "no answer")
    child.join()
    assert read == ([], [item.photo.id for item in SAMPLE])
    assert "cannot be written" in words or "read-only" in words
    assert album_path.read_bytes() == before
    assert len(list(album_path.parent.iterdir())) == 1


# Flipped bits

# What a checksum or a hash covers; FORMAT.md says what is not covered.
COVERED = (
    "SELECT id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256 "
    "FROM photos ORDER BY row",
    "SELECT photo, source, text, sharing, sensitivity FROM memories ORDER BY photo, id",
    "SELECT canonical, name, kind, scale, data FROM entities ORDER BY row",
    "SELECT e.name, m.photo, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity ORDER BY 1, 2",
    "SELECT * FROM vectors ORDER BY 1, 2, 3",
    "SELECT value FROM meta WHERE key IN ('text_encoder', 'image_encoder', 'dim', 'delta') ORDER BY key",
)


def dump(path: Path) -> list[list[tuple[object, ...]]]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [db.execute(sql).fetchall() for sql in COVERED]


def flips(album_path: Path, times: int) -> None:
    good, photos, rows = album_path.read_bytes(), on_disk(album_path), dump(album_path)
    rng, noticed = random.Random(11), 0
    path = album_path.with_name("flipped.gamer")
    for _ in range(times):
        spoilt = bytearray(good)
        for _ in range(rng.choice([1, 1, 1, 8])):
            spoilt[rng.randrange(len(good))] ^= 1 << rng.randrange(8)
        path.write_bytes(spoilt)
        try:
            with Album.open(path) as album:
                for row in range(len(album)):
                    with contextlib.suppress(AlbumError):
                        assert (shown := album.photo(row)) == photos.get(shown.id), (
                            "a photo that was never written is shown"
                        )
                album.in_cubes([])
                album.search_text("beach", 3)
                album.search_vectors("text", name_vectors(["dog"])[0], 3)
                album.match_entities(name_vectors(["dog"])[0], np.arange(len(album)), 0.5)
                problems = album.verify()
        except AlbumError as error:
            assert "\n" not in str(error)
            problems = [str(error)]
        if not problems:
            assert dump(path) == rows, "verify calls clean what is not what was written"
        noticed += bool(problems)
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    assert noticed > times // 20  # most of a small file is empty pages


def test_none_of_300_files_with_flipped_bits_shows_what_was_never_written(album_path: Path) -> None:
    flips(album_path, 300)


@pytest.mark.slow
def test_none_of_1500_files_with_flipped_bits_shows_what_was_never_written(album_path: Path) -> None:
    flips(album_path, 1_500)


def test_repair_rebuilds_derived_data_and_does_not_change_the_rows(album_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(album_path)) as db, db:
        db.execute("UPDATE segments SET blob = zeroblob(length(blob)) WHERE name='kdtree'")
        db.execute("DELETE FROM memories_fts_data WHERE id > 10")
        db.execute("UPDATE photos SET taken_at = 77 WHERE row = 1")
    with Album.open(album_path) as album:
        assert len(album.verify()) >= 3
    with AlbumWriter.extend(album_path) as writer:
        assert writer.repair()[-2:] == ["index of words built again", "segments built again"]
        assert writer.repair() == []
    with Album.open(album_path) as album:
        (problem,) = album.verify()
        assert "'beach.jpg' in row 1" in problem
        assert "checksum" in problem
        album.photo(0)
        for rows in ([1], [0, 1], [0, 1]):  # what failed once is not taken for sound, nor beside what is
            with pytest.raises(AlbumError, match="row 1 is damaged"):
                album.photos(rows)
        assert album.search_text("beach", 3).rows.size == 2


def test_no_album_and_no_export_is_written_over_a_pipe_or_a_folder(album_path: Path, tmp_path: Path) -> None:
    """Opening a pipe would block; a device, which only root could name, would be replaced."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(AlbumError, match=f"{name}: no file stands there"):
            AlbumWriter.create(tmp_path / name, META)
        with (
            Album.open(album_path) as album,
            pytest.raises(AlbumError, match=f"{name}: no file stands there"),
        ):
            export_jsonl(album, tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "folder").is_dir()
