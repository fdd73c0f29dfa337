"""Read an album with only Python's standard library: it is an SQLite file (index/FORMAT.md).

    python examples/album_with_sqlite.py out/album.gamer espresso

Prints the photos with a memory that contains the word, best match first, with local time and position.
"""

from __future__ import annotations

import sqlite3
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

APPLICATION_ID = 0x47414D52  # "GAMR"
QUERY = """
SELECT photos.id, taken_at, utc_offset, lat_e7, lon_e7, memories.text
FROM memories_fts JOIN memories ON memories.id = memories_fts.rowid JOIN photos ON photos.row = memories.photo
WHERE memories_fts MATCH ? ORDER BY bm25(memories_fts)
"""


def main(album: Path, word: str) -> None:
    connection = sqlite3.connect(album.resolve().as_uri() + "?mode=ro", uri=True)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,), f"{album}: no album"
    assert connection.execute("PRAGMA user_version").fetchone()[0] in (1, 2, 3), f"{album}: a later version"
    quoted = '"' + word.replace('"', '""') + '"'
    for photo, taken_at, offset, lat, lon, text in connection.execute(QUERY, (quoted,)):
        when = "time unknown"
        if taken_at is not None:
            wall = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=taken_at, minutes=offset or 0)
            when = f"{wall:%Y-%m-%d %H:%M}"
        where = "place unknown" if lat is None else f"{lat / 1e7:.2f}, {lon / 1e7:.2f}"
        print(f"{photo}: {when}; {where}; {text}")
    connection.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
