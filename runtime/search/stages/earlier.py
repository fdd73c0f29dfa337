"""What earlier searches say of a photo: those by which it, or one taken about then, was opened.

People name photos by what they know of them ("Sleeping Bear Dune Climb"), which no memory need say; and what
they called one photo of a walk often names the others too. A word of the query counts for a photo as far as a
photo that was opened with this word was taken near it in time. The searches are those that a person keeps
beside the album (index/opened.py); how much they weigh is learned from them (`gamer train --align`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from gamer.index import Album, FloatArray, RowArray
from gamer.index.album.layers.lexical import WordScores
from gamer.index.album.words import tokens
from gamer.index.opened import OpenedLog
from gamer.index.records import UNKNOWN_TIME

NEAR_MS = 86_400_000  # so far apart in time, a photo counts half


@dataclass(frozen=True, eq=False)
class EarlierSearches:
    """`searches`: the words of each, stemmed, and the rows of the photos that were opened by it.

    `times`: int64 [photos of the album]. `weight`: of the feature, in log-odds.
    """

    searches: tuple[tuple[frozenset[str], tuple[int, ...]], ...]
    times: NDArray[np.int64]
    weight: float

    @classmethod
    def of(cls, album: Album, opened: Iterable[tuple[str, str]], weight: float) -> EarlierSearches:
        """`opened`: queries, each with the id of a photo. Photos that the album has not are passed over."""
        row_of = {photo: row for row, photo in enumerate(album.ids())}
        rows: dict[str, list[int]] = {}
        for query, photo in opened:
            if photo in row_of:
                rows.setdefault(query, []).append(row_of[photo])
        stems = _stems(rows)
        searches = tuple((stems[query], tuple(dict.fromkeys(at))) for query, at in rows.items())
        return cls(searches, album.times(), weight)

    def feature(self, words: WordScores, rows: RowArray) -> FloatArray:
        """float32 [rows] in 0..1: the share of the query's words, weighted by rarity, that speak for each."""
        total = sum(word.rarity for word in words.words)
        out = np.zeros(len(rows), np.float32)
        if not total:
            return out
        stems = _stems(word.text for word in words.words)
        for word in words.words:
            at = [self._rows_of[stem] for stem in stems[word.text] if stem in self._rows_of]
            if at:
                out += np.float32(word.rarity / total) * self._nearness(np.concatenate(at), rows)
        return out

    @cached_property
    def _rows_of(self) -> Mapping[str, RowArray]:
        rows: dict[str, list[int]] = {}
        for stems, opened in self.searches:
            for stem in stems:
                rows.setdefault(stem, []).extend(opened)
        return {stem: np.unique(np.array(of, np.int64)) for stem, of in rows.items()}

    def _nearness(self, opened: RowArray, rows: RowArray) -> FloatArray:
        """float32 [rows]: 1 for a photo that was opened, else by the time to the nearest that was."""
        out = np.isin(rows, opened).astype(np.float32)
        known = np.sort(self.times[opened][self.times[opened] != UNKNOWN_TIME])
        times = self.times[rows]
        dated = times != UNKNOWN_TIME
        if not known.size or not dated.any():
            return out
        after = np.clip(np.searchsorted(known, times[dated]), 1, max(1, len(known) - 1))
        around = known[np.stack([after - 1, np.minimum(after, len(known) - 1)])]
        apart = np.abs(around.astype(np.float64) - times[dated]).min(axis=0)
        out[dated] = np.maximum(out[dated], 1 / (1 + apart / NEAR_MS))
        return out


class SearchHistory:
    """The earlier searches of an album, read again when the file beside it has changed."""

    def __init__(self, album: Album, weight: float) -> None:
        self._album, self._weight, self._log = album, weight, OpenedLog(album.path)
        self._read: tuple[object, EarlierSearches | None] = (None, None)

    def now(self) -> EarlierSearches | None:
        """None if none are kept, or they weigh nothing. Threads may call at once."""
        if not self._weight:
            return None
        try:
            state = self._log.path.stat()
        except OSError:
            return None
        mark = (state.st_mtime_ns, state.st_size)
        if self._read[0] != mark:
            opened = ((entry.query, entry.photo) for entry in self._log.read())
            self._read = (mark, EarlierSearches.of(self._album, opened, self._weight))
        return self._read[1]


def _stems(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    """Text → its words as the album's index of words stems them."""
    db: Any = apsw.Connection(":memory:")
    return {text: frozenset(tokens(db, text)) for text in texts}
