"""The periods of queries with a span, in the form that kernels read."""

from __future__ import annotations

import numpy as np

from elsinore.executors.input.kernels.periods import PeriodTable
from elsinore.windows import OrderedWindow, Window

_NONE = np.empty(0, np.int64)
#: Number of consecutive periods that are all in a table, also without an event.
_FEW = 10_000


def period_numbers(window: Window, positions: np.ndarray) -> np.ndarray:
    """Return the number of the period of each event, given the positions of their times."""
    if window.clock is None:
        return positions // window.within
    if isinstance(window, OrderedWindow):
        positions = window.unordered(positions)
    return window.numbers_at(positions)


def period_table(window: Window, positions: np.ndarray) -> PeriodTable:
    """Return the periods of a query, given the positions of the times of all events."""
    if window.clock is None or not positions.size:
        return PeriodTable(window.within, _NONE, _NONE)
    ends = np.array([positions.min(), positions.max()])
    first, last = period_numbers(window, ends).tolist()
    if last - first < _FEW:
        numbers = np.arange(first, last + 2)
    else:
        found = np.unique(period_numbers(window, positions))
        numbers = np.union1d(found, found + 1)
    starts = window.starts(numbers)
    if isinstance(window, OrderedWindow):
        starts = window.firsts(starts)
    return PeriodTable(window.within, starts, numbers)
