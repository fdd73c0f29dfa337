"""Writes the golden album album_v3.gamer: `python tests/golden/make_album.py NEW_FILE`.

It was run once. It is kept to document the data in the file, because readers in other languages are tested
with that file too. The committed file is not written again as long as the format's version stays the same:
every reader must be able to read exactly these bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gamer.index import (
    AlbumMeta,
    AlbumWriter,
    Encoded,
    Event,
    FloatArray,
    Memory,
    Mention,
    Photo,
    event_id,
)

DIM = 16


def unit(array: FloatArray) -> FloatArray:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), np.float32)


def vectors(names: Sequence[str]) -> FloatArray:
    return np.stack(
        [
            unit(np.random.default_rng(list(name.encode())).standard_normal(DIM).astype(np.float32))
            for name in names
        ]
    )


CHAIR = Encoded(
    Photo(
        "chair.jpg",
        "/p/chair.jpg",
        1_000,
        "offset",
        48.0,
        11.0,
        (
            Memory("chat", "The chair at IKEA was 119 euros"),
            Memory("note", "the doctor's number is 555 0199", sensitivity="high"),
        ),
        sha256="ab" * 32,
        utc_offset=120,
    ),
    {"text": vectors(["chair", "doctor"]), "image": vectors(["picture of a chair"])},
    (
        Mention("chair", "thing"),
        Mention("119 euros", "price", "chair", "costs"),
        Mention("IKEA", "place", "chair", "at"),
        Mention("IKEA", "place", "chair", "from"),
    ),
)
BEACH = Encoded(
    Photo(
        "beach.jpg",
        None,
        5_000,
        "local",
        None,
        None,
        (Memory("caption", "Waves on the beach with Bob"),),
        sharing="low",
    ),
    {"text": vectors(["beach"])},
    (Mention("Bob", "person"), Mention("beaches", "thing")),
)
DOG = Encoded(
    Photo(
        "dog.jpg",
        None,
        None,
        "local",
        -33.9,
        179.9,
        (Memory("caption", "A dog running on the beach"), Memory("people", "Robert")),
    ),
    {"text": vectors(["dog"]), "image": vectors(["dog"])},
    (Mention("dog", "thing"), Mention("beach", "thing"), Mention("Robert", "person")),
)
GONE = Encoded(
    Photo("gone.jpg", taken_at=7_000, memories=(Memory("note", "soon removed"),)),
    {"text": vectors(["gone"])},
    (Mention("gone", "thing"),),
)
GRID = [
    Encoded(
        Photo(
            f"p{i:02d}.jpg",
            taken_at=1_300_000_000_000 + i * 864 * 10**5,
            lat=float(i * 31 % 90),
            lon=float(i * 17 % 180),
        )
    )
    for i in range(80)
]
LATE = Encoded(
    Photo(
        "late.jpg",
        taken_at=9_000,
        tz_source="offset",
        memories=(Memory("ocr", "SALE 30 %"),),
        utc_offset=-330,
    ),
    {"text": vectors(["sale"])},
)
# The third loses its only photo later, and the last takes its row.
EVENTS = [
    Event(
        event_id("chair.jpg"),
        "Shopping",
        "A chair is bought.",
        ("chair.jpg", "dog.jpg", "gone.jpg"),
        place="Garching",
        vector=vectors(["shopping"])[0],
    ),
    Event(event_id("beach.jpg"), "At the beach", "Waves and Bob.", ("beach.jpg",), edited=True),
    Event(event_id("gone.jpg"), "Gone", "Never to be seen.", ("p79.jpg",)),
    Event(
        event_id("p00.jpg"),
        "A journey é",
        "Ten days of March.",
        tuple(f"p{i:02d}.jpg" for i in range(9, -1, -1)),
    ),
]


def write(path: Path) -> None:
    with AlbumWriter.create(
        path, AlbumMeta("made-up-text", "made-up-image", DIM, 0.6), hnsw_from=4
    ) as writer:
        writer.add([GONE, CHAIR, BEACH, DOG, *GRID])
        writer.merge("Robert", "Bob")
        writer.set_events(EVENTS)
        writer.finish(vectors)
    # After these changes the segments are out of date, as on a phone between two builds.
    with AlbumWriter.extend(path) as writer:
        writer.remove(["gone.jpg", "p79.jpg"])
        writer.add([LATE, GRID[79]])
        writer.prefer("dog.jpg", "chair.jpg")
        writer.prefer("dog", "chair")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
