"""Suites `album` (reading, searching, damaging and adding to an album) and `lexical` (query words in
memories).

`album.gamer` is of synthetic photos, in version 2 of the format; the golden albums of all versions are read
too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from gamer.index import (
    Album,
    AlbumMeta,
    AlbumWriter,
    Clip,
    Cube,
    Encoded,
    FloatArray,
    Memory,
    Mention,
    Photo,
    canonical,
)
from gamer.index.album.declarations.face_tables import DIM
from gamer.index.album.layers.lexical import WordScores
from gamer.index.entities.words import query_terms, spellings
from gamer.index.people import reading, writing
from gamer.index.people.records import LookedAt, NewFace, People, Person, checked_name
from gamer.index.records import UNKNOWN_TIME
from gamer.index.vectors.nearest import VectorResult
from gamer.runtime.search.similar import similar
from tools.conformance.fixture import Answers, Given, edited, floats, vector

_META = ("text_encoder", "image_encoder", "dim", "delta")
_MEMORY = ("source", "text", "sharing", "sensitivity")
_PLACED = ("lat", "lon", "sharing", "sensitivity")
_PHOTO = ("id", "path", "taken_at", "tz_source", "utc_offset", *_PLACED, "sha256")
_ENTITY = ("row", "name", "kind", "similarity")
_NEAR = ("k", "lat", "lon", "taken_at", "metres_an_hour")


def album(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared
    written = {"append": _append, "change": _change, "people": _people, "verify": _verify}
    changing = {op: partial(change, folder) for op, change in written.items()}
    return {**_reading(_READ, folder, stack), **changing, "create": _create}


def lexical(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared
    return {
        **_reading({"words": lambda album, given: words(album.words(given["query"]))}, folder, stack),
        "spellings": lambda given: {"forms": [list(forms) for forms in spellings(given["text"])]},
        "query_terms": lambda given: {"words": query_terms(given["text"])},
        "canonical": lambda given: {"text": canonical(given["text"])},
    }


def words(scores: WordScores) -> Given:
    counted = [
        {"text": w.text, "rows": w.rows.tolist(), "bm25": floats(w.bm25), "rarity": w.rarity}
        for w in scores.words
    ]
    return {"words": counted, "bm25": floats(scores.bm25), "coverage": floats(scores.coverage)}


def _reading(
    answers: Mapping[str, Callable[[Album, Given], Any]], folder: Path, stack: ExitStack
) -> dict[str, Callable[[Given], Any]]:
    """Answers from the album that a case names; one that is not damaged is opened once."""

    @cache
    def whole(name: str) -> Album:
        return stack.enter_context(Album.open(stack.enter_context(copied(folder, {"file": name}))))

    def answer(read: Callable[[Album, Given], Any], given: Given) -> Any:
        if "edits" not in given:
            return read(whole(given["file"]), given)
        with copied(folder, given) as path, Album.open(path) as damaged:
            return read(damaged, given)

    return {op: partial(answer, read) for op, read in answers.items()}


@contextmanager
def copied(folder: Path, given: Given) -> Iterator[Path]:
    """A temporary copy of the album that a case names, damaged as it says: an open WAL file has files beside
    it.
    """
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(aside, "album.gamer")
        copy.write_bytes(edited((folder / given["file"]).read_bytes(), given))
        yield copy


def _named(of: object, names: Sequence[str]) -> Given:
    return {name: getattr(of, name) for name in names}


def _read(album: Album, given: Given) -> Given:
    """All that a reader gets from an album, except for the derived segments."""
    preferences = album.preferences()
    return {
        "meta": _named(album.meta, _META),
        "generation": album.generation,
        "photos": [_photo(photo) for photo in album.photos(range(len(album)))],
        "channels": {channel.name: channel.vectors for channel in album.stats().channels},
        "entities": album.entity_names(500),
        "conversations": np.flatnonzero(album.conversations).tolist(),
        "preferred_photos": sorted(map(list, preferences.photos)),
        "preferred_entities": sorted(map(list, preferences.entities)),
    }


def _photo(photo: Photo) -> Given:
    return _named(photo, (*_PHOTO, "wall")) | {"memories": [_named(one, _MEMORY) for one in photo.memories]}


def _cubes(album: Album, given: Given) -> Given:
    row_set = album.in_cubes([Cube(**cube) for cube in given["cubes"]])
    return {"rows": row_set.rows.tolist(), "inside": row_set.inside.tolist()}


def _entities(album: Album, given: Given) -> Given:
    matches = album.match_entities(vector(given["query"]), np.array(given["rows"]), given["delta"])
    linked = [{"photos": list(one.photos), "reached": list(one.reached)} for one in matches]
    return {"matches": [_named(one, _ENTITY) | links for one, links in zip(matches, linked, strict=True)]}


def _scores(album: Album, given: Given) -> Given:
    scores = album.scores(given["channel"], vector(given["query"]), np.array(given["rows"]))
    return {"scores": [None if score == -np.inf else score for score in floats(scores)]}


def _search(album: Album, given: Given) -> Given:
    rows = None if given["rows"] is None else np.array(given["rows"])
    found = album.search_vectors(given["channel"], vector(given["query"]), given["k"], rows, given["plan"])
    return _best(found) | ({"plan": found.plan} if given["plan"] == "hnsw" else {})


def _best(found: VectorResult) -> Given:
    return {"rows": found.rows.tolist(), "scores": floats(found.scores)}


def _moments(album: Album, given: Given) -> Given:
    """Of each clip its times in ms, and the second that is meant."""
    rows = {photo_id: row for row, photo_id in enumerate(album.ids())}
    clips, query = album.clips(list(rows)), vector(given["query"])
    return {
        "clips": [
            {"id": photo_id}
            | _named(clips[photo_id], ("start", "end", "length"))
            | {"second": album.second(row, clips[photo_id], query)}
            for photo_id, row in rows.items()
            if photo_id in clips
        ]
    }


def _browse(album: Album, given: Given) -> Given:
    """What is seen without a query: the timeline and the map's places."""
    # The server's packages are missing where processors are emulated.
    from gamer.runtime.serve.overview import places

    order = np.argsort(-album.times().astype(np.float64), kind="stable")
    pictured = album.pictured()
    rows = [row for row in order.tolist() if pictured[row] or not pictured.any()]
    months = [
        {"start": start, "rows": list(found)}
        for start, found in groupby(rows, lambda row: _month(int(album.times()[row])))
    ]
    positions = album.positions()[sorted(rows)]
    placed = positions[~np.isnan(positions).any(axis=1)]
    return {"months": months, "cells": [_named(place, ("lat", "lon", "photos")) for place in places(placed)]}


