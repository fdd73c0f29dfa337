"""Training of query adapters: on a tower that is an average of tokens, beside a plain reference."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the export extra")
from gamer.export.errors import ExportError
from gamer.export.training import queries
from gamer.export.training.queries import Library, Reader

WIDTH, WORDS = 8, 20
SHAPE = (1, 2, 4, WIDTH)
TABLE = torch.randn(WORDS, WIDTH, generator=torch.Generator().manual_seed(3))


def tower(ids: Any, mask: Any, adapter: Any) -> Any:
    x = (TABLE[ids] * mask[..., None]).sum(1)
    return torch.nn.functional.normalize(x + (x @ adapter[0, 0].T) @ adapter[0, 1], dim=-1)


TOKENIZER = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=[int(word) for word in text.split()]))
READER = Reader(tower, TOKENIZER)
NOTHING = np.zeros(SHAPE, np.float32)


def library(count: int = 12) -> Library:
    """Each query is a word; the photo that it means has the vector of the next word."""
    vectors = torch.nn.functional.normalize(TABLE, dim=-1).numpy()
    asked = tuple((str(n), ((n + 1) % WORDS,)) for n in range(count))
    return Library(vectors, np.arange(WORDS), WORDS, asked)


def test_queries_that_were_learned_are_found_and_were_not_before() -> None:
    losses: list[float] = []
    adapter = queries.train(
        READER, SHAPE, [library()], epochs=60, rate=0.05, report=lambda epoch: losses.append(epoch.loss)
    )
    before, after = (queries.recall(READER, one, library(), 1) for one in (NOTHING, adapter))
    assert before == 0.0
    assert after > 0.5
    assert losses[-1] < losses[0]
    assert adapter.dtype == np.float32
    assert adapter.shape == SHAPE


def test_the_same_seed_gives_the_same_adapter_and_training_may_go_on() -> None:
    first, again = (queries.train(READER, SHAPE, [library()], epochs=2, seed=7) for _ in range(2))
    assert np.array_equal(first, again)
    further = queries.train(READER, SHAPE, [library()], epochs=2, seed=7, begin=first)
    assert not np.array_equal(first, further)
    kept = first.copy()
    queries.train(READER, SHAPE, [library()], epochs=1, begin=first)
    assert np.array_equal(first, kept)


def test_the_loss_is_that_of_a_plain_reference() -> None:
    """Eq. 3 with the whole album as negatives, written for one query after the other."""
    photos = Library(library().vectors, np.arange(WORDS) // 2, WORDS // 2, (("3", (1, 4)), ("5", (0,))))
    asked = READER(["3", "5"], torch.from_numpy(NOTHING))
    got = queries._loss(asked, torch.from_numpy(photos.vectors), photos, photos.queries).item()
    losses = []
    for row, (_, meant) in zip(asked.numpy(), photos.queries, strict=True):
        cosines = photos.vectors @ row
        best = np.array([cosines[photos.owners == n].max() for n in range(photos.photos)]) / queries.TAU
        every = np.log(np.exp(best).sum())
        losses.append(np.mean([every - best[n] for n in meant]))
    assert got == pytest.approx(np.mean(losses), rel=1e-5)


def test_a_photo_without_a_vector_is_the_last_of_all() -> None:
    photos = Library(library().vectors[:4], np.array([0, 1, 2, 3]), 5, (("1", (4,)),))
    assert queries.recall(READER, NOTHING, photos, 4) == 0.0
    assert queries.recall(READER, NOTHING, photos, 5) == 1.0


def test_nothing_to_learn_from_and_a_loss_that_is_no_number_are_said() -> None:
    with pytest.raises(ExportError, match="no query to learn from"):
        queries.train(READER, SHAPE, [library(0)])
    with pytest.raises(ExportError, match="not a number"):
        queries.train(READER, SHAPE, [library()], begin=np.full(SHAPE, np.nan, np.float32))


def test_the_blend_is_that_of_a_search_without_an_adapter() -> None:
    blended = READER.blended("{} 2", 0.25)(["1"], torch.from_numpy(NOTHING))
    plain, sentence = (READER([text], torch.from_numpy(NOTHING)) for text in ("1", "1 2"))
    assert torch.allclose(blended, 0.75 * plain + 0.25 * sentence)
