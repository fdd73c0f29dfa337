"""`build` a new album from photos, `add` what a folder holds now, `update` with another bundle's encoders.

Photos are committed in batches: if a run is interrupted, running the same command again continues it. A new
album is written to NAME.building (or NAME.renewing, for other encoders), a valid album after each batch, and
renamed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gamer.index import Album, AlbumError, AlbumMeta, AlbumWriter, Encoded, Photo, Skip, clips, scan
from gamer.index.album import notes
from gamer.index.album.schema import check_replaceable
from gamer.index.album.writing import reencode
from gamer.index.album.writing.storage import BUILDING, RENEWING, WriterLock, discard, publish
from gamer.index.fields import values
from gamer.index.ingest import Remembered
from gamer.index.ingest import count as count_source
from gamer.index.memory.carrying import carry
from gamer.index.people import reading
from gamer.index.things import bank

from .. import cache
from ..bundle.manifest import Manifest
from ..errors import RuntimeFailure
from ..models.models import Models, check_encoders
from ..search import copies
from . import decided, faces, people
from .ahead import iterated
from .encode import Encoder
from .faces import Progress as Progress
from .reconcile import Decision, Reconciler, differs, merge_scanned

BATCH = 64


@dataclass(frozen=True)
class Built:
    """What a build did.

    `seen`: photos whose picture was encoded. `resumed`: photos taken over from an interrupted run.
    `kept_out`: found in the source, but removed for good from the album that was replaced. `copies`: photos
    that are copies of another, or of its burst (search.copies.groups). `skips`: see Skip. `people`: what a
    search for people found, if there was one.
    """

    path: Path
    photos: int
    seen: int
    resumed: int
    kept_out: int
    copies: int
    skips: tuple[Skip, ...]
    people: faces.FaceSearch | None = None


@dataclass(frozen=True)
class Added:
    """What `add` did to the album at `path`, in photos.

    `missing`: ids of photos whose files are gone; `pruned`: whether they were removed. `kept_out`: found in
    the source, but removed from the album before. `copies`: those added or encoded again that are copies of
    another, or of its burst. `people`: as in Built, of the whole album.
    """

    path: Path
    added: int
    edited: int
    moved: int
    unchanged: int
    missing: tuple[str, ...]
    pruned: bool
    kept_out: int
    photos: int
    copies: int
    skips: tuple[Skip, ...]
    people: faces.FaceSearch | None = None


@dataclass(frozen=True)
class Updated:
    """What `update` did.

    `photos`: how many were encoded again. `renewed`: whether the album was rewritten for other encoders.
    `skips`: pictures that could not be read. With the same encoders their rows are unchanged; with other
    encoders they lose their image vectors, until `add` finds the pictures again.
    """

    path: Path
    photos: int
    renewed: bool
    skips: tuple[Skip, ...]


def build(
    source: Path,
    models: Models,
    out: Path,
    progress: Progress | None = None,
    encoder: Encoder | None = None,
    with_people: bool | None = None,
) -> Built:
    """Builds the album file `out` from a folder of photos or an album JSONL.

    An existing album at `out` is replaced once the new one is complete; what its owner decided stays (see
    decided.py), and the people in it keep their names. `with_people`: whether people are searched
    for; None: as in the album before, if the bundle can. Raises RuntimeFailure if no photo could be indexed,
    AlbumError and IngestError from the index.
    """
    scanned = scan(source, _remembered(source))  # first, because it raises at once for an unusable source
    total = count_source(source)
    check_replaceable(out)
    faces.check(models, with_people)
    final = out.resolve()  # through a symbolic link, so that the file behind it is replaced
    working, before = _begin(final, models.manifest), decided.decided(out)
    with AlbumWriter.extend(working) as writer:
        writer.keep_out(before.removed)
        run = _Run(working, writer, encoder or Encoder(models), progress, total)
        resumed = len(run.reconciler.unclaimed())
        run.take(scanned)
        # What is still unclaimed is from an interrupted run with another source.
        run.remove([known.id for known in run.reconciler.unclaimed()])
        photos = len(writer.known())
        if not photos:
            writer.close()
            discard(working)
            first = f"; first: {run.skips[0].where}: {run.skips[0].reason}" if run.skips else ""
            raise RuntimeFailure(f"{source}: no photo could be taken ({len(run.skips)} skipped{first})")
        run.close()
        writer.remember_bundle(models.bundle)
        if with_people is not False:
            faces.carry(final, working, writer)
        decided.repeat(writer, before)
        found = _people(working, run, with_people)
        grow_things(writer, run.encoder, again=True)
        writer.embed(run.encoder.names)
        writer.compact()
    _replace(final, working)
    return Built(out, photos, run.seen, resumed, run.kept_out, _copies(out), tuple(run.skips), found)


def add(
    album: Path,
    source: Path,
    models: Models,
    *,
    prune: bool = False,
    again: bool = False,
    progress: Progress | None = None,
    encoder: Encoder | None = None,
    with_people: bool | None = None,
) -> Added:
    """Brings `album` up to date with `source`.

    Unchanged pictures are not encoded again. Photos whose files are gone are removed only with `prune`; those
    that were removed before come back only with `again`. `with_people`: as in `build`; False
    deletes what is known of them.
    """
    scanned = scan(source, _remembered(source))
    with Album.open(album) as opened:
        check_encoders(models, opened.meta, album)
    faces.check(models, with_people)
    total = count_source(source)
    with AlbumWriter.extend(album) as writer:
        if again and writer.removed():
            writer.readmit()
        run = _Run(album, writer, encoder or Encoder(models), progress, total)
        run.take(scanned)
        missing = tuple(known.id for known in run.reconciler.missing(source)) if Path(source).is_dir() else ()
        if prune and missing and not run.done:
            raise RuntimeFailure(
                f"{source}: no photo found there, and {len(missing)} would be removed: is the disk mounted? "
                "nothing was changed"
            )
        if prune:
            run.remove(missing)
        photos = len(writer.known())
        run.close()
        writer.remember_bundle(models.bundle)
        found = _people(album, run, with_people)
        grow_things(writer, run.encoder)
        if with_people is False:
            writer.embed(run.encoder.names)
            writer.compact()
        else:
            writer.finish(run.encoder.names)
    return Added(
        path=album,
        added=run.added,
        edited=run.edited,
        moved=run.moved,
        unchanged=run.same,
        missing=missing,
        pruned=prune,
        kept_out=run.kept_out,
        photos=photos,
        copies=_copies_added(album, run.written),
        skips=tuple(run.skips),
        people=found,
    )


def update(
    album: Path,
    models: Models,
    ids: Iterable[str] = (),
    progress: Progress | None = None,
    encoder: Encoder | None = None,
) -> Updated:
    """Encodes the photos `ids` again, or all photos.

    With another bundle's encoders a new album is written, which then replaces the old one.
    """
    encoder = encoder or Encoder(models)
    with Album.open(album) as old:
        same = (old.meta.text_encoder, old.meta.image_encoder) == (
            models.manifest.text_encoder,
            models.manifest.image_encoder,
        )
        rows = [old.row_of(photo_id) for photo_id in ids]
    if rows and not same:
        raise RuntimeFailure(
            f"{album}: made by other encoders than {models.bundle} has: update the whole album, without "
            "naming photos"
        )
    done = _in_place(album, rows, encoder, progress) if same else _renewed(album, encoder, progress)
    return replace(done, path=album)


def grow_things(writer: AlbumWriter, encoder: Encoder, again: bool = False) -> None:
    """Brings the bank of things up to date with the album's memories; `again`: reads all of them anew."""
    writer.change_optional(lambda db, path: bank.grow(db, path, encoder.things, again))


