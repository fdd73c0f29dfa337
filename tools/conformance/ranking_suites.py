"""Suite `ranking`: features of photos → scores, order and probabilities; also preferences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from gamer.index.album.layers.lexical import Word, WordScores
from gamer.index.album.preferences import between_photos, reorder
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.search.confidence import judged
from gamer.runtime.search.hits import likelihoods, presence
from gamer.runtime.search.stages.ranking import (
    SESSION_MS,
    Clue,
    Conversations,
    context,
    evidence,
    weighted,
)
from gamer.runtime.search.stages.unknown import Evidence, expected
from tools.conformance.fixture import Case, Suite, floats

FEATURES = (
    "text",
    "image",
    "dpe",
    "words",
    "coverage",
    "context_words",
    "context_coverage",
    "entity",
    "related",
    "cue",
)
WEIGHTS = (*FEATURES, "here", "here_cosine", "here_coverage", "here_cue")
UNKNOWN = np.iinfo(np.int64).min


def committed(folder: Path) -> list[Suite]:
    del folder
    rng = np.random.default_rng(17)
    cases = (
        [_ranked(n, rng) for n in range(12)]
        + [_evidence(n, rng) for n in range(16)]
        + [_context(n, rng) for n in range(10)]
    )
    cases += [_presence(n, rng) for n in range(6)] + [_reordered(n, rng) for n in range(10)]
    cases += [_unknown(n, rng) for n in range(8)]
    cases += [_judged(n, rng) for n in range(16)]
    return [Suite("ranking", tuple(cases), tolerance=1e-5)]


def _ranked(n: int, rng: np.random.Generator) -> Case:
    """A ranking of random features; where two photos have equal features, the lower row comes first."""
    count = (0, 1, 7, 20)[n % 4]
    features = {
        name: np.round(rng.random(count), 3).astype(np.float32)
        for name in FEATURES
        if (name != "image" or n % 3) and (name != "dpe" or n % 4 > 1)  # most albums have no trained experts
    }
    if count > 5 and n % 3 == 0:
        for values in features.values():
            values[4] = values[1]
    ranking = (
        Ranking()
        if n % 2
        else replace(Ranking(), **cast(Any, {name: round(float(rng.normal(0, 3)), 3) for name in WEIGHTS}))
    )
    parts = weighted(features, ranking)
    total = np.sum(list(parts.values()), axis=0)
    given = {
        "op": "rank",
        "features": {name: floats(values) for name, values in features.items()},
        "weights": {name: getattr(ranking, name) for name in WEIGHTS},
        "k": 5,
    }
    out = {
        "order": np.argsort(-total, kind="stable")[:5].tolist(),
        "scores": floats(total),
        "probabilities": floats(likelihoods(parts)),
    }
    return Case(f"rank-{n:02d}", given, out)


def _unknown(n: int, rng: np.random.Generator) -> Case:
    """Photos without memories among others; in some cases without a described one, or without pictures."""

    def known(count: int) -> Evidence:
        names = [name for name in ("text", "image", "coverage", "cue") if name != "image" or n % 4]
        parts = {name: np.round(rng.normal(1, 2, count), 1).astype(np.float32) for name in names}
        told = rng.random(count) < (0.0 if n % 5 == 0 else 0.5)
        return Evidence(parts, told, (rng.random(count) < 0.8) & (n % 4 > 0))

    of = known((3, 9)[n % 2])
    among = of if n % 3 else known(12)

    def shown(rows: Evidence) -> dict[str, Any]:
        parts = {name: floats(values) for name, values in rows.parts.items()}
        return {"parts": parts, "told": rows.told.tolist(), "seen": rows.seen.tolist()}

    given = {"op": "unknown", "of": shown(of), "among": shown(among)}
    return Case(f"unknown-{n:02d}", given, {"values": floats(expected(of, among))})


def _evidence(n: int, rng: np.random.Generator) -> Case:
    count = (1, 6, 30)[n % 3]
    clues = []
    for _ in range(n % 4):
        known = rng.random(count) < (0.0 if n == 7 else 0.8)
        clues.append(Clue(known, known & (rng.random(count) < 0.2), float(rng.choice([0.3, 0.8, 0.95, 1.0]))))
    rows = np.flatnonzero(rng.random(count) < 0.7)
    shown = [{"known": c.known.tolist(), "inside": c.inside.tolist(), "trust": c.trust} for c in clues]
    return Case(
        f"evidence-{n:02d}",
        {"op": "evidence", "clues": shown, "rows": rows.tolist()},
        {"values": floats(evidence(clues, rows))},
    )


def _context(n: int, rng: np.random.Generator) -> Case:
    count = 14
    steps = rng.choice([0, 60_000, SESSION_MS, SESSION_MS + 1, 10 * SESSION_MS], count)
    times: NDArray[np.int64] = (1_300_000_000_000 + np.cumsum(steps)).astype(np.int64)
    times = times[rng.permutation(count)]
    times[rng.random(count) < 0.1] = UNKNOWN
    is_message = rng.random(count) < 0.8
    words = []
    for text in ("cake", "lake", "Rex")[: n % 4]:
        rows = np.flatnonzero(rng.random(count) < 0.3)
        words.append(
            Word(
                text,
                rows,
                np.round(rng.random(rows.size) * 4, 3).astype(np.float32),
                round(float(rng.random() * 3 + 0.1), 4),
            )
        )
    rows = np.flatnonzero(rng.random(count) < 0.8)
    bm25, coverage = context(WordScores(tuple(words), count), Conversations(times, is_message), rows)
    given: dict[str, Any] = {
        "op": "context",
        "times": [None if t == UNKNOWN else t for t in times.tolist()],
        "said": is_message.tolist(),
        "words": [
            {"text": w.text, "rows": w.rows.tolist(), "bm25": floats(w.bm25), "rarity": w.rarity}
            for w in words
        ],
        "rows": rows.tolist(),
    }
    return Case(f"context-{n:02d}", given, {"words": floats(bm25), "coverage": floats(coverage)})


def _presence(n: int, rng: np.random.Generator) -> Case:
    given = {
        "cosine": round(float(rng.random()), 3),
        "coverage": round(float(rng.random()), 3),
        "cue": round(float(rng.normal(0, 2)), 3),
    }
    weights = {name: getattr(Ranking(), name) for name in WEIGHTS}
    return Case(
        f"presence-{n}",
        {"op": "presence", **given, "weights": weights},
        {"here": presence(Ranking(), *given.values())},
    )


def _judged(n: int, rng: np.random.Generator) -> Case:
    """Hits of one answer, which may be doubtful; shares down to 0 and up to the whole."""
    presence = (0.0, 0.3, 0.5, 0.93)[n % 4]
    scores = sorted((round(float(x), 4) for x in rng.normal(2, 4, (0, 1, 5, 12)[n // 4])), reverse=True)
    shares = np.exp(np.array(scores)) / max(float(np.exp(np.array(scores)).sum()), 1e-9)
    probabilities = [round(presence * float(share), 4) for share in shares]
    given = {"scores": scores, "probabilities": probabilities, "presence": presence}
    return Case(
        f"judged-{n:02d}", {"op": "judged", **given}, {"values": judged(scores, probabilities, presence)}
    )


def _reordered(n: int, rng: np.random.Generator) -> Case:
    """Random preferences, which may contain cycles, as only a damaged file does."""
    ranked = [int(row) for row in rng.permutation(12)[: 3 + n]]
    photos = [(int(a), int(b)) for a, b in rng.integers(0, 12, (n % 5, 2))]
    entities = [(int(a), int(b)) for a, b in rng.integers(0, 4, (n % 3, 2)) if a != b]
    linked = {row: sorted({int(e) for e in rng.integers(0, 4, 2)}) for row in ranked}
    pairs = [*photos, *between_photos(entities, {row: set(names) for row, names in linked.items()})]
    given = {
        "op": "reorder",
        "ranked": ranked,
        "photos": photos,
        "entities": entities,
        "linked": [[row, linked[row]] for row in ranked],
    }
    return Case(f"reorder-{n}", given, {"rows": reorder(ranked, pairs)})
