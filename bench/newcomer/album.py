"""A newcomer's album and queries, made by rule from a package's pictures and their names; no one chose them.

The pictures are those of Debian's tuxpaint-stamps-default: photographs, cut out, each with its name beside it
("A hedgehog."). A release draws others, so that what was mended for one album does not speak for the next.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from gamer.index.errors import GamerError

PACKAGE = "tuxpaint-stamps-default"  # of Debian
STAMPS = Path("/usr/share/tuxpaint/stamps")
SHOWN = 5  # how many hits a newcomer looks at
TRIPS, DAYS, PER_TRIP, COPIES, EACH = 12, 4, 7, 4, 8
# Folders of drawings, signs and of what nobody photographs.
_DRAWN = re.compile(r"cartoon|symbols|seasonal|flags|roadsigns|planets|military|naturalforces|people|body")
_NAME = re.compile(r"(?:an? |the )?([a-z-]+(?: [a-z-]+){0,2})\.?")


class StampsError(GamerError):
    """The package with the pictures is not installed."""


@dataclass(frozen=True)
class Shot:
    """A picture of the album. `thing`: what it shows, in words. `picture`: its file, or the lines printed on
    a screen. `place`: city, country, latitude and longitude. `copy`: saved smaller, of another one.
    """

    file: str
    thing: str
    picture: Path | tuple[str, ...]
    taken: datetime
    place: tuple[str, str, float, float] | None = None
    note: str = ""
    people: tuple[str, ...] = ()
    favourite: bool = False
    copy: bool = False

    @property
    def name(self) -> str:
        return Path(self.file).stem


@dataclass(frozen=True)
class Wish:
    """A query and what its owner expects. `fits`: names of the photos that are meant.

    As many hits as `least` says must come first and be of these. `count`: what "how many" is answered with.
    `absent`: the answer says that nothing fits. `held_out`: not looked at.
    """

    asks: str
    query: str
    fits: tuple[str, ...] = ()
    least: int = 1
    count: int | None = None
    absent: bool = False
    held_out: bool = False


@dataclass(frozen=True)
class Drawn:
    """An album that was drawn, and its queries."""

    now: datetime
    shots: tuple[Shot, ...]
    wishes: tuple[Wish, ...] = field(default=())


def draw(stamps: Path, release: str) -> Drawn:
    """The album and queries of a release, the same wherever they are drawn. Raises StampsError."""
    words, random = _words(), Random(f"newcomer {release}")
    named = _named(stamps)
    things = random.sample(sorted(named), k=min(TRIPS * PER_TRIP, len(named) * 3 // 4))
    places = random.sample([tuple(place) for place in words["places"]], k=TRIPS)
    now = datetime.fromisoformat(words["now"])
    shots = list(_trips(random, words, now, [(thing, named[thing]) for thing in things], places))
    shots += [_copy(shot) for shot in random.sample(shots, k=COPIES)]
    shots += _receipts(random, words, now)
    gone = [thing for thing in sorted(named) if thing not in things]
    nowhere = [place[0] for place in words["places"] if tuple(place) not in places]
    return Drawn(now, tuple(shots), tuple(_wishes(random, words, shots, gone, nowhere)))


def write(folder: Path, shots: Sequence[Shot]) -> None:
    """Lays the pictures out in `folder` as Google Takeout and a phone do."""
    for shot in shots:
        path = folder / shot.file
        path.parent.mkdir(parents=True, exist_ok=True)
        picture = _photographed(shot) if isinstance(shot.picture, Path) else _printed(shot.picture)
        picture.save(path, quality=88)
        if shot.place is not None:
            sidecar = path.with_name(path.name + ".supplemental-metadata.json")
            sidecar.write_text(json.dumps(_takeout(path.name, shot)), encoding="utf-8")


def _words() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    return content


def _named(stamps: Path) -> Mapping[str, Path]:
    """The pictures by what they show; of those with the same last word, or a folder's name, none or one."""
    if not stamps.is_dir():
        raise StampsError(
            f"no pictures in {stamps}: install Debian's {PACKAGE}, or --set stamps=FOLDER of it"
        )
    folders = {path.parent.relative_to(stamps) for path in stamps.rglob("*.png")}
    kinds = {part.rstrip("s") for folder in folders for part in folder.parts}
    found: dict[str, tuple[str, Path]] = {}
    for path in sorted(stamps.rglob("*.png")):
        text = path.with_suffix(".txt")
        if _DRAWN.search(str(path.relative_to(stamps))) or not text.is_file():
            continue
        read = _NAME.fullmatch(text.read_text(encoding="utf-8").partition("\n")[0].strip().lower())
        last = read[1].split()[-1].rstrip("s") if read else ""
        if read and last not in kinds:
            found.setdefault(last, (read[1], path))
    if not found:
        raise StampsError(f"{stamps} has no named photographs: --set stamps=FOLDER, as {PACKAGE} has it")
    return dict(found.values())


