"""Compute variances and standard deviations from exact sums, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt, nan
from typing import NamedTuple, TypeVar

import numpy as np

from elsinore.catalog.stream import AttributeType
from elsinore.executors.output.calculate import Longs, Values
from elsinore.executors.output.exact_states import ExactSums
from elsinore.numbers.exact_columns import Integers, from_python, to_python
from elsinore.query.bound import AggregateFunction

#: Bits of an integer whose root is rounded to a double.
_BITS = 128

Computed = TypeVar("Computed")


class Moments(NamedTuple):
    """The numbers of some values in R rows, their sums, and the sums of their squares.

    With `factor`, the values are these values divided by it.
    """

    counts: Integers
    sums: ExactSums
    squares: ExactSums
    factor: int = 1

    def dispersion(
        self, function: AggregateFunction, not_finite: np.ndarray | None = None
    ) -> Values:
        """Return a variance or its root, as doubles.

        Args:
            function: the function.
            not_finite: bool[R], the rows with a value that is NaN or infinite, which is not in the
                sums; None if there are none.
        """
        known, found = self._computed(function, _root if function.is_root else _quotient)
        values = np.array(found, np.float64)
        if not_finite is not None:
            values[not_finite] = nan
        return Values(AttributeType.DOUBLE, values, known)

    def lengths(self, function: AggregateFunction) -> Longs:
        """Return standard deviations as integers, rounded half to even."""
        known, found = self._computed(function, _nearest_root)
        return Longs(AttributeType.LONG, from_python(found), known)

    def _computed(
        self, function: AggregateFunction, compute: Callable[[int, int], Computed]
    ) -> tuple[np.ndarray, list[Computed]]:
        """Return which rows have enough values, and a function of each variance as a fraction.

        A variance is `(n * squares - sum**2) / (n * (n - 1))`, or `/ n**2`.
        """
        counts = to_python(self.counts).tolist()
        sums, squares = (to_python(each.integers).tolist() for each in (self.sums, self.squares))
        less, shift = int(function.is_of_sample), self.squares.scale - 2 * self.sums.scale
        scale = min(self.squares.scale, 2 * self.sums.scale)
        up, down = 1 << max(scale, 0), self.factor**2 << max(-scale, 0)
        found = []
        for count, total, square in zip(counts, sums, squares, strict=True):
            above = (count * square << max(shift, 0)) - (total * total << max(-shift, 0))
            found.append(compute(above * up, max(count * (count - less), 1) * down))
        known = np.array([count > less for count in counts], np.bool_)
        return known, found


def _quotient(above: int, below: int) -> float:
    """Return the double nearest to a quotient, neither negative."""
    try:
        return above / below
    except OverflowError:
        return float("inf")


def _root(above: int, below: int) -> float:
    """Return the double nearest to the root of a quotient."""
    if not above:
        return 0.0
    shift = max(0, _BITS - above.bit_length() + below.bit_length() + 1) // 2 * 2
    scaled, rest = divmod(above << shift, below)
    whole = isqrt(scaled)
    # A last bit for the rest of the root makes the rounding right.
    is_more = bool(rest) or whole * whole != scaled
    return _quotient(2 * whole + is_more, 1 << (shift // 2 + 1))


def _nearest_root(above: int, below: int) -> int:
    """Return the integer nearest to the root of a quotient, half to even."""
    whole = isqrt(above // below)
    distance = 4 * above - (2 * whole + 1) ** 2 * below
    return whole + (distance > 0 or (distance == 0 and whole % 2 == 1))
