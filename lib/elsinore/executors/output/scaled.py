"""Doubles with an exponent of their own: sums weighted by counts that no double can hold.

A value is `mantissa * 2**exponent`. Counts of trends reach 2^n, so SUM may exceed every double
while AVG = SUM / COUNT is an ordinary number (spec section 1, exactness).
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scaled:
    """`mantissa * 2**exponent`; an infinite or NaN mantissa keeps its meaning."""

    mantissa: float
    exponent: int = 0

    def __add__(self, other: Scaled) -> Scaled:
        """Return the sum, rounded to the 53 bits of the larger term.

        >>> Scaled(1.0, 2000) + Scaled(1.0, 2000)
        Scaled(mantissa=1.0, exponent=2001)
        """
        if not math.isfinite(self.mantissa) or not math.isfinite(other.mantissa):
            return Scaled(self.mantissa + other.mantissa)
        if not self.mantissa or not other.mantissa:
            return self if self.mantissa else other
        top = max(self._magnitude, other._magnitude)
        total = self._below(top) + other._below(top)
        return Scaled(total, top).normal()

    @property
    def _magnitude(self) -> int:
        return math.frexp(self.mantissa)[1] + self.exponent

    def _below(self, top: int) -> float:
        return math.ldexp(self.mantissa, max(self.exponent - top, -2200))

    def normal(self) -> Scaled:
        """Return the same value with a mantissa in [1, 2) (or 0)."""
        if not self.mantissa or not math.isfinite(self.mantissa):
            return Scaled(self.mantissa)
        fraction, shift = math.frexp(self.mantissa)
        return Scaled(fraction * 2, self.exponent + shift - 1)

    def to_float(self) -> float:
        """Return the nearest double, infinite beyond the largest. Zero has no sign."""
        try:
            return math.ldexp(self.mantissa, self.exponent) + 0.0
        except OverflowError:
            return math.copysign(math.inf, self.mantissa)

    def divided_by(self, count: int) -> float:
        """Return this sum divided by a positive count of any size, as a double.

        >>> Scaled(3.0, 5000).divided_by(2**5001)
        1.5
        """
        shift = max(count.bit_length() - 64, 0)
        return Scaled(self.mantissa / (count >> shift), self.exponent - shift).to_float()


def ratio(total: int, count: int) -> float:
    """Return an exact integer sum divided by a positive count, rounded once."""
    try:
        return total / count
    except OverflowError:
        return math.copysign(math.inf, total)
