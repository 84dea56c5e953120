"""Columns of the states of aggregates: one value per row for one accumulator.

Every kind of column has the same operations, with the same laws. `plus` is associative and
commutative, and `zero` is its identity. `merged` adds up rows as `plus` does. `times` distributes
over `plus`. Integers and extremes obey the laws exactly, doubles up to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, Self

import numpy as np

from elsinore.numbers.exact_columns import Integers, from_parts, to_scaled
from elsinore.numbers.two_parts import PART

#: In comparisons, 0 has this exponent, which is below all others.
_LOWEST = -(2**40)
#: Exponents beyond these make a double 0 or infinite, whatever the mantissa.
_FARTHEST = 10_000


class StateColumn(Protocol):
    """R values of one accumulator."""

    def __len__(self) -> int: ...

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""

    def zero(self, size: int) -> Self:
        """Return a column of `size` values over no trends."""

    def merged(self, begins: np.ndarray) -> Self:
        """Return one value per segment of consecutive rows, over the trends of all its rows.

        Args:
            begins: int64[S], the first row of each segment, ascending from 0.
        """

    def plus(self, other: Self) -> Self:
        """Return the values over the trends of either column, row by row."""

    def times(self, counts: Integers) -> Self:
        """Return the values if `counts` trends follow or precede each trend."""


@dataclass(frozen=True, eq=False)
class ScaledDoubles:
    """R sums of doubles; a value is `mantissa * 2**exponent`.

    Counts of trends reach 2**n, so a sum may exceed every double even if AVG does not. Use `of` to
    create a column: operations rely on its form, in which adding mantissas does not overflow.
    """

    mantissas: np.ndarray  #: float64[R], absolute values in [0.5, 1), or 0.0, or not finite
    exponents: np.ndarray  #: int64[R], 0 if the mantissa is 0 or not finite

    @classmethod
    def of(cls, mantissas: np.ndarray, exponents: np.ndarray) -> Self:
        """Return a column of any mantissas and exponents; -0.0 becomes 0.0."""
        fractions, shifts = np.frexp(mantissas + 0.0)
        has_exponent = np.isfinite(fractions) & (fractions != 0.0)
        return cls(fractions, np.where(has_exponent, exponents + shifts, 0))

    def __len__(self) -> int:
        return self.mantissas.size

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        return type(self)(self.mantissas[rows], self.exponents[rows])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        return cls(
            np.concatenate([part.mantissas for part in parts]),
            np.concatenate([part.exponents for part in parts]),
        )

    def zero(self, size: int) -> Self:
        """Return a column of `size` zeros."""
        return type(self)(np.zeros(size), np.zeros(size, np.int64))

    def merged(self, begins: np.ndarray) -> Self:
        """Return the sum of each segment, see `StateColumn.merged`.

        Terms are rounded to the last place of the largest one. A sum depends only on the rows of
        its segment and their order. Infinities of both signs make NaN.
        """
        if begins.size == len(self):
            return self
        own = self._magnitudes
        highest = np.maximum.reduceat(own, begins)
        sizes = np.diff(begins, append=len(self))
        terms = _below(self.mantissas, own - np.repeat(highest, sizes))
        with np.errstate(invalid="ignore"):
            return self.of(np.add.reduceat(terms, begins), highest)

    def plus(self, other: ScaledDoubles) -> Self:
        """Return the sums of both columns, row by row."""
        ours, theirs = self._magnitudes, other._magnitudes
        highest = np.maximum(ours, theirs)
        left = _below(self.mantissas, ours - highest)
        right = _below(other.mantissas, theirs - highest)
        with np.errstate(invalid="ignore"):  # infinities of both signs make NaN
            return self.of(left + right, highest)

    def times(self, counts: Integers) -> Self:
        """Return the products with counts, row by row.

        If the count is 0, the product is 0, even if the sum is not finite.
        """
        factors, shifts = to_scaled(counts)
        is_zero = factors == 0.0
        products = np.where(is_zero, 0.0, self.mantissas * np.where(is_zero, 1.0, factors))
        return self.of(products, self.exponents + shifts)

    def times_constant(self, factor: Fraction) -> Self:
        """Return the products with a constant."""
        mantissa, exponent = scaled_of(factor)
        with np.errstate(invalid="ignore"):  # 0 times infinity is NaN
            return self.of(self.mantissas * mantissa, self.exponents + exponent)

    def divided_by(self, counts: Integers) -> np.ndarray:
        """Return float64[R], the sums divided by counts.

        Args:
            counts: the divisors, not negative; a count of 0 divides as 1 does.
        """
        divisors, shifts = to_scaled(counts)
        return _doubles(self.mantissas / np.maximum(divisors, 1.0), self.exponents - shifts)

    def to_doubles(self) -> np.ndarray:
        """Return float64[R], the nearest doubles; infinite beyond the largest double."""
        return _doubles(self.mantissas, self.exponents)

    @property
    def _magnitudes(self) -> np.ndarray:
        """Return the exponents, and for 0 one below all others."""
        return np.where(self.mantissas == 0.0, _LOWEST, self.exponents)


def scaled_of(number: Fraction) -> tuple[float, int]:
    """Return a number as `mantissa * 2**exponent`, with a mantissa from 0.5 to 2, or 0."""
    exponent = number.numerator.bit_length() - number.denominator.bit_length()
    return float(number / Fraction(2) ** exponent), exponent


def _below(mantissas: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return mantissas times powers of two; distances are not positive."""
    return np.ldexp(mantissas, np.maximum(distances, -_FARTHEST).astype(np.int32))


