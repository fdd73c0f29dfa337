"""Segments an album into events and stores them; renames, merges and splits them for a person.

What a person has changed (`Event.edited`) stays: its photos and its name; a photo that is in no event yet
and whose time lies inside joins it. All other events are made anew: for 20,000 photos with memories, 7 s to
decide and 11 s to describe on one core (AVX2), and a run of the text tower for each event whose name or
summary is new, which takes minutes the first time. An interruption leaves the events stored and some without
vectors, which the next writer of the album encodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gamer.index import Album, AlbumError, AlbumWriter, Event, FloatArray, Photo, event_id

from ..indexing.encode import DERIVED
from ..indexing.faces import Progress
from ..models.models import Models, check_encoders
from ..search.stages.refine import clean
from .describe import MAX_NAME, commonness, describe
from .rules import Rules
from .segment import Decider, Moment, Segmenter, in_order

_BATCH = 512  # photos read at once


@dataclass(frozen=True)
class Counts:
    """What a segmentation did. `photos`: in events; `undated`: in none, for want of a date.

    `kept`: events that a person edited; `unchanged`: others that are what they were; `actions`: how often the
    decider chose each.
    """

    path: Path
    events: int
    photos: int
    undated: int
    kept: int
    unchanged: int
    actions: dict[str, int]


def segment_album(
    album: Path, models: Models, decider: Decider | None = None, progress: Progress | None = None
) -> Counts:
    """Makes the album's events, by the rules unless another decider is given, and stores them.

    Raises RuntimeFailure if the bundle is not the album's, AlbumError from the index.
    """
    moments, old = _read(album, models)
    kept, rest = _kept(moments, old)
    segmenter = Segmenter(decider or Rules())
    bounds = sorted(time for event in kept for time in (event.start, event.end) if time is not None)
    dated = list(in_order(rest))
    for done, moment in enumerate(dated, 1):
        # An event that is made anew lies before or after an edited one, never around it.
        while bounds and (moment.wall or 0) >= bounds[0]:
            bounds.pop(0)
            segmenter.cut()
        segmenter.add(moment)
        if progress:
            progress(done, len(dated), moment.id)
    made = _described(segmenter.events, old, {event.id for event in kept}, commonness(moments))
    _store(album, models, [*kept, *made])
    before = {event.id: event for event in old}
    actions = [decision.action for decision in segmenter.decisions]
    return Counts(
        path=album,
        events=len(kept) + len(made),
        photos=sum(len(event.photos) for event in (*kept, *made)),
        undated=sum(m.wall is None for m in rest),
        kept=len(kept),
        unchanged=sum(before.get(event.id) == event for event in made),
        actions={name: actions.count(name) for name in sorted(set(actions))},
    )


def rename(album: Path, models: Models, event: str, name: str) -> Event:
    """Gives an event a name, cleaned and cut to MAX_NAME.

    Raises AlbumError for an unknown event, or if nothing of the name is printable.
    """
    wanted = clean(name, MAX_NAME)
    if not wanted:
        raise AlbumError(f"{album}: a name with at least one printable character is wanted")
    events = _events(album)
    changed = replace(_find(album, events, event), name=wanted, edited=True, vector=None)
    _store(album, models, [changed if old.id == event else old for old in events])
    return changed


def merge(album: Path, models: Models, first: str, second: str) -> Event:
    """Makes two events one, which keeps the id, the name and the summary of `first`.

    Raises AlbumError for an unknown event, or if both are the same.
    """
    events = _events(album)
    kept, gone = _find(album, events, first), _find(album, events, second)
    if kept.id == gone.id:
        raise AlbumError(f"{album}: {first} is one event: name two")
    moments = {m.id: m for m in _read(album, models)[0]}
    photos = _ordered(moments, (*kept.photos, *gone.photos))
    merged = _timed(replace(kept, photos=photos, edited=True), moments)
    _store(album, models, [merged if old.id == first else old for old in events if old.id != second])
    return merged


def split(album: Path, models: Models, event: str, photo: str) -> tuple[Event, Event]:
    """Makes of an event two: the photos before `photo`, and those from it on, both described anew.

    The first keeps the event's id, and its name if a person gave it. Raises AlbumError for an unknown event,
    and unless `photo` is a photo of it other than its first.
    """
    events = _events(album)
    old = _find(album, events, event)
    if photo not in old.photos[1:]:
        raise AlbumError(
            f"{album}: {event} can be split at any of its photos but its first, not at {photo!r}"
        )
    moments = {m.id: m for m in _read(album, models)[0]}
    at = old.photos.index(photo)
    parts = [[moments[i] for i in ids] for ids in (old.photos[:at], old.photos[at:])]
    common = commonness(moments.values())
    ids = old.id, _free_id(photo, {other.id for other in events})
    first, second = (
        replace(_event(i, part, common), edited=True) for i, part in zip(ids, parts, strict=True)
    )
    first = replace(first, name=old.name) if old.edited else first
    _store(
        album, models, [x for other in events for x in ((first, second) if other.id == event else (other,))]
    )
    return first, second


def _events(album: Path) -> list[Event]:
    with Album.open(album) as opened:
        return opened.events()


def _find(album: Path, events: Iterable[Event], wanted: str) -> Event:
    for event in events:
        if event.id == wanted:
            return event
    raise AlbumError(f"{album}: no event {wanted!r} in this album: `gamer index events {album}` lists them")


def _read(album: Path, models: Models) -> tuple[list[Moment], list[Event]]:
    """The album's photos as moments, in order of row, and its events."""
    with Album.open(album) as opened:
        check_encoders(models, opened.meta, album)
        text, image = opened.means("text"), opened.means("image")
        moments = []
        for start in range(0, len(opened), _BATCH):
            rows = range(start, min(start + _BATCH, len(opened)))
            moments += [
                _moment(photo, text[row], image[row])
                for row, photo in zip(rows, opened.photos(rows), strict=True)
            ]
        return moments, opened.events()


