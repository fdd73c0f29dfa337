"""An album read by FORMAT.md with Python's standard library only: if a test breaks, a port breaks."""

from __future__ import annotations

import hashlib
import sqlite3
import struct
import zlib
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumWriter
from gamer.index.album.declarations import tables
from tests.index.conftest import DIM, SAMPLE, BuildAlbum, name_vectors
from tests.paths import ROOT


def value_bytes(value: int | float | str | bytes | None) -> bytes:
    """The bytes of a value in a checksum: FORMAT.md, Checksums."""
    if value is None:
        return b"n"
    if isinstance(value, int):
        return b"i" + struct.pack("<q", value)
    if isinstance(value, float):
        return b"f" + struct.pack("<d", value)
    data = value.encode() if isinstance(value, str) else value
    return (b"t" if isinstance(value, str) else b"b") + struct.pack("<q", len(data)) + data


def test_the_header_and_the_rows_are_what_the_page_says(album_path: Path) -> None:
    head = album_path.read_bytes()[:100]
    assert struct.unpack_from(">I", head, 68) == (0x47414D52,)
    assert struct.unpack_from(">I", head, 60) == (3,)
    db = sqlite3.connect(album_path)
    meta = dict(db.execute("SELECT key, value FROM meta"))
    assert int(meta.pop("crc")) == zlib.crc32(
        b"".join(value_bytes(meta[key]) for key in ("text_encoder", "image_encoder", "dim", "delta"))
    )
    assert meta == {
        "generation": "1",
        "text_encoder": "made-up-text",
        "image_encoder": "made-up-image",
        "dim": str(DIM),
        "delta": "0.6",
    }
    columns = "row, id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256"
    assert db.execute(f"SELECT {columns} FROM photos ORDER BY row").fetchall() == [
        (0, "chair.jpg", "/p/chair.jpg", 1_000, "offset", None, 480_000_000, 110_000_000, None, None, None),
        (1, "beach.jpg", None, 5_000, "local", None, None, None, "low", "high", None),
        (2, "dog.jpg", None, None, "local", None, -339_000_000, 1_799_000_000, None, None, None),
        (3, "blank.jpg", None, None, "local", None, None, None, None, None, None),
    ]
    assert db.execute("SELECT * FROM memories WHERE photo=0 ORDER BY id").fetchall() == [
        (1, 0, "chat", "The chair at IKEA was 119 euros", None, None),
        (2, 0, "note", "for Anna", None, None),
    ]
    assert db.execute("SELECT row, canonical, kind, same_as FROM entities ORDER BY row").fetchall() == [
        (0, "chair", "thing", None),
        (1, "119 euro", "price", None),
        (2, "ikea", "place", None),
        (3, "anna", "person", None),
        (4, "beach", "thing", None),
        (5, "dog", "thing", None),
        (6, "beach", "thing", 4),
    ]
    edge = """SELECT p.canonical, c.canonical
        FROM edges JOIN entities p ON p.row=parent JOIN entities c ON c.row=child"""
    assert db.execute(edge).fetchall() == [("chair", "119 euro")]
    linked = "SELECT photo FROM mentions JOIN entities ON row=entity WHERE canonical='beach' ORDER BY photo"
    assert db.execute(linked).fetchall() == [(1,), (2,)]
    assert db.execute(
        "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'waves' ORDER BY bm25(memories_fts)"
    ).fetchall() == [(3,)]
    db.close()


