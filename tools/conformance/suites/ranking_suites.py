"""Suite `ranking`: features of photos → scores, order and probabilities; also preferences."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import numpy as np

from gamer.index.album.layers.lexical import Word, WordScores
from gamer.index.album.preferences import between_photos, reorder
from gamer.index.records import UNKNOWN_TIME
from gamer.runtime.bundle.manifest import Ranking
from gamer.runtime.search.confidence import judged
from gamer.runtime.search.hits import likelihoods, presence
from gamer.runtime.search.stages.ranking import Clue, Conversations, context, evidence, weighted
from gamer.runtime.search.stages.unknown import Evidence, expected
from tools.conformance.fixture import Answers, Given, floats, vector


def ranking(shared: Given, folder: Path, stack: ExitStack) -> Answers:
    del shared, folder, stack
    return {
        "rank": _rank,
        "evidence": _evidence,
        "unknown": lambda given: {"values": floats(expected(_known(given["of"]), _known(given["among"])))},
        "context": _context,
        "presence": lambda given: {
            "here": presence(Ranking(**given["weights"]), given["cosine"], given["coverage"], given["cue"])
        },
        "judged": lambda given: {
            "values": judged(given["scores"], given["probabilities"], given["presence"])
        },
        "reorder": _reorder,
    }


def _rank(given: Given) -> Given:
    features = {name: vector(values) for name, values in given["features"].items()}
    parts = weighted(features, Ranking(**given["weights"]))
    total = np.sum(list(parts.values()), axis=0)
    return {
        "order": np.argsort(-total, kind="stable")[: given["k"]].tolist(),
        "scores": floats(total),
        "probabilities": floats(likelihoods(parts)),
    }


def _known(given: Given) -> Evidence:
    parts = {name: vector(values) for name, values in given["parts"].items()}
    return Evidence(parts, np.array(given["told"], bool), np.array(given["seen"], bool))


def _evidence(given: Given) -> Given:
    clues = [
        Clue(np.array(clue["known"], bool), np.array(clue["inside"], bool), clue["trust"])
        for clue in given["clues"]
    ]
    return {"values": floats(evidence(clues, np.array(given["rows"], np.int64)))}


def _context(given: Given) -> Given:
    times = np.array([UNKNOWN_TIME if time is None else time for time in given["times"]], np.int64)
    words = tuple(
        Word(word["text"], np.array(word["rows"], np.int64), vector(word["bm25"]), word["rarity"])
        for word in given["words"]
    )
    talk = Conversations(times, np.array(given["said"], bool))
    rows = np.array(given["rows"], np.int64)
    bm25, coverage = context(WordScores(words, len(times)), talk, rows)
    return {"words": floats(bm25), "coverage": floats(coverage)}


def _reorder(given: Given) -> Given:
    """The preferences may contain cycles, as only a damaged file does."""
    linked = {row: set(entities) for row, entities in given["linked"]}
    photos, entities = ([(a, b) for a, b in given[name]] for name in ("photos", "entities"))
    return {"rows": reorder(given["ranked"], [*photos, *between_photos(entities, linked)])}
