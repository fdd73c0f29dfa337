"""⟨photo, memory⟩ pairs of an album, and the queries that meant its photos: what is trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from gamer.index import Album, OpenedLog, Photo
from gamer.index.json_checked import UNICODE, Items, Text, parse, read_as
from gamer.runtime.indexing import encode

from ..errors import ExportError

# Memories that the device derived from the pixels or the position: they are not a person's words.
DERIVED = (*encode.DERIVED, "ocr", "people")
_BATCH = 512
_MAX_LINE = 10_000


@dataclass(frozen=True)
class Pairs:
    """Photos with pixels, and what their owner said of them.

    `paths`: [N], in the album's order. `memories`: [N], the texts of each photo; none for a photo that
    is used by its pixels alone. `withheld`: [N], the texts of photos taken too late, to measure with.
    `missing`: photos of the album whose file is not there, or that have none. `searched`: [N], the queries
    that meant each photo.
    """

    paths: tuple[Path, ...]
    memories: tuple[tuple[str, ...], ...]
    withheld: tuple[tuple[str, ...], ...]
    missing: int
    searched: tuple[tuple[str, ...], ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """All memories, photo by photo."""
        return tuple(text for text, _ in told(self.memories))

    @property
    def owners(self) -> tuple[int, ...]:
        """The photo of each of `texts`."""
        return tuple(photo for _, photo in told(self.memories))

    @property
    def queries(self) -> tuple[str, ...]:
        """A query of the photo of each of `texts`, in turn where it has several; "" where it has none."""
        pairs = zip(self.memories, self.searched, strict=True)
        return tuple(
            asked[n % len(asked)] if asked else "" for texts, asked in pairs for n in range(len(texts))
        )

    def digest(self) -> str:
        """SHA-256 in hex over the paths, the files' sizes and times, and the memories."""
        sha = hashlib.sha256()
        for path, texts in zip(self.paths, self.memories, strict=True):
            found = path.stat()
            sha.update(repr((str(path), found.st_size, found.st_mtime_ns, texts)).encode())
        return sha.hexdigest()


def told(by_photo: Sequence[Sequence[str]]) -> list[tuple[str, int]]:
    """Each text with its photo's row."""
    return [(text, photo) for photo, texts in enumerate(by_photo) for text in texts]


@dataclass(frozen=True)
class Search:
    """A query, and the ids of the photos that it meant."""

    query: str
    photos: tuple[str, ...]


def read(album: Path, until: int | None = None, searches: Sequence[Search] = ()) -> Pairs:
    """The pairs of an album; memories of photos taken at or after `until` (ms, wall time) are left out.

    A photo without a time keeps its memories. `searches`: what its photos were asked for by. Raises
    AlbumError, and ExportError if no photo with a memory has its pixels here.
    """
    paths, memories, withheld, missing = list[Path](), list[tuple[str, ...]](), list[tuple[str, ...]](), 0
    searched, asked = list[tuple[str, ...]](), dict[str, dict[str, None]]()
    for search in searches:
        for meant in search.photos:
            asked.setdefault(meant, {})[search.query] = None
    with Album.open(album) as opened:
        for start in range(0, len(opened), _BATCH):
            for photo in opened.photos(range(start, min(start + _BATCH, len(opened)))):
                path = None if photo.path is None else Path(photo.path)
                if path is None or not path.is_file():
                    missing += 1
                    continue
                paths.append(path)
                searched.append(tuple(asked.get(photo.id, ())))
                late = until is not None and photo.wall is not None and photo.wall >= until
                memories.append(() if late else _told(photo))
                withheld.append(_told(photo) if late else ())
    if not any(memories):
        raise ExportError(
            f"{album}: no photo with a memory has its pixels here ({len(paths)} photos with pixels, "
            f"{missing} without): index a folder or a JSONL whose photos have both"
        )
    return Pairs(tuple(paths), tuple(memories), tuple(withheld), missing, tuple(searched))


def _told(photo: Photo) -> tuple[str, ...]:
    texts = (m.text.strip() for m in photo.memories if m.source not in DERIVED)
    return tuple(dict.fromkeys(text for text in texts if text))


@dataclass(frozen=True)
class _SearchLine:
    query: Annotated[str, Text(pattern=UNICODE, form="in valid Unicode")]
    photos: Annotated[tuple[Any, ...], Items(least=1)]


def searches_of(album: Path, queries: Path | None) -> list[Search]:
    """The lines {"query", "photos"} of a file, or what was searched and opened. Raises ExportError."""
    if queries is None:
        return [Search(entry.query, (entry.photo,)) for entry in OpenedLog(album).read()]
    try:
        with queries.open(encoding="utf-8") as file:
            lines = [line for line in iter(lambda: file.readline(_MAX_LINE), "") if line.strip()]
        asked: list[_SearchLine] = [
            read_as(_SearchLine, parse(line), repr(line[:40]), extra=True) for line in lines
        ]
    except (OSError, ValueError) as error:
        raise ExportError(
            f'{queries}: must be lines of {{"query": …, "photos": [id, …]}} ({str(error)[:120]})'
        ) from None
    return [Search(one.query, tuple(map(str, one.photos))) for one in asked]
