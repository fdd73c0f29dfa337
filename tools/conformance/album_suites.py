"""Suites `album` (reading, searching, damaging and adding to an album) and `lexical` (query words in
memories).

`album.gamer` was made here once, of synthetic photos, in version 2 of the format; the golden albums of all
versions are read too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from operator import methodcaller
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from gamer.index import (
    Album,
    AlbumError,
    AlbumMeta,
    AlbumWriter,
    Cube,
    Encoded,
    FloatArray,
    Memory,
    Mention,
    Photo,
    canonical,
)
from gamer.index.album.declarations import field_tables
from gamer.index.album.declarations.face_tables import FACES
from gamer.index.album.declarations.person_tables import PERSON
from gamer.index.album.declarations.thing_tables import THINGS
from gamer.index.album.layers.lexical import WordScores
from gamer.index.entities.words import query_terms, spellings
from gamer.index.records import UNKNOWN_TIME
from gamer.runtime.search.similar import similar
from gamer.runtime.serve.overview import places
from tools.conformance.fixture import Case, Suite, floats
from tools.conformance.graph_suites import edited
from tools.conformance.tree_suites import cube_json

DIM = 16
# The last one was written without FTS5.
ALBUMS = (
    "album.gamer",
    "../album_v1.gamer",
    "../album_v2.gamer",
    "../album_v3.gamer",
    "../album_v3_words.gamer",
)
CLIPS = "../album_v3_clips.gamer"
# The channel of trained experts has a dimension of its own, and its name says whose queries it answers.
_WORD = "coffee"  # asked after a change: its photos have moved
EXPERTS, EXPERTS_DIM, EXPERTS_IN = "dpe:text:96d09e25", 8, 3  # EXPERTS_IN: the case of `append` that has it
# Vectors are stored alike in all versions: the newest and the oldest album stand for the others.
WITH_VECTORS = ("album.gamer", "../album_v1.gamer")

# What a writer leaves in tables that a reader's answers do not show: name → SQL.
_LINKS = {
    "edges": """SELECT p.name, c.name, e.relation FROM edges e
        JOIN entities p ON p.row = e.parent JOIN entities c ON c.row = e.child ORDER BY 1, 2, 3""",
    "events": """SELECT row, id, name, summary, place, starts, ends, edited, hex(data), crc
        FROM events ORDER BY row""",
    "event_photos": "SELECT photo, event FROM event_photos ORDER BY photo",
}
_KEPT = _LINKS | {
    "photos": "SELECT row, id, crc FROM photos ORDER BY row",
    "memories": "SELECT id, photo FROM memories ORDER BY id",
    "preferences": "SELECT kind, better, worse FROM preferences ORDER BY 1, 2, 3",
    "changes": "SELECT photo FROM changes ORDER BY photo",
}
# What is done to an album before it is checked: name → (album, SQL).
_NEWEST = "../album_v3.gamer"
# Every table that an album may have or lack, each with rows that are wrong by themselves and to others.
_SIGHTING = ", ".join(["'unspecified'"] * 12)
_OPTIONAL = (
    *(
        sql
        for group in (PERSON, FACES, THINGS, *field_tables.GROUPS.values())
        for sql in group.declared.values()
    ),
    "INSERT INTO person_meta VALUES('version', '2')",
    "INSERT INTO person_turns VALUES(1, 'u', 'c', 'owner', 5, 'tea', '', 'none', NULL, NULL, NULL, NULL, 7)",
    "INSERT INTO person_items VALUES(1, 'core', 'drink', 'tea', '', 5, NULL, 0, 'rules', NULL, 7)",
    "INSERT INTO person_items VALUES(2, 'core', 'drink', 'milk', '', 6, NULL, 0, 'rules', NULL, 7)",
    "INSERT INTO person_items VALUES(3, 'guess', 'drink', 'milk', '', 6, NULL, 2, 'rules', NULL, 7)",
    "INSERT INTO person_sources VALUES('item', 1, 1), ('item', 9, 1), ('dream', 1, 8)",
    "INSERT INTO person_objects VALUES(9, 'cup', 'p', 'e', NULL, NULL, 7)",
    "INSERT INTO face_meta VALUES('version', '1')",
    "INSERT INTO face_people VALUES(1, 'Anna', 7)",
    "INSERT INTO faces VALUES(1, 'nowhere', 0.5, 0.5, 0.6, 0.1, 1.0, 2, 0, 1.0, x'00', 7)",
    "INSERT INTO face_photos VALUES('nobody', NULL, 0)",
    "INSERT INTO face_names VALUES('no''one', 'Anna')",
    "INSERT INTO thing_meta VALUES('version', '1')",
    "INSERT INTO things VALUES(1, 'bag', NULL, 0, 0), (2, 'bag', 1, 0, 0), (3, 'bag', 2, 0, 0)",
    f"INSERT INTO thing_sightings VALUES('nowhere', 0, 4, 'bag', {_SIGHTING}, 0, 7)",
    "INSERT INTO thing_photos VALUES('elsewhere', 1)",
    "INSERT INTO cameras SELECT id, 'Lens', 7 FROM photos WHERE row = 0",
    "INSERT INTO cameras VALUES('nowhere', 'Lens ''9''', 7)",
    "INSERT INTO orientations VALUES('nowhere', 'portrait', 7)",
)
_SPOILT: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"clean-{n}": (name, ()) for n, name in enumerate((*ALBUMS, CLIPS))},
    "photos": (
        _NEWEST,
        (
            "UPDATE photos SET lat_e7 = 910000000, lon_e7 = NULL WHERE row = 1",
            "UPDATE photos SET utc_offset = 1440 WHERE row = 2",
            "UPDATE photos SET sharing = 'none' WHERE row = 0",
        ),
    ),
    "memories": (
        "album.gamer",
        (
            "UPDATE memories SET text = text || ' and tea' WHERE id = 2",
            "INSERT INTO memories(photo, source, text) VALUES(700, 'note', 'of nobody')",
        ),
    ),
    "optional-tables": (_NEWEST, _OPTIONAL),
    "words": ("album.gamer", ("DELETE FROM memories_fts_docsize WHERE id = 3",)),
    "own-words": ("../album_v3_words.gamer", ("UPDATE segments SET blob = x'00' WHERE name = 'words'",)),
    "vectors": (
        _NEWEST,
        (
            "UPDATE vectors SET data = substr(data, 2) WHERE photo = 1 AND channel = 'text'",
            "UPDATE vectors SET scale = -1 WHERE photo = 3",
            "INSERT INTO vectors VALUES('image', 777, 0, 1.0, zeroblob(16), NULL)",
        ),
    ),
    "entities": (
        _NEWEST,
        (
            "UPDATE entities SET kind = 'spoilt' WHERE row = 0",
            "UPDATE entities SET scale = NULL WHERE row = 1",
            "INSERT INTO mentions VALUES(500, 0, 0)",
            "INSERT INTO edges VALUES(0, 500, 'at')",
            "INSERT INTO edges VALUES(0, 1, x'00')",
        ),
    ),
    "preferences": (
        _NEWEST,
        (
            "INSERT INTO preferences VALUES('photo', 0, 1), ('photo', 1, 0)",
            "INSERT INTO preferences VALUES('dog', 0, 1), ('entity', 0, 900)",
        ),
    ),
    "changes": ("album.gamer", ("INSERT INTO changes VALUES(900, 1)", "UPDATE changes SET generation = 900")),
    "segments": (
        "album.gamer",
        (
            "UPDATE segments SET sha256 = 'spoilt' WHERE name = 'kdtree'",
            "UPDATE segments SET generation = 900 WHERE name = 'hnsw:image'",
        ),
    ),
    "no-segments": (_NEWEST, ("DELETE FROM segments",)),
    "events": (
        _NEWEST,
        (
            "UPDATE events SET starts = 5 WHERE row = 0",
            "UPDATE events SET id = 'ev_spoilt', edited = 2 WHERE row = 0",
            "INSERT INTO event_photos VALUES(800, 0)",
            "INSERT INTO events(row, id, name, summary, data) VALUES(3, 'ev_0123456789', x'00', '', x'0102')",
        ),
    ),
    "clips": (
        CLIPS,
        (
            "UPDATE clips SET frames = '500' WHERE photo = 'short.mp4'",
            "INSERT INTO clips VALUES('gone.mp4', 0, 1, 1, '', 5)",
        ),
    ),
}  # fmt: skip
_CREATED = {
    "tables": """SELECT name, replace(replace(sql, ' ', ''), char(10), '') FROM sqlite_master
        WHERE sql IS NOT NULL AND name NOT LIKE 'memories_fts_%' ORDER BY name""",
    "meta": "SELECT key, value FROM meta ORDER BY key",
    "version": "SELECT user_version, application_id FROM pragma_user_version, pragma_application_id",
}


def committed(folder: Path) -> list[Suite]:
    path = folder / "album.gamer"
    if not path.exists():
        make(path)
    return [_album(folder), _lexical(folder)]


def unit(array: FloatArray) -> FloatArray:
    return np.asarray(array / np.linalg.norm(array, axis=-1, keepdims=True), np.float32)


def vectors(names: Sequence[str]) -> FloatArray:
    """One vector per name; names that begin with the same two letters have similar vectors."""
    shared = [
        np.random.default_rng(list(name.casefold()[:2].encode())).standard_normal(DIM) for name in names
    ]
    individual = [np.random.default_rng(list(name.encode())).standard_normal(DIM) for name in names]
    return np.stack([unit((2 * a + b).astype(np.float32)) for a, b in zip(shared, individual, strict=True)])


_TALK = (
    ("the wedding cake of Lena and Tom Miller had five floors", "wedding cake"),
    ("WolfgangSchulz brought the NewYork postcard", "postcard"),
    ("New York was colder than Oslo", "Oslo"),
    ("Wolfgang Schulz ran the marathon in Berlin", "marathon"),
    ("a red kite over the harbour, and coffee", "kite"),
    ("coffee, coffee and more coffee at the airport", "coffee"),
    ("grandpa's old chair was repaired for 119 euros", "chair"),
    ("noodles near the temple; the lanterns were lit", "noodles"),
    ("fotos från Zürich och Malmö", "Zürich"),
    ("Tom's dog Rex swam in the lake again and again", "Rex"),
)


def photo(n: int) -> Encoded:
    """Synthetic photo number n.

    Among them are chats in sessions with captions between them; some photos have no time, place, vector or
    memory.
    """
    text, subject = _TALK[n % len(_TALK)]
    source = ("chat", "caption", "chat", "note")[n % 4]
    memories = () if n % 11 == 10 else (Memory(source, f"{text} ({n})" if n % 3 else text),)
    if n % 7 == 3:
        memories = (*memories, Memory("label", "espresso, cup"), Memory("people", "Lena, Rex"))
    taken = None if n % 13 == 5 else 1_300_000_000_000 + n // 6 * 40_000_000 + n % 6 * 600_000
    lat, lon = (
        (None, None) if n % 5 == 2 else (round(48 + n * 0.37 % 9, 5), round((11 + n * 37.21) % 360 - 180, 5))
    )
    zone = (
        (("local", None), ("offset", 120), ("position", -330))[n % 3]
        if taken is not None
        else ("local", None)
    )
    channels = (
        {} if n % 9 == 8 else {"text": vectors([memory.text for memory in memories])} if memories else {}
    )
    if n % 4 != 2:
        channels = channels | {"image": vectors([f"picture {n}"])}
    mentions: tuple[Mention, ...] = (
        Mention(subject, "thing"),
        Mention("Lena" if n % 2 else "Tom Miller", "person"),
    )
    mentions += (
        (Mention("119 euros", "price", subject, "costs"),)
        if n % 10 == 6
        else (Mention("Oslo", "place", subject, "at"),)
        if n % 6 == 1
        else ()
    )
    record = Photo(
        f"p{n:03d}.jpg",
        f"/photos/p{n:03d}.jpg" if n % 2 else None,
        taken,
        zone[0],  # type: ignore[arg-type]
        lat,
        lon,
        memories,
        utc_offset=zone[1],
    )
    return Encoded(record, channels, mentions if memories else ())


def make(path: Path) -> None:
    with AlbumWriter.create(
        path, AlbumMeta("made-up-text", "made-up-image", DIM, 0.5), hnsw_from=20
    ) as writer:
        writer.add([photo(n) for n in range(60)])
        writer.merge("Rex", "Tom Miller")
        writer.finish(vectors)
    with AlbumWriter.extend(path) as writer:  # without `finish`, so the segments are out of date
        writer.remove(["p007.jpg", "p031.jpg"])
        writer.add([photo(60), photo(61)])
        writer.update([photo(12)])
        writer.prefer("p005.jpg", "p001.jpg")
        writer.prefer("coffee", "kite")


@contextmanager
def copied(
    folder: Path, name: str, edits: Sequence[tuple[int, str]] = (), length: int | None = None
) -> Iterator[Path]:
    """A temporary, optionally damaged copy, because opening a WAL file creates files beside it."""
    with tempfile.TemporaryDirectory() as aside:
        copy = Path(aside, "album.gamer")
        copy.write_bytes(edited((folder / name).read_bytes(), list(edits), length))
        yield copy


def _album(folder: Path) -> Suite:
    cases: list[Case] = []
    for n, name in enumerate(ALBUMS):
        with copied(folder, name) as path, Album.open(path) as album:
            cases += [
                Case(f"read-{n}", {"op": "read", "file": name}, told(album)),
                *_searched(n, name, album),
            ]
    cases += [
        _added(folder, n, name, count)
        for n, (name, count) in enumerate(
            [
                ("album.gamer", 3),
                ("../album_v2.gamer", 1),
                ("../album_v1.gamer", 2),
                ("../album_v3.gamer", 2),
                ("../album_v3_words.gamer", 1),
            ]
        )
    ]
    cases += [_changed(folder, n, name) for n, name in enumerate(ALBUMS)]
    cases += [*_moments(folder), _created()]
    cases += [_verified(folder, name, *spoilt) for name, spoilt in _SPOILT.items()]
    return Suite("album", (*cases, *_damages(folder)), tolerance=2e-6)


def _moments(folder: Path) -> Iterator[Case]:
    """Where in each clip a query is met, also in an album that has no clips."""
    query = np.zeros(DIM, np.float32)
    query[[2, 3, 4, 5, 6, 7]] = 0.25, 0.5, 0.5, 0.25, 0.25, 0.75  # another second in each clip
    for n, name in enumerate((CLIPS, "album.gamer")):
        with copied(folder, name) as path, Album.open(path) as album:
            given = {"op": "moments", "file": name, "query": floats(query)}
            yield Case(f"moments-{n}", given, {"clips": moments_told(album, query)})
    at = (folder / CLIPS).read_bytes().index(b"500 1500 2500 3500")
    damaged = {
        "op": "moments",
        "file": CLIPS,
        "query": [0.0] * DIM,
        "edits": [(at, b"501".hex())],
        "length": None,
    }
    yield Case("moments-damaged", damaged, error="'short.mp4' is damaged")


def moments_told(album: Album, query: FloatArray) -> list[dict[str, Any]]:
    """Of each clip its times in ms, and the second that is meant."""
    rows = {photo_id: row for row, photo_id in enumerate(album.ids())}
    clips = album.clips(list(rows))
    return [
        {
            "id": photo_id,
            "start": clips[photo_id].start,
            "end": clips[photo_id].end,
            "length": clips[photo_id].length,
            "second": album.second(row, clips[photo_id], query),
        }
        for photo_id, row in rows.items()
        if photo_id in clips
    ]


def told(album: Album) -> dict[str, Any]:
    """All that a reader gets from an album, except for the derived segments."""
    preferences = album.preferences()
    stats = album.stats()
    return {
        "meta": {
            "text_encoder": album.meta.text_encoder,
            "image_encoder": album.meta.image_encoder,
            "dim": album.meta.dim,
            "delta": album.meta.delta,
        },
        "generation": album.generation,
        "photos": [_photo(photo) for photo in album.photos(range(len(album)))],
        "channels": {channel.name: channel.vectors for channel in stats.channels},
        "entities": album.entity_names(500),
        "conversations": np.flatnonzero(album.conversations).tolist(),
        "preferred_photos": sorted(map(list, preferences.photos)),
        "preferred_entities": sorted(map(list, preferences.entities)),
    }


def _photo(photo: Photo) -> dict[str, Any]:
    fields = (
        "id",
        "path",
        "taken_at",
        "tz_source",
        "utc_offset",
        "lat",
        "lon",
        "sharing",
        "sensitivity",
        "sha256",
        "wall",
    )
    memories = [
        {"source": m.source, "text": m.text, "sharing": m.sharing, "sensitivity": m.sensitivity}
        for m in photo.memories
    ]
    return {name: getattr(photo, name) for name in fields} | {"memories": memories}


def _searched(n: int, name: str, album: Album) -> Iterator[Case]:
    cubes = [
        [],
        [Cube(start=1_300_000_000_000, end=1_300_300_000_000)],
        [Cube(south=40.0, north=52.0, west=-20.0, east=60.0)],
        [Cube(end=2_000)],
    ]
    for m, cube_list in enumerate(cubes):
        row_set = album.in_cubes(cube_list)
        shown_cubes = {"op": "cubes", "file": name, "cubes": [cube_json(cube) for cube in cube_list]}
        yield Case(
            f"cubes-{n}-{m}", shown_cubes, {"rows": row_set.rows.tolist(), "inside": row_set.inside.tolist()}
        )
    everything = np.arange(len(album))
    for m, word in enumerate(["coffee", "Le", "chair", "dog", "beach"]):
        query, rows = vectors([word])[0], everything[:: 1 + m % 2]
        matches = album.match_entities(query, rows, 0.3)
        shown = [
            {
                "row": x.row,
                "name": x.name,
                "kind": x.kind,
                "similarity": x.similarity,
                "photos": list(x.photos),
                "reached": list(x.reached),
            }
            for x in matches
        ]
        given: dict[str, Any] = {"file": name, "query": floats(query), "rows": rows.tolist()}
        yield Case(f"entities-{n}-{m}", {"op": "entities", **given, "delta": 0.3}, {"matches": shown})
        for channel in album.channels() if name in WITH_VECTORS else ():
            scores = album.scores(channel, query, rows)
            out = [None if score == -np.inf else score for score in floats(scores)]
            yield Case(
                f"scores-{n}-{m}-{channel}", {"op": "scores", "channel": channel, **given}, {"scores": out}
            )
            best = album.search_vectors(channel, query, 5, rows, "exact")
            exact = {"op": "search", "channel": channel, "k": 5, "plan": "exact", **given}
            yield Case(
                f"exact-{n}-{m}-{channel}", exact, {"rows": best.rows.tolist(), "scores": floats(best.scores)}
            )
            walked = album.search_vectors(channel, query, 3, None, "hnsw")
            graph = {
                "op": "search",
                "channel": channel,
                "k": 3,
                "plan": "hnsw",
                "file": name,
                "query": floats(query),
                "rows": None,
            }
            yield Case(
                f"hnsw-{n}-{m}-{channel}",
                graph,
                {"rows": walked.rows.tolist(), "scores": floats(walked.scores), "plan": walked.plan},
            )
    ranked = [int(row) for row in np.random.default_rng(n).permutation(len(album))[:20]]
    yield Case(
        f"preferred-{n}",
        {"op": "preferred", "file": name, "ranked": ranked},
        {"rows": album.preferred(ranked)},
    )
    yield from _browsed(n, name, album)
    nearby: dict[str, Any] = {
        "op": "near",
        "file": name,
        "k": 4,
        "lat": 48.5,
        "lon": 11.0,
        "taken_at": None,
        "metres_an_hour": 1000.0,
    }
    yield Case(f"near-{n}", nearby, {"rows": album.near(4, 48.5, 11.0).tolist()})


def _browsed(n: int, name: str, album: Album) -> Iterator[Case]:
    """What is seen without a query: the timeline, the map's places, and photos like another."""
    order = np.argsort(-album.times().astype(np.float64), kind="stable")
    pictured = album.pictured()
    rows = [row for row in order.tolist() if pictured[row] or not pictured.any()]
    months = [
        {"start": start, "rows": list(found)}
        for start, found in groupby(rows, lambda row: _month(int(album.times()[row])))
    ]
    positions = album.positions()[sorted(rows)]
    placed = positions[~np.isnan(positions).any(axis=1)]
    cells = [{"lat": place.lat, "lon": place.lon, "photos": place.photos} for place in places(placed)]
    yield Case(f"browse-{n}", {"op": "browse", "file": name}, {"months": months, "cells": cells})
    for m, row in enumerate(row for row in range(0, len(album), 9) if _has_vector(album, row)):
        found = similar(album, row, 6)
        rows = [hit.row for hit in found.photos]
        vector = album.mean_of(found.channel, np.array([row]))
        assert vector is not None
        cosines = album.search_vectors(found.channel, vector, 6, np.array(rows)).scores
        out = {"channel": found.channel, "rows": rows, "scores": floats(cosines)}
        yield Case(f"similar-{n}-{m}", {"op": "similar", "file": name, "row": row, "k": 6}, out)


