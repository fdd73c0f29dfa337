"""B³ of a grouping against people who are known: for each face, how pure and how whole its group is."""

from __future__ import annotations

from dataclasses import dataclass

from gamer.index.records import RowArray


@dataclass(frozen=True)
class GroupScores:
    """All 0..1. `precision`: the mean share of a face's group that is of its person; `recall`: the mean share
    of a face's person that is in its group.
    """

    precision: float
    recall: float
    f1: float


def b_cubed(groups: RowArray, people: RowArray) -> GroupScores:
    """`groups`, `people`: int64 [n], the group and the person of each face; n ≥ 1."""
    together, same = groups[:, None] == groups, people[:, None] == people
    both = (together & same).sum(1)
    precision, recall = float((both / together.sum(1)).mean()), float((both / same.sum(1)).mean())
    return GroupScores(precision, recall, 2 * precision * recall / (precision + recall))
