"""Columns of lists of values, of which percentiles are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np

from elsinore.numbers.exact_columns import Integers

#: Sums of two integers below this are exact as doubles.
_EXACT = 2**52


@dataclass(frozen=True, eq=False)
class ValueLists:
    """R lists of the values of participating events, in any order; NULL is left out."""

    offsets: np.ndarray  #: int64[R + 1], where the list of each row begins
    values: np.ndarray  #: int64[*] or float64[*]

    @classmethod
    def of(cls, rows: np.ndarray, values: np.ndarray, size: int) -> Self:
        """Return the lists of `size` rows.

        Args:
            rows: int64[N], the row of each value.
            values: int64[N] or float64[N].
            size: number of rows.
        """
        order = np.argsort(rows, kind="stable")
        return cls(np.append(0, np.cumsum(np.bincount(rows, minlength=size))), values[order])

    @classmethod
    def none_of(cls, size: int, *, doubles: bool) -> Self:
        """Return `size` lists without values."""
        values = np.empty(0, np.float64 if doubles else np.int64)
        return cls(np.zeros(size + 1, np.int64), values)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def sizes(self) -> np.ndarray:
        """Return int64[R], the number of values of each row."""
        return np.diff(self.offsets)

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        sizes = self.sizes[rows]
        offsets = np.append(0, np.cumsum(sizes))
        shifts = np.repeat(self.offsets[:-1][rows] - offsets[:-1], sizes)
        return type(self)(offsets, self.values[np.arange(offsets[-1]) + shifts])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        sizes = np.concatenate([part.sizes for part in parts])
        values = np.concatenate([part.values for part in parts])
        return cls(np.append(0, np.cumsum(sizes)), values)

    def zero(self, size: int) -> Self:
        """Return `size` lists without values."""
        return type(self)(np.zeros(size + 1, np.int64), self.values[:0])

    def merged(self, begins: np.ndarray) -> Self:
        """Return one list per segment of consecutive rows, see `StateColumn.merged`.

        No event is in two tasks, and no event of a task is in two lists of a row.
        """
        return type(self)(np.append(self.offsets[begins], self.offsets[-1]), self.values)

    def plus(self, other: Self) -> Self:
        """Return the values of both columns, row by row."""
        rows = np.arange(len(self))
        both = np.concatenate([np.repeat(rows, self.sizes), np.repeat(rows, other.sizes)])
        return self.of(both, np.concatenate([self.values, other.values]), len(self))

    def times(self, counts: Integers) -> Self:
        """Raise an error: an event counts once, however many trends contain it."""
        raise AssertionError("values of participating events are not multiplied")

    # ---- percentiles

    def percentiles(self, share: Fraction) -> tuple[np.ndarray, np.ndarray]:
        """Return the discrete percentiles.

        The rank is the least integer that is at least `share` times the number of values, and at
        least 1. NaN ranks above every number.

        Returns:
            int64[R] or float64[R] (0 without a value), and bool[R], whether there is a value.
        """
        sizes, inverse = np.unique(self.sizes, return_inverse=True)
        # Integers of any size: a share can have 15 digits, and a list millions of values.
        ranks = [max(1, -(-share.numerator * n // share.denominator)) for n in sizes.tolist()]
        return self._ranked(np.array(ranks, np.int64)[inverse])

    def medians(self) -> tuple[np.ndarray, np.ndarray]:
        """Return float64[R], the means of the two middle values, and bool[R], whether they exist.

        A mean is the double nearest to the exact mean.
        """
        sizes = self.sizes
        lower, known = self._ranked(np.maximum((sizes + 1) // 2, 1))
        upper, _ = self._ranked(np.maximum(sizes // 2 + 1, 1))
        if self.values.dtype == np.float64:
            with np.errstate(over="ignore", invalid="ignore"):  # infinities of both signs: NaN
                sums = lower + upper
                # Halves of doubles whose sum overflows are exact.
                halves = np.where(np.isinf(sums), lower / 2 + upper / 2, sums / 2)
            return halves + 0.0, known
        means = (lower.astype(np.float64) + upper.astype(np.float64)) / 2
        large = (np.abs(lower) >= _EXACT) | (np.abs(upper) >= _EXACT) | (lower == -(2**63))
        for row in np.flatnonzero(large).tolist():
            means[row] = float(Fraction(int(lower[row]) + int(upper[row]), 2))
        return means, known

    def _ranked(self, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the values of some ranks from 1, and whether the row has values."""
        known = self.sizes > 0
        found = np.zeros(len(self), self.values.dtype)
        places = self.offsets[:-1][known] + ranks[known] - 1
        found[known] = self._ascending[places]
        return found, known

    @property
    def _ascending(self) -> np.ndarray:
        """Return the values in ascending order in each row; NaN comes last."""
        rows = np.repeat(np.arange(len(self)), self.sizes)
        return self.values[np.lexsort((self.values, rows))]