def _month(time: int) -> int | None:
    if time == UNKNOWN_TIME:
        return None
    return int(np.datetime64(time, "ms").astype("datetime64[M]").astype("datetime64[ms]").astype(np.int64))


def _has_vector(album: Album, row: int) -> bool:
    return any(album.mean_of(channel, np.array([row])) is not None for channel in ("image", "text"))


def _added(folder: Path, n: int, name: str, count: int) -> Case:
    """Photos appended by AlbumWriter, and the album afterwards.

    A writer in another language must produce the same rows and the same checksums of photos, which cover the
    bytes of the vectors.
    """
    added = [photo(70 + 3 * n + m) for m in range(count)]
    if n == EXPERTS_IN:
        added = [
            replace(item, vectors=item.vectors | {EXPERTS: _of_experts(m)}) for m, item in enumerate(added)
        ]
    with copied(folder, name) as path:
        with AlbumWriter.extend(path) as writer:
            writer.add(added)
            writer.embed(vectors)
        with Album.open(path) as album:
            rows = album._file.sql("SELECT crc FROM photos ORDER BY row")
            out = told(album) | {"crc": [crc for (crc,) in rows]} | _asked(album, _LINKS)
    names = sorted(
        {
            name
            for item in added
            for mention in item.mentions
            for name in (mention.name, mention.parent)
            if name
        }
    )
    given = {
        "op": "append",
        "file": name,
        "photos": [_encoded(item) for item in added],
        "entity_vectors": {x: floats(vectors([x])[0]) for x in names},
        "queries": _LINKS,
    }
    return Case(f"append-{n}", given, out)


