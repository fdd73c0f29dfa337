"""Mode "fused", the default: the features of every layer are weighted summands of one score (ranking.py).

A time or place in the query only counts as evidence; the only photos removed are those that the query
excludes ("not in Paris").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gamer.index import Album, Cube, FloatArray, RowArray, RowSet, distinct, greatest
from gamer.index.album.lexical import WordScores

from ..bundle.manifest import Ranking
from ..cues.parse import Cues
from ..cues.times import merged
from . import ranking, refine, unknown
from .album_facts import AlbumFacts
from .options import SILENT, Observer
from .things import Target

SHARED = ("text", "image")  # the channels whose queries are the text tower's vector
# Channel → the vector of a query in it, float32 [dim].
Vectors = Mapping[str, FloatArray]
EXACT_ROWS = 20_000  # up to this many photos, scanning all costs less than choosing candidates
# How many photos each layer proposes when there are more than EXACT_ROWS. On the development users, 60, 100
# and 200 give the same recall@5 as ranking all photos does, to within 0.0002.
CANDIDATES = 100
TYPICAL = 1000  # photos that stand for a larger album where the evidence of missing memories is estimated


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows with the summands of their scores.

    `features`: unweighted, `parts`: weighted; each name → float32 [rows]. `plan`: how the vectors were
    searched, in one line.
    """

    rows: RowArray
    features: dict[str, FloatArray]
    parts: dict[str, FloatArray]
    plan: str


@dataclass(frozen=True, eq=False)
class Scope:
    """What the earlier layers leave of an album.

    `photos`: all photos that the query does not exclude; `cube`: those of them inside the cube; `linked`:
    float32 [photos of the album] in 0..1, the strength of the best entity node that each photo's own memories
    name; `related`: of the best that the graph reaches from what the photo hangs on. `then`: photos that fit
    the query's times whatever their own.
    """

    photos: RowSet
    cube: RowSet
    linked: FloatArray
    related: FloatArray
    then: RowSet


@dataclass(frozen=True, eq=False)
class _Asked:
    """A query as the features need it: its words, vectors by channel, scope and clues."""

    words: WordScores
    vectors: Vectors
    scope: Scope
    clues: list[ranking.Clue]


def cosines(album: Album, vectors: Vectors, rows: RowArray) -> dict[str, FloatArray]:
    """Feature → float32 [rows]: the cosine of a channel's query with each row's best vector in it.

    A feature is called as its channel, up to the first ":". 0 where a row has no vector.
    """
    return _finite(_scores(album, vectors, rows))


def _scores(album: Album, vectors: Vectors, rows: RowArray) -> dict[str, FloatArray]:
    """As `cosines`, but -inf where a row has no vector."""
    return {
        name.partition(":")[0]: album.scores(name, vectors[name], rows) for name in searched(album, vectors)
    }


def _finite(scores: dict[str, FloatArray]) -> dict[str, FloatArray]:
    return {
        name: np.where(np.isfinite(values), values, np.float32(0.0)).astype(np.float32)
        for name, values in scores.items()
    }


def searched(album: Album, vectors: Vectors) -> list[str]:
    """The channels that both the album and the query have, in the query's order."""
    have = album.channels()
    return [name for name in vectors if name in have]


