"""The exact value of an aggregate, and the range of its rounded values."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from elsinore.results.row import Bounds, Value, bounds_of


class Total(NamedTuple):
    """The value of an aggregate; for sums and averages of finite doubles also the exact value.

    Attributes:
        value: the rounded value; None if no event has a value.
        exact: the exact value, if `value` is rounded.
        magnitude: the same over absolute values.
    """

    value: Value
    exact: Fraction | None = None
    magnitude: Fraction = Fraction(0)

    def bounds(self, events: int) -> Bounds | None:
        """Return the range of values that rounding allows, for a window of `events` events.

        None if the value is exact.
        """
        if self.exact is not None:
            return bounds_of(self.exact, self.magnitude, events)
        return None