def _changed(folder: Path, n: int, name: str) -> Case:
    """Photos replaced and removed, among them the last row and an event whole, and the album afterwards."""
    with copied(folder, name) as path:
        with Album.open(path) as album:
            ids, events = album.ids(), album.events()
        told = [
            replace(photo(90 + n + m), photo=replace(photo(90 + n + m).photo, id=ids[5 * m + n]))
            for m in range(3)
        ]
        kept = {item.photo.id for item in told}
        named = (ids[-1], ids[20 + n], ids[5 * n + 3], *(events[0].photos if events else ()))
        gone = [photo_id for photo_id in dict.fromkeys(named) if photo_id not in kept]
        with AlbumWriter.extend(path) as writer:
            writer.update(told)
            writer.remove(gone)
        with Album.open(path) as album:
            out = _asked(album, _KEPT) | {"bm25": floats(album.words(_WORD).bm25)}
    given = {
        "op": "change",
        "file": name,
        "update": [_encoded(item) for item in told],
        "remove": gone,
        "query": _WORD,
        "queries": _KEPT,
    }
    return Case(f"change-{n}", given, out)


def _verified(folder: Path, name: str, file: str, damage: Sequence[str]) -> Case:
    """An album that SQL damages: what a check finds, what a repair does, and what a check finds then."""
    with copied(folder, file) as path:
        db = apsw.Connection(str(path))
        for sql in damage:
            db.execute(sql)
        db.close()
        with Album.open(path) as album:
            before = album.verify()
        with AlbumWriter.extend(path) as writer:
            repaired = writer.repair()
        with Album.open(path) as album:
            after = album.verify()
    given = {"op": "verify", "file": file, "damage": list(damage)}
    return Case(f"verify-{name}", given, {"before": before, "repaired": repaired, "after": after})


