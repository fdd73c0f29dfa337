"""Made-up users from a seed: a small album of a year or two, memories from templates, and queries whose
answers follow from what was put together.

Nothing in them happened. The same seed and number always give the same user, so that any machine of a fleet
can make any user by itself.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from .datasets import Query

PEOPLE = ("Anna", "Tom", "Lena", "Marek", "Yuki", "Priya", "Diego", "Fatima", "Olu", "Ingrid")
# What a memory calls it, and what its owner asks for later: other words, so that words alone do not find it.
THINGS = (
    ("a red bicycle", "my bike ride"),
    ("the birthday cake", "blowing out candles"),
    ("an old lighthouse", "the tower by the sea"),
    ("a sleeping cat", "a kitten napping"),
    ("the wedding dance", "the bride and groom"),
    ("fresh bread", "a loaf from the baker"),
    ("a snowman", "playing in the winter garden"),
    ("the new guitar", "a musical instrument"),
    ("a rainbow", "colours in the sky after rain"),
    ("the school play", "children on a stage"),
    ("a fishing boat", "the harbour"),
    ("the apple harvest", "picking fruit"),
    ("a steam train", "the old railway"),
    ("the chess club", "a board game"),
    ("a hot air balloon", "flying over the hills"),
    ("the flea market", "buying second-hand things"),
    ("a campfire", "a night in the tent"),
    ("the marathon", "runners in the street"),
    ("a sand castle", "a day at the beach"),
    ("the bakery window", "cakes in a shop"),
)
PLACES = (
    ("Vienna", 48.2082, 16.3738),
    ("Lisbon", 38.7223, -9.1393),
    ("Oslo", 59.9139, 10.7522),
    ("Kyoto", 35.0116, 135.7681),
    ("Berlin", 52.52, 13.405),
    ("Nairobi", -1.2864, 36.8172),
    ("Quebec", 46.8139, -71.208),
    ("Cusco", -13.532, -71.9675),
)
SENTENCES = (
    "{who} and {thing}, finally.",
    "We stopped in {place} for {thing}; {who} laughed the whole time.",
    "{thing}, as {who} remembers it.",
    "Look at {thing}! {who} says hello from {place}.",
)
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
FIRST_DAY, DAYS = datetime(2023, 1, 1, 8), 700


@dataclass(frozen=True)
class Moment:
    """What a photo is about. `asked`: the words that its owner asks with."""

    when: datetime
    who: str
    asked: str
    place: tuple[str, float, float]
    text: str


@dataclass(frozen=True)
class SyntheticUser:
    """`lines`: the album JSONL. Every query has an answer."""

    name: str
    lines: tuple[str, ...]
    queries: tuple[Query, ...]


def make(seed: int, number: int, photos: int, queries: int = 4) -> SyntheticUser:
    """User `number` of `seed`. Raises ValueError for fewer than 1 photo or query."""
    if photos < 1 or queries < 1:
        raise ValueError(f"{photos} photos and {queries} queries: at least one of each is wanted")
    dice, name = random.Random(f"{seed}:{number}"), f"made-{seed}-{number:05d}"
    moments = [_moment(dice) for _ in range(photos)]
    lines = tuple(_line(f"{name}-{at}", moment) for at, moment in enumerate(moments))
    asked = [_query(dice, moments) for _ in range(queries)]
    found = tuple(
        Query(f"{name}-q{n}", text, tuple(f"{name}-{at}" for at in meant), "en")
        for n, (text, meant) in enumerate(asked)
    )
    return SyntheticUser(name, lines, found)


def write(made: SyntheticUser, out: Path) -> None:
    out.write_text("\n".join(made.lines) + "\n", encoding="utf-8")


def _moment(dice: random.Random) -> Moment:
    when = FIRST_DAY + timedelta(days=dice.randrange(DAYS), minutes=dice.randrange(14 * 60))
    who, (thing, asked), place, sentence = (
        dice.choice(PEOPLE),
        dice.choice(THINGS),
        dice.choice(PLACES),
        dice.choice(SENTENCES),
    )
    text = sentence.format(who=who, thing=thing, place=place[0])
    return Moment(when, who, asked, place, text[0].upper() + text[1:])


def _line(photo: str, moment: Moment) -> str:
    _, lat, lon = moment.place
    return json.dumps(
        {
            "id": photo,
            "taken_at": moment.when.isoformat(),
            "lat": lat,
            "lon": lon,
            "memories": [{"source": "note", "text": moment.text}],
        },
        ensure_ascii=False,
    )


def _query(dice: random.Random, moments: list[Moment]) -> tuple[str, list[int]]:
    """A question about one moment, and all moments that answer it."""
    meant = dice.choice(moments)
    month = f"{MONTHS[meant.when.month - 1]} {meant.when.year}"
    kind = dice.randrange(3)
    if kind == 0:
        return f"{meant.asked} with {meant.who}", [
            n for n, m in enumerate(moments) if (m.asked, m.who) == (meant.asked, meant.who)
        ]
    if kind == 1:
        same = [
            n
            for n, m in enumerate(moments)
            if m.asked == meant.asked and (m.when.month, m.when.year) == (meant.when.month, meant.when.year)
        ]
        return f"{meant.asked} in {month}", same
    return f"{meant.asked} in {meant.place[0]}", [
        n for n, m in enumerate(moments) if (m.asked, m.place) == (meant.asked, meant.place)
    ]
