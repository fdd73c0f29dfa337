"""Trains a query adapter: the query's side alone learns which of an album's photos a query means.

The contrastive loss of the GAMER paper (Eq. 3 and 4) with three differences. The photos' vectors stay as the
album has them, so that nothing is encoded again. The negatives are all photos of the user's album instead of
the other queries of a batch: a search ranks among these. And of several photos that a query means, each
counts the same. The text tower's own weights stay too; what learns is the adapter (models/query_adapter.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gamer.index.records import FloatArray, RowArray

from ..errors import ExportError

RANK, BATCH, TAU = 16, 32, 0.05
EPOCHS, RATE = 3, 4e-4
MAX_TOKENS = 128
WARMUP = 0.1  # share of the steps in which the rate rises
Tower = Callable[[Tensor, Tensor, Tensor], Tensor]  # input_ids, attention_mask, adapter → unit vectors
Reads = Callable[[Sequence[str], Tensor], Tensor]  # queries and an adapter → their vectors [Q, D]


@dataclass(frozen=True, eq=False)
class Library:
    """One user's photos and what they call some of them.

    `vectors`: float32 [V, D], of unit length, of the photos' memories; `owners`: int64 [V], each one's photo;
    `photos`: how many. `queries`: texts, each with the photos that it means.
    """

    vectors: FloatArray
    owners: RowArray
    photos: int
    queries: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Epoch:
    """`loss`: the mean of an epoch's batches, in nats."""

    epoch: int
    of: int
    loss: float


class Reader:
    """Reads queries by a text tower and its tokenizer (of the package tokenizers)."""

    def __init__(self, tower: Tower, tokenizer: Any, before: str = "") -> None:
        self._tower, self._tokenizer, self._before = tower, tokenizer, before

    def __call__(self, texts: Sequence[str], adapter: Tensor) -> Tensor:
        """v_Q float32 [len(texts), D]."""
        ids = [self._tokenizer.encode(self._before + text).ids[:MAX_TOKENS] for text in texts]
        rows = torch.zeros(2, len(ids), max(map(len, ids)), dtype=torch.int64)
        for n, row in enumerate(ids):
            rows[0, n, : len(row)], rows[1, n, : len(row)] = torch.tensor(row), 1
        return self._tower(rows[0], rows[1], adapter)

    def blended(self, sentence: str, share: float) -> Reads:
        """As a search without an adapter: `share` of the vector is that of a sentence with the text."""

        def read(texts: Sequence[str], adapter: Tensor) -> Tensor:
            sentences = [sentence.format(text.rstrip(" .?!")) for text in texts]
            return (1 - share) * self(texts, adapter) + share * self(sentences, adapter)

        return read


def train(
    reader: Reader,
    shape: tuple[int, ...],
    libraries: Sequence[Library],
    epochs: int = EPOCHS,
    rate: float = RATE,
    seed: int = 20,
    begin: FloatArray | None = None,
    report: Callable[[Epoch], None] = lambda epoch: None,
) -> FloatArray:
    """An adapter float32 of `shape` [layers, 2, rank, H], learned from all queries of `libraries`.

    `begin`: where it goes on from; None for one that changes nothing yet. Raises ExportError if there is no
    query, and for a loss that is not a number.
    """
    adapter, random = _begin(shape, seed, begin), np.random.default_rng(seed)
    if not any(library.queries for library in libraries):
        raise ExportError("no query to learn from: open photos that were found, or give --queries FILE")
    optimiser = torch.optim.AdamW([adapter], lr=rate, weight_decay=0.01)
    photos = [torch.from_numpy(library.vectors) for library in libraries]
    steps = epochs * sum(math.ceil(len(library.queries) / BATCH) for library in libraries)
    done = 0
    for epoch in range(epochs):
        losses = []
        for n, batch in _batches(libraries, random):
            optimiser.param_groups[0]["lr"] = (
                rate * min(1.0, (done / steps + 0.01) / WARMUP) * (1 - done / steps)
            )
            queries = [libraries[n].queries[i] for i in batch]
            loss = _loss(reader([text for text, _ in queries], adapter), photos[n], libraries[n], queries)
            if not math.isfinite(loss.item()):
                raise ExportError("the loss is not a number: nothing was written; try a smaller --rate")
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
            done += 1
        report(Epoch(epoch + 1, epochs, float(np.mean(losses))))
    return np.asarray(adapter.detach().numpy(), np.float32)


def recall(reader: Reads, adapter: FloatArray, library: Library, k: int = 5) -> float:
    """The mean share of a query's photos that are among the k nearest by cosine."""
    change, shares = torch.from_numpy(adapter), []
    for start in range(0, len(library.queries), BATCH):
        part = library.queries[start : start + BATCH]
        with torch.no_grad():
            scores = _scores(
                reader([text for text, _ in part], change), torch.from_numpy(library.vectors), library
            )
        best = scores.topk(min(k, library.photos), dim=1).indices.tolist()
        shares += [
            len(set(found) & set(meant)) / len(meant) for found, (_, meant) in zip(best, part, strict=True)
        ]
    return float(np.mean(shares))


def _begin(shape: tuple[int, ...], seed: int, begin: FloatArray | None) -> torch.nn.Parameter:
    if begin is not None:
        return torch.nn.Parameter(torch.from_numpy(begin.copy()))
    # The second factor is zero, so that the first step starts from the tower as it is.
    values = torch.zeros(shape)
    values[:, 0] = (
        torch.randn(shape[0], *shape[2:], generator=torch.Generator().manual_seed(seed)) / shape[3] ** 0.5
    )
    return torch.nn.Parameter(values)


def _batches(
    libraries: Sequence[Library], random: np.random.Generator
) -> list[tuple[int, np.ndarray[Any, np.dtype[np.intp]]]]:
    """(library, its queries) of each batch of an epoch, in random order; a batch is of one library."""
    batches = [
        (n, part)
        for n, library in enumerate(libraries)
        if library.queries
        for part in np.array_split(
            random.permutation(len(library.queries)), math.ceil(len(library.queries) / BATCH)
        )
    ]
    return [batches[n] for n in random.permutation(len(batches))]


def _loss(
    asked: Tensor, vectors: Tensor, library: Library, queries: Sequence[tuple[str, tuple[int, ...]]]
) -> Tensor:
    scores = _scores(asked, vectors, library) / TAU
    wanted = torch.zeros_like(scores)
    for n, (_, meant) in enumerate(queries):
        wanted[n, list(meant)] = 1 / len(meant)
    return -(wanted * scores.log_softmax(1)).sum(1).mean()


def _scores(asked: Tensor, vectors: Tensor, library: Library) -> Tensor:
    """[Q, photos]: the best cosine of each photo's vectors; -1 for a photo without one."""
    owners = torch.from_numpy(library.owners)[None].expand(len(asked), -1)
    nothing = torch.full((len(asked), library.photos), -1.0)
    return nothing.scatter_reduce(1, owners, asked @ vectors.T, "amax")
