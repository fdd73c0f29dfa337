"""Columns that SQLite joins, compared with the same rows read one by one."""

from __future__ import annotations

import struct

import apsw
import numpy as np
import pytest

from gamer.index import AlbumError, quantize
from gamer.index.album import in_bulk
from gamer.index.vectors.quantize import NO_FINE, VectorSet, residue

DIM, PHOTOS = 10, 2_500  # more than are read at once
VECTORS = (
    "CREATE TABLE vectors(channel TEXT NOT NULL, photo INTEGER NOT NULL, chunk INTEGER NOT NULL, "
    "scale REAL NOT NULL, data BLOB NOT NULL, fine BLOB, PRIMARY KEY(channel, photo, chunk)) WITHOUT ROWID"
)


def filled(chunks: int, fine: str) -> apsw.Connection:
    """A table of vectors. Every seventh photo has none. `fine`: "all", "some" or "none" have residues."""
    db = apsw.Connection(":memory:")
    db.execute(VECTORS)
    rng = np.random.default_rng(chunks)
    for photo in range(PHOTOS):
        x = rng.standard_normal((0 if photo % 7 == 3 else 1 + photo % chunks, DIM)).astype(np.float32)
        codes, scales = quantize(x)
        rest = residue(x, codes, scales)
        for chunk in range(len(x)):
            kept = fine == "all" or (fine == "some" and (photo + chunk) % 3 == 0)
            row = ("text", photo, chunk, float(scales[chunk]), codes[chunk].tobytes())
            db.execute(
                "INSERT INTO vectors VALUES(?,?,?,?,?,?)", (*row, rest[chunk].tobytes() if kept else None)
            )
    db.execute("INSERT INTO vectors VALUES('image', 0, 0, 1.0, x'0102', NULL)")
    return db


def read(db: apsw.Connection, limit: int = PHOTOS) -> VectorSet | None:
    return in_bulk.vectors(db, "vectors WHERE channel = ?1", "photo", "text", limit, "vectors", fine=True)


@pytest.mark.parametrize("fine", ["all", "some", "none"])
@pytest.mark.parametrize("chunks", [1, 3])
def test_vectors_are_those_of_the_rows(chunks: int, fine: str) -> None:
    db = filled(chunks, fine)
    rows = db.execute(
        "SELECT photo, scale, data, fine FROM vectors WHERE channel='text' ORDER BY photo, chunk"
    ).fetchall()
    got = read(db)
    assert got is not None
    assert len(got) == len(rows)
    assert got.owners.tolist() == [row[0] for row in rows]
    assert got.scales.tolist() == np.array([row[1] for row in rows], np.float32).tolist()
    assert got.codes.tobytes() == b"".join(bytes(row[2]) for row in rows)  # type: ignore[arg-type]
    if fine == "none":
        assert got.fine is None
    else:
        want = b"".join(NO_FINE * 3 if row[3] is None else bytes(row[3]) for row in rows)  # type: ignore[arg-type]
        assert got.fine is not None
        assert got.fine.tobytes() == want


def test_a_channel_without_vectors_has_none() -> None:
    assert in_bulk.vectors(filled(1, "none"), "vectors WHERE channel = ?1", "photo", "x", 9, "", True) is None


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ("SET data = x'01' WHERE photo = 1500", AlbumError, "different lengths"),
        ("SET fine = x'01' WHERE photo = 1500", ValueError, "reshape"),
        ("SET scale = 'much' WHERE photo = 1500", ValueError, "numbers in"),
        ("SET scale = -1 WHERE photo = 1500", ValueError, "invalid scale"),
        ("SET scale = 9e999 WHERE photo = 1500", ValueError, "invalid scale"),
        ("SET photo = 'first' WHERE photo = 1500", ValueError, "outside"),
        ("SET photo = -1 WHERE photo = 1500", ValueError, "outside"),
        ("SET photo = 99999999 WHERE photo = 1500", ValueError, "outside"),
    ],
)
def test_a_damaged_row_of_vectors_is_an_error(change: str, error: type[Exception], says: str) -> None:
    db = filled(1, "all")
    db.execute(f"UPDATE vectors {change} AND channel = 'text'")
    with pytest.raises(error, match=says):
        read(db)


def test_a_vector_beyond_the_photos_is_an_error() -> None:
    with pytest.raises(ValueError, match="outside 0"):
        read(filled(1, "all"), 100)


def test_integers_are_read_by_column() -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE pairs(a INTEGER, b INTEGER)")
    assert in_bulk.integers(db, "a, b", "pairs").shape == (2, 0)
    db.execute("INSERT INTO pairs VALUES(3, -4), (9007199254740993, 0)")
    assert in_bulk.integers(db, "a, b", "pairs").tolist() == [[3, 9007199254740993], [-4, 0]]
    assert in_bulk.integers(db, "b", "pairs WHERE a = 3").tolist() == [[-4]]
    for damage in ("NULL", "'three'", "'1,2'", "x'00'", "1.5"):
        db.execute(f"UPDATE pairs SET b = {damage} WHERE a = 3")
        with pytest.raises(ValueError, match="numbers in 2 rows"):
            in_bulk.integers(db, "a, b", "pairs")


def test_variable_length_integers_are_read() -> None:
    db = apsw.Connection(":memory:")
    db.execute("CREATE TABLE sizes(id INTEGER PRIMARY KEY, sz BLOB)")
    want = [0, 1, 127, 128, 300, 16_383, 16_384, 2_097_152, 5]
    for number in want:
        groups = [number >> shift & 127 for shift in (21, 14, 7, 0) if number >> shift or not shift]
        value = bytes([group | 128 for group in groups[:-1]] + groups[-1:])
        db.execute("INSERT INTO sizes(sz) VALUES(?)", (value,))
    ids, sizes = in_bulk.varints(db, "id", "sz", "sizes")
    assert (ids.tolist(), sizes.tolist()) == (list(range(1, 10)), want)
    db.execute("UPDATE sizes SET sz = NULL WHERE id = 2")
    with pytest.raises(ValueError, match="8 variable-length integers in 9 rows"):
        in_bulk.varints(db, "id", "sz", "sizes")


def test_scales_keep_every_bit() -> None:
    db = filled(1, "none")
    db.execute("DELETE FROM vectors")
    rng = np.random.default_rng(1)
    bits = rng.integers(0x20000000, 0x60000000, 2_000)  # float32 from 1e-19 to 4e19
    scales = [struct.unpack("<f", struct.pack("<I", int(one)))[0] for one in bits]
    for photo, scale in enumerate(scales):
        db.execute("INSERT INTO vectors VALUES('text', ?, 0, ?, ?, NULL)", (photo, scale, bytes(DIM)))
    got = read(db)
    assert got is not None
    assert got.scales.tolist() == scales
