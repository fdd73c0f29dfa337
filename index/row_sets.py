"""Sets of row numbers, stored and compared as boolean masks over all rows.

numpy's own set operations hash, which takes 100 ms for 100,000 rows.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .records import RowArray


def marked(rows: RowArray, total: int) -> NDArray[np.bool_]:
    """bool [total], true at `rows`."""
    mask = np.zeros(total, np.bool_)
    mask[rows] = True
    return mask


def distinct(rows: RowArray, total: int) -> RowArray:
    """`rows` in ascending order without repeats. All must be below `total`."""
    return np.asarray(np.flatnonzero(marked(rows, total)), np.int64)


class RowSet:
    """A subset of an album's rows, as a bool mask [total] and as row numbers computed on first use."""

    def __init__(self, mask: NDArray[np.bool_]) -> None:
        self.mask = mask

    @classmethod
    def of(cls, rows: RowArray, total: int) -> RowSet:
        """`rows`: in any order and any number of times."""
        return cls(marked(rows, total))

    @cached_property
    def rows(self) -> RowArray:
        """int64, ascending."""
        return np.asarray(np.flatnonzero(self.mask), np.int64)

    @cached_property
    def _size(self) -> int:
        return int(np.count_nonzero(self.mask))

    def __len__(self) -> int:
        return self._size

    @property
    def is_full(self) -> bool:
        """Whether the set holds every row."""
        return self._size == self.mask.size

    def keep(self, rows: RowArray) -> RowArray:
        """The `rows` that are in the set, in the order given."""
        return rows if self.is_full else rows[self.mask[rows]]

    def without(self, gone: RowSet) -> RowSet:
        """This set minus the rows of `gone`."""
        return RowSet(self.mask & ~gone.mask) if len(gone) else self

    def among(self, others: RowSet) -> RowSet:
        """The rows of this set that are also in `others`."""
        return self if others.is_full else RowSet(self.mask & others.mask)
