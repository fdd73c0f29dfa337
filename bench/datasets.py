"""Evaluation sets in the JSONL format of the development data: corpus → album JSONL, queries → runs. Knows the format; knows no metric.

`DATASET/USER.corpus.jsonl.gz` holds {"id", "timestamp", "text"}; `DATASET/USER.queries.jsonl.gz` holds {"query_id", "query", "relevant"}.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class DatasetError(Exception):
    """A data set that is not where it was said to be, or not of the format."""


@dataclass(frozen=True)
class Query:
    """One query of one user with the ids that answer it. `lang` is the data's own guess, or ""."""

    id: str
    text: str
    relevant: tuple[str, ...]
    lang: str


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Lines of a .jsonl or .jsonl.gz file. Raises DatasetError naming the line that does not parse."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    yield json.loads(line)
                except json.JSONDecodeError as error:
                    raise DatasetError(f"{path}:{number}: not JSON ({error.msg})") from None


def users(folder: Path) -> list[str]:
    """User names of a data set folder, sorted. Raises DatasetError if there are none."""
    names = sorted(p.name.removesuffix(".corpus.jsonl.gz") for p in folder.glob("*.corpus.jsonl.gz"))
    if not names:
        raise DatasetError(f"{folder}: no *.corpus.jsonl.gz here: give a data set folder such as camroll-mpr")
    return names


def queries(folder: Path, user: str) -> list[Query]:
    rows = read_jsonl(folder / f"{user}.queries.jsonl.gz")
    return [Query(r["query_id"], r["query"], tuple(r["relevant"]), r.get("lang", "")) for r in rows]


def write_album(folder: Path, user: str, out: Path) -> int:
    """Writes the user's corpus as an album JSONL (one memory a photo, source "caption" or "chat"). Returns the number of photos."""
    count = 0
    source = "caption" if "event_id" in next(read_jsonl(folder / f"{user}.corpus.jsonl.gz")) else "chat"
    with out.open("w", encoding="utf-8") as stream:
        for row in read_jsonl(folder / f"{user}.corpus.jsonl.gz"):
            line = {"id": row["id"], "taken_at": row["timestamp"], "memories": [{"source": source, "text": row["text"]}]}
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            count += 1
    return count