def _doubles(mantissas: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.clip(exponents, -_FARTHEST, _FARTHEST).astype(np.int32)
        return np.ldexp(mantissas, nearest) + 0.0  # a negative sum can round to -0.0


@dataclass(frozen=True, eq=False)
class Extremes:
    """R minima or maxima, some of which are unknown because no event has a value.

    Use `of` or `from_ranks` to create a column: operations rely on the fillers of unknown values.
    """

    #: int64[R] or float64[R]; if unknown, the value that any other one replaces.
    values: np.ndarray
    known: np.ndarray  #: bool[R]
    largest: bool  #: whether these are maxima

    @classmethod
    def of(cls, values: np.ndarray, known: np.ndarray, *, largest: bool) -> Self:
        """Return a column; values that are not known are ignored, and -0.0 becomes 0.0.

        Args:
            values: int64[R] or float64[R].
            known: bool[R].
            largest: whether these are maxima.
        """
        is_double = values.dtype == np.float64
        filler = _filler(values.dtype, largest)
        return cls(np.where(known, values + 0.0 if is_double else values, filler), known, largest)

    @classmethod
    def from_ranks(cls, ranks: np.ndarray, distinct: np.ndarray, *, largest: bool) -> Self:
        """Return the values of ranks.

        Args:
            ranks: int64[R], not negative. Ranks beyond `distinct` represent unknown values.
            distinct: int64[D] or float64[D], the value of each rank.
            largest: whether these are maxima.
        """
        known = ranks < distinct.size
        values = np.zeros(ranks.size, distinct.dtype)
        values[known] = distinct[ranks[known]]
        return cls.of(values, known, largest=largest)

    def __len__(self) -> int:
        return self.values.size

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        return type(self)(self.values[rows], self.known[rows], self.largest)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column; all have the same type."""
        assert len({(part.values.dtype, part.largest) for part in parts}) == 1, parts
        return cls(
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.known for part in parts]),
            parts[0].largest,
        )

    def zero(self, size: int) -> Self:
        """Return a column of `size` unknown values of the same type."""
        values = np.zeros(size, self.values.dtype)
        return self.of(values, np.zeros(size, np.bool_), largest=self.largest)

    def merged(self, begins: np.ndarray) -> Self:
        """Return the extreme of each segment, see `StateColumn.merged`.

        The extreme is NaN only if the segment has no number.
        """
        if begins.size == len(self):
            return self
        values = self._choose.reduceat(self.values, begins)
        return type(self)(values, np.logical_or.reduceat(self.known, begins), self.largest)

    def plus(self, other: Extremes) -> Self:
        """Return the extremes of both columns, row by row."""
        values = self._choose(self.values, other.values)
        return type(self)(values, self.known | other.known, self.largest)

    def times(self, counts: Integers) -> Self:
        """Return the same extremes, unknown if the count is 0."""
        return self.of(self.values, self.known & counts.nonzero, largest=self.largest)

    @property
    def _choose(self) -> np.ufunc:
        """Return the function that chooses the extreme; for doubles, it prefers numbers to NaN."""
        if self.values.dtype == np.float64:
            return np.fmax if self.largest else np.fmin
        return np.maximum if self.largest else np.minimum


@dataclass(frozen=True, eq=False)
class WideExtremes:
    """R minima or maxima of integers in two parts (`numbers.two_parts`).

    Values are unknown if no trend has a value. Use `of` to create a column: operations rely on the
    fillers of unknown values.
    """

    firsts: np.ndarray  #: int64[R]; if unknown, a value that any other one replaces
    seconds: np.ndarray  #: int64[R], from 0 to `2**PART - 1`
    known: np.ndarray  #: bool[R]
    largest: bool  #: whether these are maxima

    @classmethod
    def of(
        cls, firsts: np.ndarray, seconds: np.ndarray, known: np.ndarray, *, largest: bool
    ) -> Self:
        """Return a column; values that are not known are ignored."""
        filler = _filler(firsts.dtype, largest)
        return cls(np.where(known, firsts, filler), np.where(known, seconds, 0), known, largest)

    def __len__(self) -> int:
        return self.firsts.size

    def take(self, rows: np.ndarray) -> Self:
        """Return some rows; `rows` is int64[N]."""
        return type(self)(self.firsts[rows], self.seconds[rows], self.known[rows], self.largest)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of one or more columns as one column."""
        return cls(
            np.concatenate([part.firsts for part in parts]),
            np.concatenate([part.seconds for part in parts]),
            np.concatenate([part.known for part in parts]),
            parts[0].largest,
        )

    def zero(self, size: int) -> Self:
        """Return a column of `size` unknown values."""
        nothing = np.zeros(size, np.int64)
        return self.of(nothing, nothing, np.zeros(size, np.bool_), largest=self.largest)

    def merged(self, begins: np.ndarray) -> Self:
        """Return the extreme of each segment, see `StateColumn.merged`."""
        if begins.size == len(self):
            return self
        choose = np.maximum if self.largest else np.minimum
        firsts = choose.reduceat(self.firsts, begins)
        is_best = self.firsts == np.repeat(firsts, np.diff(begins, append=len(self)))
        worst = -1 if self.largest else 2**PART
        seconds = choose.reduceat(np.where(is_best, self.seconds, worst), begins)
        known = np.logical_or.reduceat(self.known, begins)
        return type(self)(firsts, seconds, known, self.largest)

    def plus(self, other: WideExtremes) -> Self:
        """Return the extremes of both columns, row by row."""
        is_more = (self.firsts > other.firsts) | (
            (self.firsts == other.firsts) & (self.seconds > other.seconds)
        )
        is_ours = is_more == self.largest
        return type(self)(
            np.where(is_ours, self.firsts, other.firsts),
            np.where(is_ours, self.seconds, other.seconds),
            self.known | other.known,
            self.largest,
        )

    def times(self, counts: Integers) -> Self:
        """Return the same extremes, unknown if the count is 0."""
        known = self.known & counts.nonzero
        return self.of(self.firsts, self.seconds, known, largest=self.largest)

    def to_integers(self) -> Integers:
        """Return the values; unknown ones are 0."""
        return from_parts(np.where(self.known, self.firsts, 0), self.seconds)


def _filler(kind: np.dtype, largest: bool) -> float:
    """Return the value of a type that any other one replaces."""
    if kind == np.float64:
        return np.nan
    bounds = np.iinfo(np.int64)
    return bounds.min if largest else bounds.max