def _remembered(source: Path) -> Remembered:
    return Remembered(cache.file_of("scans", (str(Path(source).absolute()),), ".sqlite"))


class _Run:
    """Writes one scan into one album: decisions, batches, counts."""

    def __init__(
        self, path: Path, writer: AlbumWriter, encoder: Encoder, progress: Progress | None, total: int
    ) -> None:
        self.writer, self.encoder, self.progress, self._total = writer, encoder, progress, total
        self.reconciler = Reconciler(writer.known())
        self.skips: list[Skip] = []
        self.written: list[str] = []  # ids of the photos added or encoded again
        self.seen = self.added = self.edited = self.moved = self.same = self.done = self.kept_out = 0
        self._removed = writer.removed()
        self._album = Album.open(path)  # one snapshot: the album before this run
        self._known: list[Decision] = []
        self._stored: dict[int, Photo] = {}
        self._fresh: list[Photo] = []
        self._recut: list[tuple[Photo, tuple[str, ...]]] = []  # edited clips, with the ids that they had
        self._again: list[Photo] = []
        self._details: dict[str, dict[str, str]] = {}  # id → what an earlier program did not read
        self._unseen: list[Photo] = []  # unchanged, but without image vectors: their pictures were away
        self._lacking = self._album.lacking("image")

    def take(self, scanned: Iterator[Photo | Skip]) -> None:
        try:
            for item in iterated(scanned, BATCH):
                if isinstance(item, Skip):
                    self.skips.append(item)
                    continue
                # A twin of a removed picture stays where it is in the album.
                if (item.sha256 or item.id) in self._removed and not self.reconciler.holds(item):
                    self.kept_out += 1
                    continue
                decision = self.reconciler.decide(item)
                if decision is None:
                    continue
                if decision.row is None:
                    self._take_one(decision)
                    continue
                self._known.append(decision)
                if len(self._known) >= BATCH:
                    self._take_known()
            self._take_known()
            for decision in self.reconciler.rest():
                self._take_one(decision)
            self._flush()
        except BaseException:
            self.close()
            raise

    def remove(self, ids: Iterable[str]) -> None:
        removed = list(ids)
        if removed:
            self.writer.remove(removed)

    def close(self) -> None:
        self.encoder.close()
        self._album.close()

    def _take_known(self) -> None:
        """Takes the photos that wait for what the album has of them, which is read for all at once."""
        rows = [row for decision in self._known for row in (decision.row, *decision.parts) if row is not None]
        self._stored = dict(zip(rows, self._album.photos(rows), strict=True))
        for decision in self._known:
            self._take_one(decision)
        self._known.clear()
        self._stored.clear()

    def _of(self, row: int) -> Photo:
        """The photo of a row, as it was before this run."""
        return self._stored[row] if row in self._stored else self._album.photo(row)

    def _take_one(self, decision: Decision) -> None:
        self._decide(decision)
        if len(self._fresh) + len(self._recut) + len(self._again) + len(self._unseen) >= BATCH:
            self._flush()
        self._told(decision.photo.id)

    def _told(self, name: str) -> None:
        self.done += 1
        if self.progress:
            self.progress(self.done, max(self._total, self.done), name)

    def _decide(self, decision: Decision) -> None:
        if decision.row is None:
            self._fresh.append(decision.photo)
            self._will_be_seen(decision.photo)
            return
        stored = self._of(decision.row)
        if decision.kind == "edited" and clips.is_clip(decision.photo.path):
            ids = tuple(self._of(row).id for row in decision.parts) or (stored.id,)
            self._recut.append((merge_scanned(decision.photo, stored), ids))
            return
        for row in decision.parts:
            part = self._of(row)
            photo = clips.part(decision.photo, *(clips.part_of(part.id) or (0, 0)))
            self._decide(Decision(replace(photo, id=part.id), decision.kind, row))
        if decision.parts:
            return
        merged = merge_scanned(decision.photo, stored)
        if decision.kind == "moved":
            self.moved += 1
            self.writer.move(decision.photo.id, decision.photo.path)
        if decision.kind == "edited" or differs(merged, stored):
            self._again.append(merged)
            self._will_be_seen(merged)
        elif merged.path is not None and self._lacking[decision.row]:
            self._unseen.append(merged)
        elif decision.kind == "same":
            self.same += 1
        if values(merged) != values(stored):
            self._details[stored.id] = values(merged)

    def _will_be_seen(self, photo: Photo) -> None:
        if photo.path is not None and not clips.is_clip(photo.path):  # a long clip is cut first
            self.encoder.ahead(photo)

    def _flush(self) -> None:
        if self._details:
            self.writer.note_details(self._details)
            self._details.clear()
        self.added += self._write(self._encoded(self._cut(self._fresh)), self.writer.add)
        for photo, ids in self._recut:
            self.edited += self._replace(self._encoded(self._cut([photo])), ids)
        self._recut.clear()
        self.edited += self._write(self._encoded(self._again), self.writer.update)
        waiting = len(self._unseen)
        readable = [item for item in self._encoded(self._unseen) if "image" in item.vectors]
        self.edited += self._write(readable, self.writer.update)
        self.same += waiting - len(readable)

    def _cut(self, photos: list[Photo]) -> list[Photo]:
        """The photos with clips in parts, without parts that were removed for good; empties the list."""
        cut = self.encoder.cut(photos, self.skips)
        photos.clear()
        return [photo for photo in cut if notes.key_of(photo.id, photo.sha256) not in self._removed]

    def _replace(self, encoded: list[Encoded], ids: tuple[str, ...]) -> int:
        """Puts an edited clip, which may have other parts now, in the place of what had `ids`."""
        if not encoded:  # not readable: what the album has stays
            return 0
        self._write([item for item in encoded if item.photo.id not in ids], self.writer.add)
        written = self._write([item for item in encoded if item.photo.id in ids], self.writer.update)
        self.remove(set(ids) - {item.photo.id for item in encoded})
        return max(1, written)

    def _encoded(self, photos: list[Photo]) -> list[Encoded]:
        """The photos encoded, as far as they can be read; empties the list."""
        encoded = self.encoder.encode(photos, self.skips)
        photos.clear()
        return encoded

    def _write(self, encoded: list[Encoded], write: Callable[[list[Encoded]], None]) -> int:
        if encoded:
            write(encoded)
        self.seen += sum("image" in item.vectors for item in encoded)
        self.written += [item.photo.id for item in encoded]
        return len(encoded)


