"""Finds the words of a query that name a place, and chooses which place of that name is meant.

Rules and a gazetteer, no model, no network (paper section 3.2, layer 1: the place side of the cube). A wrong
place excludes every photo that is meant, a missed place excludes none, so a doubtful word makes no cue. Spans
are [start, end) character offsets into the query; boxes are in degrees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gamer.index.records import Cube

from ..bundle.gazetteer import MAX_WORDS, Gazetteer, Place
from .tables import tables

Near = Callable[[Place], int]

_WORD = re.compile(r"[^\W\d_]+(?:['’.\-‐‑][^\W\d_]+)*\.?")
_W = tables().places
CERTAIN = _W.strong - _W.uncertain
_AND = re.compile(r"\s*(?:,|and|or|nor|&)\s*(?:the\s+)?(?:and\s+|or\s+)?")
MAX_LOOKUPS = 400
MAX_PLACES = 8
# The people that a city needs for its name to count as a place.
BARE, METROPOLIS = 250_000, 500_000  # without a preposition: capitalised, two lower-case words
TOWN, CITY = 50_000, 100_000  # lower-case: after a preposition of place, after any other
SHORT = 3  # letters; a name this short counts only after a preposition
NEAR_DEG = 0.27  # by which "near X" extends the box of X: about 30 km


@dataclass(frozen=True)
class PlaceCue:
    """A place that the query names.

    `boxes`: the place's extent, open in time. `span`: its characters in the query, preposition included.
    `kind`: city, region, country or home. `photos`: the number of the album's photos there, None if no album
    was given. A place without photos does not restrict the search; its name stays in the text, since a memory
    may mention it.
    """

    text: str
    name: str
    place: Place | None
    boxes: tuple[Cube, ...]
    span: tuple[int, int]
    kind: str = "city"
    photos: int | None = None
    confidence: float = 1.0

    @property
    def box(self) -> Cube:
        """The main one of the boxes."""
        return self.place.box if self.place and len(self.boxes) > 1 else self.boxes[0]


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    end: int

    @property
    def low(self) -> str:
        return self.text.lower()

    @property
    def capital(self) -> bool:
        return self.text[:1].isupper()


def _tokens(text: str, taken: Sequence[tuple[int, int]]) -> list[_Token]:
    used = bytearray(len(text))
    for a, b in taken:
        used[a:b] = b"\1" * (b - a)
    out = []
    for m in _WORD.finditer(text):
        word = m[0] if m[0].count(".") > 1 else m[0].rstrip(".")
        if not any(used[m.start() : m.end()]):
            out.append(_Token(word, m.start(), m.start() + len(word)))
    return out


def _runs(text: str, tokens: Sequence[_Token]) -> list[int]:
    """For each token, the index after the last token of its run.

    The tokens of a run are separated by one or two spaces or hyphens only: names do not cross commas.
    """
    ends = [len(tokens)] * len(tokens)
    end = len(tokens)
    for i in range(len(tokens) - 1, -1, -1):
        if i + 1 < len(tokens) and not re.fullmatch(r"[ \-]{1,2}", text[tokens[i].end : tokens[i + 1].start]):
            end = i + 1
        ends[i] = end
    return ends


def _bare(token: _Token) -> str:
    """The word without a possessive ending: "Paris" of "Paris's"."""
    return re.sub(r"['’]s$", "", token.text)


def _shouted(tokens: Sequence[_Token]) -> bool:
    """Whether capitals carry no information, because all words of a query of three or more have them.

    Words of up to three letters may be lower-case.
    """
    return (
        len(tokens) >= 3
        and all(t.capital for t in tokens if len(t.text) > 3)
        and sum(t.capital for t in tokens) >= 3
    )


def _preposition(text: str, tokens: Sequence[_Token], i: int) -> tuple[str, int]:
    """The preposition that governs token i and the index of its token; ("", i) if there is none.

    Up to two articles or adjectives between them (`_W.skip`) are skipped.
    """
    j = i - 1
    while j >= 0 and tokens[j].low in _W.skip and i - j <= 2:
        j -= 1
    if (
        j < 0
        or (tokens[j].low not in _W.strong and tokens[j].low not in _W.weak)
        or text[tokens[j].end : tokens[i].start].strip(" ")
        not in (
            "",
            *(t.text for t in tokens[j + 1 : i]),
        )
    ):
        return "", i
    return tokens[j].low, j


def _counts(places: Sequence[Place], near: Near | None) -> list[int]:
    return [near(p) for p in places] if near else [0] * len(places)


def _choose(places: Sequence[Place], near: Near | None) -> tuple[Place, int]:
    """The place that is meant, and the number of the album's photos there.

    Places with photos come first, then those whose primary name it is, then the gazetteer's order (most
    people first).
    """
    counts = _counts(places, near)
    # The numbers of photos of two places are not compared: 3 photos against 2 are chance.
    best = min(range(len(places)), key=lambda i: (counts[i] == 0, not places[i].primary, i))
    return places[best], counts[best]


def _accept(
    place: Place, name: str, photos: int, asked: bool, prep: str, capital: bool, words: int, alone: bool
) -> bool:
    """Whether the words count as a place.

    `asked`: `near` was given. `prep`: the preposition before the name, or "". `words`: of the name. `alone`:
    no capitalised neighbour could make the name a part of a longer one.
    """
    big = place.population >= CITY or place.kind != "city"
    if place.word:
        return capital and (prep in CERTAIN or (prep in ("to", "from") and place.kind == "country"))
    if place.given:
        return capital and (prep in CERTAIN or (bool(prep) and photos > 0)) and (alone or photos > 0)
    if not place.primary and not (photos or (prep in CERTAIN and capital and place.population >= TOWN)):
        return False
    if not prep and (len(name) <= SHORT or (not place.primary and place.population < CITY)):
        return False  # alone, a name must be well known: "Cat" would be Çat, "Haha" Hakha
    if not capital:
        if prep in _W.strong or (prep and big):
            return bool(photos) or (
                not asked and place.primary and (place.population >= TOWN or place.kind != "city")
            )
        return (
            place.primary and (big or words > 1)
            if photos
            else not asked and words > 1 and place.primary and place.population >= METROPOLIS
        )
    if prep:
        return alone or words > 1 or bool(photos) or prep in CERTAIN
    return (bool(photos) if asked else place.population >= BARE or place.kind != "city") and (
        alone or words > 1
    )


def _inside(place: Place, outer: Place) -> bool:
    if place.id == outer.id or outer.kind == "city":
        return False
    same = outer.kind == "country" and place.country_code == outer.country_code
    return same or (
        outer.kind == "region"
        and outer.contains(place.lat, place.lon)
        and outer.country_code in ("", place.country_code)
    )


def _qualified(
    text: str,
    tokens: Sequence[_Token],
    ends: Sequence[int],
    first: int,
    after: int,
    places: tuple[Place, ...],
    gazetteer: Gazetteer,
) -> tuple[tuple[Place, ...], int]:
    """Reads "Paris, Texas": the candidates within the country or region named next, and the index after it.

    `places` and `after` unchanged if there is no such name, or none of them lies within it.
    """
    if after >= len(tokens) or not re.fullmatch(
        r"\s*,\s*| ", text[tokens[after - 1].end : tokens[after].start]
    ):
        return places, after
    name = " ".join(_bare(t) for t in tokens[first : after + 1])
    if tokens[after].text.isupper() and (named := gazetteer.lookup(name)):
        return named, after + 1  # "Washington, DC" is in the gazetteer as one name
    outer_match = gazetteer.longest_match(
        [_bare(t) for t in tokens[after : min(ends[after], after + MAX_WORDS)]], 0
    )
    if not outer_match or not tokens[after].capital:
        return places, after
    inside = tuple(p for p in places if any(_inside(p, outer) for outer in outer_match[1]))
    return (inside, after + outer_match[0]) if inside else (places, after)


def _boxes(place: Place, near: bool) -> tuple[Cube, ...]:
    if not near or place.kind != "city":
        return place.boxes
    grow = min(2.0, NEAR_DEG / max(0.1, 1 - abs(place.lat) / 90))
    west, east = (place.west - grow + 180) % 360 - 180, (place.east + grow + 180) % 360 - 180
    return (
        Cube(
            south=max(-90.0, place.south - NEAR_DEG),
            north=min(90.0, place.north + NEAR_DEG),
            west=west,
            east=east,
        ),
    )


def find_places(
    text: str, taken: Sequence[tuple[int, int]], gazetteer: Gazetteer, near: Near | None
) -> tuple[PlaceCue, ...]:
    """The places that the text names, in its order; at most MAX_PLACES.

    `taken`: the spans of other cues, in which no place is sought.
    """
    tokens = _tokens(text, taken)
    ends, shouted = _runs(text, tokens), _shouted(tokens)
    cues: list[PlaceCue] = []
    i, lookups = 0, 0
    previous = ""  # the last place's preposition, which in "in Paris and Rome" governs Rome too
    while i < len(tokens) and lookups < MAX_LOOKUPS and len(cues) < MAX_PLACES:
        lookups += 1
        token = tokens[i]
        cue = None
        if (
            len(token.text) > 1
            and token.low not in _W.strong
            and token.low not in _W.weak
            and token.low not in ("the", "and", "or", "not")
        ):
            cue, after = _place_at(
                text,
                tokens,
                ends,
                i,
                shouted,
                previous if _continues(text, cues, token) else "",
                gazetteer,
                near,
            )
        if cue is None:
            i += 1
            continue
        previous = _preposition(text, tokens, i)[0] or previous
        cues.append(cue)
        i = after
    return tuple(cues)


def _continues(text: str, cues: Sequence[PlaceCue], token: _Token) -> bool:
    return bool(cues) and _AND.fullmatch(text[cues[-1].span[1] : token.start]) is not None


def _place_at(
    text: str,
    tokens: Sequence[_Token],
    ends: Sequence[int],
    i: int,
    shouted: bool,
    inherited: str,
    gazetteer: Gazetteer,
    near: Near | None,
) -> tuple[PlaceCue | None, int]:
    """The place cue that begins at token i and the index after it, or (None, i).

    `inherited`: the preposition of the place before, or "".
    """
    run = tokens[i : min(ends[i], i + MAX_WORDS)]
    for length in range(len(run), 0, -1):
        words = run[:length]
        name = " ".join([t.text for t in words[:-1]] + [_bare(words[-1])])
        places = gazetteer.lookup(name)
        if not places:
            continue
        after = i + length
        capital = all(t.capital or t.low in _W.inner for t in words)
        prep, first = _preposition(text, tokens, i)
        prep = prep or inherited
        places, after = _qualified(text, tokens, ends, i, after, places, gazetteer)
        qualified = after > i + length
        place, photos = _choose(places, near)
        capital = capital and words[0].capital and (not shouted or prep in CERTAIN)
        if words[0].text in _W.capitals and (prep or qualified):
            return _cue(text, tokens, i, after, first, prep, place, photos if near else None), after
        alone = _stands_alone(tokens, ends, i, after)
        if (qualified and capital) or _accept(
            place, name, photos, near is not None, prep, capital, length, alone
        ):
            return _cue(text, tokens, i, after, first, prep, place, photos if near else None), after
    return None, i


def _stands_alone(tokens: Sequence[_Token], ends: Sequence[int], i: int, after: int) -> bool:
    """Whether no capitalised word is adjacent to the name at tokens i to `after` - 1.

    "Paris Hilton" and "Jack London" are people, "Boston Dynamics" is a firm.
    """
    if after < len(tokens) and ends[i] > after and tokens[after].capital:
        return False
    before = tokens[i - 1].low if i and ends[i - 1] > i and tokens[i - 1].capital else None
    return before is None or before in _W.strong | _W.weak | _W.skip | _W.openers


def _cue(
    text: str,
    tokens: Sequence[_Token],
    i: int,
    after: int,
    first: int,
    prep: str,
    place: Place,
    photos: int | None,
) -> PlaceCue:
    a, b = tokens[min(first, i)].start, tokens[after - 1].end
    boxes = _boxes(place, prep in _W.wide)
    return PlaceCue(
        text=text[a:b],
        name=place.name,
        place=place,
        boxes=boxes,
        span=(a, b),
        kind=place.kind,
        photos=photos,
        confidence=tables().trust["place"],
    )
