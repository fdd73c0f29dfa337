"""Groups faces into people by the distances of their vectors. It knows neither names nor photos.

Two groups become one if the mean squared distance between their faces is small enough (average linkage). For
squared distances the mean follows from the groups' centres and spreads, so that no table of all pairs is
needed. Only faces that are near each other are tried, the nearest first. The result depends on the faces and
their order alone.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ..records import FloatArray, RowArray

# Faces of one person are less than 0.6 apart, as dlib's encoder was trained; of a group the root of the mean
# squared distance counts. Below that 0.6, since a large album has more people who look alike;
# `gamer bench study people` shows what other thresholds give.
THRESHOLD = 0.55
NEIGHBOURS = 16  # of a face, of which any may be the same person
_DISTANCES = 1 << 24  # that are held at once
_ROUNDS = 4


def group(
    vectors: FloatArray,
    persons: RowArray,
    fresh: RowArray,
    held: Collection[int] = (),
    threshold: float = THRESHOLD,
) -> RowArray:
    """The person of each face, int64 [n], after the groups that are near enough have become one.

    `vectors`: float32 [n, d]. `persons`: int64 [n], who they were until now; a face that nobody knows is a
    person of its own. `fresh`: positions of the faces that are new; groups without any stay apart. `held`:
    people of whom no two become one. Of two people a held one stays, else the one with the lower number.
    """
    if not len(fresh):
        return persons
    groups = _Groups(vectors, persons, held, threshold)
    faces = _near(vectors, fresh, threshold)
    for _ in range(_ROUNDS):
        joined = groups.join(faces)
        roots = groups.roots()
        centres = groups.centres[roots]
        new = np.unique(np.searchsorted(roots, groups.of(fresh)))
        near = _near(centres, new, threshold)
        joined += groups.join((groups.first[roots[near[0]]], groups.first[roots[near[1]]]))
        if not joined:
            break
    return groups.persons[groups.of(np.arange(len(persons)))]


def _near(vectors: FloatArray, rows: RowArray, threshold: float) -> tuple[RowArray, RowArray]:
    """(rows, others): pairs of each row with its nearest other vectors, the nearest pairs first.

    Pairs beyond the threshold are left out: groups whose mean is below it have a nearer pair.
    """
    count = min(NEIGHBOURS, len(vectors) - 1)
    if count < 1:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    squares = (vectors * vectors).sum(1)
    found, lengths = [], []
    size = max(1, min(1024, _DISTANCES // len(vectors)))
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        apart = squares[block, None] + squares - 2 * (vectors[block] @ vectors.T)
        apart[np.arange(len(block)), block] = np.inf
        nearest = np.argpartition(apart, count - 1, axis=1)[:, :count]
        found.append(nearest)
        lengths.append(np.take_along_axis(apart, nearest, 1))
    apart = np.concatenate(lengths).ravel()
    order = np.argsort(apart, kind="stable")[: np.count_nonzero(apart <= threshold**2)]
    return np.repeat(rows, count)[order], np.concatenate(found).ravel()[order].astype(np.int64)


class _Groups:
    """Groups of faces, which join; a group is known by its index among the people that there were first."""

    def __init__(
        self, vectors: FloatArray, persons: RowArray, held: Collection[int], threshold: float
    ) -> None:
        self.persons, self.first, self._group, counts = np.unique(
            persons, return_index=True, return_inverse=True, return_counts=True
        )
        self._counts = counts.astype(np.float64)
        sums = np.zeros((len(counts), vectors.shape[1]))
        np.add.at(sums, self._group, vectors)
        self.centres = (sums / self._counts[:, None]).astype(np.float32)
        rest = ((vectors - self.centres[self._group]) ** 2).sum(1)
        self._spread = np.bincount(self._group, rest) / self._counts
        self._held = np.isin(self.persons, list(held))
        self._parent = np.arange(len(counts))
        self._limit = threshold**2

    def join(self, pairs: tuple[RowArray, RowArray]) -> int:
        """Joins the groups of pairs of faces, in their order, where they are near enough; how many."""
        joined, (one_of, other_of) = 0, (self.of(faces) for faces in pairs)
        apart = one_of != other_of
        for one, other in zip(one_of[apart].tolist(), other_of[apart].tolist(), strict=True):
            a, b = self._root(one), self._root(other)
            if a != b and self._are_one(a, b):
                self._join(a, b)
                joined += 1
        return joined

    def of(self, faces: RowArray) -> RowArray:
        """The group of each face."""
        while not np.array_equal(self._parent, nearer := self._parent[self._parent]):
            self._parent = nearer
        return np.asarray(self._parent[self._group[faces]], np.int64)

    def roots(self) -> RowArray:
        return np.flatnonzero(self._parent == np.arange(len(self._parent)))

    def _root(self, group: int) -> int:
        parent = self._parent
        while parent[group] != group:
            parent[group] = parent[parent[group]]
            group = int(parent[group])
        return group

    def _are_one(self, a: int, b: int) -> bool:
        if self._held[a] and self._held[b]:
            return False
        apart = self.centres[a] - self.centres[b]
        return float(apart @ apart + self._spread[a] + self._spread[b]) <= self._limit

    def _join(self, a: int, b: int) -> None:
        stays, goes = (a, b) if (not self._held[a], a) < (not self._held[b], b) else (b, a)
        m, n = self._counts[stays], self._counts[goes]
        apart = self.centres[stays] - self.centres[goes]
        between = float(apart @ apart) * m * n / (m + n) ** 2
        self._spread[stays] = (m * self._spread[stays] + n * self._spread[goes]) / (m + n) + between
        self.centres[stays] = (m * self.centres[stays] + n * self.centres[goes]) / (m + n)
        self._counts[stays] = m + n
        self._held[stays] |= self._held[goes]
        self._parent[goes] = stays
