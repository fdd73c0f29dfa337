"""Turns a ranking into an answer: the probability of presence, the Hit objects, and the trace."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import numpy as np

from gamer.index import FloatArray, Photo

from .. import defaults
from ..bundle.manifest import Ranking
from .answer import LAYERS, Answer, Hit, Trace
from .explain import cube_lines, cue_remarks
from .moments import moments
from .remarks import Remark
from .state import SHARED, Parts, Ranked, State


def answer(parts: Parts, state: State, milliseconds: Mapping[str, float]) -> Answer:
    """`milliseconds`: by layer, and of "load"."""
    observer = state.request.observer
    with observer.step("answer", "presence"):
        present = _presence(state.ranked, state.request.weights, len(parts.album))
    with observer.step("answer", "rows of hits"):
        hits = _hits(parts, state, present)
    return Answer(hits, _trace(parts, state, milliseconds), round(present, 4))


def _presence(ranked: Ranked, weights: Ranking, photos: int) -> float:
    """The probability that the album holds what is meant: logistic regression on the first hit's features.

    On its cosine, word coverage and cue evidence, unweighted.
    """
    if not len(ranked.best):
        return 0.0
    first = {name: float(values[ranked.best[0]]) for name, values in ranked.features.items()}
    cosine = max(first.get(name, 0.0) for name in SHARED) + of_fewer(photos)
    coverage = max(first.get(name, 0.0) for name in ("coverage", "context_coverage", "earlier"))
    return presence(weights, cosine, coverage, first.get("cue", 0.0))


def of_fewer(photos: int) -> float:
    """What the best cosine among so many photos lacks of the best among 600, where neither is meant.

    From random parts of the development albums, with and without a photo that is meant: of 20 photos, what
    is there is said to be so in 62 instead of 49 % of queries, and what is not there in 87 instead of 95 %;
    of 400, in 60 instead of 58, and 71 instead of 72 %.
    """
    least, most = defaults.HERE_SIZES
    return defaults.HERE_SMALL * log(most / min(max(photos, least), most))


def presence(weights: Ranking, cosine: float, coverage: float, evidence: float) -> float:
    log_odds = (
        weights.here
        + weights.here_cosine * cosine
        + weights.here_coverage * coverage
        + weights.here_cue * evidence
    )
    return float(1 / (1 + np.exp(min(-log_odds, 700.0))))  # e^710 overflows


def likelihoods(parts: Mapping[str, FloatArray]) -> FloatArray:
    """float32 [rows]: softmax of the scores, each photo's probability given that one of them is meant."""
    total = np.sum(list(parts.values()), axis=0, dtype=np.float64)
    exponentials = np.exp(total - total.max()) if total.size else total
    return np.asarray(exponentials / max(exponentials.sum(), 1e-300), np.float32)


def _hits(parts: Parts, state: State, present: float) -> tuple[Hit, ...]:
    """One Hit for each of the best rows."""
    ranked, matches = state.ranked, state.nodes.matches
    shares, rows = likelihoods(ranked.parts), ranked.rows[ranked.best]
    photos = parts.album.photos(rows)
    row_of = {photo.id: row for photo, row in zip(photos, rows.tolist(), strict=True)}
    shared = state.refined.aligned if state.request.mode == "fused" else state.refined.plain
    clips = moments(parts.album, row_of, shared)
    out = []
    for position, photo in zip(ranked.best, photos, strict=True):
        summands = {name: round(float(values[position]), 4) for name, values in ranked.parts.items()}
        row = row_of[photo.id]
        out.append(
            Hit(
                row=row,
                id=photo.id,
                path=photo.path,
                taken_at=photo.wall,
                lat=photo.lat,
                lon=photo.lon,
                score=round(sum(summands.values()), 4),
                probability=round(present * float(shares[position]), 4),
                parts=summands,
                memory=shown_memory(photo),
                matched=tuple(match.name for match in matches if match.leads_to(row))[:4],
                clip=clips.get(photo.id),
            )
        )
    return tuple(out)


def shown_memory(photo: Photo) -> str | None:
    """The memory to show with a hit: written by a person or read in the picture, else a label or place."""
    texts = [m.text for m in photo.memories if m.source not in ("label", "place")]
    return next(iter(texts or [m.text for m in photo.memories]), None)


def _trace(parts: Parts, state: State, milliseconds: Mapping[str, float]) -> Trace:
    request, scope, nodes, reflection = state.request, state.scope, state.nodes, state.refined.reflection
    glossed = state.refined.glossed
    lines = (glossed.lines if glossed else ()) + (reflection.lines if reflection else ())
    remarks = cue_remarks(state.cues) + tuple(Remark("line", line) for line in lines)
    return Trace(
        query=request.query,
        cues=tuple(map(str, remarks)),
        remarks=remarks,
        cube_lines=cube_lines(state.cues),
        cubes=state.cues.cubes,
        refined=state.refined.text,
        refined_by=state.refined.how,
        adapted=state.refined.adapted,
        delta=request.delta,
        entities=nodes.matches[:8],
        left={
            "album": len(parts.album),
            "cube": len(scope.cube),
            "graph": len(nodes.reached) if state.narrowed else len(scope.cube),
            "vectors": len(state.ranked.best),
        },
        linked=len(nodes.reached),
        widened=scope.widened,
        load_ms=milliseconds["load"],
        milliseconds={layer: milliseconds[layer] for layer in LAYERS},
        plan=state.ranked.plan,
        mode=request.mode,
        models=parts.models.describe(),
    )