def _people(album: Path, run: _Run, asked: bool | None) -> faces.FaceSearch | None:
    """Searches for people where that is asked, or was before and the bundle can; deletes them on False."""
    models, encoder = run.encoder.models, run.encoder
    if asked is False:
        people.drop_all(album, run.writer, lambda: encoder)
        return None
    known, found = reading.read(album) is not None, None
    if asked or (known and models.has_faces):
        found = faces.search(album, run.writer, models, run.skips, run.progress)
    people.sync(album, run.writer, lambda: encoder)
    return found


def _begin(out: Path, manifest: Manifest) -> Path:
    """The album of an interrupted run with the same encoders, else a new album without photos."""
    working, meta = _working_path(out), _meta(manifest)
    if _resumable(working, meta):
        return working
    with AlbumWriter.create(working, meta) as writer:
        writer.finish(lambda names: np.zeros((len(names), meta.dim), np.float32))  # no names yet
    return working


def _copies(path: Path) -> int:
    with Album.open(path) as album:
        return sum(len(group) - 1 for group in copies.groups(album))


def _copies_added(path: Path, ids: list[str]) -> int:
    """How many of the photos `ids` are copies of others; the album is not opened for none."""
    if not ids:
        return 0
    with Album.open(path) as album:
        return copies.added(album, ids)


