"""Synthetic queries, written for this project: times and places in all known forms, and words that only look
like them.
"""

from __future__ import annotations

import random

from tools.conformance.words import NOUNS, strings

WHEN = (
    "in {m} {y}",
    "on {d} {m} {y}",
    "on {m} {d}, {y}",
    "{y}-{mm}-{dd}",
    "{d}/{mm}/{y}",
    "in {y}",
    "last {s}",
    "this {s}",
    "in the {s} of {y}",
    "{n} {u}s ago",
    "last {w}",
    "{n} {u}s before {h}",
    "at {h} {y}",
    "{h}",
    "since {m}",
    "before {y}",
    ("between {m} {y} and {m2} {y2}"),
    "from {d} to {d2} {m} {y}",
    "early {m} {y}",
    "late {y}",
    "the {o} {w} of {m} {y}",
    "on {w}s",
    "at night",
    "in the morning",
    "at {c} pm",
    "last year",
    "yesterday",
    "the day after the {x}",
    "two weeks after my {x}",
    "not in {m} {y}",
    "except {y}",
    "in the last {n} {u}s",
    "{m} {d}",
    "{mm}/{y}",
    "the week of {m} {d}, {y}",
    "'{yy}",
    "mid {y}",
)
WHERE = (
    "in {p}",
    "near {p}",
    "from {p}",
    "at home",
    "{p}",
    "not in {p}",
    "in {p} or {p2}",
    "to {p}",
    "around {p}",
    "in {p}, {p2}",
    "of {p}",
    "the {p}",
    "in {pl}",
)
PLACES = (
    "Paris",
    "Lisbon",
    "Oslo",
    "Kyoto",
    "Berlin",
    "Rome",
    "Nice",
    "Reading",
    "Florence",
    "Austin",
    "New York",
    "NYC",
    "San Francisco",
    "Sydney",
    "Tokyo",
    "London",
    "Munich",
    "Zürich",
    "Geneva",
    "Barcelona",
    "France",
    "the US",
    "UK",
    "Japan",
    "Turkey",
    "China",
    "New Zealand",
    "Tuscany",
    "the Alps",
    "Bali",
    "Hawaii",
    "Georgia",
    "Texas",
    "England",
    "Europe",
    "Orange",
    "Atlantis",
    "Nowhere",
    "Lake Como",
    "Fiji",
    "Köln",
    "Vienna",
    "Venice",
)
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "Aug",
    "sept",
    "October",
    "November",
    "dec",
)
_HOLIDAYS = (
    "Christmas",
    "Easter",
    "Halloween",
    "Thanksgiving",
    "New Year's Eve",
    "Diwali",
    "my birthday",
    "Valentine's Day",
    "Eid",
    "Hanukkah",
    "Labor Day",
)


def made_up(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    junk = strings(max(1, count // 10), seed + 1)
    return [rng.choice(junk) if rng.random() < 0.08 else _query(rng) for _ in range(count)]


def _query(rng: random.Random) -> str:
    parts = [rng.choice(["", "photos of ", "my ", "the ", "show me the "]) + rng.choice(NOUNS)]
    parts += [_filled(rng.choice(WHEN), rng) for _ in range(rng.choice([0, 1, 1, 1, 2]))]
    parts += [_filled(rng.choice(WHERE), rng) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    rng.shuffle(parts)
    text = rng.choice([" ", " ", " ", ", ", "  "]).join(parts)
    if rng.random() < 0.3:
        text = rng.choice([text.lower(), text.upper(), text])
    return text + rng.choice(["", "", "?", ".", "!"])


def _filled(form: str, rng: random.Random) -> str:
    year, day, place = rng.randint(2004, 2014), rng.randint(1, 31), rng.choice(PLACES)
    words = {
        "m": rng.choice(_MONTHS),
        "m2": rng.choice(_MONTHS),
        "y": year,
        "y2": year + rng.randint(0, 2),
        "d": day,
        "d2": min(31, day + 3),
        "mm": f"{rng.randint(1, 13):02d}",
        "dd": f"{day:02d}",
        "yy": f"{year % 100:02d}",
        "s": rng.choice(["spring", "summer", "autumn", "fall", "winter", "week", "month", "weekend"]),
        "n": rng.choice(["2", "three", "a few", "10", "several"]),
        "u": rng.choice(["day", "week", "month", "year"]),
        "h": rng.choice(_HOLIDAYS),
        "w": rng.choice(["Monday", "friday", "Sunday", "Tue"]),
        "o": rng.choice(["first", "second", "last", "3rd"]),
        "c": rng.randint(1, 12),
        "x": rng.choice(NOUNS),
        "p": place,
        "p2": rng.choice(PLACES),
        "pl": place.lower(),
    }
    return form.format_map(words)