def _of_experts(n: int) -> FloatArray:
    """float32 [1, D]: what trained experts might say of photo n."""
    return unit(np.random.default_rng(n).standard_normal((1, EXPERTS_DIM)).astype(np.float32))


def _created() -> Case:
    """A new album: its tables as they are declared, without white space."""
    meta = {"text_encoder": "texts", "image_encoder": "pictures", "dim": DIM, "delta": 0.5}
    with tempfile.TemporaryDirectory() as aside:
        path = Path(aside, "new.gamer")
        with AlbumWriter.create(path, AlbumMeta("texts", "pictures", DIM, 0.5)) as writer:
            writer.finish(vectors)
        with Album.open(path) as album:
            out = _asked(album, _CREATED)
    return Case("create", {"op": "create", "meta": meta, "queries": _CREATED}, out)


def _asked(album: Album, queries: dict[str, str]) -> dict[str, Any]:
    return {name: [list(row) for row in album._file.sql(sql)] for name, sql in queries.items()}


def _encoded(item: Encoded) -> dict[str, Any]:
    mentions = [
        {"name": m.name, "kind": m.kind, "parent": m.parent, "relation": m.relation} for m in item.mentions
    ]
    channels = {name: [floats(vector) for vector in array] for name, array in item.vectors.items()}
    return {"photo": _photo(item.photo), "vectors": channels, "mentions": mentions}