def _moment(photo: Photo, text: FloatArray, image: FloatArray) -> Moment:
    written = tuple(m.text for m in photo.memories if m.source not in DERIVED)
    labels = photo.told("label")
    return Moment(
        photo.id,
        photo.wall,
        photo.lat,
        photo.lon,
        text if text.any() else None,
        image if image.any() else None,
        written or labels,
        photo.told("place"),
    )


def _kept(moments: Sequence[Moment], events: Sequence[Event]) -> tuple[list[Event], list[Moment]]:
    """The edited events with the new photos whose time lies inside, and the photos that are in none of them.

    A photo is new if it is in no event. Inside two edited events, one merged around the other, it joins the
    one that starts later.
    """
    by_id = {m.id: m for m in moments}
    edited = sorted((e for e in events if e.edited), key=lambda e: (e.start or 0, e.id))
    members = {e.id: list(e.photos) for e in edited}
    known = {photo for event in events for photo in event.photos}
    for moment in moments:
        inside = [e for e in edited if moment.id not in known and _inside(moment, e)]
        if inside:
            members[inside[-1].id].append(moment.id)
    taken = {photo for photos in members.values() for photo in photos}
    kept = [replace(e, photos=_ordered(by_id, members[e.id])) for e in edited]
    return kept, [m for m in moments if m.id not in taken]


def _inside(moment: Moment, event: Event) -> bool:
    times = moment.wall, event.start, event.end
    return None not in times and (event.start or 0) <= (moment.wall or 0) <= (event.end or 0)


def _described(
    groups: Sequence[Sequence[Moment]], old: Sequence[Event], taken: set[str], common: dict[str, float]
) -> list[Event]:
    """The events of the groups. One that is what it was keeps its vector."""
    known = {event.id: event for event in old}
    made = []
    for group, name in zip(groups, _ids(groups, [e for e in old if not e.edited], taken), strict=True):
        event, before = _event(name, group, common), known.get(name)
        same = before is not None and (before.name, before.summary) == (event.name, event.summary)
        made.append(replace(event, vector=before.vector if same and before is not None else None))
    return made


def _ids(groups: Sequence[Sequence[Moment]], old: Sequence[Event], taken: set[str]) -> list[str]:
    """An id for each group: that of the old event whose first photo it begins with, else of the old event
    most of whose photos it holds, else a new one. `taken`: ids that are in use.
    """
    used, ids = set(taken), [""] * len(groups)
    first = {event.photos[0]: event.id for event in old}
    for at, group in enumerate(groups):
        wanted = first.get(group[0].id, "")
        if wanted and wanted not in used:
            ids[at] = wanted
            used.add(wanted)
    event_of = {photo: event for event in old for photo in event.photos}
    for at, group in enumerate(groups):
        shared = Counter(event_of[m.id].id for m in group if m.id in event_of)
        sizes = {event_of[m.id].id: len(event_of[m.id].photos) for m in group if m.id in event_of}
        best = next((i for i, n in shared.most_common() if 2 * n > sizes[i] and i not in used), "")
        if not ids[at]:
            ids[at] = best or _free_id(group[0].id, used | {event.id for event in old})
            used.add(ids[at])
    return ids


def _free_id(photo: str, used: set[str]) -> str:
    """The id of an event that begins with the photo; another if an event kept it after losing that photo."""
    seed = photo
    while event_id(seed) in used:
        seed += "~"
    return event_id(seed)


def _event(name: str, group: Sequence[Moment], common: dict[str, float]) -> Event:
    said = describe(group, common)
    walls = [m.wall for m in group if m.wall is not None]
    return Event(
        id=name,
        name=said.name,
        summary=said.summary,
        photos=tuple(m.id for m in group),
        start=min(walls, default=None),
        end=max(walls, default=None),
        place=said.place,
    )


def _timed(event: Event, moments: dict[str, Moment]) -> Event:
    walls = [wall for photo in event.photos if (wall := moments[photo].wall) is not None]
    return replace(event, start=min(walls, default=None), end=max(walls, default=None))


def _ordered(moments: dict[str, Moment], photos: Iterable[str]) -> tuple[str, ...]:
    """Photo ids in order of time, undated ones last."""
    found = [moments[photo] for photo in photos]
    return tuple(m.id for m in sorted(found, key=lambda m: (m.wall is None, m.wall or 0, m.id)))


def _store(album: Path, models: Models, events: Sequence[Event]) -> None:
    with AlbumWriter.extend(album) as writer:
        writer.set_events(events)
        writer.embed(models.text.encode)
