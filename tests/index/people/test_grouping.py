"""Faces grouped by the distances of their vectors, on made-up people."""

from __future__ import annotations

import numpy as np
import pytest

from gamer.index.people.grouping import THRESHOLD, group
from gamer.index.records import FloatArray, RowArray


def faces(people: int, each: int, apart: float = 1.0, noise: float = 0.3) -> tuple[FloatArray, RowArray]:
    """Vectors [people · each, 128] and whose they are; two of a person are noise · √2 apart."""
    rng = np.random.default_rng(20)
    centres = rng.standard_normal((people, 128)) * apart / 16
    spread = rng.standard_normal((people * each, 128)) * noise / np.sqrt(128)
    who = np.repeat(np.arange(people), each)
    return (centres[who] + spread).astype(np.float32), who


def everyone(count: int) -> tuple[RowArray, RowArray]:
    return np.arange(1, count + 1), np.arange(count)


def same(groups: RowArray, who: RowArray) -> bool:
    """Whether the groups are the people."""
    return len(set(zip(groups.tolist(), who.tolist(), strict=True))) == len(set(groups)) == len(set(who))


def test_faces_are_grouped_by_person() -> None:
    vectors, who = faces(20, 15, apart=1.5)
    groups = group(vectors, *everyone(len(who)))
    assert same(groups, who)
    assert [groups[who == person].min() for person in range(20)] == list(
        range(1, 301, 15)
    )  # the lowest stays


def test_the_mean_of_all_pairs_decides_and_not_a_chain() -> None:
    """Faces in a row, each near the next: the ends are of different people."""
    vectors = np.zeros((30, 128), np.float32)
    vectors[:, 0] = np.arange(30) * 0.2
    groups = group(vectors, *everyone(30))
    for one in set(groups.tolist()):
        own = vectors[groups == one, 0]
        apart = (own[:, None] - own) ** 2
        assert len(own) == 1 or apart.mean() <= THRESHOLD**2
    assert len(set(groups.tolist())) > 5


def test_new_faces_join_those_who_are_there() -> None:
    vectors, who = faces(4, 10, apart=1.5)
    old = np.array([0, 1, 2, 3])[who] + 7
    persons, fresh = old.copy(), np.arange(5, 40, 10)
    persons[fresh] = [100, 101, 102, 103]
    assert np.array_equal(group(vectors, persons, fresh), old)


def test_without_new_faces_nothing_changes() -> None:
    vectors, _ = faces(2, 3)
    persons = np.arange(1, 7)
    assert np.array_equal(group(vectors, persons, np.zeros(0, np.int64)), persons)


@pytest.mark.parametrize("held", [(), (2,), (1, 2)])
def test_those_whom_the_owner_named_stay(held: tuple[int, ...]) -> None:
    vectors, _ = faces(1, 6, noise=0.1)
    persons = np.array([1, 1, 2, 2, 3, 4])
    groups = group(vectors, persons, np.arange(6), held)
    if held == (1, 2):
        assert groups[:4].tolist() == [1, 1, 2, 2]
        assert set(groups[4:].tolist()) <= {1, 2}
    else:
        assert set(groups.tolist()) == {held[0] if held else 1}


def test_one_face_and_none() -> None:
    vectors, _ = faces(1, 1)
    assert group(vectors, np.array([3]), np.array([0])).tolist() == [3]
    assert group(vectors[:0], np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_a_large_album_is_grouped_too() -> None:
    vectors, who = faces(200, 10, apart=1.5)
    assert same(group(vectors, *everyone(len(who))), who)
