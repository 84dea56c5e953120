"""Find the windows of trends with a span, each with the entries that start and end its trends.

A trend with a span is counted in the window of one **anchor**: the timestamp of its last event. If
a NOT can follow the last event, it is the timestamp of the first event instead, so that the window
reaches one span beyond it. If NOT can be at both ends, the anchor is the pair of both timestamps.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.input.kernels.periods import PeriodTable, period_at
from elsinore.numbers.compiled import inlined, kernel


class Anchor(IntEnum):
    """Which timestamps of a trend are its anchor."""

    LAST, FIRST, BOTH = range(3)


class Rule(NamedTuple):
    """The span and the periods of a query.

    Attributes:
        span: the longest time from the first to the last event of a trend.
        periods: the periods.
        anchor: an `Anchor`.
        by_first: whether the first event of a trend decides on its period, not the last one.
        least, most: the lowest and the highest number of a period to write.
    """

    span: int
    periods: PeriodTable
    anchor: int
    by_first: bool
    least: int
    most: int


@kernel
def fill_anchors(offsets, times, may_start, may_end, rule, first, after, out):
    """Write the windows of the anchors among some entries.

    A row is `(low, high, partition, period number)`, then the range of the entries that can start
    the trends of the row, and the range of the entries that can end them.

    Args:
        offsets: int64[P + 1], the first entry of each partition.
        times: int64[N], ascending in each partition.
        may_start: bool[N], whether a trend can start at an entry.
        may_end: bool[N], whether a trend can end at an entry.
        rule: a `Rule`.
        first: the first entry whose timestamp can be an anchor, or a part of it.
        after: the end of these entries. A timestamp belongs to its first entry.
        out: int64[M, 8] to write to; with M = 0 the kernel only counts.

    Returns:
        The number of rows, even if `out` does not hold them all.
    """
    count = 0
    partition = np.searchsorted(offsets, first, side="right") - 1
    while partition < offsets.size - 1 and offsets[partition] < after:
        begin, end = offsets[partition], offsets[partition + 1]
        i = max(begin, first)
        while begin < i < end and times[i] == times[i - 1]:
            i += 1
        low = high = begin
        if i < end:
            low = begin + np.searchsorted(times[begin:end], times[i] - rule.span)
            high = i
        while i < min(end, after):
            j = _end_of_instant(times, i, end)
            while times[low] < times[i] - rule.span:
                low += 1
            if rule.anchor == Anchor.LAST:
                if _any(may_end, i, j):
                    count = _in_periods(times, partition, rule, low, j, i, j, False, count, out)
            elif _any(may_start, i, j):
                high = max(high, j)
                while high < end and times[high] <= times[i] + rule.span:
                    high += 1
                if rule.anchor == Anchor.FIRST:
                    count = _in_periods(times, partition, rule, i, high, i, j, True, count, out)
                else:
                    count = _with_ends(times, may_end, partition, rule, low, high, i, j, count, out)
            i = j
        partition += 1
    return count


@inlined
def _end_of_instant(times, first, end):
    after = first + 1
    while after < end and times[after] == times[first]:
        after += 1
    return after


@inlined
def _any(flags, first, after):
    found = False
    for entry in range(first, after):
        found |= flags[entry]
    return found


@inlined
def _in_periods(times, partition, rule, low, high, i, j, at_first, count, out):
    """Write the rows of an anchor from `i` to before `j`, for each period of the other end."""
    if at_first == rule.by_first:
        number, _, _ = period_at(rule.periods, times[i])
        if rule.least <= number <= rule.most:
            if at_first:
                _write(out, count, low, high, partition, number, i, j, low, high)
            else:
                _write(out, count, low, high, partition, number, low, high, i, j)
            count += 1
        return count
    k = low
    while k < high:
        number, _, stop = period_at(rule.periods, times[k])
        after = k + 1
        while after < high and times[after] < stop:
            after += 1
        if rule.least <= number <= rule.most:
            if at_first:
                _write(out, count, low, high, partition, number, i, j, k, after)
            else:
                _write(out, count, low, high, partition, number, k, after, i, j)
            count += 1
        k = after
    return count


@inlined
def _with_ends(times, may_end, partition, rule, low, high, i, j, count, out):
    """Write the rows of the first timestamp, from `i` to before `j`, with each last timestamp.

    `low` is the first entry that is at most one span older, `high` the end of those at most one
    span newer.
    """
    a = i
    while a < high:
        b = _end_of_instant(times, a, high)
        while times[low] < times[a] - rule.span:
            low += 1
        number, _, _ = period_at(rule.periods, times[i if rule.by_first else a])
        if _any(may_end, a, b) and rule.least <= number <= rule.most:
            _write(out, count, low, high, partition, number, i, j, a, b)
            count += 1
        a = b
    return count


@inlined
def _write(out, row, low, high, partition, number, start, start_end, last, last_end):
    if row < out.shape[0]:
        out[row, 0], out[row, 1], out[row, 2], out[row, 3] = low, high, partition, number
        out[row, 4], out[row, 5], out[row, 6], out[row, 7] = start, start_end, last, last_end


@inlined
def limits_of(spans, row):
    """Return the ranges of the entries that can start trends, and that can end them.

    `spans` are int64[R, 8], or int64[R, 4] from `entries.fill_spans`, which set no limits.
    """
    if spans.shape[1] > 4:
        return spans[row, 4], spans[row, 5], spans[row, 6], spans[row, 7]
    return spans[row, 0], spans[row, 1], spans[row, 0], spans[row, 1]
