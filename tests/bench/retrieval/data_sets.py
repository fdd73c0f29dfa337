"""Writes a small data set in the evaluation's format, for tests that run commands on a data set.

Each user (two by default) has one photo for each of THINGS. Each of QUERIES asks for the photo of the thing
at the same position.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

THINGS = (
    "a red bicycle in front of the bakery",
    "snow on the roof of the old school",
    "grandmother's apple pie on the kitchen table",
    "a sleeping cat on the sofa",
    "fishing boats in the harbour of Bergen",
    "the school choir sings in the church",
    "a lighthouse above the cliffs",
    "Anna and Tom at the harbour of Bergen",
)
QUERIES = (
    "red bicycle",
    "snow on the school",
    "apple pie",
    "cat",
    "boats in the harbour",
    "choir",
    "lighthouse in August 2020",
    "Anna and Tom",
)


def write(folder: Path, users: tuple[str, ...] = ("ann", "bob")) -> Path:
    """Writes the files of all users into the folder and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for user in users:
        corpus = [
            {
                "id": f"{user}{n}",
                "timestamp": f"2020-0{n + 2}-0{n + 1}T10:00:00",
                "text": text,
                "event_id": None,
            }
            for n, text in enumerate(THINGS)
        ]
        queries = [
            {"query_id": f"{user}-q{n}", "user": user, "query": text, "relevant": [f"{user}{n}"]}
            for n, text in enumerate(QUERIES)
        ]
        write_rows(folder / f"{user}.corpus.jsonl.gz", corpus)
        write_rows(folder / f"{user}.queries.jsonl.gz", queries)
    return folder


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Writes gzipped JSON Lines, into a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)
