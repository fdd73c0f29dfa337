"""Compares a scan with the photos already in an album: each is new, the same, moved, edited or gone.

Compares paths and the SHA-256 of contents. Tools that edit in place can preserve size and modification time
(exiftool -P, rsync --times), so no shortcut by those is safe; index/ingest/remembered.py says when a file
need not be read again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gamer.index import Memory, Photo
from gamer.index.clips import part_of, whole
from gamer.index.fields import detailed, values
from gamer.index.records import FAVOURITE, IndexedPhoto

from .encode import DERIVED


@dataclass(frozen=True)
class Decision:
    """What to do with a scanned photo.

    `photo`: with the id that it has, or will have, in the album. `row`: its row, None if new. `parts`: of a
    clip that the album has in parts, the rows of all of them; `photo` is the whole clip then.
    """

    photo: Photo
    kind: Literal["new", "same", "moved", "edited"]
    row: int | None
    parts: tuple[int, ...] = ()


class Reconciler:
    """Call `decide` for each photo of a scan, then `rest` for those left undecided, then `missing`.

    Each row is assigned to at most one photo. A known content counts more than a known path, because cameras
    reuse file names. The parts of a clip are compared as one, by the first of them.
    """

    def __init__(
        self, known: Iterable[IndexedPhoto], exists: Callable[[str], bool] = lambda path: Path(path).is_file()
    ) -> None:
        self._known, self._exists = list(known), exists
        self._free = set(range(len(self._known)))
        self._row_of_id = {k.id: row for row, k in enumerate(self._known)}
        self._parts = _parts(self._known)
        for rows in self._parts.values():
            self._row_of_id.setdefault(whole(self._known[rows[0]].id), -1)  # no other clip may have this name
        following = {row for rows in self._parts.values() for row in rows[1:]}
        single = [(row, k) for row, k in enumerate(self._known) if row not in following]
        self._row_of_path = {k.path: row for row, k in single if k.path is not None}
        self._rows_of_content: dict[str, list[int]] = {}
        for row, k in single:
            if k.sha256 is not None and k.path is not None:
                self._rows_of_content.setdefault(k.sha256, []).append(row)
        self._seen: set[str] = set()
        self._open: list[Photo] = []

    def decide(self, photo: Photo) -> Decision | None:
        """None if the photo can only be decided after the scan, by `rest`."""
        if photo.path is None:
            row = self._row_of_id.get(photo.id)
            return self._claimed(photo, row if row in self._free and self._known[row].path is None else None)
        self._seen.add(photo.path)
        if part_of(photo.id) is not None and (row := self._row_of_id.get(photo.id)) in self._free:
            return self._claimed(photo, row, alone=True)  # a line of JSON names one part
        same_content, row_at_path = self._alike(photo), self._row_of_path.get(photo.path)
        if row_at_path in same_content:
            return self._claimed(photo, row_at_path)
        if not same_content and row_at_path is None:
            return self._claimed(photo, None)
        self._open.append(
            photo
        )  # a copy or a moved photo; or an edited one, or a new one with the name of a moved one
        return None

    def rest(self) -> Iterator[Decision]:
        """Decides the photos that `decide` left open; call it at the end of the scan.

        A photo was moved if a free row has its content, and that row's path now holds nothing or something
        else. Otherwise it was edited if the row of its path is free, and is new if not.
        """
        waiting: list[Photo] = []
        for photo in self._open:
            row = next((row for row in self._alike(photo) if self._left(row)), None)
            if row is None:
                waiting.append(photo)
            else:
                yield self._claimed(photo, row)
        for photo in waiting:
            row_at_path = self._row_of_path.get(photo.path or "")
            yield self._claimed(photo, row_at_path if row_at_path in self._free else None)

    def holds(self, photo: Photo) -> bool:
        """Whether the album has this very file, or one of its content whose file is gone, so was moved."""
        stored = (self._known[row] for row in self._rows_of_content.get(photo.sha256 or "", ()))
        return any(k.path == photo.path or not self._exists(k.path or "") for k in stored)

    def _alike(self, photo: Photo) -> list[int]:
        return [row for row in self._rows_of_content.get(photo.sha256 or "", ()) if row in self._free]

    def _left(self, row: int) -> bool:
        path = self._known[row].path or ""
        return path in self._seen or not self._exists(path)

    def _claimed(self, photo: Photo, row: int | None, *, alone: bool = False) -> Decision:
        """`alone`: takes one part of a clip, not all."""
        if row is None:
            return Decision(replace(photo, id=self._new_id(photo)), "new", None)
        parts = () if alone else self._parts.get(row, ())
        self._free -= {row, *parts}
        k = self._known[row]
        kind: Literal["same", "moved", "edited"] = (
            "edited" if photo.sha256 != k.sha256 else "same" if k.path == photo.path else "moved"
        )
        return Decision(replace(photo, id=whole(k.id) if parts else k.id), kind, row, parts)

    def unclaimed(self) -> list[IndexedPhoto]:
        return [self._known[row] for row in sorted(self._free)]

    def missing(self, root: Path) -> list[IndexedPhoto]:
        """The photos whose file was under `root` and was found neither there nor elsewhere."""
        top = root.absolute()
        return [
            k
            for k in self.unclaimed()
            if k.path is not None and Path(k.path).is_relative_to(top) and not self._exists(k.path)
        ]

    def _new_id(self, photo: Photo) -> str:
        """The photo's id; if taken, with the first 8 digits of its content's hash appended."""
        wanted, count = photo.id, 1
        while wanted in self._row_of_id:
            wanted = f"{photo.id}~{(photo.sha256 or '')[:8]}" + (f".{count}" if count > 1 else "")
            count += 1
        self._row_of_id[wanted] = -1
        return wanted


def _parts(known: list[IndexedPhoto]) -> dict[int, tuple[int, ...]]:
    """The first row of a clip that is stored in parts → the rows of all its parts."""
    rows: dict[tuple[str | None, str | None, str], list[int]] = {}
    for row, k in enumerate(known):
        if part_of(k.id) is not None:
            rows.setdefault((k.path, k.sha256, whole(k.id)), []).append(row)
    return {found[0]: tuple(found) for found in rows.values()}


def merge_scanned(scanned: Photo, stored: Photo) -> Photo:
    """The scanned photo merged with the stored one, so that no text that a person wrote is lost.

    A stored chat or caption that a scanned one contains (a log that has grown) is replaced by it, unless it
    is labelled. Time, place, fields and the labels of sharing and sensitivity are the stored ones where the
    scan has none.
    """
    known = {(m.source, m.text): m for m in stored.memories}
    fresh = tuple(known.get((m.source, m.text), m) for m in scanned.memories)
    old = tuple(
        m
        for m in stored.memories
        if m.source not in DERIVED
        and m not in fresh
        and (m == FAVOURITE or not any(_grown(m, f) for f in fresh))
    )
    timed, placed = scanned.taken_at is not None, scanned.lat is not None
    return replace(
        detailed(scanned, values(stored) | values(scanned)),
        memories=fresh + old,
        taken_at=scanned.taken_at if timed else stored.taken_at,
        tz_source=scanned.tz_source if timed else stored.tz_source,
        utc_offset=scanned.utc_offset if timed else stored.utc_offset,
        lat=scanned.lat if placed else stored.lat,
        lon=scanned.lon if placed else stored.lon,
        sharing=scanned.sharing or stored.sharing,
        sensitivity=scanned.sensitivity or stored.sensitivity,
    )


def differs(merged: Photo, stored: Photo) -> bool:
    """Whether writing `merged` would change the album's row.

    Positions are compared as the file stores them, to 1e-7 degrees.
    """
    written = {(m.source, m.text) for m in stored.memories if m.source not in DERIVED}
    return (
        {(m.source, m.text) for m in merged.memories} != written
        or (merged.taken_at, merged.tz_source, merged.utc_offset, merged.sharing, merged.sensitivity)
        != (stored.taken_at, stored.tz_source, stored.utc_offset, stored.sharing, stored.sensitivity)
        or any(_e7(a) != _e7(b) for a, b in ((merged.lat, stored.lat), (merged.lon, stored.lon)))
    )


def _grown(stored: Memory, scanned: Memory) -> bool:
    unlabelled = stored.sharing is None and stored.sensitivity is None
    return stored.source == scanned.source and stored.text in scanned.text and unlabelled


def _e7(degrees: float | None) -> int | None:
    return None if degrees is None else round(degrees * 1e7)
