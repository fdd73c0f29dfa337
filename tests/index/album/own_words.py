"""Makes an album one that a program without FTS5 wrote: its words are in a segment, as in FORMAT.md."""

from __future__ import annotations

import hashlib
import struct
from contextlib import closing
from pathlib import Path

import apsw

from gamer.index.album import words


def segment(db: apsw.Connection) -> bytes:
    """The segment as FORMAT.md describes it."""
    photos = [
        [
            words.tokens(db, text)
            for (text,) in db.execute("SELECT text FROM memories WHERE photo=? ORDER BY id", row)
        ]
        for row in db.execute("SELECT row FROM photos ORDER BY row").fetchall()
    ]
    texts = [text for memories in photos for text in memories]
    terms = sorted({word for text in texts for word in text}, key=str.encode)
    number = {term: at for at, term in enumerate(terms)}
    numbers = [number[word] for text in texts for word in text]
    parts = [list(map(len, photos)), list(map(len, texts)), numbers, [len(term.encode()) for term in terms]]
    head = struct.pack("<4sHHQQQQ", b"GWRD", 1, 0, len(photos), len(texts), len(terms), len(numbers))
    return head + b"".join(struct.pack(f"<{len(p)}I", *p) for p in parts) + "".join(terms).encode()


def without_fts5(path: Path, *, drop: bool = True, blob: bytes | None = None) -> None:
    """Makes the album one that a program without FTS5 wrote, or changed."""
    with closing(apsw.Connection(str(path))) as db:
        blob = blob or segment(db)
        db.execute("DROP TABLE memories_fts" if drop else "INSERT INTO meta VALUES('words', 'own')")
        values = (hashlib.sha256(blob).hexdigest(), blob)
        db.execute(
            """INSERT INTO segments
            SELECT 'words', 1, CAST(value AS INTEGER), (SELECT count(*) FROM photos), ?, ?
            FROM meta WHERE key = 'generation'""",
            values,
        )
