"""The memory's bench on small made data: it tells apart what is found and what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gamer.bench.memory import changes, evidence, fit, growth
from gamer.index.records import FloatArray
from gamer.runtime.memory.recall import FEATURES, Encoder
from tests.bench.retrieval.data_sets import write_rows
from tests.fakes import unit


def _encode(text: str) -> FloatArray:
    return unit(text.encode()[:64])


ENCODER = Encoder("fake", _encode, _encode)


def test_evidence_is_found_by_words_and_counted_at_equal_numbers(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        said = [
            f"The {word} stood by the old mill today." for word in ("zebra", "tractor", "piano", "kettle")
        ]
        write_rows(
            tmp_path / f"{name}.corpus.jsonl.gz",
            [
                {
                    "id": f"{name}{n}",
                    "timestamp": "2024-01-01T10:00:00",
                    "speaker": name,
                    "text": f"{name}: {text}",
                }
                for n, text in enumerate(said)
            ],
        )
        write_rows(
            tmp_path / f"{name}.queries.jsonl.gz",
            [{"query": "Where was the zebra?", "relevant": [f"{name}0"], "category": "single-hop"}],
        )
    result = evidence.measure(tmp_path, ENCODER, lambda text: None)
    assert result.questions == {"single-hop": 2, "all": 2}
    assert result.items > 0
    assert result.found[evidence.OURS]["all"] == result.found["bm25-window"]["all"] == 1.0
    left = [result.found[name]["all"] for name in evidence.WITHOUT]
    assert max(left) == 1.0 > min(left)  # one sentence each: nothing makes an episode of them


def test_the_fit_prefers_the_feature_that_tells(tmp_path: Path) -> None:
    features = np.zeros((5, len(FEATURES)))
    features[2, 0] = features[3, 1] = 1.0
    weights = fit.fit([fit.Choice("a", features, np.eye(5)[2])])
    assert weights[0] > 1
    assert weights[1] < 0.5


def test_changes_of_mind_are_followed() -> None:
    result = changes.measure(lambda text: None, 3)
    assert result.now["all"] == 1.0
    assert result.before["all"] == 1.0
    assert result.invented == 0


def test_growth_reports_every_size() -> None:
    (grown,) = growth.measure(lambda text: None, {1: 40}, 3)
    assert grown.turns == 40
    assert grown.mb > 0
    assert min(*grown.retrieval_ms, *grown.update_ms) > 0