def _trips(
    random: Random,
    words: Mapping[str, Any],
    now: datetime,
    things: Sequence[tuple[str, Path]],
    places: Sequence[tuple[str, str, float, float]],
) -> Iterator[Shot]:
    """A journey in each of the last quarters, of some days, each photo with or without a note."""
    events = [event.format(person=random.choice(words["people"])) for event in words["events"]]
    for trip, place in enumerate(places):
        begin = now - timedelta(days=90 * (trip + 1) - random.randrange(60), hours=3)
        days = sorted([0, 1, *(random.randrange(DAYS) for _ in range(PER_TRIP - 2))])
        for number, (thing, path) in enumerate(things[trip * PER_TRIP : (trip + 1) * PER_TRIP]):
            taken = begin + timedelta(days=days[number], minutes=17 * number)
            person, event = random.choice(words["people"]), events[trip] if trip < len(events) else ""
            together, note = random.random() < 0.25, random.choice(words["captions"])
            note = note if random.random() < 0.3 else ""
            if together:
                note = random.choice(words["with"]).format(person=person)
            yield Shot(
                f"Takeout/Google Photos/Photos from {taken.year}/IMG_{trip:02}{number:02}.jpg",
                thing,
                path,
                taken,
                place,
                event[:1].upper() + event[1:] if event and not number else note,
                (person,) if together and not (event and not number) else (),
                random.random() < 0.15,
            )


def _copy(shot: Shot) -> Shot:
    file = f"Takeout/Google Photos/For the frame/{shot.name}-small.jpg"
    return Shot(file, shot.thing, shot.picture, shot.taken, shot.place, shot.note, shot.people, copy=True)


def _receipts(random: Random, words: Mapping[str, Any], now: datetime) -> Iterator[Shot]:
    for shop in words["shops"]:
        taken = now - timedelta(days=random.randrange(20, 700))
        lines = (
            shop.upper(),
            "Receipt",
            f"{taken:%Y-%m-%d}",
            f"Total EUR {random.randrange(300, 20000) / 100}",
        )
        yield Shot(f"Screenshots/Screenshot_{taken:%Y%m%d-%H%M%S}.png", shop, lines, taken)


