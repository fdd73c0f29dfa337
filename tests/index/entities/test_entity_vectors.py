"""The graph over entity nodes finds what a scan of all nodes finds, also after names were added, merged and
split; a damaged graph is ignored.
"""

from __future__ import annotations

import hashlib
import sqlite3
import struct
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest

from gamer.index import Album, AlbumMeta, AlbumWriter, Encoded, FloatArray, Mention, Photo
from gamer.index.entities import entity_vectors
from tests.albums import album_of

DIM, PHOTOS, DELTA = 32, 300, 0.55
RNG = np.random.default_rng(3)
TOPICS = RNG.standard_normal((25, DIM))


def embed(names: Sequence[str]) -> FloatArray:
    """A vector near the topic of each name, always the same for the same name."""
    rows = [
        TOPICS[hash_of(name) % 25] + 0.5 * np.random.default_rng(hash_of(name)).standard_normal(DIM)
        for name in names
    ]
    vectors = np.array(rows, np.float32).reshape(-1, DIM)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def hash_of(name: str) -> int:
    return int.from_bytes(name.encode(), "little") % (2**32 - 5)


def photos(start: int, count: int) -> list[Encoded]:
    return [
        Encoded(Photo(f"p{n}"), {}, (Mention(f"kite {n}", "thing"), Mention(f"boat {n // 3}", "thing")))
        for n in range(start, start + count)
    ]


@pytest.fixture
def album(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(entity_vectors, "GRAPH_FROM", 100)
    monkeypatch.setattr(entity_vectors, "IN_VIEW", 120)
    meta = AlbumMeta("t", "i", DIM, DELTA)
    return album_of(tmp_path / "a.gamer", photos(0, PHOTOS), names=embed, meta=meta)


def topic_matches(path: Path, by_graph: bool) -> list[list[tuple[str, float]]]:
    """The matches of each topic. Where the graph may not be used, every node is compared."""
    with Album.open(path) as album, pytest.MonkeyPatch.context() as patched:
        if not by_graph:
            patched.setattr(entity_vectors, "GRAPH_FROM", 10**9)
        queries = (TOPICS / np.linalg.norm(TOPICS, axis=1, keepdims=True)).astype(np.float32)
        rows = np.arange(len(album))
        album.match_entities(queries[0], rows, DELTA)
        album.load_graphs(wait=True)  # after a first search, as an engine does
        out = [
            [(m.name, round(m.similarity, 5)) for m in album.match_entities(query, rows, DELTA, 1000)]
            for query in queries
        ]
        assert album.nodes is not None
        assert (album.nodes.graph is not None) == by_graph
        return out


def test_the_graph_finds_99_percent_of_what_a_scan_finds_and_nothing_else(album: Path) -> None:
    every, walked = topic_matches(album, False), topic_matches(album, True)
    assert sum(map(len, every)) > 200
    missed = sum(len(set(a) - set(b)) for a, b in zip(every, walked, strict=True))
    assert missed <= 0.01 * sum(map(len, every))
    assert all(set(b) <= set(a) for a, b in zip(every, walked, strict=True))


def test_names_added_merged_or_split_after_the_graph_was_built_are_found(album: Path) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.add(photos(PHOTOS, 9))
        writer.merge("kite 5", "boat 7")
        writer.merge("kite 8", "kite 9")
        writer.split("kite 9")
        writer.finish(embed)
    every, walked = topic_matches(album, False), topic_matches(album, True)
    assert any(name == "kite 305" for matches in walked for name, _ in matches)
    assert not any(name == "boat 7" for matches in walked for name, _ in matches)
    assert sum(len(set(a) ^ set(b)) for a, b in zip(every, walked, strict=True)) <= 0.01 * sum(
        map(len, every)
    )


def test_the_entity_segment_is_what_the_page_says(album: Path) -> None:
    """Read by FORMAT.md with Python's standard library: entity rows where a channel's graph has photos."""
    with AlbumWriter.extend(album) as writer:  # a merged name keeps its vector, and its place
        writer.merge("kite 5", "boat 7")
        writer.finish(embed)
    db = sqlite3.connect(album)
    (blob,) = db.execute("SELECT blob FROM segments WHERE name = 'entities'").fetchone()
    has_vector = [int(data is not None) for (data,) in db.execute("SELECT data FROM entities ORDER BY row")]
    db.close()
    magic, version, dim, vectors, rows, engine = struct.unpack_from("<4sHHQQ16s", blob)
    assert (magic, version, dim, vectors, rows, engine.rstrip(b"\0")) == (
        b"GHNS",
        2,
        DIM,
        sum(has_vector),
        len(has_vector),
        b"usearch",
    )
    assert list(struct.unpack_from(f"<{rows}H", blob, 40)) == has_vector


def test_a_threshold_below_all_similarities_matches_every_entity(album: Path) -> None:
    with Album.open(album) as opened:
        query = embed(["kite 1"])[0]
        everything = opened.match_entities(query, np.arange(PHOTOS), -1.0, 10**6)
    assert len(everything) == PHOTOS + PHOTOS // 3


@pytest.mark.parametrize("blob", [b"", b"GHNS", b"x" * 900])
def test_a_segment_that_is_no_graph_is_ignored(album: Path, blob: bytes) -> None:
    every = topic_matches(album, False)
    db = apsw.Connection(str(album))
    db.execute(
        "UPDATE segments SET blob = ?, sha256 = ? WHERE name = 'entities'",
        (blob, hashlib.sha256(blob).hexdigest()),
    )
    db.close()
    with Album.open(album) as opened:
        assert opened.nodes is not None
        opened.load_graphs(wait=True)
        assert opened.nodes.graph is None
        query = (TOPICS[0] / np.linalg.norm(TOPICS[0])).astype(np.float32)
        assert [m.name for m in opened.match_entities(query, np.arange(PHOTOS), DELTA, 1000)] == [
            name for name, _ in every[0]
        ]