def _damages(folder: Path) -> Iterator[Case]:
    data = (folder / "album.gamer").read_bytes()
    opened: list[tuple[str, list[tuple[int, str]], int | None, str]] = [
        ("empty", [], 0, "not an album"),
        ("magic", [(0, "58")], None, "not an album"),
        ("short", [], 60, "truncated"),
        ("cut", [], len(data) // 2, "truncated"),
        ("application", [(68, "00000001")], None, "another application"),
        ("version", [(60, "00000063")], None, "album format 99"),
        ("version-0", [(60, "00000000")], None, "album format 0"),
    ]
    meta = data.index(b"made-up-image")
    opened.append(("meta", [(meta, "6e")], None, "meta table is damaged"))
    for name, edits, length, part in opened:
        given = {"op": "open", "file": "album.gamer", "edits": edits, "length": length}
        yield Case(f"damaged-{name}", given, error=_refused(folder, edits, length, lambda album: None, part))
    with copied(folder, "album.gamer") as path, Album.open(path) as album:
        row = next(row for row, photo in enumerate(album.photos(range(len(album)))) if photo.memories)
        text = album.photo(row).memories[0].text.encode()
    edits = [(offset, "7a") for offset in _places(data, text)]
    given = {"op": "photo", "file": "album.gamer", "edits": edits, "length": None, "row": row}
    yield Case(
        "damaged-memory",
        given,
        error=_refused(folder, edits, None, lambda album: album.photo(row), "is damaged"),
    )
    for row in (62, 10_000):
        given = {"op": "photo", "file": "album.gamer", "edits": [], "length": None, "row": row}
        yield Case(
            f"no-row-{row}",
            given,
            error=_refused(folder, [], None, methodcaller("photo", row), "no photo in row"),
        )


def _places(data: bytes, part: bytes) -> Iterator[int]:
    offset = data.find(part)
    while offset >= 0:
        yield offset
        offset = data.find(part, offset + 1)


def _refused(
    folder: Path, edits: Sequence[tuple[int, str]], length: int | None, ask: Callable[[Album], Any], part: str
) -> str:
    with copied(folder, "album.gamer", edits, length) as path:
        try:
            with Album.open(path) as album:
                ask(album)
        except AlbumError as error:
            assert part in str(error), error
            return part
    raise AssertionError(f"a damaged album was read: {edits}")


_QUERIES = (
    "coffee at the airport",
    "New York",
    "NewYork",
    "Wolfgang Schulz",
    "WolfgangSchulz marathon",
    "grandpa's chair",
    "Rex swims",
    "the of and",
    "Zürich malmö",
    "lanterns lit",
    "119 euros",
    'a "quoted" word AND (NOT) NEAR * syntax^',
    "espresso, cup",
    "Lena",
    "nothing of this kind",
    "coffee coffee COFFEE",
    "don't",
    "写真",
    "e\u0301tait",
    "running repaired chairs",
)


def _lexical(folder: Path) -> Suite:
    cases: list[Case] = []
    for n, name in enumerate(ALBUMS):
        with copied(folder, name) as path, Album.open(path) as album:
            for m, query in enumerate(_QUERIES):
                cases.append(
                    Case(
                        f"words-{n}-{m:02d}",
                        {"op": "words", "file": name, "query": query},
                        _words(album.words(query)),
                    )
                )
    for m, query in enumerate(
        (
            *_QUERIES,
            "McDonald’s in SanFrancisco by iPhone",
            "Anna Maria Berg met O'Neill",
            "snake_case x2y ÄÖÜber straßeWeg",
            "",
        )
    ):
        cases.append(
            Case(
                f"spellings-{m:02d}",
                {"op": "spellings", "text": query},
                {"forms": [list(forms) for forms in spellings(query)]},
            )
        )
        cases.append(
            Case(f"terms-{m:02d}", {"op": "query_terms", "text": query}, {"words": query_terms(query)})
        )
        cases.append(
            Case(f"canonical-{m:02d}", {"op": "canonical", "text": query}, {"text": canonical(query)})
        )
    return Suite("lexical", tuple(cases), tolerance=1e-5)


def _words(scores: WordScores) -> dict[str, Any]:
    words = [
        {"text": w.text, "rows": w.rows.tolist(), "bm25": floats(w.bm25), "rarity": w.rarity}
        for w in scores.words
    ]
    return {"words": words, "bm25": floats(scores.bm25), "coverage": floats(scores.coverage)}
