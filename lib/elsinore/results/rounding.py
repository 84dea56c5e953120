"""How far sums of doubles lie apart that were added in another order: the only tolerance there is.

Where values of both signs cancel, what rounding leaves is small beside the values and as large as
anything beside their sum (0.1 + 0.2 - 0.3 is 1.1e-16, 5.6e-17 or 0). So the bounds of a sum are
told by its magnitude, the sum of the amounts of all that is added.
"""

from __future__ import annotations

import math
from fractions import Fraction

#: The least and the greatest double that a sum, or an average, may come out as.
Bounds = tuple[float, float]

#: An addition is off by 2^-53 of its result at most, and what an event brings is added some 32
#: times more with each event that follows: to the trends that end there, and into and out of an
#: order tree, which has 15 levels for as many events as are ever checked (`kernels.trees`).
LOST_AT_EACH_EVENT = 32 * 2.0**-53


def bounds_of(exact: Fraction, magnitude: Fraction, events: int) -> Bounds:
    """Where the double of a sum lies, given its exact value, in a window of so many events.

    `magnitude` is the sum of amounts; of an average both are divided by the count. Bounds beyond
    the largest double are infinite.
    """
    lost = magnitude * events * Fraction(LOST_AT_EACH_EVENT)
    return nearest_double(exact - lost), nearest_double(exact + lost)


def within(found: float, bounds: Bounds) -> bool:
    """Whether a double is within bounds; NaN is where they are NaN."""
    low, high = bounds
    return low <= found <= high or (found != found and low != low)


def nearest_double(value: Fraction) -> float:
    """The nearest double; beyond the largest it is infinite. Zero has no sign."""
    try:
        return float(value) + 0.0
    except OverflowError:
        return math.inf if value > 0 else -math.inf
