"""Writes the golden album album_v3_words.gamer: `python -m tests.golden.make_words_album NEW_FILE`.

It is album_v3.gamer as a program without FTS5 would have left it: words in a segment, which is behind for the
two photos that were added last. It was run once, as make_album.py was.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from gamer.index import AlbumWriter, Encoded, Memory, Photo
from tests.index.album.own_words import without_fts5
from tests.paths import GOLDEN

LATER = [
    Encoded(Photo("later.jpg", memories=(Memory("chat", "Bob's dogs swam, and the dog ran"),)), {}, ()),
    Encoded(Photo("silent.jpg"), {}, ()),
]


def write(path: Path) -> None:
    shutil.copy(GOLDEN / "album_v3.gamer", path)
    without_fts5(path)
    with AlbumWriter.extend(path) as writer:
        writer.add(LATER)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