def _wishes(
    random: Random,
    words: Mapping[str, Any],
    shots: Sequence[Shot],
    gone: Sequence[str],
    nowhere: Sequence[str],
) -> Iterator[Wish]:
    """EACH of a kind, half of them held out; a photo of the album fills the query's words."""
    for kind, queries in words["queries"].items():
        held_out, asked = False, set[str]()
        for number, shot in enumerate(random.sample(_asked_of(kind, shots), k=len(_asked_of(kind, shots)))):
            query = queries[len(asked) // 2 % len(queries)]
            event = shot.note[:1].lower() + shot.note[1:] if shot.note.startswith("The ") else shot.note
            thing = gone[number % len(gone)] if kind == "nothing there" else shot.thing
            typo = _misspelt(random, shot.thing)
            city, country = shot.place[:2] if shot.place else ("", "")
            filled = query.format_map(
                {
                    "thing": thing, "a thing": _a(thing), "absent": thing, "typo": typo, "a typo": _a(typo),
                    "city": city, "country": country, "nowhere": nowhere[number % len(nowhere)],
                    "month": f"{shot.taken:%B}", "year": shot.taken.year, "shop": shot.thing, "event": event,
                    "person": next(iter(shot.people), ""),
                }
            )  # fmt: skip
            wish = _wish(kind, query, filled, shot, shots, held_out)
            if filled in asked or wish is None:
                continue
            asked.add(filled)
            yield wish
            held_out = not held_out
            if len(asked) == EACH:
                break


def _asked_of(kind: str, shots: Sequence[Shot]) -> list[Shot]:
    """The photos that a query of a kind can be asked of."""
    own = [shot for shot in shots if shot.place is not None and not shot.copy]
    chosen = {
        "people": [shot for shot in own if shot.people],
        "favourites": [shot for shot in own if shot.favourite],
        "after": [shot for shot in own if shot.name.endswith("00") and shot.name < "IMG_0400"],
        "receipts": [shot for shot in shots if shot.place is None],
    }
    return chosen.get(kind, own)


def _wish(
    kind: str, query: str, filled: str, shot: Shot, shots: Sequence[Shot], held_out: bool
) -> Wish | None:
    """What a query expects; None if no photo fits. A copy fits, and counts for nothing."""
    if kind == "nothing there":
        return Wish(kind, filled, absent=True, held_out=held_out)
    fits = [other for other in shots if _fits(kind, query, shot, other)]
    originals = sum(not other.copy for other in fits)
    if not originals:
        return None
    names = tuple(other.name for other in fits)
    count = originals if kind == "counting" else None
    return Wish(kind, filled, names, min(SHOWN, originals), count, held_out=held_out)


def _fits(kind: str, query: str, shot: Shot, other: Shot) -> bool:
    """Whether a photo is meant by a query that was filled with the words of `shot`."""
    if kind == "after":
        return other.taken.date() == shot.taken.date() + timedelta(days=1)
    if kind in ("receipts", "things", "things and places", "things and times", "typos"):
        return other.thing == shot.thing
    if kind == "negation" and other.thing == shot.thing:
        return False
    if kind == "people" and other.people != shot.people:
        return False
    if kind == "favourites" and not other.favourite:
        return False
    if "{year}" in query:
        return other.taken.year == shot.taken.year
    part = 0 if "{city}" in query else 1
    return other.place is not None and shot.place is not None and other.place[part] == shot.place[part]


def _a(thing: str) -> str:
    return f"{'an' if thing[0] in 'aeiou' else 'a'} {thing}"


def _misspelt(random: Random, thing: str) -> str:
    """Two letters within its longest word exchanged; a letter left out, where they are the same."""
    word = max(thing.split(), key=len)
    at = random.randrange(1, max(len(word) - 2, 2))
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    return thing.replace(word, swapped if swapped != word else word[:at] + word[at + 1 :])


def _photographed(shot: Shot) -> Image.Image:
    """The cut-out on a light ground, as a table or a wall has it."""
    assert isinstance(shot.picture, Path)
    with Image.open(shot.picture) as opened:
        cut = opened.convert("RGBA")
    ground = Image.new("RGBA", cut.size, (236, 234, 228, 255))
    image = Image.alpha_composite(ground, cut).convert("RGB")
    return image.resize((max(image.width * 3 // 4, 1), max(image.height * 3 // 4, 1))) if shot.copy else image


def _printed(lines: tuple[str, ...]) -> Image.Image:
    """A phone's screen with lines of text."""
    image = Image.new("RGB", (540, 960), "white")
    font = ImageFont.load_default(size=34)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((40, 120 + 70 * number), line, fill="black", font=font)
    return image


def _takeout(name: str, shot: Shot) -> dict[str, Any]:
    """The sidecar that Takeout writes beside a picture."""
    assert shot.place is not None
    stamp = str(int(shot.taken.replace(tzinfo=UTC).timestamp()))
    sidecar: dict[str, Any] = {
        "title": name,
        "description": shot.note,
        "photoTakenTime": {"timestamp": stamp},
        "geoData": {"latitude": shot.place[2], "longitude": shot.place[3], "altitude": 0.0},
    }
    if shot.people:
        sidecar["people"] = [{"name": person} for person in shot.people]
    return sidecar | ({"favorited": True} if shot.favourite else {})
