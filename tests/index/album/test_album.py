"""An album from build to search: round trip, the three layers, the unknown-field rule, and what happens to
files that are not albums.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gamer.index import Album, AlbumError, AlbumWriter, Cube, Encoded, Memory, Photo
from gamer.index.album.writing import storage
from gamer.index.space.kdtree import LOWEST
from gamer.index.vectors.planner import Estimate
from tests.index.conftest import DIM, META, SAMPLE, BuildAlbum, name_vectors, unit


def test_an_album_returns_what_was_written(album_path: Path) -> None:
    with Album.open(album_path) as album:
        assert len(album) == 4
        assert album.meta == META
        assert album.generation == 1
        assert [album.photo(row) for row in range(4)] == [item.photo for item in SAMPLE]
        assert album.row_of("dog.jpg") == 2
        assert album.times().tolist() == [1_000, 5_000, LOWEST, LOWEST]
        assert np.allclose(
            album.positions(),
            np.array([(48, 11), (np.nan, np.nan), (-33.9, 179.9), (np.nan, np.nan)]),
            equal_nan=True,
        )
        assert album.verify() == []
        stats = album.stats()
        assert (
            stats.photos,
            stats.with_time,
            stats.with_place,
            stats.memories,
            stats.entities,
            stats.edges,
        ) == (4, 2, 2, 4, 6, 1)
        assert [(c.name, c.vectors) for c in stats.channels] == [("image", 2), ("text", 4)]
        with pytest.raises(AlbumError, match="no photo in row 9"):
            album.photo(9)
        with pytest.raises(AlbumError, match="no photo with id"):
            album.row_of("cat.jpg")


def test_a_cue_never_drops_a_photo_whose_time_or_place_is_unknown(album_path: Path) -> None:
    """Rows: 0 time and place, 1 time only, 2 place only, 3 neither."""
    with Album.open(album_path) as album:

        def cut(*wanted: Cube) -> tuple[list[int], list[int]]:
            selected = album.in_cubes(wanted)
            return selected.rows.tolist(), selected.inside.tolist()

        assert cut() == ([0, 1, 2, 3], [0, 1, 2, 3])
        assert cut(Cube(start=0, end=2_000)) == ([0, 2, 3], [0])
        assert cut(Cube(start=5_000)) == ([1, 2, 3], [1])
        assert cut(Cube(south=47, north=49, west=10, east=12)) == ([0, 1, 3], [0])
        assert cut(Cube(south=-40, north=-30, west=179, east=-179)) == ([1, 2, 3], [2])
        assert cut(Cube(0, 2_000, -40, -30, 179, -179)) == ([2, 3], [])
        assert cut(Cube(0, 2_000, 47, 49, 10, 12)) == ([0, 3], [0])
        assert cut(Cube(end=2_000), Cube(start=4_000)) == ([0, 1, 2, 3], [0, 1])


FIELD = st.one_of(st.none(), st.integers(-3, 3))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=12),
    st.tuples(FIELD, FIELD, FIELD, FIELD, FIELD, FIELD),
)
def test_cubes_select_what_the_written_out_rule_selects(
    fields: list[tuple[int | None, int | None]], sides: tuple[int | None, ...]
) -> None:
    from gamer.index.space import cubes, kdtree

    points = [(LOWEST, LOWEST) if p is None else (p * cubes.E7, -p * cubes.E7) for _, p in fields]
    tree = kdtree.build(
        np.array(
            [(*p, LOWEST if t is None else t) for p, (t, _) in zip(points, fields, strict=True)], np.int64
        ),
        2,
    )
    start, end, south, north, west, east = sides
    tree.how = "walk"
    selected = cubes.Space.of(tree, len(fields), np.empty(0, np.int64), np.empty((0, 3), np.int64)).in_cubes(
        [Cube(start, end, south, north, west, east)]
    )
    rows, inside = [], []
    for row, (t, p) in enumerate(fields):
        timed, placed = start is not None or end is not None, any(side is not None for side in sides[2:])
        fits_time = t is None or ((start is None or start <= t) and (end is None or t <= end))
        fits_place = p is None or (
            (south is None or south <= p)
            and (north is None or p <= north)
            and _fits_longitude(-p, west, east)
        )
        if (fits_time or not timed) and (fits_place or not placed):
            rows.append(row)
            if not (timed and t is None) and not (placed and p is None):
                inside.append(row)
    assert (selected.rows.tolist(), selected.inside.tolist()) == (rows, inside)


def _fits_longitude(lon: int, west: int | None, east: int | None) -> bool:
    if west is not None and east is not None and west > east:
        return lon >= west or lon <= east
    return (west is None or west <= lon) and (east is None or lon <= east)


def test_entities_are_matched_by_vector_within_the_given_photos(album_path: Path) -> None:
    with Album.open(album_path) as album:
        everything = np.arange(4)
        assert album.entity_names(3)[0] in {"beaches", "Anna"}
        (match,) = album.match_entities(name_vectors(["beaches"])[0], everything, 0.99)
        assert (match.name, match.kind, match.photos) == (
            "beaches",
            "thing",
            (1, 2),
        )  # "beach" of the other photo was merged
        (match,) = album.match_entities(name_vectors(["beaches"])[0], np.array([2]), 0.99)
        assert match.photos == (2,)
        assert album.match_entities(name_vectors(["beaches"])[0], np.array([0]), 0.99) == []
        assert len(album.match_entities(name_vectors(["chair"])[0], everything, -1.0, limit=2)) == 2
        assert album.activate(np.array([3])).tolist() == []


def test_vector_search_finds_the_nearest_chunk_of_the_given_photos(album_path: Path) -> None:
    with Album.open(album_path) as album:
        query = name_vectors(["anna"])[0]  # the second chunk of photo 0
        nearest = album.search_vectors("text", query, 2)
        assert nearest.plan == "exact"
        assert nearest.rows[0] == 0
        assert nearest.scores[0] == pytest.approx(1, abs=0.02)
        scores = album.scores("text", query)
        assert np.isneginf(scores[3])
        assert np.isfinite(scores[:3]).all()
        assert np.array_equal(album.scores("text", query, np.array([3, 0])), scores[[3, 0]])
        assert 0 not in album.search_vectors("text", query, 5, np.array([1, 2, 3])).rows
        assert album.search_vectors("sound", query, 5).rows.size == 0
        assert np.isneginf(album.scores("sound", query)).all()
        with pytest.raises(AlbumError, match="7 dimensions"):
            album.scores("text", query[:7])


def test_graph_search_agrees_with_the_scan(build_album: BuildAlbum) -> None:
    x = unit(np.random.default_rng(3).standard_normal((300, 2, DIM)).astype(np.float32))
    path = build_album([Encoded(Photo(str(i)), {"text": x[i]}) for i in range(300)], hnsw_from=100)
    with Album.open(path) as album:
        for query, rows in ((x[5, 1], None), (x[9, 0], np.arange(0, 300, 2))):
            by_graph, by_scan = (
                album.search_vectors("text", query, 5, rows, plan=plan) for plan in ("hnsw", "exact")
            )
            assert (by_graph.plan, by_scan.plan) == ("hnsw", "exact")
            assert by_graph.rows.tolist() == by_scan.rows.tolist()


def test_a_graph_is_loaded_for_the_searches_after_the_first(
    build_album: BuildAlbum, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Estimate, "plan", "hnsw")  # as of an album too large for a test
    x = unit(np.random.default_rng(3).standard_normal((1000, DIM)).astype(np.float32))
    path = build_album([Encoded(Photo(str(i)), {"text": x[i : i + 1]}) for i in range(len(x))], hnsw_from=100)
    with Album.open(path) as album:
        album.load_graphs(wait=True)  # nothing has been searched for
        first = album.search_vectors("text", x[7], 5)
        again = album.search_vectors("text", x[7], 5)
        assert (first.plan, again.plan) == ("exact", "exact")
        album.load_graphs(wait=True)
        later = album.search_vectors("text", x[7], 5)
        assert later.plan == "hnsw"
        assert later.rows[0] == first.rows[0] == 7
    with Album.open(path) as album:
        album.search_vectors("text", x[7], 5)
        album.load_graphs()
    album.load_graphs(wait=True)  # closed meanwhile


def test_text_search_ranks_by_words_and_takes_hostile_queries(album_path: Path) -> None:
    with Album.open(album_path) as album:
        ranked = album.search_text("dogs on the beach", 5)
        assert ranked.rows.tolist() == [2, 1]
        assert (ranked.scores > 0).all()
        assert album.search_text("dogs on the beach", 5, np.array([1])).rows.tolist() == [1]
        for hostile in (
            '" OR NEAR(',
            "beach* AND (",
            "text:beach",
            "-",
            "",
            "'; DROP TABLE photos; --",
            "NOT",
            "\x00",
        ):
            album.search_text(hostile, 5)
        assert album.search_text("", 5).rows.size == 0


def test_a_duplicate_id_rolls_the_batch_back(tmp_path: Path) -> None:
    path = tmp_path / "a.gamer"
    with AlbumWriter.create(path, META) as writer:
        writer.add(SAMPLE[:1])
        with pytest.raises(AlbumError, match=r"chair\.jpg.*already"):
            writer.add([SAMPLE[1], SAMPLE[0]])
        writer.add(SAMPLE[1:])
        writer.finish(name_vectors)
    with Album.open(path) as album:
        assert len(album) == 4
        assert album.generation == 2
        assert album.verify() == []


def test_photos_added_after_a_segment_was_built_are_found(album_path: Path) -> None:
    more = Encoded(
        Photo("new.jpg", taken_at=9_000, memories=(Memory("note", "a new lamp"),)),
        {"text": name_vectors(["lamp"])},
    )
    with AlbumWriter.extend(album_path) as writer:
        writer.add([more])  # no finish: the tree is now behind
    with Album.open(album_path) as album:
        assert album.in_cubes([Cube(start=8_000)]).inside.tolist() == [4]
        assert album.verify() == []
        assert [segment.behind for segment in album.stats().segments] == [1]
    with AlbumWriter.extend(album_path) as writer:
        writer.finish(name_vectors)
    with Album.open(album_path) as album:
        assert album.verify() == []
        assert len(album) == 5
    assert sorted(p.name for p in album_path.parent.iterdir()) == ["album.gamer"]


def test_a_damaged_segment_is_ignored_and_reported_by_verify(album_path: Path) -> None:
    db = sqlite3.connect(album_path)
    db.execute("UPDATE segments SET blob = zeroblob(length(blob)) WHERE name='kdtree'")
    db.commit()
    db.close()
    with Album.open(album_path) as album:
        assert album.in_cubes([Cube(start=0, end=2_000)]).inside.tolist() == [0]
        assert album.verify() == ["segment kdtree: bytes do not match their hash"]


def test_a_failed_build_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gamer"
    with pytest.raises(RuntimeError), AlbumWriter.create(path, META) as writer:
        writer.add(SAMPLE)
        raise RuntimeError("the encoder broke")
    with pytest.raises(AlbumError, match="entity vectors"), AlbumWriter.create(path, META) as writer:
        writer.add(SAMPLE)
        writer.finish(lambda names: np.zeros((len(names), 3), np.float32))
    assert list(tmp_path.iterdir()) == []


def test_a_killed_build_leaves_no_album_and_does_not_block_the_next_build(tmp_path: Path) -> None:
    path = tmp_path / "a.gamer"
    code = (
        "import sys, time; from pathlib import Path; from gamer.index import *\n"
        "w = AlbumWriter.create(Path(sys.argv[1]), AlbumMeta('a', 'b', 4, 0.5))\n"
        "w.add([Encoded(Photo('x'))])\n"
        "print('added', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "added\n"
        with pytest.raises(AlbumError, match="another program is writing"):
            AlbumWriter.create(path, META)
        os.kill(process.pid, signal.SIGTERM if os.name == "nt" else signal.SIGKILL)
    assert not path.exists()
    with AlbumWriter.create(path, META) as writer:  # the killed build's files do not matter
        writer.add(SAMPLE)
        writer.finish(name_vectors)
    assert [p.name for p in tmp_path.iterdir()] == ["a.gamer"]


def test_a_file_that_is_no_album_is_refused_in_one_line_with_the_reason(
    album_path: Path, tmp_path: Path
) -> None:
    def refuse(name: str, content: bytes | None, words: str) -> None:
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(AlbumError, match=words) as caught:
            Album.open(path)
        assert "\n" not in str(caught.value)
        assert name in str(caught.value)

    good = album_path.read_bytes()
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("CREATE TABLE t(x)")
    db.close()
    refuse("missing", None, "no such album")
    refuse("empty", b"", "not an album")
    refuse("text", b"hello, this is a text" * 20, "not an SQLite file")
    refuse("other.db", None, "another application")
    refuse("newer", good[:60] + b"\x00\x00\x00\x63" + good[64:], "format 99")
    refuse("short", good[:50], "truncated")
    refuse("cut", good[: len(good) // 2], "truncated")
    refuse("spoilt", good[:100] + b"\xff" * 4000 + good[4100:], "damaged")
    with pytest.raises(AlbumError, match="not an album stands there"):
        AlbumWriter.create(other, META)
    with pytest.raises(AlbumError, match="does not exist"):
        AlbumWriter.create(tmp_path / "no" / "a.gamer", META)


def test_threads_can_share_a_reader(album_path: Path) -> None:
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(20):
                assert album.search_text("beach", 3).rows.size == 2
                assert album.search_vectors("text", name_vectors(["dog"])[0], 1).rows.tolist() == [2]
                assert album.photo(1).id == "beach.jpg"
                assert album.in_cubes([Cube(start=0)]).rows.size == 4
        except BaseException as error:
            failures.append(error)

    with Album.open(album_path) as album:
        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_a_lock_on_a_deleted_file_does_not_count(album_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = apsw.Connection

    def taken_away(path: str) -> apsw.Connection:
        opened = real(path)
        Path(path).unlink()
        return opened

    with monkeypatch.context() as patched:
        patched.setattr(apsw, "Connection", taken_away)
        with pytest.raises(AlbumError, match="another program is writing"):
            storage.WriterLock(album_path)
    storage.WriterLock(album_path).release()


class _RecordingLock:
    """An album's lock that records which attributes were computed while it was held."""

    def __init__(self, album: Album) -> None:
        self._lock, self._album, self._depth = threading.RLock(), album, 0
        self._before: set[str] = set()
        self.inside: set[str] = set()

    def _attributes(self) -> set[str]:
        return {*vars(self._album)}

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._before = self._attributes()

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.inside |= self._attributes() - self._before
        self._lock.release()


