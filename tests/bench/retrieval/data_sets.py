"""A small data set in the evaluation's format, for tests that run commands on one.

Two users, a photo for each thing.
"""

from __future__ import annotations

import gzip
import json
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
        asked = [
            {"query_id": f"{user}-q{n}", "user": user, "query": text, "relevant": [f"{user}{n}"]}
            for n, text in enumerate(QUERIES)
        ]
        for name, rows in (("corpus", corpus), ("queries", asked)):
            with gzip.open(folder / f"{user}.{name}.jsonl.gz", "wt", encoding="utf-8") as stream:
                stream.write("".join(json.dumps(row) + "\n" for row in rows))
    return folder