def _month(time: int) -> int | None:
    if time == UNKNOWN_TIME:
        return None
    return int(np.datetime64(time, "ms").astype("datetime64[M]").astype("datetime64[ms]").astype(np.int64))


def _similar(album: Album, given: Given) -> Given:
    found = similar(album, given["row"], given["k"])
    mean = album.mean_of(found.channel, np.array([given["row"]]))
    assert mean is not None
    rows = np.array([hit.row for hit in found.photos])
    cosines = album.search_vectors(found.channel, mean, given["k"], rows).scores
    return {"channel": found.channel, "rows": rows.tolist(), "scores": floats(cosines)}


_READ: dict[str, Callable[[Album, Given], Any]] = {
    "read": _read,
    "cubes": _cubes,
    "entities": _entities,
    "scores": _scores,
    "search": _search,
    "moments": _moments,
    "browse": _browse,
    "similar": _similar,
    "preferred": lambda album, given: {"rows": album.preferred(given["ranked"])},
    "near": lambda album, given: {"rows": album.near(*(given[name] for name in _NEAR)).tolist()},
    "open": lambda album, given: None,
    "photo": lambda album, given: _photo(album.photo(given["row"])),
}


def _append(folder: Path, given: Given) -> Given:
    """Photos appended by AlbumWriter, and the album afterwards.

    A writer in another language must produce the same rows and the same checksums of photos, which cover the
    bytes of the vectors.
    """

    def vectors(names: Sequence[str]) -> FloatArray:
        return np.stack([vector(given["entity_vectors"][name]) for name in names])

    with copied(folder, given) as path:
        with AlbumWriter.extend(path) as writer:
            writer.add([_encoded(one) for one in given["photos"]])
            writer.embed(vectors)
        with Album.open(path) as album:
            checksums = _asked(album, {"crc": "SELECT crc FROM photos ORDER BY row"})["crc"]
            flat = {"crc": [crc for (crc,) in checksums]}
            return _read(album, given) | flat | _asked(album, given["queries"])


