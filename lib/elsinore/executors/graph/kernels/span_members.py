"""Find the events that participate in trends with a span, in linear time per period.

It is for templates without conditions on pairs of events. Forward, each event gets the latest time
at which a trend that contains it can start. Backward, it gets the earliest time in the period at
which such a trend can end. The event participates if they are at most one span apart. The backward
pass of a period reads the events of the period and of one span before it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.input.kernels.periods import period_at
from elsinore.executors.output.kernels.members import At, add_member
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined, outlined

#: No start, and no end.
_NEVER, _UNENDING = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class SpanEntries(NamedTuple):
    """N entries of P partitions at S states, in the order in which trends end at the last one.

    Attributes:
        times: int64[N], ascending in each partition.
        states: int[N].
        rows: int64[N], the event of each entry.
        offsets: int64[P + 1], the first entry of each partition.
        starts, ends: bool[S].
        before_start, before: int64[S + 1] and int64[T], the states that can come before each state.
    """

    times: np.ndarray
    states: np.ndarray
    rows: np.ndarray
    offsets: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    before_start: np.ndarray
    before: np.ndarray


class SpanWork(NamedTuple):
    """Scratch.

    Attributes:
        latest: int64[N], the latest start of each entry.
        bounds: int64[S], the latest starts, or the earliest ends, by state.
        own: int64[W], the earliest end of each entry of a period and of the span before it.
        read_row, read: see `reach.ReachWork`.
        windows: int64[1], number of periods so far.
    """

    latest: np.ndarray
    bounds: np.ndarray
    own: np.ndarray
    read_row: np.ndarray
    read: np.ndarray
    windows: np.ndarray


@brief
def find_latest_starts(entries, latest, bounds):
    """Write the latest start of each entry to `latest`; `_NEVER` if no trend reaches it."""
    for partition in range(entries.offsets.size - 1):
        bounds[:] = _NEVER
        first, end = entries.offsets[partition], entries.offsets[partition + 1]
        while first < end:
            after = _end_of_instant(entries.times, first, end)
            for entry in range(first, after):
                state = entries.states[entry]
                start = entries.times[entry] if entries.starts[state] else _NEVER
                for b in range(entries.before_start[state], entries.before_start[state + 1]):
                    start = max(start, bounds[entries.before[b]])
                latest[entry] = start
            for entry in range(first, after):
                state = entries.states[entry]
                bounds[state] = max(bounds[state], latest[entry])
            first = after


@inlined
def _end_of_instant(times, first, end):
    after = first + 1
    while after < end and times[after] == times[first]:
        after += 1
    return after


@brief
def widest_period(entries, periods):
    """Return the most entries of a period and of the span before it."""
    most = 0
    for partition in range(entries.offsets.size - 1):
        low = first = entries.offsets[partition]
        end = entries.offsets[partition + 1]
        while first < end:
            low = _low_of(entries.times, low, first, periods)
            first = _end_of_period(entries.times, first, end, periods)
            most = max(most, first - low)
    return most


@inlined
def _low_of(times, low, first, periods):
    """Return the first entry from `low` on that is at most one span before an entry."""
    while times[low] < times[first] - periods.span:
        low += 1
    return low


@inlined
def _end_of_period(times, first, end, periods):
    """Return the first entry from `first` on of another period than its own."""
    _, begin, stop = period_at(periods.table, periods.sign * times[first])
    after = first + 1
    while after < end and begin <= periods.sign * times[after] < stop:
        after += 1
    return after


@brief
def find_span_members(
    in_entries, periods, in_asked, in_weights, in_work, in_members
):  # fmt: skip
    """Write a row for each partition and period with a trend; return whether all are done.

    If `members` has no room for a period, the next call continues there.
    """
    entries, asked, weights = borrow(in_entries), borrow(in_asked), borrow(in_weights)
    work, members = borrow(in_work), borrow(in_members)
    state = members.state
    while state[At.RUN] < entries.offsets.size - 1:
        partition = state[At.RUN]
        begin, end = entries.offsets[partition], entries.offsets[partition + 1]
        low = first = max(begin, state[At.ENTRY])
        while low > begin and entries.times[low - 1] >= entries.times[first] - periods.span:
            low -= 1
        while first < end:
            low = _low_of(entries.times, low, first, periods)
            after = _end_of_period(entries.times, first, end, periods)
            number, _, _ = period_at(periods.table, periods.sign * entries.times[first])
            if periods.least <= number <= periods.most:
                room = members.events.shape[0] - state[At.LISTED]
                needed = (after - low) * asked.listed[0]
                if state[At.ROWS] == members.keys.shape[0] or room < needed:
                    state[At.ENTRY] = first
                    return False
                row = state[At.ROWS]
                members.keys[row, 0], members.keys[row, 1] = partition, number
                _find_earliest_ends(entries, work, low, first, after)
                if _add_members(entries, asked, weights, work, members, low, after, periods.span):
                    state[At.ROWS] = row + 1
            first = after
        state[At.RUN] += 1
        state[At.ENTRY] = 0
    return True


@outlined
def _find_earliest_ends(entries, work, low, first, after):
    """Write the earliest end among the entries from `first` on, for entries from `low` on."""
    bounds = work.bounds
    for state in range(bounds.size):
        bounds[state] = _UNENDING
    last = after
    while last > low:
        begin = last - 1
        while begin > low and entries.times[begin - 1] == entries.times[begin]:
            begin -= 1
        for entry in range(begin, last):
            state = entries.states[entry]
            ended = entry >= first and entries.ends[state]
            work.own[entry - low] = entries.times[entry] if ended else bounds[state]
        for entry in range(begin, last):
            state, earliest = entries.states[entry], work.own[entry - low]
            for b in range(entries.before_start[state], entries.before_start[state + 1]):
                before = entries.before[b]
                if earliest < bounds[before]:
                    bounds[before] = earliest
        last = begin


@outlined
def _add_members(entries, asked, weights, work, members, low, after, span):
    """Add the participating entries to the next row, each once per accumulator.

    Returns:
        Whether there are any.
    """
    work.windows[0] += 1
    window, found = work.windows[0], False
    for entry in range(low, after):
        latest, earliest = work.latest[entry], work.own[entry - low]
        if latest != _NEVER and earliest != _UNENDING and earliest - span <= latest:
            found = True
            state, event = entries.states[entry], entries.rows[entry]
            for m in range(asked.state_start[state], asked.state_start[state + 1]):
                k = asked.accumulators[m]
                row = work.read_row[k]
                if row >= 0:
                    if work.read[row, event] == window:
                        continue
                    work.read[row, event] = window
                add_member(asked.columns, k, weights, event, members)
    return found
