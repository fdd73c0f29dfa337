"""Made-up queries that name times and places in every way we know, and words that only look like them.

Ours; knows no parser.
"""

from __future__ import annotations

import random

from tools.conformance.words import NOUNS, strings

PLAIN = (
    "the coffee I photographed last spring",
    "photo of my son at the airport last time",
    "Show me the pictures that I took in Paris in May 2011",
    "beach but not in 2010",
    "my cat, not in Paris or Rome",
    "photos from Lisbon except those from June 2012",
    "dinner in Nice or nice dinner",
    "Reading a book in Reading",
    "the cat in Paris, Texas",
    "turkey in Turkey for Thanksgiving",
    "Florence in Florence",
    "two days after Christmas 2010",
    "the weekend before Easter 2011",
    "the day after the fireworks",
    "a few weeks before my sister's wedding in Rome",
    "the morning of the marathon",
    "between May and July 2011",
    "from 3 to 7 June 2012",
    "since 2010",
    "before March 2012 at night",
    "until last year",
    "on Sundays in winter",
    "sunset at 5 pm in Sydney",
    "every morning in Kyoto",
    "at home on Saturday",
    "at our house last week",
    "in the eighties",
    "late 2010, early 2011",
    "mid May 2011",
    "the first week of June 2012",
    "third Sunday in May 2011",
    "last weekend of August 2011",
    "Lunar New Year 2012",
    "Diwali 2011 with family",
    "Mother's Day",
    "New Year's Eve in New York City",
    "Black Friday 2011",
    "yesterday",
    "tonight",
    "3 days ago",
    "a couple of months ago",
    "an hour ago",
    "in the last two weeks",
    "this time last year",
    "last Friday evening",
    "next Friday",
    "12/25/2011",
    "25.12.2011 morning",
    "2011-12-25T10:30 dinner",
    "30 February 2011",
    "31/12/99",
    "May 2011 vs. May 2012",
    "'11 in Oslo",
    "photos of the USA and the U.K.",
    "New England in autumn",
    "near Zürich and not far from Geneva",
    "in Paris, France, in 2010, 2011 and 2012",
    "Hawaii beach",
    "Fiji and Suva",
    "in Georgia",
    "the state of Georgia in the United States",
    "San Francisco (2010)",
    "“Berlin” in “2012”",
    "Where was I on 14 July 2010?",
    "что было в мае 2011",
    "2010年5月3日 beach",
    "photos photos photos",
    "in in in 2010 2010",
    "the year I was born",
    "spring roll in spring 2011",
    "may I march in March or May",
    "x" * 1990 + " in May 2011 and more",
    "when I turned thirty",
    "winter of 2010-11",
    "summer 2009/2010",
    "between 2009 and 2011",
    "after the 5th of May 2011",
    "no later than June 2010",
    "as of January 2012",
    "the 90s",
    "two summers ago in Barcelona",
    "Valentine's day with Valentina from Valencia",
    "in München or Munich",
    "köln cathedral",
    "ISTANBUL İstanbul istanbul",
    "👍🏽 in Paris 🐶 in May 2011",
)
WHEN = (
    "in {m} {y}", "on {d} {m} {y}", "on {m} {d}, {y}", "{y}-{mm}-{dd}", "{d}/{mm}/{y}", "in {y}", "last {s}", "this {s}", "in the {s} of {y}",
    "{n} {u}s ago", "last {w}", "{n} {u}s before {h}", "at {h} {y}", "{h}", "since {m}", "before {y}", ("between {m} {y} and " "{m2} {y2}"),
    "from {d} to {d2} {m} {y}", "early {m} {y}", "late {y}", "the {o} {w} of {m} {y}", "on {w}s", "at night", "in the morning", "at {c} pm",
    "last year", "yesterday", "the day after the {x}", "two weeks after my {x}", "not in {m} {y}", "except {y}", "in the last {n} {u}s",
    "{m} {d}", "{mm}/{y}", "the week of {m} {d}, {y}", "'{yy}", "mid {y}",
)  # fmt: skip
WHERE = (
    "in {p}", "near {p}", "from {p}", "at home", "{p}", "not in {p}", "in {p} or {p2}", "to {p}", "around {p}", "in {p}, {p2}", "of {p}",
    "the {p}", "in {pl}",
)  # fmt: skip
PLACES = (
    "Paris", "Lisbon", "Oslo", "Kyoto", "Berlin", "Rome", "Nice", "Reading", "Florence", "Austin", "New York", "NYC", "San Francisco", "Sydney",
    "Tokyo", "London", "Munich", "Zürich", "Geneva", "Barcelona", "France", "the US", "UK", "Japan", "Turkey", "China", "New Zealand", "Tuscany",
    "the Alps", "Bali", "Hawaii", "Georgia", "Texas", "England", "Europe", "Orange", "Atlantis", "Nowhere", "Lake Como", "Fiji", "Köln", "Vienna",
    "Venice",
)  # fmt: skip
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


def generated(count: int, seed: int) -> list[str]:
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
