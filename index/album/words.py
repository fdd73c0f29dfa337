"""The album's index of words: FTS5's table, or the segment `words` of a program without FTS5.

FORMAT.md, Words, describes both. This program has FTS5: it reads an album that a phone wrote without FTS5
through an index that it makes in memory, and its writer gives the album FTS5's table again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import apsw
import numpy as np

from ..errors import AlbumError
from . import segments
from .declarations.tables import FULL_TEXT, WORDS

SEGMENT, VERSION = "words", 1
_MAGIC, _HEADER = b"GWRD", struct.Struct("<4sHHQQQQ")
_IN_MEMORY = """
CREATE VIRTUAL TABLE temp.memories_fts USING fts5(text, content='', tokenize='porter unicode61');
INSERT INTO temp.memories_fts(rowid, text) SELECT id, text FROM memories;
CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(temp, memories_fts, row);
CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(temp, memories_fts, instance);
"""


def is_full_text(db: apsw.Connection) -> bool:
    """Whether the album has FTS5's table, and it is up to date."""
    return bool(
        db.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'memories_fts'").fetchone()
        and not db.execute("SELECT 1 FROM main.meta WHERE key = 'words'").fetchone()
    )


def prepare(db: apsw.Connection) -> None:
    """Makes `memories_fts`, `word_counts` and `word_places` of a reader's connection fit the memories."""
    db.execute(WORDS if is_full_text(db) else _IN_MEMORY)


def restore(db: apsw.Connection) -> None:
    """Gives an album FTS5's table if it has none, or one that is out of date; in the caller's transaction."""
    if is_full_text(db):
        return
    if not db.execute("SELECT 1 FROM main.sqlite_schema WHERE name = 'memories_fts'").fetchone():
        db.execute(FULL_TEXT)
    db.execute("INSERT INTO memories_fts(memories_fts) VALUES('rebuild')")
    db.execute("DELETE FROM meta WHERE key = 'words'")
    db.execute("DELETE FROM segments WHERE name = ?", (SEGMENT,))


def problems(db: apsw.Connection, photos: int) -> list[str]:
    """One line for each thing that is wrong with the words of an album without FTS5's table."""
    mark = db.execute("SELECT value FROM main.meta WHERE key = 'words'").fetchone()
    out = [] if mark in (None, ("own",)) else [f"meta: words is {str(mark[0])[:60]!r}, not own"]
    segment = segments.load(db, SEGMENT, VERSION, photos)
    if segment is None:
        return out
    try:
        stored = decode(segment.blob)
    except AlbumError as error:
        return [*out, str(error)]
    behind = set(segment.behind.tolist())
    if len(stored) != segment.rows:
        return [*out, f"segment {SEGMENT}: {len(stored)} photos, its row says {segment.rows}"]
    for photo, texts in _by_photo(db):
        if photo in behind:
            continue
        if photo >= len(stored) or stored[photo] != [tokens(db, text) for text in texts]:
            return [*out, f"segment {SEGMENT}: not the words of the photo in row {photo}"]
        stored[photo] = []
    if any(words for photo, words in enumerate(stored) if photo not in behind and photo < photos):
        out.append(f"segment {SEGMENT}: words of photos that have no memories")
    return out


def tokens(db: apsw.Connection, text: str) -> list[str]:
    """The words of a memory as FTS5's tokenizer `porter unicode61` splits and stems them."""
    found: Any = db.fts5_tokenizer("porter", ["unicode61"])(
        text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
    )
    return [str(token) for token in found]


def decode(blob: bytes) -> list[list[list[str]]]:
    """By photo, by memory: its words. Raises AlbumError for bytes that are not a segment of words."""
    try:
        magic, version, _, photos, memories, terms, words = _HEADER.unpack_from(blob)
        at, parts = _HEADER.size, []
        if (magic, version) != (_MAGIC, VERSION) or 4 * (photos + memories + terms + words) > len(blob) - at:
            raise ValueError(f"magic {magic!r}, version {version}")
        for count in (photos, memories, words, terms):
            parts.append(np.frombuffer(blob, "<u4", count, at).astype(np.int64))
            at += 4 * count
        counts, lengths, numbers, sizes = parts
        ends = at + np.cumsum(sizes)
        if (counts.sum(), lengths.sum(), ends[-1] if terms else at) != (memories, words, len(blob)):
            raise ValueError("its counts differ")
        known = [
            blob[end - size : end].decode() for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)
        ]
        said = iter([known[number] for number in numbers.tolist()])
        texts = iter([[next(said) for _ in range(length)] for length in lengths.tolist()])
        return [[next(texts) for _ in range(count)] for count in counts.tolist()]
    except (struct.error, ValueError, IndexError) as error:
        raise AlbumError(f"segment {SEGMENT}: damaged ({error}); repair the album") from None


def _by_photo(db: apsw.Connection) -> Iterator[tuple[int, list[str]]]:
    last, texts = -1, list[str]()
    for photo, text in db.execute("SELECT photo, text FROM memories ORDER BY photo, id"):
        if photo != last and texts:
            yield last, texts
            texts = []
        last = photo
        texts.append(text)
    if texts:
        yield last, texts