@pytest.mark.parametrize("call", ["photo", "words", "match", "links", "names", "conversations"])
def test_no_cached_property_is_computed_under_the_lock(album_path: Path, call: str) -> None:
    """Python 3.11 computes a cached property under a lock of its own: two readers that took the two locks in
    different orders would wait for each other for ever.
    """
    with Album.open(album_path) as album:
        album._file.lock = watched = _RecordingLock(album)  # type: ignore[assignment]
        calls: dict[str, Callable[[], object]] = {
            "photo": lambda: album.photo(0),
            "words": lambda: album.words("beach"),
            "match": lambda: album.match_entities(name_vectors(["dog"])[0], np.arange(len(album)), 0.0),
            "links": lambda: album.entity_links([0, 1]),
            "names": lambda: album.entity_names(3),
            "conversations": lambda: album.conversations,
        }
        calls[call]()
        assert watched.inside == set()


def test_importing_the_index_loads_no_heavy_library() -> None:
    code = (
        "import sys, gamer.index; heavy = ('PIL', 'usearch', 'pillow_heif', 'torch', 'onnxruntime'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "[]\n"
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_mutated_files_give_an_album_error_or_an_answer(album_path: Path, data: st.DataObject) -> None:
    good = bytearray(album_path.read_bytes())
    for at, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(good) - 1), st.integers(0, 255)), min_size=1, max_size=30)
    ):
        good[at] = value
    path = album_path.with_name("mutated.gamer")
    path.write_bytes(good)
    try:
        with Album.open(path) as album:
            album.verify()
            album.in_cubes([Cube(start=0)])
            album.search_text("beach", 3)
            album.scores("text", name_vectors(["dog"])[0])
    except AlbumError as error:
        assert "\n" not in str(error)
