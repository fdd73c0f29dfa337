"""What a scan means for an album that holds photos already: new, the same, moved, edited, gone. Compares
paths and SHA-256 of contents.

Contents are always read: size and modification time are kept by tools that edit in place (exiftool -P,
rsync --times), so that no shortcut by them is safe, and hashing costs a small part of what encoding does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gamer.index import Memory, Photo
from gamer.index.records import Known

from .encode import DERIVED


@dataclass(frozen=True)
class Decision:
    """`photo` has the id that it has, or shall have, in the album.

    `row`: where it stands, None when it is new.
    """

    photo: Photo
    kind: Literal["new", "same", "moved", "edited"]
    row: int | None


class Reconciler:
    """`decide` for each photo of a scan; then `rest`, what could not be decided before the scan's end; then
    `missing`.

    A row is claimed by one photo at most. A content that the album knows decides before a path does: cameras
    use names again.
    """

    def __init__(
        self, known: Iterable[Known], exists: Callable[[str], bool] = lambda path: Path(path).is_file()
    ) -> None:
        self._known, self._exists = list(known), exists
        self._free = set(range(len(self._known)))
        self._row_of_id = {k.id: row for row, k in enumerate(self._known)}
        self._row_of_path = {k.path: row for row, k in enumerate(self._known) if k.path is not None}
        self._rows_of_content: dict[str, list[int]] = {}
        for row, k in enumerate(self._known):
            if k.sha256 is not None and k.path is not None:
                self._rows_of_content.setdefault(k.sha256, []).append(row)
        self._seen: set[str] = set()
        self._open: list[Photo] = []

    def decide(self, photo: Photo) -> Decision | None:
        """None: later, by `rest`."""
        if photo.path is None:
            row = self._row_of_id.get(photo.id)
            return self._claimed(photo, row if row in self._free and self._known[row].path is None else None)
        self._seen.add(photo.path)
        alike, here = self._alike(photo), self._row_of_path.get(photo.path)
        if here in alike:
            return self._claimed(photo, here)
        if not alike and here is None:
            return self._claimed(photo, None)
        self._open.append(photo)  # a copy, or moved; edited, or new under the name of one that moved
        return None

    def rest(self) -> Iterator[Decision]:
        """A row is still free: nothing lies at its path any more, or something else does, and its content is
        where we found it.
        """
        waiting: list[Photo] = []
        for photo in self._open:
            row = next((row for row in self._alike(photo) if self._left(row)), None)
            if row is None:
                waiting.append(photo)
            else:
                yield self._claimed(photo, row)
        for photo in waiting:
            here = self._row_of_path.get(photo.path or "")
            yield self._claimed(photo, here if here in self._free else None)

    def _alike(self, photo: Photo) -> list[int]:
        return [row for row in self._rows_of_content.get(photo.sha256 or "", ()) if row in self._free]

    def _left(self, row: int) -> bool:
        path = self._known[row].path or ""
        return path in self._seen or not self._exists(path)

    def _claimed(self, photo: Photo, row: int | None) -> Decision:
        if row is None:
            return Decision(replace(photo, id=self._new_id(photo)), "new", None)
        self._free.discard(row)
        k = self._known[row]
        kind: Literal["same", "moved", "edited"] = (
            "edited" if photo.sha256 != k.sha256 else "same" if k.path == photo.path else "moved"
        )
        return Decision(replace(photo, id=k.id), kind, row)

    def unclaimed(self) -> list[Known]:
        return [self._known[row] for row in sorted(self._free)]

    def missing(self, root: Path) -> list[Known]:
        """Rows whose picture lay under `root` and is no longer anywhere."""
        top = root.absolute()
        return [
            k
            for k in self.unclaimed()
            if k.path is not None and Path(k.path).is_relative_to(top) and not self._exists(k.path)
        ]

    def _new_id(self, photo: Photo) -> str:
        """Its own, or with the beginning of its content's hash when another photo has that one."""
        wanted, count = photo.id, 1
        while wanted in self._row_of_id:
            wanted = f"{photo.id}~{(photo.sha256 or '')[:8]}" + (f".{count}" if count > 1 else "")
            count += 1
        self._row_of_id[wanted] = -1
        return wanted


def together(found: Photo, stored: Photo) -> Photo:
    """What a scan found, with what the album knows beside it: nothing that anybody wrote is lost.

    A stored chat or caption that the found one contains (a log that went on) gives way to it. Labels of
    sharing and sensitivity stay.
    """
    known = {(m.source, m.text): m for m in stored.memories}
    fresh = tuple(known.get((m.source, m.text), m) for m in found.memories)
    old = tuple(
        m
        for m in stored.memories
        if m.source not in DERIVED
        and m not in fresh
        and not any(m.source == f.source and m.text in f.text and _unlabelled(m) for f in fresh)
    )
    timed, placed = found.taken_at is not None, found.lat is not None
    return replace(
        found,
        memories=fresh + old,
        taken_at=found.taken_at if timed else stored.taken_at,
        tz_source=found.tz_source if timed else stored.tz_source,
        utc_offset=found.utc_offset if timed else stored.utc_offset,
        lat=found.lat if placed else stored.lat,
        lon=found.lon if placed else stored.lon,
        sharing=found.sharing or stored.sharing,
        sensitivity=found.sensitivity or stored.sensitivity,
    )


def differs(merged: Photo, stored: Photo) -> bool:
    """Whether the album's row would say anything else.

    Positions are compared as the file keeps them, to 1e-7 degrees.
    """
    written = {(m.source, m.text) for m in stored.memories if m.source not in DERIVED}
    return (
        {(m.source, m.text) for m in merged.memories} != written
        or (merged.taken_at, merged.tz_source, merged.utc_offset, merged.sharing, merged.sensitivity)
        != (stored.taken_at, stored.tz_source, stored.utc_offset, stored.sharing, stored.sensitivity)
        or any(_e7(a) != _e7(b) for a, b in ((merged.lat, stored.lat), (merged.lon, stored.lon)))
    )


def _unlabelled(memory: Memory) -> bool:
    return memory.sharing is None and memory.sensitivity is None


def _e7(degrees: float | None) -> int | None:
    return None if degrees is None else round(degrees * 1e7)