def _replace(out: Path, working: Path) -> None:
    """Puts the new album in the place of the old one, whose memories of the person it takes over."""
    lock = WriterLock(out)  # so that nothing is said between the two steps
    try:
        carry(out, working)
        publish(working, out)
    finally:
        lock.release()


def _working_path(out: Path) -> Path:
    return out.with_name(out.name + BUILDING)


def _meta(manifest: Manifest) -> AlbumMeta:
    return AlbumMeta(manifest.text_encoder, manifest.image_encoder, manifest.dim, manifest.thresholds.delta)


def _resumable(working: Path, meta: AlbumMeta) -> bool:
    """Whether an interrupted run with the same encoders left an album that can be continued."""
    if not working.exists():
        return False
    try:
        with Album.open(working) as interrupted:
            return interrupted.meta == meta
    except AlbumError:
        return False  # damaged or not an album; `create` replaces it only if it is an album


def _in_place(album: Path, rows: list[int], encoder: Encoder, progress: Progress | None) -> Updated:
    with AlbumWriter.extend(album) as writer:
        with Album.open(album) as old:
            done, skips = _encoded_again(writer, old, rows or list(range(len(old))), encoder, progress)
        writer.finish(encoder.names)
    return Updated(album, done, False, skips)


def _encoded_again(
    writer: AlbumWriter,
    old: Album,
    rows: list[int],
    encoder: Encoder,
    progress: Progress | None,
    before: int | None = None,
) -> tuple[int, tuple[Skip, ...]]:
    """Encodes photos of an album; how many, and those whose pictures could not be read.

    `before`: photos of a new album that an interrupted run encoded; pictures that cannot be read then lose
    their vectors. None for the same album, where they keep them.
    """
    done, total, skips = before or 0, (before or 0) + len(rows), list[Skip]()
    for start in range(0, len(rows), BATCH):
        photos, known = old.photos(rows[start : start + BATCH]), len(skips)
        encoded = encoder.encode(photos, skips, keep=True)
        kept = {skip.where for skip in skips[known:]} if before is None else set[str]()
        if fresh := [item for item in encoded if item.photo.path not in kept]:
            writer.update(fresh)
        done += len(fresh)
        if progress:
            progress((before or 0) + start + len(photos), total, photos[-1].id)
    writer.remember_bundle(encoder.models.bundle)
    grow_things(writer, encoder)
    return done, tuple(skips)


