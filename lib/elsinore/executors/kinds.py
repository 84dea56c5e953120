"""The kinds of accumulators. Kernels take their codes from here, so this module imports nothing."""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """The way in which an accumulator adds up over trends, and the numbers that it has.

    Kernels have one loop per kind. A change of the order changes the tables of all kernels.
    """

    INTEGER = 0  #: counts and sums of longs, exact at any size
    DOUBLE = 1  #: sums of doubles, with an exponent of their own
    RANK = 2  #: the least rank of an attribute's values; addition is the minimum
