"""Facts about one album that its searches use repeatedly, computed once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, Cube, RowSet
from gamer.index.records import FAVOURITE, UNKNOWN_TIME

from ..bundle.gazetteer import Gazetteer
from ..cues.calendar_days import DAY_MS, EPOCH, Interval
from ..cues.home import learn_home
from ..cues.printed import printed_days
from ..cues.recurring import into_day, into_week
from ..glosses.letters import Names
from ..questions.grouped import UNKNOWN
from .copies import inherited
from .stages.ranking import Conversations

_LENGTHS = {"day": 10, "month": 7, "year": 4}
_MONEY = r"(?:€|£|\$|¥|₽|eur|usd|gbp|chf|sek|nok|dkk|pln|руб|kr|zł)"
_GAP = r"[ \t]{0,9}"
# "Total EUR 5.20", "SUMME   12,90": in a line, or the number in the next; with a currency, or a line's last.
SUM = re.compile(
    r"\b(?:(?:sub|grand )?total|balance due|summe|gesamt|betrag|totale|importe|montant|итого)\b"
    rf"[^\n]{{0,30}}?\n?{_GAP}{_MONEY}?{_GAP}\d+[.,]\d\d(?![\d.,:/])(?:{_GAP}{_MONEY}|{_GAP}$)|"
    rf"\b(?:amount|balance|sum)\b[^\n]{{0,30}}?(?:{_MONEY}{_GAP}\d+[.,]\d\d|\d+[.,]\d\d{_GAP}{_MONEY})",
    re.IGNORECASE | re.MULTILINE,
)
_PLACE = 80  # characters of a place's name
NAMES = 500  # most linked entities; a refinement is shown those of them that fit the query


class AlbumFacts:
    """Columns over all photos of one open album, in row order. Thread-safe once constructed."""

    def __init__(self, album: Album) -> None:
        self._album = album
        times, latitudes = album.times(), album.positions()[:, 0]
        self.dated: NDArray[np.bool_] = times != UNKNOWN_TIME
        self.placed: NDArray[np.bool_] = np.isfinite(latitudes)
        known, placed = times[self.dated], latitudes[self.placed]
        # First and last moment in ms of wall time; None where no photo has one.
        self.extent = (int(known.min()), int(known.max())) if len(known) else None
        # Seasons are those of the hemisphere in which most photos lie. np.median would load numpy.ma.
        self.southern = bool(len(placed) and np.count_nonzero(placed < 0) * 2 > len(placed))

    @cached_property
    def home(self) -> Cube | None:
        """A box around the home, learned from where photos are taken at night; None if unclear.

        Computed when a query first says "at home".
        """
        return learn_home(self._album.positions(), self._album.times())

    @cached_property
    def names(self) -> list[str]:
        """The names of the NAMES most linked entities."""
        return self._album.entity_names(NAMES)

    @cached_property
    def name_words(self) -> Names:
        """The words of all entities' names, which a query in another language keeps."""
        return Names(entity.name for entity in self._album.listed_entities())

    @cached_property
    def pictured(self) -> RowSet:
        """The photos that have a picture, not only memories."""
        return RowSet(self._album.pictured())

    @cached_property
    def favourites(self) -> RowSet:
        """The photos that the person marked as favourites."""
        marks = self._album.memories_of(FAVOURITE.source)
        rows = [row for row, text in marks if text == FAVOURITE.text]
        return RowSet.of(np.asarray(rows, np.int64), len(self._album))

    def knowing(self, fact: str) -> RowSet:
        """The photos whose "date" or "place" is known, that show "text", or were taken with "flash".

        A copy that was sent on has lost date and place; that of its original is known.
        """
        if fact in ("date", "place"):
            return RowSet(inherited(self._album, self.dated if fact == "date" else self.placed))
        rows = (
            [row for row, _ in self._album.memories_of("ocr")]
            if fact == "text"
            else self._album.rows_by_detail["lighting"].get("flash", [])
        )
        return RowSet.of(np.asarray(rows, np.int64), len(self._album))

    @cached_property
    def receipts(self) -> RowSet:
        """The photos on which a sum is printed, and those whose memories tell of a receipt."""
        printed = [row for row, text in self._album.memories_of("ocr") if SUM.search(text)]
        mask = self._album.words("receipt receipts").bm25 > 0
        mask[printed] = True
        return RowSet(mask)

    @cached_property
    def printed(self) -> tuple[tuple[int, int], ...]:
        """(row, ms of wall time at midnight) of each day that is printed in a picture."""
        read = self._album.memories_of("ocr")
        return tuple(
            (row, (day - EPOCH) * DAY_MS) for row, text in read for day in sorted(printed_days(text))
        )

    def printed_within(self, spans: Sequence[Interval]) -> RowSet:
        """The photos on which a day is printed that lies in one of `spans`."""
        rows = [
            row
            for row, day in self.printed
            if any((a is None or a < day + DAY_MS) and (b is None or day <= b) for a, b in spans)
        ]
        return RowSet.of(np.asarray(rows, np.int64), len(self._album))

    @cached_property
    def conversations(self) -> Conversations:
        """Which photos are chat messages, and which messages follow each other."""
        return Conversations(self._album.times(), self._album.conversations)

    @cached_property
    def into_week(self) -> NDArray[np.int32]:
        """int32 [photos]: milliseconds of wall time since Monday's midnight."""
        return np.asarray(into_week(self._album.times()), np.int32)

    @cached_property
    def into_day(self) -> NDArray[np.int32]:
        """int32 [photos]: milliseconds of wall time since midnight."""
        return np.asarray(into_day(self._album.times()), np.int32)


def group_names(album: Album, gazetteer: Gazetteer, by: str, rows: Sequence[int]) -> list[str]:
    """For each row its day, month, year, place or country; UNKNOWN where the album does not say."""
    if by in ("country", "place"):
        places = {row: " ".join(text.split())[:_PLACE] for row, text in reversed(album.memories_of("place"))}
        names = [places.get(row, UNKNOWN) for row in rows]
        if by == "place":
            return names
        countries, codes = gazetteer.countries, [name.rpartition(", ")[2] for name in names]
        return [countries.get(code, code) for code in codes]
    times = album.times()[np.asarray(rows, np.int64)]
    iso = np.datetime_as_string(times.astype("datetime64[ms]"), "D")
    return [
        UNKNOWN if ms == UNKNOWN_TIME or len(day) != _LENGTHS["day"] else str(day)[: _LENGTHS[by]]
        for ms, day in zip(times, iso, strict=True)
    ]
