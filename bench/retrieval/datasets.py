"""Data sets for evaluation, as gzipped JSON Lines: corpora are converted to album JSONL, queries are read.

`DATASET/USER.corpus.jsonl.gz` holds {"id", "timestamp", "text"}; `DATASET/USER.queries.jsonl.gz` holds
{"query_id", "query", "relevant"}.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gamer.index.errors import GamerError
from gamer.index.records import FAVOURITE


class DatasetError(GamerError):
    """A data set is missing, is not of the expected format, or cannot be measured."""


@dataclass(frozen=True)
class Query:
    """One query of one user, with the ids that answer it.

    `lang`: the data set's guess of the language, or "".
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    lang: str


def read_jsonl(path: Path, *fields: str) -> Iterator[dict[str, Any]]:
    """Yields the objects of a .jsonl or .jsonl.gz file.

    Raises DatasetError, naming the line, if the file cannot be read or an object lacks one of `fields`.
    """
    number = 0
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open(encoding="utf-8") as stream
        ):
            for number, line in enumerate(stream, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict) or any(name not in row for name in fields):
                        raise DatasetError(f"{path}:{number}: an object with {', '.join(fields)} is wanted")
                    yield row
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise DatasetError(f"{path}:{number + 1}: cannot be read ({error})") from None


def read_answered(path: Path) -> list[tuple[str, list[str]]]:
    """Queries with the ids of the photos that answer them, of {"query", "relevant"}. Raises DatasetError."""
    out = []
    for row in read_jsonl(path, "query", "relevant"):
        query, relevant = row["query"], row["relevant"]
        ids = isinstance(relevant, list) and all(isinstance(name, str) for name in relevant)
        if not isinstance(query, str) or not ids:
            raise DatasetError(
                f'{path}: {str(query)[:40]!r}: "query" is to be a text and "relevant" a list of photo ids'
            )
        out.append((query, relevant))
    return out


def users(folder: Path) -> list[str]:
    """The user names of a data set folder, sorted. Raises DatasetError if there are none."""
    names = sorted(p.name.removesuffix(".corpus.jsonl.gz") for p in folder.glob("*.corpus.jsonl.gz"))
    if not names:
        raise DatasetError(f"{folder}: no *.corpus.jsonl.gz here: give a data set folder such as camroll-mpr")
    return names


def queries(folder: Path, user: str, most: int = 0) -> list[Query]:
    """The user's queries that have a relevant id. Raises DatasetError if there are none.

    The others test abstention and cannot be scored. `most`: of them, evenly spread over all; 0 for all.
    """
    path = folder / f"{user}.queries.jsonl.gz"
    rows = read_jsonl(path, "query_id", "query", "relevant")
    scorable = [
        Query(r["query_id"], r["query"], tuple(r["relevant"]), r.get("lang", ""))
        for r in rows
        if r["relevant"]
    ]
    if not scorable:
        raise DatasetError(f"{path}: no query with a relevant id")
    return evenly_spread(scorable, most or len(scorable))


def evenly_spread(scorable: list[Query], most: int) -> list[Query]:
    """At most `most` queries, evenly spread over all."""
    return scorable[:: -(-len(scorable) // most)]


def write_album(
    folder: Path, user: str, out: Path, *, hidden: Collection[str] = (), pixels: bool = False
) -> int:
    """Writes the user's corpus as an album JSONL, with one memory a photo; returns the number of photos.

    The memory's source is "caption" for a row with an event_id, else "chat". `hidden`: ids of photos whose
    memories are left out; `pixels`: with the pictures that the corpus
    names, whose memories are notes. Raises DatasetError if the
    corpus is empty or cannot be read.
    """
    path, count = folder / f"{user}.corpus.jsonl.gz", 0
    with out.open("w", encoding="utf-8") as stream:
        for row in read_jsonl(path, "id", "timestamp", "text"):
            memory = {"source": "caption" if "event_id" in row else "chat", "text": row["text"]}
            photo = {"id": row["id"], "taken_at": row["timestamp"]}
            if pixels and "path" in row:
                photo["path"] = str((folder / row["path"]).absolute())
                memory["source"] = "note"
            # An album takes no photo of which nothing is known: one without pixels is marked as a favourite.
            bare = [] if "path" in photo else [asdict(FAVOURITE)]
            photo["memories"] = bare if row["id"] in hidden else [memory]
            stream.write(json.dumps(photo, ensure_ascii=False) + "\n")
            count += 1
    if not count:
        raise DatasetError(f"{path}: no line in it")
    return count


def fingerprint(folder: Path, user: str) -> str:
    """A short hash of the user's corpus file, for cache keys."""
    return hashlib.sha256((folder / f"{user}.corpus.jsonl.gz").read_bytes()).hexdigest()[:8]
