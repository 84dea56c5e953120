"""The periods of queries with a span."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import inlined


class PeriodTable(NamedTuple):
    """Periods of one length, or periods of a calendar.

    Attributes:
        length: the length of a period; the periods begin at its multiples.
        starts: int64[B], the times at which periods of a calendar begin, ascending: of at least
            the periods with an event, and of the next one after each. Empty for periods of one
            length.
        numbers: int64[B], the numbers of these periods.
    """

    length: int
    starts: np.ndarray
    numbers: np.ndarray


@inlined
def period_at(table, time):
    """Return the number, the start and the end of the period of an event."""
    if table.starts.size == 0:
        number = time // table.length
        return number, number * table.length, (number + 1) * table.length
    place = np.searchsorted(table.starts, time, side="right") - 1
    return table.numbers[place], table.starts[place], table.starts[place + 1]
