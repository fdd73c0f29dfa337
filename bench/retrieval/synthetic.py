"""Synthetic users, generated from a seed: small albums, and queries whose answers are known.

An album spans up to two years. Memories come from templates, and all content is invented. The same seed and
number always give the same user, so that any machine of a fleet can generate any user by itself.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from .datasets import Query

PEOPLE = ("Anna", "Tom", "Lena", "Marek", "Yuki", "Priya", "Diego", "Fatima", "Olu", "Ingrid")
# The words of the memory and the words of the query: they differ, so that matching words is not enough.
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
    """The content of one photo. `asked`: the words that a query uses for the thing shown."""

    when: datetime
    who: str
    asked: str
    place: tuple[str, float, float]
    text: str


@dataclass(frozen=True)
class SyntheticUser:
    """`lines`: the album JSONL. Every query has a relevant photo."""

    name: str
    lines: tuple[str, ...]
    queries: tuple[Query, ...]


def make(seed: int, number: int, photos: int, queries: int = 4) -> SyntheticUser:
    """User number `number` of the seed. Raises ValueError for fewer than one photo or query."""
    if photos < 1 or queries < 1:
        raise ValueError(f"{photos} photos and {queries} queries: at least one of each is wanted")
    rng, name = random.Random(f"{seed}:{number}"), f"made-{seed}-{number:05d}"
    moments = [_moment(rng) for _ in range(photos)]
    lines = tuple(_line(f"{name}-{at}", moment) for at, moment in enumerate(moments))
    questions = [_query(rng, moments) for _ in range(queries)]
    with_answers = tuple(
        Query(f"{name}-q{n}", text, tuple(f"{name}-{at}" for at in relevant), "en")
        for n, (text, relevant) in enumerate(questions)
    )
    return SyntheticUser(name, lines, with_answers)


def write(user: SyntheticUser, out: Path) -> None:
    out.write_text("\n".join(user.lines) + "\n", encoding="utf-8")


def _moment(rng: random.Random) -> Moment:
    when = FIRST_DAY + timedelta(days=rng.randrange(DAYS), minutes=rng.randrange(14 * 60))
    who, (thing, asked), place, sentence = (
        rng.choice(PEOPLE),
        rng.choice(THINGS),
        rng.choice(PLACES),
        rng.choice(SENTENCES),
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


def _query(rng: random.Random, moments: list[Moment]) -> tuple[str, list[int]]:
    """The text of a query about one random moment, and the numbers of all moments that answer it."""
    target = rng.choice(moments)
    month = f"{MONTHS[target.when.month - 1]} {target.when.year}"
    kind = rng.randrange(3)
    if kind == 0:
        return f"{target.asked} with {target.who}", [
            n for n, m in enumerate(moments) if (m.asked, m.who) == (target.asked, target.who)
        ]
    if kind == 1:
        same_month = [
            n
            for n, m in enumerate(moments)
            if m.asked == target.asked
            and (m.when.month, m.when.year) == (target.when.month, target.when.year)
        ]
        return f"{target.asked} in {month}", same_month
    return f"{target.asked} in {target.place[0]}", [
        n for n, m in enumerate(moments) if (m.asked, m.place) == (target.asked, target.place)
    ]