class FusedRanker:
    """Ranks one album's photos by the features of all layers."""

    def __init__(self, album: Album, facts: AlbumFacts) -> None:
        self._album, self._facts = album, facts

    def rank(
        self,
        text: str,
        vectors: Vectors,
        cues: Cues,
        scope: Scope,
        weights: Ranking,
        observer: Observer,
        target: Target | None = None,
    ) -> Ranked:
        """`text`: the refined query; `vectors`: its embeddings; `target`: T_t of the thing it is about."""
        with observer.step("vectors", "words (BM25)"):
            words = self._album.words(text)
        with observer.step("vectors", "candidates"):
            rows, plan = self._candidates(words, vectors, scope)
        clues = self._clues(cues, scope.then)
        asked = _Asked(words, vectors, scope, clues)
        with observer.step("vectors", "features"):
            features, scores = self._features(asked, rows, observer)
        thing = {} if target is None else {"thing": target.feature(self._album, rows)}
        observer.ranked(rows, features | thing)
        with observer.step("vectors", "weights"):
            known = _known(features, scores, rows, weights)
            parts = dict(known.parts)
            if not known.told.all():
                parts["unknown"] = unknown.expected(known, self._typical(asked, known, weights))
            if target is not None:
                parts["thing"] = thing["thing"] * np.float32(target.weight)
            if clues and refine.says_nothing(text):
                parts = ranking.by_cues(parts)
        return Ranked(rows, features, parts, plan)

    def _typical(self, asked: _Asked, ranked: unknown.Known, weights: Ranking) -> unknown.Known:
        """The summands of photos that stand for all that the query does not exclude.

        These are the ranked photos, or where those are chosen candidates, photos at even distances.
        """
        photos = asked.scope.photos
        if len(photos) <= EXACT_ROWS:
            return ranked
        rows = photos.rows[:: -(-len(photos) // TYPICAL)]
        features, scores = self._features(asked, rows, SILENT)
        return _known(features, scores, rows, weights)

    def _clues(self, cues: Cues, then: RowSet) -> list[ranking.Clue]:
        """The query's times and places as separate clues.

        Looked up one by one, so that an unknown or mistaken cue does not affect the weight of the others.
        """
        dated, placed, clues = self._facts.dated, self._facts.placed, []
        if cues.times:
            inside = self._album.within([Cube(start=start, end=end) for start, end in merged(cues.times)])
            trust = max(cue.confidence for cue in cues.times)
            clues.append(ranking.Clue(dated | then.mask, inside.mask | then.mask, trust))
        if places := [place for place in cues.places if place.photos != 0]:
            inside = self._album.within([box for place in places for box in place.boxes])
            clues.append(ranking.Clue(placed, inside.mask, max(place.confidence for place in places)))
        for cue in cues.recurring:
            fits = np.asarray(cue.fits(self._facts.into_week if cue.weekdays else self._facts.into_day))
            clues.append(ranking.Clue(dated, fits & dated, cue.confidence))
        # A cue that fits no photo is misread or wrong: it would only favour the photos without a date.
        return [clue for clue in clues if clue.inside.any()]

    def _candidates(self, words: WordScores, vectors: Vectors, scope: Scope) -> tuple[RowArray, str]:
        """The rows to score, and how they were chosen, in one line.

        Up to EXACT_ROWS photos: all of them. Beyond: the best that each layer proposes, inside the cube and
        in the whole scope; there the index's planner chooses an HNSW search or a filtered scan for each
        channel.
        """
        photos, cube = scope.photos, scope.cube
        channels = searched(self._album, vectors)
        if len(photos) <= EXACT_ROWS:
            named = " + ".join(channels) or "none"
            return photos.rows, f"exact scan of {len(photos)} photos, channels {named}"
        among = None if photos.is_full else photos.rows
        search = self._album.search_vectors
        results = {name: search(name, vectors[name], CANDIDATES, among) for name in channels}
        proposed = [result.rows for result in results.values()]
        if len(cube) < len(photos):
            proposed += [search(name, vectors[name], CANDIDATES, cube.rows).rows for name in channels]
        for scores in (words.bm25, scope.linked, scope.related):
            positive = np.flatnonzero(scores > 0)
            for rows in (photos.keep(positive), cube.keep(positive)):
                proposed.append(rows[greatest(scores[rows], CANDIDATES)])
        proposed += self._messages_around(proposed)
        candidates = photos.keep(distinct(np.concatenate(proposed), len(self._album)))
        plans = ", ".join(f"{name} by {result.plan}" for name, result in results.items())
        return (
            candidates,
            f"{len(candidates)} candidates of {len(photos)} photos ({plans}), re-ranked exactly",
        )

    def _messages_around(self, proposed: list[RowArray]) -> list[RowArray]:
        conversations = self._facts.conversations
        if not conversations.any:
            return []
        rows = distinct(np.concatenate(proposed), len(self._album))
        neighbours = [conversations.neighbour(rows, step) for step in ranking.NEAR]
        return [other[joined] for other, joined in neighbours]

    def _features(
        self, asked: _Asked, rows: RowArray, observer: Observer
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Each layer's features of `rows`, unweighted: name of a field of Ranking → float32 [rows].

        Also the cosines, -inf where a row has no vector.
        """
        words, scope = asked.words, asked.scope
        context_words, context_coverage = ranking.context(words, self._facts.conversations, rows)
        with observer.step("vectors", "cosines, in features"):
            scores = _scores(self._album, asked.vectors, rows)
        return _finite(scores) | {
            "words": words.bm25[rows],
            "coverage": words.coverage[rows],
            "context_words": context_words,
            "context_coverage": context_coverage,
            "entity": scope.linked[rows],
            "related": scope.related[rows],
            "cue": ranking.evidence(asked.clues, rows),
        }, scores


def _known(
    features: dict[str, FloatArray], scores: dict[str, FloatArray], rows: RowArray, weights: Ranking
) -> unknown.Known:
    """The summands of `rows`; the cosines `scores` say which photos have a text and an image vector."""
    none = np.full(len(rows), -np.inf, np.float32)
    told, seen = (np.isfinite(scores.get(name, none)) for name in SHARED)
    return unknown.Known(ranking.weighted(features, weights), told, seen)
