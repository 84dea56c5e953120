"""Finds the bursts of sorted events (Hamlet Definition 4.1), and what ties in time."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined, outlined

#: Events of a burst at most, so that what it multiplies counts by fits a double exactly.
LONGEST = 52


@inlined
def burst_at(events, first, after, end):
    """Where the burst that begins at an entry ends, and its length; 0 where other events tie."""
    code, last = events.codes[first], events.times[first]
    length, newest, i = 1, first, first + 1
    while True:
        while (
            i < after
            and events.codes[i] == code
            and events.times[i] > last
            and events.times[i] < end
            and length < LONGEST
        ):
            last = events.times[i]
            newest = i
            length += 1
            i += 1
        while i < after and events.symbol_of[events.codes[i]] < 0:
            i += 1
        if i == after:
            return i, length
        if events.times[i] == last:
            return newest, length - 1
        if events.codes[i] != code or events.times[i] >= end or length == LONGEST:
            return i, length
        last = events.times[i]
        newest = i
        length += 1
        i += 1


@outlined
def instant_at(events, first, after):
    """Where the events of one time end, and how many; 0 if they are not all alike."""
    time, code = events.times[first], events.codes[first]
    i, length, alike = first, 0, True
    while i < after and events.times[i] == time:
        if events.symbol_of[events.codes[i]] >= 0:
            length += 1
            alike &= events.codes[i] == code
        i += 1
    return i, length if alike else 0
