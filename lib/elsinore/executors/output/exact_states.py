"""Columns of the states of aggregates whose integers have any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from elsinore.numbers.exact_columns import (
    Integers,
    from_python,
    repeated,
    shifted_left,
    sum_segments,
    to_python,
)


@dataclass(frozen=True, eq=False)
class ExactSums:
    """R exact sums; a value is `integer * 2**scale`."""

    integers: Integers
    scale: int

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[Integers, int, int]], size: int) -> Self:
        """Return sums, given their parts.

        Args:
            parts: integers, each with a factor, and with a power of two by which they are
                multiplied.
            size: number of rows.
        """
        scale = min((shift for _, _, shift in parts), default=0)
        total = Integers(np.zeros(size, np.int64))
        for integers, factor, shift in parts:
            own = integers if factor == 1 else integers.times(repeated(factor, size))
            total = total.plus(shifted_left(own, shift - scale))
        return cls(total, scale)

    @classmethod
    def of_scales(cls, integers: Integers, scales: np.ndarray) -> Self:
        """Return a column of rows that have scales of their own.

        Args:
            integers: R rows.
            scales: int64[R].
        """
        distinct = np.unique(scales).tolist()
        if len(distinct) < 2:
            return cls(integers, distinct[0] if distinct else 0)
        rows = [np.flatnonzero(scales == scale) for scale in distinct]
        parts = [cls(integers.take(own), scale) for own, scale in zip(rows, distinct, strict=True)]
        order = np.empty(len(integers), np.int64)
        order[np.concatenate(rows)] = np.arange(len(integers))
        return cls.joined(parts).take(order)

    def __len__(self) -> int:
        return len(self.integers)

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        return type(self)(self.integers.take(rows), self.scale)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        scale = min(part.scale for part in parts)
        return cls(Integers.joined([part._at(scale) for part in parts]), scale)

    def zero(self, size: int) -> Self:
        """Return a column of `size` zeros."""
        return type(self)(self.integers.zero(size), self.scale)

    def merged(self, begins: np.ndarray) -> Self:
        """Return the sum of each segment, see `StateColumn.merged`."""
        return type(self)(sum_segments(self.integers, begins), self.scale)

    def plus(self, other: ExactSums) -> Self:
        """Return the sums of both columns, row by row."""
        scale = min(self.scale, other.scale)
        return type(self)(self._at(scale).plus(other._at(scale)), scale)

    def times(self, counts: Integers) -> Self:
        """Return the products with counts, row by row."""
        return type(self)(self.integers.times(counts), self.scale)

    def whole(self) -> Integers:
        """Return the sums, which are integers."""
        assert self.scale >= 0, self.scale
        return self._at(0)

    def _at(self, scale: int) -> Integers:
        """Return the integers for a scale that is not larger."""
        return shifted_left(self.integers, self.scale - scale)


@dataclass(frozen=True, eq=False)
class IntegerExtremes:
    """R minima or maxima of integers of any size; unknown if no event has a value."""

    integers: Integers  #: 0 if unknown
    known: np.ndarray  #: bool[R]
    largest: bool  #: whether these are maxima

    @classmethod
    def from_ranks(cls, ranks: np.ndarray, distinct: np.ndarray, *, largest: bool) -> Self:
        """Return the values of ranks.

        Args:
            ranks: int64[R], not negative. Ranks beyond `distinct` represent unknown values.
            distinct: int64[D], or object[D] of Python's integers, the value of each rank.
            largest: whether these are maxima.
        """
        known = ranks < distinct.size
        values = from_python([*distinct.tolist(), 0])
        return cls(values.take(np.where(known, ranks, distinct.size)), known, largest)

    def __len__(self) -> int:
        return self.known.size

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        return type(self)(self.integers.take(rows), self.known[rows], self.largest)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        return cls(
            Integers.joined([part.integers for part in parts]),
            np.concatenate([part.known for part in parts]),
            parts[0].largest,
        )

    def zero(self, size: int) -> Self:
        """Return a column of `size` unknown values."""
        return type(self)(self.integers.zero(size), np.zeros(size, np.bool_), self.largest)

    def merged(self, begins: np.ndarray) -> Self:
        """Return the extreme of each segment, see `StateColumn.merged`."""
        if begins.size == len(self):
            return self
        ranks, distinct = self._ranks()
        best = np.minimum.reduceat(ranks, begins)
        return self.from_ranks(best, distinct, largest=self.largest)

    def plus(self, other: IntegerExtremes) -> Self:
        """Return the extremes of both columns, row by row."""
        both = self.joined([self, type(self)(other.integers, other.known, self.largest)])
        ranks, distinct = both._ranks()
        best = np.minimum(ranks[: len(self)], ranks[len(self) :])
        return self.from_ranks(best, distinct, largest=self.largest)

    def times(self, counts: Integers) -> Self:
        """Return the same extremes, unknown if the count is 0."""
        known = self.known & counts.nonzero
        rows = np.where(known, np.arange(known.size), known.size)
        values = Integers.joined([self.integers, self.integers.zero(1)])
        return type(self)(values.take(rows), known, self.largest)

    def _ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """Return int64[R], a smaller one for a more extreme value, and the value of each rank."""
        distinct, ranks = np.unique(to_python(self.integers), return_inverse=True)
        if self.largest:
            distinct, ranks = distinct[::-1], distinct.size - 1 - ranks
        return np.where(self.known, ranks, distinct.size), distinct
