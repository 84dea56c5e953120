"""Find the longest trends of several queries without conditions on pairs of events.

A cell is a state of a query, for one of its measures. The measure is a constant for each event of a
trend, and another one for each unit of time from its first to its last event. Without conditions on
pairs, a cell needs only the greatest value of the trends that end at any of its events so far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.numbers.compiled import inlined, unlocked


class Cells(NamedTuple):
    """The cells of some queries; each list is a range of `*_start` in the array after it.

    Attributes:
        column: int64[C], the column of a cell's query and measure.
        starts, ends: bool[C], whether a trend can start or end there.
        per_event, per_tick: int64[C], what an event and a unit of time add.
        before_start, befores: the cells before each cell.
        class_start, class_cells: the cells of each event class.
    """

    column: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    per_event: np.ndarray
    per_tick: np.ndarray
    before_start: np.ndarray
    befores: np.ndarray
    class_start: np.ndarray
    class_cells: np.ndarray


class Longest(NamedTuple):
    """The greatest values so far.

    Attributes:
        values: int64[*].
        known: bool[*], whether there is a trend.
    """

    values: np.ndarray
    known: np.ndarray


@unlocked
def find_longest(cells, times, codes, spans, before, at_once, found):
    """Write the greatest value of each column in each window.

    Args:
        cells: the cells.
        times: int64[N], the time of each entry, ascending in each span.
        codes: the event class of each entry.
        spans: int64[R, 4], see `input.kernels.entries.fill_spans`.
        before: scratch for the cells, over the timestamps so far.
        at_once: scratch for the cells, over the current timestamp.
        found: rows of a column per query and measure.
    """
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        origin = times[low]
        for cell in range(cells.column.size):
            before.known[cell] = at_once.known[cell] = False
        first = low
        while first < high:
            after = first
            while after < high and times[after] == times[first]:
                _arrive(cells, codes[after], times[first] - origin, row, before, at_once, found)
                after += 1
            for entry in range(first, after):
                code = codes[entry]
                for n in range(cells.class_start[code], cells.class_start[code + 1]):
                    cell = cells.class_cells[n]
                    if at_once.known[cell]:
                        _raise_to(before, cell, at_once.values[cell])
                        at_once.known[cell] = False
            first = after


@inlined
def _arrive(cells, code, time, row, before, at_once, found):
    """Add an event to the trends that end before its time."""
    for n in range(cells.class_start[code], cells.class_start[code + 1]):
        cell = cells.class_cells[n]
        known, value = cells.starts[cell], -cells.per_tick[cell] * time
        for m in range(cells.before_start[cell], cells.before_start[cell + 1]):
            other = cells.befores[m]
            if before.known[other] and (not known or before.values[other] > value):
                known, value = True, before.values[other]
        if known:
            value += cells.per_event[cell]
            _raise_to(at_once, cell, value)
            if cells.ends[cell]:
                column, last = cells.column[cell], value + cells.per_tick[cell] * time
                if not found.known[row, column] or found.values[row, column] < last:
                    found.known[row, column] = True
                    found.values[row, column] = last


@inlined
def _raise_to(best, cell, value):
    if not best.known[cell] or best.values[cell] < value:
        best.known[cell] = True
        best.values[cell] = value
