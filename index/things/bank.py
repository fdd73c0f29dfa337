"""The bank of things in an album's tables: grown from memories, read as things, changed by its owner.

Every function runs in its caller's transaction. A photo is read again only if its memories have changed, and
what an album no longer has is dropped, so that `grow` may be called after every change. Recurrence is not
stored: it is counted over the photos' days and events as they are now.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import apsw

from ..album.declarations import checksums
from ..album.declarations.thing_tables import SEALED, THINGS
from ..errors import AlbumError
from .extract import ThingExtractor
from .grouping import Group, Grouping, name_of
from .records import ATTRIBUTES, Attributes, Sighting, Thing

_SOURCES = ("chat", "social", "ocr", "caption", "note", "label")
_MEMORIES = f"""SELECT p.id, m.text FROM photos p JOIN memories m ON m.photo = p.row
    WHERE m.source IN {_SOURCES} ORDER BY p.taken_at IS NULL, p.taken_at, p.row, m.id"""
_DAY_MS = 86_400_000
_WALL = "p.taken_at + 60000 * coalesce(p.utc_offset, 0)"
_SEEN = f"""SELECT s.thing, s.crc, {", ".join("s." + column for column in SEALED.columns.split(", "))},
    {_WALL}, e.event FROM thing_sightings s JOIN photos p ON p.id = s.photo
    LEFT JOIN event_photos e ON e.photo = p.row ORDER BY s.photo, s.place"""


@dataclass(frozen=True)
class Grown:
    """What `grow` did. `read`: photos whose memories were read; `things`: in the bank now."""

    read: int
    things: int


@dataclass(frozen=True)
class Stored:
    """The rows of a bank, by table, as an album holds them."""

    rows: dict[str, tuple[tuple[Any, ...], ...]]


def stored(db: apsw.Connection, path: Path) -> Stored | None:
    """The bank as it is stored; None if there is none. Raises AlbumError for a damaged row."""
    if not THINGS.exist(db):
        return None
    THINGS.check_version(db, path)
    for _ in _rows(db, path):  # checks their checksums
        pass
    return Stored({table: tuple(db.execute(f"SELECT * FROM {table}")) for table in THINGS.tables[1:]})


def restore(db: apsw.Connection, bank: Stored) -> None:
    """Makes the bank what another album stored, for `grow` to bring it up to date with this one."""
    if not THINGS.exist(db):
        THINGS.create(db)
    for table, rows in bank.rows.items():
        db.execute(f"DELETE FROM {table}")
        if rows:
            db.executemany(f"INSERT INTO {table} VALUES({','.join('?' * len(rows[0]))})", rows)


def grow(db: apsw.Connection, path: Path, extract: ThingExtractor, again: bool = False) -> Grown:
    """Brings the bank up to date with the album. `again`: reads all memories anew, by another extractor."""
    texts: dict[str, list[str]] = {}
    for photo, text in db.execute(_MEMORIES):
        texts.setdefault(str(photo), []).append(str(text))
    has = THINGS.exist(db)
    if has:
        THINGS.check_version(db, path)
    read = dict(db.execute("SELECT photo, words FROM thing_photos")) if has else {}
    sums = {photo: checksums.of_values(said) for photo, said in texts.items()}
    wanted = [photo for photo in texts if again or read.get(photo) != sums[photo]]
    seen = {photo: _sightings(texts[photo], extract) for photo in wanted}
    if not has and not any(seen.values()):
        return Grown(len(wanted), 0)
    if not has:
        THINGS.create(db)
    groups, fixed = _groups(db), _fixed(db, wanted)
    for photo in [*wanted, *(photo for photo in read if photo not in texts)]:
        db.execute("DELETE FROM thing_sightings WHERE photo=?", (photo,))
        db.execute("DELETE FROM thing_photos WHERE photo=?", (photo,))
    _assign(db, seen, groups, fixed)
    db.executemany("INSERT INTO thing_photos VALUES(?,?)", [(photo, sums[photo]) for photo in wanted])
    _drop_empty(db)
    return Grown(len(wanted), _count(db))


def things(
    db: apsw.Connection, path: Path, photos: Container[str] | None = None, most: int | None = None
) -> list[Thing]:
    """The things that were not forgotten, those first that recur most. AlbumError for a damaged row.

    `photos`: as these alone show them; None: as all do. `most`: sightings of a thing, the first by the
    photo's id, that give its attributes; all count for where it was seen.
    """
    if not THINGS.exist(db):
        return []
    THINGS.check_version(db, path)
    roots, forgotten, aliases = _roots(db)
    groups: dict[int, Group] = {}
    shown, days = defaultdict[int, set[str]](set), defaultdict[int, set[int]](set)
    events = defaultdict[int, set[int]](set)
    owned, kept = dict[int, int](), Counter[int]()
    for thing, photo, sighting, wall, event in _rows(db, path):
        if photos is not None and photo not in photos:
            continue
        root = roots.get(thing, thing)
        group = groups.setdefault(root, Group(root, sighting.head))
        if most is None or kept[root] < most:
            group.add(sighting.attributes)
            kept[root] += 1
        shown[root].add(photo)
        owned[root] = owned.get(root, 0) + sighting.owned
        if wall is not None:
            days[root].add(wall // _DAY_MS)
        if event is not None:
            events[root].add(event)
    out = [
        Thing(
            id=root,
            head=group.head,
            name=name_of(group.head, modes := group.told()),
            attributes=modes,
            photos=tuple(sorted(shown[root])),
            days=len(days[root]),
            events=len(events[root]),
            owned=owned[root],
            aliases=tuple(aliases.get(root, ())),
            told=group.frequencies(),
        )
        for root, group in groups.items()
        if root not in forgotten
    ]
    return sorted(out, key=lambda thing: (-thing.recurrence, -len(thing.photos), thing.id))


def merge(db: apsw.Connection, path: Path, kept: int, others: Sequence[int]) -> None:
    """Makes `others`, and what was merged into them, the thing `kept`."""
    one = _root(db, path, kept)
    for other in others:
        two = _root(db, path, other)
        if one == two:
            raise AlbumError(f"{path}: th{kept} and th{other} are one thing already")
        db.execute("UPDATE things SET same_as=? WHERE id=? OR same_as=?", (one, two, two))


def split(db: apsw.Connection, path: Path, thing: int, photos: Sequence[str]) -> list[int]:
    """Undoes a merge or, with `photos`, makes what they show a thing of its own, which nothing joins.

    Returns the ids of the things that stand alone now.
    """
    root = _root(db, path, thing)
    rows: list[Any] = db.execute("SELECT id FROM things WHERE id=? OR same_as=?", (root, root)).fetchall()
    family = [row for (row,) in rows]
    if photos:
        return [_set_apart(db, path, family, photos)]
    freed = [thing] if thing != root else [row for row in family if row != root]
    if not freed:
        raise AlbumError(f"{path}: th{thing} is one thing; nothing to split: name photos of it")
    for row in freed:
        db.execute("UPDATE things SET same_as=NULL WHERE id=?", (row,))
    return freed


def forget(db: apsw.Connection, path: Path, things: Sequence[int]) -> None:
    """The bank tells of these no more, also when they are seen again."""
    for root in dict.fromkeys(_root(db, path, thing) for thing in things):
        db.execute("UPDATE things SET forgotten=1 WHERE id=?", (root,))


def _sightings(texts: Sequence[str], extract: ThingExtractor) -> list[Sighting]:
    return list(dict.fromkeys(sighting for text in texts for sighting in extract(text)))


def _fixed(db: apsw.Connection, photos: Sequence[str]) -> dict[tuple[str, str], int]:
    """(photo, head) → the thing that a person set apart, which a changed memory does not leave."""
    rows = db.execute(
        "SELECT s.photo, s.head, s.thing FROM thing_sightings s JOIN things t ON t.id = s.thing AND t.apart"
    )
    wanted = set(photos)
    return {(str(photo), str(head)): int(thing) for photo, head, thing in rows if photo in wanted}


def _groups(db: apsw.Connection) -> dict[int, Group]:
    """All things as they are before a change: what is read anew then finds the thing that it was."""
    groups = dict[int, Group]()
    for row, head, apart in db.execute("SELECT id, head, apart FROM things ORDER BY id"):
        groups[row] = Group(int(row), str(head), bool(apart))
    for thing, *values in db.execute(f"SELECT thing, {', '.join(ATTRIBUTES)} FROM thing_sightings"):
        if thing in groups:
            groups[thing].add(Attributes(*values))
    return groups


def _assign(
    db: apsw.Connection,
    seen: dict[str, list[Sighting]],
    groups: dict[int, Group],
    fixed: dict[tuple[str, str], int],
) -> None:
    grouping = Grouping()
    for known in groups.values():
        grouping.know(known)
    new = max(groups, default=0)
    for photo, sightings in seen.items():
        for place, sighting in enumerate(sightings):
            at = fixed.get((photo, sighting.head))
            group = grouping.of(sighting) if at is None else groups.get(at)
            if group is None:
                new += 1
                group = Group(new, sighting.head)
                grouping.know(group)
                db.execute("INSERT INTO things VALUES(?,?,NULL,0,0)", (new, sighting.head))
            group.add(sighting.attributes)
            values = (photo, place, sighting.head, *astuple(sighting.attributes), int(sighting.owned))
            SEALED.insert(db, values, thing=group.id)


def _drop_empty(db: apsw.Connection) -> None:
    """Deletes things that no photo shows. Of others that were merged into one, the first takes its place."""
    sql = "SELECT id FROM things WHERE id NOT IN (SELECT thing FROM thing_sightings) ORDER BY id"
    empty: list[Any] = db.execute(sql).fetchall()
    for (row,) in empty:
        heir = db.execute("SELECT min(id) FROM things WHERE same_as=?", (row,)).fetchone()
        if heir and heir[0] is not None:
            db.execute("UPDATE things SET same_as=? WHERE same_as=?", (heir[0], row))
            db.execute(
                "UPDATE things SET same_as=NULL, forgotten=(SELECT forgotten FROM things WHERE id=?) "
                "WHERE id=?",
                (row, heir[0]),
            )
        db.execute("DELETE FROM things WHERE id=?", (row,))


def _rows(db: apsw.Connection, path: Path) -> Iterator[tuple[int, str, Sighting, int | None, int | None]]:
    """(thing, photo, sighting, wall time in ms, event) of all photos that the album has."""
    width = len(SEALED.columns.split(", "))
    for thing, crc, *values in db.execute(_SEEN):
        told = tuple(values[:width])
        SEALED.check(path, str(told[0])[:40], crc, told)
        photo, _, head, *attributes, owned = told
        wall, event = values[width:]
        yield int(thing), str(photo), Sighting(str(head), Attributes(*attributes), bool(owned)), wall, event


def _roots(db: apsw.Connection) -> tuple[dict[int, int], set[int], dict[int, list[int]]]:
    """Thing → the one that it was merged into; what was forgotten; and thing → what was merged into it."""
    roots: dict[int, int] = {}
    aliases: dict[int, list[int]] = {}
    forgotten = set[int]()
    for row, same_as, gone in db.execute("SELECT id, same_as, forgotten FROM things ORDER BY id"):
        if same_as is not None:
            roots[row] = same_as
            aliases.setdefault(same_as, []).append(row)
        if gone:
            forgotten.add(row)
    return roots, forgotten, aliases


def _root(db: apsw.Connection, path: Path, thing: int) -> int:
    found: Any = None
    if THINGS.exist(db):
        THINGS.check_version(db, path)
        found = db.execute(
            "SELECT coalesce(same_as, id), forgotten FROM things WHERE id=?", (thing,)
        ).fetchone()
    if found is None or found[1]:
        raise AlbumError(f"{path}: there is no thing th{thing}; `gamer things {path}` lists them")
    return int(found[0])


def _set_apart(db: apsw.Connection, path: Path, family: Sequence[int], photos: Sequence[str]) -> int:
    marks = ",".join("?" * len(family))
    head = db.execute("SELECT head FROM things WHERE id=?", (family[0],)).get
    (new,) = db.execute("SELECT max(id) + 1 FROM things").fetchone() or (1,)
    db.execute("INSERT INTO things VALUES(?,?,NULL,1,0)", (new, head))
    for photo in photos:
        db.execute(
            f"UPDATE thing_sightings SET thing=? WHERE photo=? AND thing IN ({marks})", (new, photo, *family)
        )
        if not db.changes():
            raise AlbumError(
                f"{path}: the photo {photo!r} does not show the thing; `gamer things show` lists them"
            )
    if not db.execute(f"SELECT 1 FROM thing_sightings WHERE thing IN ({marks})", family).fetchone():
        raise AlbumError(f"{path}: these are all photos of the thing: name some of them")
    _drop_empty(db)
    return int(new)


def _count(db: apsw.Connection) -> int:
    return int(db.execute("SELECT count(*) FROM things WHERE same_as IS NULL AND NOT forgotten").get)
