"""Compute variances and standard deviations by definition, with exact fractions.

A variance is the double nearest to the exact value, and a standard deviation the double nearest to
the exact root.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from elsinore.query.bound import AggregateFunction
from elsinore.results.row import nearest_double

#: Bits of a root before it is rounded.
_BITS = 80


def dispersion(
    function: AggregateFunction, weighted: Sequence[tuple[int | float | Fraction, int]]
) -> float | None:
    """Return a variance or a standard deviation of numbers; None if there are too few.

    Args:
        function: STDDEV, VARIANCE, STDDEV_POP or VAR_POP.
        weighted: the numbers, each with how often it counts. If one is NaN or infinite, the result
            is NaN.
    """
    exact = variance(weighted, sample=function.is_of_sample)
    if exact is None or isinstance(exact, float):
        return exact
    return root(exact) if function.is_root else nearest_double(exact)


def variance(
    weighted: Sequence[tuple[int | float | Fraction, int]], *, sample: bool
) -> Fraction | float | None:
    """Return the exact mean square distance from the mean; NaN if a number is not finite.

    Args:
        weighted: the numbers, each with how often it counts.
        sample: whether to divide by the number of values less one.
    """
    count = sum(times for _, times in weighted)
    divisor = count - 1 if sample else count
    if divisor <= 0:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value, _ in weighted):
        return math.nan
    exact = [(Fraction(value), times) for value, times in weighted]
    mean = sum((value * times for value, times in exact), start=Fraction(0)) / count
    squares = sum(((value - mean) ** 2 * times for value, times in exact), start=Fraction(0))
    return squares / divisor


def root(square: Fraction) -> float:
    """Return the double nearest to the root of a number that is not negative.

    >>> root(Fraction(9, 4)), root(Fraction(2))
    (1.5, 1.4142135623730951)
    """
    if not square:
        return 0.0
    size = square.numerator.bit_length() - square.denominator.bit_length()
    shift = _BITS - size // 2
    scaled = square * Fraction(4) ** shift
    whole = math.isqrt(scaled.numerator // scaled.denominator)
    # A last bit for the rest of the root makes the rounding right.
    is_more = whole * whole != scaled
    return nearest_double(Fraction(2 * whole + is_more) / Fraction(2) ** (shift + 1))


def nearest_root(square: Fraction) -> int:
    """Return the integer nearest to the root of a number that is not negative; half to even.

    >>> nearest_root(Fraction(9, 4)), nearest_root(Fraction(3))
    (2, 2)
    """
    whole = math.isqrt(square.numerator // square.denominator)
    middle = Fraction(2 * whole + 1, 2) ** 2
    return whole + (square > middle or (square == middle and whole % 2 == 1))
