"""Mode "fused", the default: the features of every layer are weighted summands of one score (ranking.py).

A time or place in the query only counts as evidence; the only photos removed are those that the query
excludes ("not in Paris").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gamer.index import Cube, FloatArray, RowArray, distinct, greatest
from gamer.index.album.layers.lexical import WordScores
from gamer.index.records import TITLE

from ...bundle.manifest import Ranking
from ...cues.time_ranges import merged
from ...defaults import EXACT_ROWS, PROPOSED, THING, TYPICAL
from ..options import SILENT, Observer
from ..state import SHARED, Parts, Ranked, State
from . import channels, ranking, refine, unknown
from .channels import Vectors
from .earlier import EarlierSearches
from .things import Target


@dataclass(frozen=True, eq=False)
class _Query:
    """A query as the features need it: its words, vectors by channel, clues, and what was searched before."""

    words: WordScores
    vectors: Vectors
    clues: list[ranking.Clue]
    earlier: EarlierSearches | None


def rank(parts: Parts, state: State) -> Ranked:
    """The photos with their summands, unordered."""
    refined, observer, weights = state.refined, state.request.observer, state.request.weights
    with observer.step("vectors", "words (BM25)"):
        words = parts.album.words(refined.text, None if refined.glossed is None else refined.glossed.forms)
    query = _Query(words, _vectors(state), _clues(parts, state), _earlier(parts, state))
    with observer.step("vectors", "candidates"):
        rows, plan = _candidates(parts, state, query)
    with observer.step("vectors", "features"):
        features, scores = _features(parts, state, query, rows, observer)
    target = _target(parts, state)
    thing = {} if target is None else {"thing": target.feature(parts.album, rows)}
    observer.ranked(rows, features | thing)
    with observer.step("vectors", "weights"):
        known = _known(features, scores, rows, weights)
        summands = dict(known.parts)
        if not known.told.all():
            summands["unknown"] = unknown.expected(known, _typical(parts, state, query, known))
        if query.earlier is not None:
            features["earlier"] = query.earlier.feature(words, rows)
            summands["earlier"] = features["earlier"] * np.float32(query.earlier.weight)
        if target is not None:
            summands["thing"] = thing["thing"] * np.float32(target.weight)
        if query.clues and refine.says_nothing(refined.text):
            summands = ranking.by_cues(summands)
    return Ranked(rows, features, summands, plan)


def _vectors(state: State) -> Vectors:
    """By channel; without a person's own adapter their photos' titles, learned with it, are left out, too."""
    aligned = state.refined.aligned
    titles = {} if state.request.options.adapter is False else {TITLE: aligned}
    return state.refined.vectors(aligned) | titles


def _earlier(parts: Parts, state: State) -> EarlierSearches | None:
    earlier = state.request.options.earlier
    if isinstance(earlier, EarlierSearches):
        return earlier
    return parts.earlier.now() if earlier else None


def _target(parts: Parts, state: State) -> Target | None:
    """T_t of the thing that the query is about, if the bank of things was asked."""
    reflection, weight = state.refined.reflection, state.request.options.thing_weight
    if reflection is None:
        return None
    return Target(parts.models.text.encode([reflection.target])[0], THING if weight is None else weight)


def _typical(parts: Parts, state: State, query: _Query, ranked: unknown.Evidence) -> unknown.Evidence:
    """The summands of photos that stand for all that the query does not exclude.

    These are the ranked photos, or where those are chosen candidates, photos at even distances.
    """
    photos = state.scope.photos
    if len(photos) <= EXACT_ROWS:
        return ranked
    rows = photos.rows[:: -(-len(photos) // TYPICAL)]
    features, scores = _features(parts, state, query, rows, SILENT)
    return _known(features, scores, rows, state.request.weights)


def _clues(parts: Parts, state: State) -> list[ranking.Clue]:
    """The query's times and places as separate clues.

    Looked up one by one, so that an unknown or mistaken cue does not affect the weight of the others.
    """
    album, facts, cues, then = parts.album, parts.facts, state.cues, state.scope.then
    clues: list[ranking.Clue] = []
    if cues.times:
        inside = album.within([Cube(start=start, end=end) for start, end in merged(cues.times)])
        trust = max(cue.confidence for cue in cues.times)
        clues.append(ranking.Clue(facts.dated | then.mask, inside.mask | then.mask, trust))
    if places := [place for place in cues.places if place.photos != 0]:
        inside = album.within([box for place in places for box in place.boxes])
        clues.append(ranking.Clue(facts.placed, inside.mask, max(place.confidence for place in places)))
    for cue in cues.recurring:
        fits = np.asarray(cue.fits(facts.into_week if cue.weekdays else facts.into_day))
        clues.append(ranking.Clue(facts.dated, fits & facts.dated, cue.confidence))
    # A cue that fits no photo is misread or wrong: it would only favour the photos without a date.
    return [clue for clue in clues if clue.inside.any()]


def _candidates(parts: Parts, state: State, query: _Query) -> tuple[RowArray, str]:
    """The rows to score, and how they were chosen, in one line.

    Up to EXACT_ROWS photos: all of them. Beyond: the best that each layer proposes, inside the cube and
    in the whole scope; there the index's planner chooses an HNSW search or a filtered scan for each
    channel.
    """
    album, photos, cube, vectors = parts.album, state.scope.photos, state.scope.cube, query.vectors
    searched = channels.searched(album, vectors)
    if len(photos) <= EXACT_ROWS:
        named = " + ".join(searched) or "none"
        return photos.rows, f"exact scan of {len(photos)} photos, channels {named}"
    among = None if photos.is_full else photos.rows
    results = {name: album.search_vectors(name, vectors[name], PROPOSED, among) for name in searched}
    proposed = [result.rows for result in results.values()]
    if len(cube) < len(photos):
        proposed += [album.search_vectors(name, vectors[name], PROPOSED, cube.rows).rows for name in searched]
    strengths = [query.words.bm25, state.nodes.linked, state.nodes.related]
    if query.earlier is not None:
        strengths.append(query.earlier.feature(query.words, np.arange(len(album))))
    for scores in strengths:
        positive = np.flatnonzero(scores > 0)
        for rows in (photos.keep(positive), cube.keep(positive)):
            proposed.append(rows[greatest(scores[rows], PROPOSED)])
    proposed += _messages_around(parts, proposed)
    candidates = photos.keep(distinct(np.concatenate(proposed), len(album)))
    plans = ", ".join(f"{name} by {result.plan}" for name, result in results.items())
    return candidates, f"{len(candidates)} candidates of {len(photos)} photos ({plans}), re-ranked exactly"


def _messages_around(parts: Parts, proposed: list[RowArray]) -> list[RowArray]:
    conversations = parts.facts.conversations
    if not conversations.any:
        return []
    rows = distinct(np.concatenate(proposed), len(parts.album))
    neighbours = [conversations.neighbour(rows, step) for step in ranking.NEAR]
    return [other[joined] for other, joined in neighbours]


def _features(
    parts: Parts, state: State, query: _Query, rows: RowArray, observer: Observer
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Each layer's features of `rows`, unweighted: name of a field of Ranking → float32 [rows].

    Also the cosines, -inf where a row has no vector.
    """
    words, nodes = query.words, state.nodes
    context_words, context_coverage = ranking.context(words, parts.facts.conversations, rows)
    with observer.step("vectors", "cosines, in features"):
        scores = channels.scores(parts.album, query.vectors, rows)
    return channels.finite(scores) | {
        "words": words.bm25[rows],
        "coverage": words.coverage[rows],
        "context_words": context_words,
        "context_coverage": context_coverage,
        "entity": nodes.linked[rows],
        "related": nodes.related[rows],
        "cue": ranking.evidence(query.clues, rows),
    }, scores


def _known(
    features: dict[str, FloatArray], scores: dict[str, FloatArray], rows: RowArray, weights: Ranking
) -> unknown.Evidence:
    """The summands of `rows`; the cosines `scores` say which photos have a text and an image vector."""
    none = np.full(len(rows), -np.inf, np.float32)
    told, seen = (np.isfinite(scores.get(name, none)) for name in SHARED)
    return unknown.Evidence(ranking.weighted(features, weights), told, seen)