def _change(folder: Path, given: Given) -> Given:
    """Photos replaced and removed, and the album afterwards."""
    with copied(folder, given) as path:
        with AlbumWriter.extend(path) as writer:
            writer.update([_encoded(one) for one in given["update"]])
            writer.remove(given["remove"])
        with Album.open(path) as album:
            return _asked(album, given["queries"]) | {"bm25": floats(album.words(given["query"]).bm25)}


def _people(folder: Path, given: Given) -> Given:
    """Faces stored, grouped, named and forgotten, and the tables, the people and the photos afterwards."""
    with copied(folder, given) as path:
        with AlbumWriter.extend(path) as writer:
            for step in given["steps"]:
                if step["do"] == "retell":
                    told = [_encoded(one) for one in step["photos"]]
                    writer.retell(told, lambda db, of=step["named"]: writing.note_written(db, of))  # type: ignore[misc]
                else:
                    writer.change_optional(lambda db, at, of=step: _STEPS[of["do"]](db, at, of))  # type: ignore[misc]
        found = reading.read(path) or People()
        people = [
            [one.row, one.name, [face.row for face in one.faces], list(one.photos)] for one in found.people
        ]
        with Album.open(path) as album:
            problems = album.verify()
            return _asked(album, given["queries"]) | {
                "people": people,
                "held": sorted(found.held),
                "named_in": [[photo, list(names)] for photo, names in sorted(found.named_in().items())],
                "problems": problems,
            }


def _looked_at(given: Given) -> LookedAt:
    def face(one: Given) -> NewFace:
        values = np.zeros(DIM, np.float32)
        for at, value in one["hot"]:
            values[at] = value
        return NewFace(tuple(one["box"]), one["quality"], values)

    return LookedAt(given["photo"], given["sha256"], tuple(face(one) for one in given["faces"]))


def _person(path: Path, row: int) -> Person:
    return (reading.read(path) or People()).person(f"p{row}")


_STEPS: Mapping[str, Callable[[apsw.Connection, Path, Given], object]] = {
    "begin": lambda db, path, step: writing.begin(db, path, step["encoder"]),
    "store": lambda db, path, step: writing.store(db, [_looked_at(one) for one in step["photos"]]),
    "regroup": lambda db, path, step: writing.regroup(db, path),
    "name": lambda db, path, step: writing.name(
        db, path, _person(path, step["person"]), checked_name(step["text"])
    ),
    "merge": lambda db, path, step: writing.merge(
        db, _person(path, step["into"]), [_person(path, row) for row in step["others"]]
    ),
    "forget": lambda db, path, step: writing.forget(db, [_person(path, row) for row in step["people"]]),
}


def _verify(folder: Path, given: Given) -> Given:
    """An album that SQL damages: what a check finds, what a repair does, and what a check finds then."""
    with copied(folder, given) as path:
        db = apsw.Connection(str(path))
        for sql in given["damage"]:
            db.execute(sql)
        db.close()
        with Album.open(path) as album:
            before = album.verify()
        with AlbumWriter.extend(path) as writer:
            repaired = writer.repair()
        with Album.open(path) as album:
            return {"before": before, "repaired": repaired, "after": album.verify()}


def _create(given: Given) -> Given:
    """A new album: its tables as they are declared, without white space."""
    meta = AlbumMeta(**given["meta"])
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside, "new.gamer")
        with AlbumWriter.create(path, meta) as writer:
            writer.finish(lambda names: np.zeros((len(names), meta.dim), np.float32))
        with Album.open(path) as album:
            return _asked(album, given["queries"])


def _asked(album: Album, queries: dict[str, str]) -> Given:
    return {name: [list(row) for row in album._file.sql(sql)] for name, sql in queries.items()}


def _encoded(given: Given) -> Encoded:
    memories = tuple(Memory(**memory) for memory in given["photo"]["memories"])
    photo = Photo(**{name: given["photo"][name] for name in _PHOTO}, memories=memories)
    channels = {name: np.array(rows, np.float32) for name, rows in given["vectors"].items()}
    clip = _clip(given["clip"]) if "clip" in given else None
    return Encoded(photo, channels, tuple(Mention(**mention) for mention in given["mentions"]), clip)


def _clip(given: Given) -> Clip:
    return Clip(given["start"], given["end"], given["length"], tuple(given["frames"]))