def _renewed(album: Path, encoder: Encoder, progress: Progress | None) -> Updated:
    """Encodes a copy of the album with other encoders; it replaces the album when complete.

    Until then readers use the old album, and no other writer may change it.
    """
    album = album.resolve()  # through a symbolic link: one lock, and the file behind it is replaced
    working, meta = album.with_name(album.name + RENEWING), _meta(encoder.models.manifest)
    _check_mounted(album)
    AlbumWriter.extend(album).close()  # upgrades an album of an older format
    lock = WriterLock(album)
    try:
        if not (_resumable(working, meta) and reencode.continues(working, album)):
            reencode.begin(album, working, meta)
        return _renew(album, working, encoder, progress)
    finally:
        lock.release()


def _check_mounted(album: Path) -> None:
    """Raises RuntimeFailure if the album has pictures but none of their files exists.

    Encoding with other encoders would then lose all image vectors.
    """
    with Album.open(album) as old:
        batches = (range(start, min(start + BATCH, len(old))) for start in range(0, len(old), BATCH))
        paths = [path for rows in batches for photo in old.photos(rows) if (path := photo.path)]
    if paths and not any(Path(path).is_file() for path in paths):
        raise RuntimeFailure(
            f"{album}: none of its {len(paths)} pictures is there ({paths[0]}): is the disk mounted? "
            "nothing was changed"
        )


def _renew(album: Path, working: Path, encoder: Encoder, progress: Progress | None) -> Updated:
    done = reencode.encoded(working)
    with AlbumWriter.extend(working) as writer:
        with Album.open(album) as old:
            rows = [row for row in range(len(old)) if row not in done]
            total, skips = _encoded_again(writer, old, rows, encoder, progress, len(old) - len(rows))
        writer.embed(encoder.names)
        writer.compact()
    reencode.finish(working)
    publish(working, album)
    return Updated(album, total, True, skips)