def test_vectors_are_scaled_bytes_refined_by_two_bits(album_path: Path) -> None:
    db = sqlite3.connect(album_path)
    rows = db.execute(
        "SELECT photo, chunk, scale, data, fine FROM vectors WHERE channel='text' ORDER BY photo, chunk"
    ).fetchall()
    db.close()
    assert [row[:2] for row in rows] == [(0, 0), (0, 1), (1, 0), (2, 0)]
    for (_, _, scale, data, fine), expected in zip(
        rows, name_vectors(["chair", "anna", "beach", "dog"]), strict=True
    ):
        values = [scale * code for code in struct.unpack(f"{DIM}b", data)]
        assert max(abs(a - float(b)) for a, b in zip(values, expected, strict=True)) <= scale * 0.51
        assert abs(scale - max(abs(float(b)) for b in expected) / 127) < 1e-7
        quarters = [fine[i // 4] >> 2 * (i % 4) & 3 for i in range(DIM)]
        finer = [value + scale * (q / 4 - 3 / 8) for value, q in zip(values, quarters, strict=True)]
        assert max(abs(a - float(b)) for a, b in zip(finer, expected, strict=True)) <= scale * 0.126


def test_the_kd_tree_is_what_the_page_says(build_album: BuildAlbum) -> None:
    from gamer.index import Encoded, Photo

    many = [
        Encoded(
            Photo(
                str(i),
                None,
                i * 7919 % 1000,
                "offset",
                i * 31 % 90,
                i * 17 % 180,
                utc_offset=(None, 0, 540, -210)[i % 4],
            )
        )
        for i in range(200)
    ]
    db = sqlite3.connect(build_album([*SAMPLE, *many]))
    version, generation, digest, blob = db.execute(
        "SELECT version, generation, sha256, blob FROM segments WHERE name='kdtree'"
    ).fetchone()
    assert (version, str(generation)) == (
        1,
        db.execute("SELECT value FROM meta WHERE key='generation'").fetchone()[0],
    )
    assert hashlib.sha256(blob).hexdigest() == digest
    magic, inner, leaf, n = struct.unpack_from("<4sHHQ", blob)
    assert (magic, inner, n, len(blob)) == (b"GKDT", 1, 204, 16 + 28 * 204)
    columns = [struct.unpack_from(f"<{n}q", blob, 16 + 8 * n * axis) for axis in range(3)]
    order = struct.unpack_from(f"<{n}i", blob, 16 + 24 * n)
    wall = "SELECT row, lat_e7, lon_e7, taken_at + 60000 * coalesce(utc_offset, 0) FROM photos"
    rows = {row: point for row, *point in db.execute(wall)}
    db.close()
    assert sorted(order) == list(range(n))
    for at, row in enumerate(order):
        assert [columns[axis][at] for axis in range(3)] == [
            -(2**63) if value is None else value for value in rows[row]
        ]
    ranges = [(0, n, 0)]
    while ranges:
        lo, hi, depth = ranges.pop()
        if hi - lo <= leaf:
            continue
        mid, column = (lo + hi) // 2, columns[depth % 3]
        assert all(column[i] <= column[mid] for i in range(lo, mid))
        assert all(column[i] >= column[mid] for i in range(mid + 1, hi))
        ranges += [(lo, mid, depth + 1), (mid + 1, hi, depth + 1)]


def test_the_hnsw_graph_is_what_the_page_says(build_album: BuildAlbum) -> None:
    """Walked as the page describes: from the entry at least 295 of 300 vectors are reached along the links of
    the lowest level.
    """
    from gamer.index import Encoded, Photo

    named = [str(i) for i in range(300)]
    db = sqlite3.connect(
        build_album([Encoded(Photo(name), {"text": name_vectors([name])}) for name in named], hnsw_from=2)
    )
    (blob,) = db.execute("SELECT blob FROM segments WHERE name='hnsw:text'").fetchone()
    db.close()
    magic, version, dim, n, photos, engine = struct.unpack_from("<4sHHQQ16s", blob)
    assert (magic, version, dim, n, photos, engine.rstrip(b"\0")) == (b"GHNS", 2, DIM, 300, 300, b"usearch")
    assert struct.unpack_from("<300H", blob, 40) == (1,) * 300
    links = blob[40 + 2 * photos :]
    nodes, wide, wide0, top, entry = struct.unpack_from("<5Q", links, 64)
    assert (nodes, wide, wide0) == (300, 16, 32)
    assert entry < n
    assert links[104] == 1  # slot i holds vector i
    levels = links[105 : 105 + n]
    assert levels[entry] == max(levels) == top
    lowest = links[105 + n : 105 + 98 * n]
    near = {
        i: [int.from_bytes(lowest[97 * i + 1 + 3 * j :][:3], "little") for j in range(lowest[97 * i])]
        for i in range(n)
    }
    assert len(links) == 105 + 98 * n + 68 * sum(levels)
    reached, front = {entry}, [entry]
    while front:
        front = list(dict.fromkeys(other for at in front for other in near[at] if other not in reached))
        reached.update(front)
    assert len(reached) >= 295


def test_checksums_of_photos_and_entities_are_what_the_page_says(album_path: Path) -> None:
    db = sqlite3.connect(album_path)
    columns = "id, path, taken_at, tz_source, utc_offset, lat_e7, lon_e7, sharing, sensitivity, sha256"
    for row, crc in db.execute("SELECT row, crc FROM photos").fetchall():
        parts = [
            f"SELECT {columns} FROM photos WHERE row = ?",
            "SELECT source, text, sharing, sensitivity FROM memories WHERE photo = ? ORDER BY id",
            "SELECT e.name, m.leaf FROM mentions m JOIN entities e ON e.row = m.entity "
            "WHERE m.photo = ? ORDER BY CAST(e.name AS BLOB)",
            "SELECT channel, chunk, scale, data, fine FROM vectors WHERE photo = ? ORDER BY CAST(channel "
            "AS BLOB), chunk",
        ]
        values = [value for sql in parts for record in db.execute(sql, (row,)) for value in record]
        assert zlib.crc32(b"".join(map(value_bytes, values))) == crc, row
    for *values, crc in db.execute("SELECT canonical, name, kind, scale, data, crc FROM entities").fetchall():
        assert zlib.crc32(b"".join(map(value_bytes, values))) == crc, values[:2]


def declarations() -> str:
    page = (ROOT / "index" / "FORMAT.md").read_text(encoding="utf-8")
    return page.split("```sql\n")[1].split("```")[0]


def written_by_the_page(path: Path) -> None:
    """Three photos, written as FORMAT.md says, with nothing else known of the program."""

    def crc(*values: int | float | str | bytes | None) -> int:
        return zlib.crc32(b"".join(map(value_bytes, values)))

    def vector(name: str) -> tuple[float, bytes]:
        values = [float(value) for value in name_vectors([name])[0]]
        scale = max(abs(value) for value in values) / 127
        return scale, struct.pack(f"{DIM}b", *(round(value / scale) for value in values))

    db = sqlite3.connect(path)
    db.execute(f"PRAGMA application_id = {0x47414D52}")
    db.execute("PRAGMA user_version = 3")
    db.execute("PRAGMA journal_mode = WAL")
    db.executescript(declarations())
    encoders = ("made-up-text", "made-up-image", str(DIM), "0.6")
    keys = ("text_encoder", "image_encoder", "dim", "delta")
    db.executemany("INSERT INTO meta VALUES(?, ?)", list(zip(keys, encoders, strict=True)))
    db.executemany("INSERT INTO meta VALUES(?, ?)", [("crc", str(crc(*encoders))), ("generation", "1")])
    for row, (name, kind) in enumerate((("harbour", "thing"), ("Anna", "person"))):
        named = (name.lower(), name, kind, *vector(name))
        db.execute(
            "INSERT INTO entities(row, canonical, name, kind, scale, data, crc) VALUES(?, ?, ?, ?, ?, ?, ?)",
            (row, *named, crc(*named)),
        )
    for row, text in enumerate(("the harbour with Anna", "snow", "a lamp")):
        values = (f"{row}.jpg", None, 1_000 * row, "local", None, 480_000_000, 110_000_000, None, None, None)
        memory = ("note", text, None, None)
        linked = [("Anna", 1), ("harbour", 1)] if row == 0 else []
        stored = ("text", 0, *vector(text), None)
        summed = crc(*values, *memory, *(value for link in linked for value in link), *stored)
        db.execute(f"INSERT INTO photos VALUES(?{', ?' * 11})", (row, *values, summed))
        db.execute("INSERT INTO memories VALUES(?, ?, ?, ?, ?, ?)", (row + 1, row, *memory))
        db.execute("INSERT INTO memories_fts(rowid, text) VALUES(?, ?)", (row + 1, text))
        db.execute("INSERT INTO vectors VALUES(?, ?, ?, ?, ?, ?)", (stored[0], row, *stored[1:]))
    db.executemany("INSERT INTO mentions VALUES(?, ?, ?)", [(0, 0, 1), (1, 0, 1)])
    db.commit()
    db.close()


def test_an_album_written_by_the_page_alone_is_clean_and_found_in(tmp_path: Path) -> None:
    path = tmp_path / "page.gamer"
    written_by_the_page(path)
    with Album.open(path) as album:
        assert album.verify() == []
        assert [photo.id for photo in album.photos(range(3))] == ["0.jpg", "1.jpg", "2.jpg"]
        assert album.search_text("snow", 3).rows.tolist() == [1]
        assert album.search_vectors("text", name_vectors(["a lamp"])[0], 1).rows.tolist() == [2]
        assert album.match_entities(name_vectors(["Anna"])[0], np.arange(3), 0.9)
    with AlbumWriter.extend(path) as writer:  # and the program goes on with it
        writer.add(SAMPLE[:1])
        writer.finish(name_vectors)
    with Album.open(path) as album:
        assert len(album) == 4
        assert album.verify() == []


def test_the_page_declares_the_tables_that_the_program_writes() -> None:
    ours, page = (sqlite3.connect(":memory:") for _ in range(2))
    ours.executescript(tables._DDL)
    page.executescript(declarations())
    everything = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
    assert page.execute(everything).fetchall() == ours.execute(everything).fetchall()
